//! ## What it finds
//!
//! Programs that close every descriptor that could be open before they start another program:
//! thousands of them, or a billion, although hardly any is open.
//!
//! ## Why it happens
//!
//! Until Linux 5.9 there was no call to close a range, and careful programs close all up to the
//! limit of open files (RLIMIT_NOFILE). Where that limit is huge, as container runtimes once set
//! it, each start of a child takes seconds.
//!
//! ## Example
//!
//! ```trace
//! prlimit64(0, RLIMIT_NOFILE, {rlim_cur=20000, rlim_max=20000}, NULL) = 0
//! execve("/usr/bin/python2", ["python2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! close(19999) = -1 EBADF (Bad file descriptor) x19744
//! ```
//! ```finding
//! close-storm: 18976 of 19744
//! stage explained
//! setting open-files
//! ```
//!
//! If the limit is not known:
//!
//! ```trace
//! execve("/usr/bin/python2", ["python2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! close(256) = -1 EBADF (Bad file descriptor) x40
//! close(257) = -1 EBADF (Bad file descriptor) x40
//! close(258) = -1 EBADF (Bad file descriptor) x40
//! close(259) = -1 EBADF (Bad file descriptor) x40
//! close(260) = -1 EBADF (Bad file descriptor) x40
//! close(261) = -1 EBADF (Bad file descriptor) x40
//! close(262) = -1 EBADF (Bad file descriptor) x40
//! close(263) = -1 EBADF (Bad file descriptor) x40
//! close(264) = -1 EBADF (Bad file descriptor) x40
//! close(265) = -1 EBADF (Bad file descriptor) x40
//! close(266) = -1 EBADF (Bad file descriptor) x40
//! close(267) = -1 EBADF (Bad file descriptor) x40
//! close(268) = -1 EBADF (Bad file descriptor) x40
//! close(269) = -1 EBADF (Bad file descriptor) x40
//! close(270) = -1 EBADF (Bad file descriptor) x40
//! close(271) = -1 EBADF (Bad file descriptor) x40
//! close(272) = -1 EBADF (Bad file descriptor) x40
//! close(273) = -1 EBADF (Bad file descriptor) x40
//! close(274) = -1 EBADF (Bad file descriptor) x40
//! close(275) = -1 EBADF (Bad file descriptor) x40
//! close(276) = -1 EBADF (Bad file descriptor) x40
//! close(277) = -1 EBADF (Bad file descriptor) x40
//! close(278) = -1 EBADF (Bad file descriptor) x40
//! close(279) = -1 EBADF (Bad file descriptor) x40
//! close(280) = -1 EBADF (Bad file descriptor) x40
//! close(281) = -1 EBADF (Bad file descriptor) x40
//! close(282) = -1 EBADF (Bad file descriptor) x40
//! close(283) = -1 EBADF (Bad file descriptor) x40
//! close(284) = -1 EBADF (Bad file descriptor) x40
//! close(285) = -1 EBADF (Bad file descriptor) x40
//! close(286) = -1 EBADF (Bad file descriptor) x40
//! close(287) = -1 EBADF (Bad file descriptor) x40
//! close(288) = -1 EBADF (Bad file descriptor) x40
//! close(289) = -1 EBADF (Bad file descriptor) x40
//! close(290) = -1 EBADF (Bad file descriptor) x40
//! close(291) = -1 EBADF (Bad file descriptor) x40
//! close(292) = -1 EBADF (Bad file descriptor) x40
//! close(293) = -1 EBADF (Bad file descriptor) x40
//! close(294) = -1 EBADF (Bad file descriptor) x40
//! close(295) = -1 EBADF (Bad file descriptor) x40
//! close(296) = -1 EBADF (Bad file descriptor) x40
//! close(297) = -1 EBADF (Bad file descriptor) x40
//! close(298) = -1 EBADF (Bad file descriptor) x40
//! close(299) = -1 EBADF (Bad file descriptor) x40
//! close(300) = -1 EBADF (Bad file descriptor) x40
//! close(301) = -1 EBADF (Bad file descriptor) x40
//! close(302) = -1 EBADF (Bad file descriptor) x40
//! close(303) = -1 EBADF (Bad file descriptor) x40
//! close(304) = -1 EBADF (Bad file descriptor) x40
//! close(305) = -1 EBADF (Bad file descriptor) x40
//! ```
//! ```finding
//! close-storm: 1232 of 2000
//! manual
//! ```
//!
//! A limit of 1,024 is not the cause: here the program raised it itself, and advice to lower it where it
//! is started would be wrong.
//!
//! ```trace
//! prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=1024, rlim_max=512*1024}) = 0
//! execve("/usr/sbin/server", ["server"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! prlimit64(0, RLIMIT_NOFILE, {rlim_cur=8*1024, rlim_max=512*1024}, NULL) = 0
//! close(8191) = -1 EBADF (Bad file descriptor) x7936
//! ```
//! ```finding
//! close-storm: 7168 of 7936
//! stage explained
//! manual
//! ```
//!
//! A limit of 20,000 is not the cause where a program closes 65,535 descriptors, as squid 5 does: it goes up to a
//! number of its own, and closes as many under a limit of 1,024.
//!
//! ```trace
//! prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=20000, rlim_max=20000}) = 0
//! execve("/usr/sbin/squid", ["squid"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! close(65535) = -1 EBADF (Bad file descriptor) x65280
//! ```
//! ```finding
//! close-storm: 64512 of 65280
//! stage seen
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A server that closes its connections:
//!
//! ```trace
//! execve("/usr/bin/server", ["server"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! close(256) = 0 x20
//! close(257) = 0 x20
//! close(258) = 0 x20
//! close(259) = 0 x20
//! close(260) = 0 x20
//! close(261) = 0 x20
//! close(262) = 0 x20
//! close(263) = 0 x20
//! close(264) = 0 x20
//! close(265) = 0 x20
//! close(266) = 0 x20
//! close(267) = 0 x20
//! close(268) = 0 x20
//! close(269) = 0 x20
//! close(270) = 0 x20
//! close(271) = 0 x20
//! close(272) = 0 x20
//! close(273) = 0 x20
//! close(274) = 0 x20
//! close(275) = 0 x20
//! close(276) = 0 x20
//! close(277) = 0 x20
//! close(278) = 0 x20
//! close(279) = 0 x20
//! close(280) = 0 x20
//! close(281) = 0 x20
//! close(282) = 0 x20
//! close(283) = 0 x20
//! close(284) = 0 x20
//! close(285) = 0 x20
//! close(286) = 0 x20
//! close(287) = 0 x20
//! close(288) = 0 x20
//! close(289) = 0 x20
//! close(290) = 0 x20
//! close(291) = 0 x20
//! close(292) = 0 x20
//! close(293) = 0 x20
//! close(294) = 0 x20
//! close(295) = 0 x20
//! close(296) = 0 x20
//! close(297) = 0 x20
//! close(298) = 0 x20
//! close(299) = 0 x20
//! close(300) = 0 x20
//! close(301) = 0 x20
//! close(302) = 0 x20
//! close(303) = 0 x20
//! close(304) = 0 x20
//! close(305) = 0 x20
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program under the usual limit:
//!
//! ```trace
//! execve("/usr/sbin/start-stop-daemon", ["start-stop-daemon"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! close(1023) = -1 EBADF (Bad file descriptor) x768
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! `needless fix` does this for a unit of systemd: it writes the soft limit into a drop-in, leaves the hard limit as it
//! is, and looks at the new process. By hand: lower the soft limit where the program is started: `LimitNOFILE=1024:524288`, `--ulimit
//! nofile=1024:524288`, `ulimit -Sn 1024`; a server that needs more raises it itself, up to the
//! hard limit. Do not do this for a program that needs more than 1,024 descriptors and does not
//! raise the limit itself: it would run out of them. Newer versions of most programs use
//! close_range(). If the limit that the program was started with is known, and was 1,024 or less,
//! was not reached, or is lower than the number of closes, only the newer version is advised.
//!
//! ## References
//!
//! * `man 2 close_range`
//! * <https://github.com/containerd/containerd/pull/7566>

