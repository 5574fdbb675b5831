//! ## What it finds
//!
//! Programs that call syslog() where no logger listens, as in most containers.
//!
//! ## Why it happens
//!
//! For each message the C library makes a socket, connects to /dev/log, fails, and closes it: three
//! calls for a message that is lost.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! connect(3, {sa_family=AF_UNIX, sun_path="/dev/log"}, 110) = -1 ENOENT (No such file or directory) x100
//! ```
//! ```finding
//! log-socket-missing: 100 of 100
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A logger that is there:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! connect(3, {sa_family=AF_UNIX, sun_path="/dev/log"}, 110) = 0 x100
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Have the program log to its standard error, or mount the host's /dev/log into the container.
//! Either way, messages that were lost until now are kept: check first how many there are, and what
//! they say about users.
//!
//! ## References
//!
//! * `man 3 syslog`
//! * glibc, `misc/syslog.c`
//! * <https://github.com/docker-library/golang/issues/252>: why images have no logger

use crate::engine::Case;
use crate::engine::details;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Fact, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "log-socket-missing",
    summary: "Each message to the system log makes the program look for a socket that does not exist",
    needs: &[Fact::Details, Fact::Outcomes],
    ..Rule::PLAIN
};

/// A few messages are lost without harm.
const FEWEST: u64 = 50;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let rows = details::rows_of(view, id, ArgClass::SystemLog);
        let of: u64 = rows.iter().map(|(_, row)| row.count).sum();
        let failed = rows.iter().filter(|(_, row)| matches!(row.outcome, Some(Err(_))));
        let unheard: Vec<(usize, u64)> = failed.map(|(at, row)| (*at, row.count)).collect();
        let needless = unheard.iter().map(|(_, count)| count).sum();
        if needless > 0 {
            let rows = unheard.into_iter().map(|(at, _)| at).collect();
            cases.push(Case { process: id, needless, of, rows });
        }
    }
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} messages to /dev/log, where no process listens: three calls each",
            number(merged.needless)
        );
        let why = format!(
            "{program} calls syslog(), which looks for the socket at each message; the message is lost."
        );
        let remedies = vec![helpers::by_hand(
            "Let the program log to its standard error, or give it a /dev/log with a logger",
            "With a logger, messages that were lost are kept; they may be many.",
        )];
        // A socket is made and closed for each. With a logger, each message is sent: one more call.
        let besides = merged.needless as i64;
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
