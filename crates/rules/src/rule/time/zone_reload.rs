//! ## What it finds
//!
//! Go programs that load a time zone by its name each time they need it.
//!
//! ## Why it happens
//!
//! `time.LoadLocation` keeps nothing: each call opens the file below /usr/share/zoneinfo, reads it and
//! parses it. That is four system calls each time with Go 1.19, six with Go 1.26.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/service", ["service"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athens", O_RDONLY|O_CLOEXEC) = 3 x200
//! runtime go
//! ```
//! ```finding
//! zone-reload: 199 of 200
//! manual
//! ```
//!
//! A log does not say that a program is written in Go, but the file that the Go runtime reads first
//! shows it. Debian's Miller:
//!
//! ```trace
//! execve("/usr/bin/mlr", ["mlr"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo//Asia/Tokyo", O_RDONLY) = 3 x300
//! ```
//! ```finding
//! zone-reload: 299 of 300
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A program in C that switches TZ, which is how it converts to several zones; and a Go program
//! with many zones:
//!
//! ```trace
//! execve("/usr/bin/switcher", ["switcher"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 200
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athens", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Asia/Tokyo", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! execve("/usr/bin/service", ["service"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region0/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region1/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region2/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region3/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region4/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region5/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region6/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region7/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Region8/City", O_RDONLY|O_CLOEXEC) = 3 x5
//! runtime go
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Load each zone once and keep the `*time.Location`. An update of the tz database is then seen
//! only at the next start. If names come from outside (a request, a user), limit how many are kept.
//!
//! ## References
//!
//! * <https://pkg.go.dev/time#LoadLocation>
//! * <https://github.com/golang/go/issues/26106>: why it keeps nothing

use crate::engine::helpers;
use crate::mechanism::zone;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Runtime, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "zone-reload",
    summary: "A Go program reads the same time zone from the database again and again",
    mentions: &["/zoneinfo"],
    ..Rule::PLAIN
};

/// A few loads are not worth a change.
const FEWEST: u64 = 50;
/// open, two reads and close.
const CALLS: u64 = 4;
/// What the runtime of Go reads at each start, and hardly any other program.
const OF_GO: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    // A log does not say in which language a program is written.
    let marked = view.rows_at(OF_GO);
    let go = |id: ProcId| {
        view.process(id).runtime == Runtime::Go
            || view.lineage(id).any(|up| marked.contains_key(&up))
    };
    let cases = helpers::rereads(view, sink, go, |path| zone::zone_name(path).is_some());
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what = format!("{} reads of a time zone repeat an earlier one", merged.counts());
        let why = format!("{program} calls time.LoadLocation each time, which keeps nothing.");
        let remedies = vec![helpers::by_hand(
            "Load each zone once, and keep the *time.Location",
            "A change of code; an update of the tz database is then seen only at the next start.",
        )];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