use crate::engine::Case;
use crate::engine::details;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Errno, Fact, Process, Remedy, Row, Setting, Spawn, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "close-storm",
    summary: "Descriptors that were never open are closed one by one",
    needs: &[Fact::Details, Fact::Outcomes],
    setting: Some(lower_here),
    ..Rule::PLAIN
};

/// Fewer cost no noticeable time.
const FEWEST: u64 = 500;
/// One pass under the usual soft limit, 1,024: descriptors from 256 on; lower ones are not counted.
const USUAL: u64 = 1024 - 256;

/// What the limit of open files that a process was started with says about its closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Limit {
    Unknown,
    /// It was as low as usual: the process closes again and again, or raised it itself.
    Usual,
    /// The closes go up to it.
    Reached,
    /// It was higher than what was closed.
    NotReached,
    /// More were closed than it allows: up to a number of the program's own, or several times.
    Exceeded,
}

impl Limit {
    fn of(view: &View<'_>, case: &Case) -> Limit {
        match view.process(case.process).open_files {
            None => Limit::Unknown,
            Some(..=1024) => Limit::Usual,
            // A few are open, or were left out, or were closed twice: a tenth at most.
            Some(limit) => match case.of.saturating_add(256) {
                closed if closed < limit / 10 * 9 => Limit::NotReached,
                closed if closed > limit.saturating_add(limit / 10) => Limit::Exceeded,
                _ => Limit::Reached,
            },
        }
    }

