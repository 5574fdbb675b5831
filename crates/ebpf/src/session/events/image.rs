//! What a process uses from one exec to the next.

use crate::session::wire::Used;
use needless_model::{Builder, ProcId};

/// A process between two execs, as the kernel numbers them.
pub(super) struct Image {
    pub(super) id: ProcId,
    /// Its pid while it is the latest image of that pid and has not ended.
    pub(super) pid: Option<u32>,
    /// What earlier images of this process used.
    pub(super) earlier: Used,
    /// What it and they used, once that is known.
    pub(super) used: Option<Used>,
    /// CPU time in addition to that, of threads that have ended.
    pub(super) rest_ns: u64,
    /// The look at which it had ended.
    pub(super) ended: Option<u64>,
    /// It ran before the observation: its CPU time is read from /proc at the end.
    pub(super) attached: bool,
}

impl Image {
    pub(super) fn new(id: ProcId) -> Image {
        let earlier = Used::default();
        Image { id, pid: None, earlier, used: None, rest_ns: 0, ended: None, attached: false }
    }

    /// Stores what the process of an image has used. How its CPU time divides between user mode and kernel comes from the
    /// scheduler's ticks: for less than a few of them it is not known.
    pub(super) fn book(&self, builder: &mut Builder) {
        const TICKS: u64 = 10_000_000;
        let Some(used) = self.used.filter(|_| !self.attached || self.pid.is_some()) else { return };
        let used = used.since(self.earlier);
        let sum = used.user_ns + used.system_ns;
        let process = builder.process_mut(self.id);
        process.cpu_ns = Some(sum + self.rest_ns);
        process.cpu_user_ns = (sum >= TICKS).then_some(used.user_ns);
        process.cpu_sys_ns = (sum >= TICKS).then_some(used.system_ns + self.rest_ns);
        process.minor_faults = Some(used.minor_faults);
        process.major_faults = Some(used.major_faults);
        process.given_back = Some(used.given_back);
    }
}

/// What a live process has used, from /proc/PID/stat (proc(5)): CPU time to a hundredth of a second.
pub(super) fn used_so_far(pid: u32) -> Option<Used> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    // The third field of the line is the first one here.
    let fields: Vec<u64> = fields.split_whitespace().map(|n| n.parse().unwrap_or(0)).collect();
    let [minor_faults, major_faults, user, system] = [10, 12, 14, 15].map(|at| fields.get(at - 3));
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some(Used {
        user_ns: user? * tick,
        system_ns: system? * tick,
        minor_faults: *minor_faults?,
        major_faults: *major_faults?,
        given_back: 0,
    })
}
