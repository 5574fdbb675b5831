//! ## What it finds
//!
//! Programs that close every descriptor that could be open before they start another, thousands or
//! a thousand million of them, nearly all of which are not.
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
//! Lower the soft limit where the program is started: `LimitNOFILE=1024:524288`, `--ulimit
//! nofile=1024:524288`, `ulimit -Sn 1024`; a server that needs more raises it itself, up to the
//! hard limit. Newer versions of most programs use close_range().
//!
//! ## References
//!
//! * `man 2 close_range`
//! * <https://github.com/containerd/containerd/pull/7566>

use crate::details;
use crate::select::Case;
use crate::tally;
use crate::text::number;
use crate::{Claims, Rule, View};
use needless_model::{Detail, Errno, Fact, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "close-storm",
    summary: "Descriptors that were never open are closed one by one",
    needs: &[Fact::Details, Fact::Outcomes],
    variables: &[],
    correctness: false,
    pedantic: false,
    page: include_str!("close_storm.rs"),
    check,
};

/// Fewer are closed in no time.
const FEWEST: u64 = 500;
/// What is left of one pass where the soft limit is 1,024, the usual one: descriptors from 256 on, for
/// lower ones are not counted.
const USUAL: u64 = 1024 - 256;

fn check(view: &View<'_>, claims: &mut Claims) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let rows = details::rows_of(view, id, Detail::HighDescriptor);
        let of: u64 = rows.iter().map(|(_, row)| row.count).sum();
        let vain = rows.into_iter().filter(|(_, row)| row.failed(Errno::of_name("EBADF")));
        let vain: Vec<(usize, &Row)> = vain.collect();
        let closes: u64 = vain.iter().map(|(_, row)| row.count).sum();
        let needless = closes.saturating_sub(USUAL);
        if needless > 0 {
            let rows = vain.iter().map(|(at, _)| *at).collect();
            cases.push(Case { process: id, needless, of, rows });
        }
    }
    for (program, cases) in tally::by_program(view, cases, FEWEST) {
        let merged = tally::merged(view, cases);
        let what = format!("{} closes of descriptors that are not open", number(merged.needless));
        let why = format!(
            "{program} closes all descriptors up to the limit of open files (RLIMIT_NOFILE), and \
             hardly any is open."
        );
        let remedies = vec![tally::by_hand(
            "Lower the soft limit of open files where it is started: LimitNOFILE=1024:524288, or \
             ulimit -Sn 1024; or use a version with close_range()",
            "A program that needs more descriptors and does not raise the limit itself then runs out of them.",
        )];
        claims.find(tally::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}
