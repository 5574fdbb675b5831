//! The priorities of the processes that the command depends on: the tracer, the supervisor and the watchdog.

use std::fs;

/// The score before it was lowered, so that it can be restored.
pub(crate) struct OomScore(Option<String>);

impl OomScore {
    /// Makes this process the last one that is killed when memory is short, if permitted; if not, one that
    /// is not preferred. Without the tracer, calls of the command fail.
    pub(crate) fn lower() -> OomScore {
        let before = oom_score();
        let preferred =
            before.as_deref().and_then(|score| score.trim().parse::<i32>().ok()) > Some(0);
        // Without the right for the first value, a raised score may still be lowered.
        let lowered = set_oom_score("-1000") || preferred && set_oom_score("0");
        OomScore(before.filter(|_| lowered))
    }

    /// Restores it.
    pub(crate) fn restore(&self) {
        if let Some(before) = &self.0 {
            // Raising it is always allowed.
            let _ = set_oom_score(before);
        }
    }
}

fn oom_score() -> Option<String> {
    fs::read_to_string("/proc/self/oom_score_adj").ok()
}

fn set_oom_score(score: &str) -> bool {
    fs::write("/proc/self/oom_score_adj", score).is_ok()
}

/// `struct sched_attr` (sched_setattr(2)), as Linux 3.14 had it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// How soon this process runs when it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheduling {
    /// At once: it sleeps nearly always, but when it is needed each moment counts. With the right, as a
    /// real-time process of the lowest priority; without it, by asking for short time slices, which
    /// start sooner (Linux 6.12; older kernels ignore it).
    AtOnce,
    /// As other processes.
    Fair,
}

/// Asks the scheduler for this.
pub(crate) fn set_scheduling(how: Scheduling) {
    const SHORTEST_NS: u64 = 100_000;
    // A process that this one starts does not inherit it.
    const RESET_ON_FORK: u64 = 1;
    // SAFETY: getpriority(2) takes integers only.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let ask = |wanted: Attributes| {
        let wanted = Attributes { size: size_of::<Attributes>() as u32, ..wanted };
        // SAFETY: the kernel reads as many bytes as the field `size` says, which is the size of `wanted`.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) == 0 }
    };
    let fair = Attributes { policy: libc::SCHED_OTHER as u32, nice, ..Attributes::default() };
    // A refusal is not an error.
    let _ = match how {
        Scheduling::Fair => ask(fair),
        Scheduling::AtOnce => {
            let (policy, flags) = (libc::SCHED_FIFO as u32, RESET_ON_FORK);
            ask(Attributes { policy, flags, priority: 1, ..Attributes::default() })
                || ask(Attributes { runtime: SHORTEST_NS, ..fair })
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_lowered_as_far_as_we_may_and_put_back() {
        let score = || oom_score().unwrap().trim().parse::<i32>().unwrap();
        let before = score();
        assert!(set_oom_score("500"));
        let lowered = OomScore::lower();
        // An ordinary user may not lower a score that a privileged process has raised.
        assert!(score() <= 500);
        lowered.restore();
        assert_eq!(score(), 500);
        // A failure does no harm here.
        let _ = set_oom_score(&before.to_string());
    }

    #[test]
    fn turns_can_be_asked_for_and_given_up() {
        // SAFETY: sched_getscheduler(2) takes an integer only.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        set_scheduling(Scheduling::AtOnce);
        assert!(
            [libc::SCHED_FIFO, libc::SCHED_OTHER]
                .contains(&(policy() & !libc::SCHED_RESET_ON_FORK))
        );
        set_scheduling(Scheduling::Fair);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}