    /// Why `program` closes what is not open. `most` is the highest limit, and `since` says when it
    /// was so.
    fn why(self, program: &str, most: &str, since: &str) -> String {
        match self {
            Limit::Unknown => format!(
                "{program} closes all descriptors up to the limit of open files (RLIMIT_NOFILE), and \
                 hardly any is open."
            ),
            Limit::Usual => format!(
                "{program} closes descriptors one by one, and hardly any is open. Its soft limit of open \
                 files was {most} {since}, which is usual: it raised the limit itself, or closes them again \
                 and again."
            ),
            Limit::Reached => format!(
                "{program} closes all descriptors up to the soft limit of open files (RLIMIT_NOFILE), \
                 which was {most} {since}, and hardly any is open."
            ),
            Limit::NotReached => format!(
                "{program} closes descriptors one by one, and hardly any is open. In what was \
                 observed it does not go up to the soft limit of open files, which was {most} \
                 {since}."
            ),
            Limit::Exceeded => format!(
                "{program} closes descriptors one by one, and hardly any is open. They are more than its \
                 soft limit of open files, which was {most} {since}: it goes up to a number of its own, or \
                 closes them several times. A lower limit would hardly change that."
            ),
        }
    }

    fn remedies(self) -> Vec<Remedy> {
        let newer = "Use a version of it that calls close_range(), which closes all with one call";
        let newer =
            helpers::by_hand(newer, "It needs Linux 5.9, and a program that knows the call.");
        match self {
            Limit::Reached => vec![lower()],
            // It is not known to be the cause.
            Limit::Unknown => vec![helpers::by_hand(LOWER, TOO_FEW)],
            Limit::Usual | Limit::NotReached | Limit::Exceeded => vec![newer],
        }
    }
}

const LOWER: &str = "Lower the soft limit of open files where it is started: LimitNOFILE=1024:524288, or \
                     ulimit -Sn 1024; or use a version with close_range()";
const TOO_FEW: &str = "A program that needs more descriptors and does not raise the limit itself then runs out of them.";

pub(super) fn lower() -> Remedy {
    helpers::setting(Setting::OpenFiles, LOWER, TOO_FEW)
}

/// The same for a process as it is: where its limit is as low as usual, it is not the cause.
pub(super) fn lower_here(process: &Process) -> Result<Remedy, String> {
    match process.open_files {
        Some(limit @ ..=1024) => Err(format!("its soft limit of open files is {limit} there")),
        _ => Ok(lower()),
    }
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases: BTreeMap<Limit, Vec<Case>> = BTreeMap::new();
    for id in view.ids() {
        let rows = details::rows_of(view, id, ArgClass::HighDescriptor);
        let of: u64 = rows.iter().map(|(_, row)| row.count).sum();
        let failed = rows.into_iter().filter(|(_, row)| row.failed(Errno::of_name("EBADF")));
        let failed: Vec<(usize, &Row)> = failed.collect();
        let closes: u64 = failed.iter().map(|(_, row)| row.count).sum();
        let needless = closes.saturating_sub(USUAL);
        if needless > 0 {
            let rows = failed.iter().map(|(at, _)| *at).collect();
            let case = Case { process: id, needless, of, rows };
            cases.entry(Limit::of(view, &case)).or_default().push(case);
        }
    }
    for (limit, cases) in cases {
        for (program, cases) in helpers::by_program(view, cases, FEWEST) {
            let processes = cases.iter().map(|case| case.process);
            let most = processes.clone().filter_map(|id| view.process(id).open_files).max();
            let mut images = processes.map(|id| view.born(view.image(id)));
            let since = if images.any(|born| born == Spawn::Seen) {
                "when it was first seen (whether it had raised it itself is not known)"
            } else {
                "when it was started"
            };
            let merged = helpers::merged(view, cases);
            let closes = number(merged.needless);
            let mut what = format!("{closes} closes of descriptors that are not open");
            if let (Some(most), Limit::Reached) = (most, limit) {
                what += &format!(", up to a limit of {}", number(most));
            }
            let why = limit.why(&program, &number(most.unwrap_or(0)), since);
            let stage = match limit {
                Limit::Unknown | Limit::NotReached | Limit::Exceeded => Stage::Seen,
                Limit::Usual | Limit::Reached => Stage::Explained,
            };
            let remedies = limit.remedies();
            sink.find(helpers::finding(merged, RULE.name, stage, what, why, remedies));
        }
    }
}
