//! ## What it finds
//!
//! Programs that look up names and check at each look-up whether the resolver's configuration has
//! changed.
//!
//! ## Why it happens
//!
//! glibc since 2.26 asks for the status of /etc/resolv.conf at each call of getaddrinfo() and
//! gethostbyname(), to notice a change of network. A machine or a container whose name servers
//! never change gains nothing by it.
//!
//! ## Example
//!
//! ```trace
//! env -RES_OPTIONS
//! libc glibc 2.36
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 100
//! newfstatat(AT_FDCWD, "/etc/resolv.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! resolver-reread: 99 of 100
//! stage explained
//! set RES_OPTIONS=no-reload
//! ```
//!
//! ## Not a finding
//!
//! A handful of look-ups; and a program that watches the file, once a second:
//!
//! ```trace
//! env -RES_OPTIONS
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/etc/resolv.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//!  x1
//! execve("/usr/bin/watcher", ["watcher"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 60
//! newfstatat(AT_FDCWD, "/etc/resolv.conf", {st_mode=S_IFREG|0644, st_size=60, ...}, 0) = 0
//! clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1, tv_nsec=0}, NULL) = 0
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set RES_OPTIONS=no-reload for a program that looks up many names, or put `options no-reload`
//! into the file. A new list of name servers is then seen only when the program is restarted: do
//! not do this on laptops, or where DHCP or a VPN writes the file.
//!
//! ## References
//!
//! * `man 5 resolv.conf`, no-reload
//! * <https://sourceware.org/bugzilla/show_bug.cgi?id=984>: why glibc looks

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Env, Libc, ProcId, Process, Query, Remedy, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "resolver-reread",
    summary: "Each look-up of a name checks whether /etc/resolv.conf has changed",
    variables: &["RES_OPTIONS"],
    mentions: &["/etc/resolv.conf"],
    ..Rule::PLAIN
};

/// Fewer look-ups are not worth a change.
const FEWEST: u64 = 50;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let looks_up = |id: ProcId| {
        // A program that looks up names reads these files as well; a watcher does not.
        let names = |path: &str| path == "/etc/hosts" || path == "/etc/nsswitch.conf";
        let process = view.process(id);
        let options = process.env.value("RES_OPTIONS").unwrap_or("");
        *view.libc(id) != Libc::Musl
            && !options.contains("no-reload")
            && view.rows_of(id).any(|(_, row)| names(view.profile.path(row)))
    };
    let class = |row: &Row, path: &str| {
        RowClass::AllButOne.when(row.query == Query::Stat && path == "/etc/resolv.conf")
    };
    let cases = helpers::cases(view, sink, looks_up, class);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let first = view.process(cases[0].process);
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} stats of /etc/resolv.conf find it unchanged: one per look-up",
            number(merged.needless)
        );
        let why = format!(
            "{program} looks up names, and glibc checks at each look-up whether the list of name \
             servers has changed."
        );
        let remedies = vec![remedy(first)];
        let known = first.env != Env::Unknown;
        let stage = if known { Stage::Explained } else { Stage::Seen };
        sink.find(helpers::finding(merged, RULE.name, stage, what, why, remedies));
    }
}

/// Adds an option to those that the process has.
pub(crate) fn remedy(process: &Process) -> Remedy {
    let price = "A change of the name servers is then seen only after a restart: wrong where DHCP, \
                 a VPN or NetworkManager writes the file.";
    helpers::add(process, "RES_OPTIONS", "no-reload", price)
}
