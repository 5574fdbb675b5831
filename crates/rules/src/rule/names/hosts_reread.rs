//! ## What it finds
//!
//! Programs that look up the same names again and again, and read /etc/hosts from its start each
//! time.
//!
//! ## Why it happens
//!
//! getaddrinfo() keeps nothing from one call to the next: it checks whether /etc/nsswitch.conf has
//! changed, opens /etc/hosts, reads it and closes it, eight calls in all with glibc 2.36. If the
//! name is not in the file, it asks the name server.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 100
//! newfstatat(AT_FDCWD, "/etc/nsswitch.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! hosts-reread: 198 of 200
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A program that connects a few times:
//!
//! ```trace
//! execve("/usr/bin/curl", ["curl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 5
//! newfstatat(AT_FDCWD, "/etc/nsswitch.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! No variable stops this. The program can keep the address, or the connection; nscd or
//! systemd-resolved (with `resolve` before `files` in /etc/nsswitch.conf) answer from memory. Do
//! not keep addresses of names that move: they would be wrong.
//!
//! ## References
//!
//! * `man 3 getaddrinfo`, `man 5 nsswitch.conf`
//! * glibc, `nss/nss_database.c`

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "hosts-reread",
    summary: "Each name that is looked up opens and reads /etc/hosts",
    pedantic: true,
    mentions: &["/etc/hosts"],
    ..Rule::PLAIN
};

/// Programs that look up fewer names are not worth a change of code.
const FEWEST: u64 = 100;

/// open, fstat, lseek, two reads and close.
const CALLS: u64 = 6;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let hosts =
        |row: &Row, path: &str| row.query == Query::Open && row.ok() && path == "/etc/hosts";
    let reads = |id: ProcId| view.rows_of(id).any(|(_, row)| hosts(row, view.profile.path(row)));
    let class = |row: &Row, path: &str| {
        let switch = row.query == Query::Stat && path == "/etc/nsswitch.conf";
        RowClass::AllButOne.when(hosts(row, path) || switch)
    };
    let cases = helpers::cases(view, sink, reads, class);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} calls read /etc/hosts again, one look-up after the other");
        let why = format!(
            "{program} calls getaddrinfo() many times. Each call opens and reads /etc/hosts, and \
             checks whether /etc/nsswitch.conf has changed."
        );
        let remedies = vec![helpers::by_hand(
            "Keep the address or the connection in the program, or let nscd or systemd-resolved answer from memory",
            "Only the program's authors can say how old an address may be; nscd and systemd-resolved \
             answer with what they have until it expires.",
        )];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
