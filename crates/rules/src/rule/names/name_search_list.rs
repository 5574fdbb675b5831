//! ## What it finds
//!
//! Programs that look up full names such as `api.example.com`, while the resolver asks for
//! `api.example.com.svc.cluster.local` and others first.
//!
//! ## Why it happens
//!
//! `ndots:5` in /etc/resolv.conf, which Kubernetes writes, makes the resolver try every name with
//! fewer than five dots with each domain of the list before it tries the name as it is. With four
//! domains that is five queries for each look-up, and the program waits for the answer to each.
//!
//! ## Example
//!
//! ```trace
//! env -RES_OPTIONS
//! libc glibc 2.36
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! openat(AT_FDCWD, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3
//! connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.96.0.10")}, 16) = 0
//! connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.96.0.10")}, 16) = 0
//! connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.96.0.10")}, 16) = 0
//! connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.96.0.10")}, 16) = 0
//! connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.96.0.10")}, 16) = 0
//! end
//! ```
//! ```finding
//! name-search-list: 80 of 100
//! stage explained
//! set RES_OPTIONS=ndots:1
//! ```
//!
//! ## Not a finding
//!
//! One query for each look-up:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 100
//! openat(AT_FDCWD, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3
//! connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.96.0.10")}, 16) = 0
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set RES_OPTIONS=ndots:1, or `dnsConfig` with `ndots: "1"` in the pod, or write a dot at the end
//! of the name. Short names of services with a dot in them (`db.other-namespace`) are then first
//! tried as they are, and found one query later. Do not do this if such a name could also exist
//! outside: the program would then reach that one.
//!
//! ## References
//!
//! * `man 5 resolv.conf`, ndots
//! * <https://github.com/kubernetes/kubernetes/issues/14051>

use crate::engine::Case;
use crate::engine::details;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Fact, Libc, Process, Query, Remedy, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "name-search-list",
    summary: "Names are first looked up with each domain of a search list added, and not found",
    needs: &[Fact::Details, Fact::Paths, Fact::Outcomes],
    variables: &["RES_OPTIONS"],
    ..Rule::PLAIN
};

/// A few look-ups are not worth a change.
const FEWEST_QUERIES: u64 = 20;
/// What glibc does for each query besides the connection: it makes a socket, sets an option and closes
/// it, and, for both kinds of address, sends a message, waits three times, asks for two lengths and
/// reads two answers.
const MORE_PER_QUERY: u64 = 11;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let rows = details::rows_of(view, id, ArgClass::NameServer);
        let queries: u64 = rows.iter().map(|(_, row)| row.count).sum();
        let hosts = |row: &Row| row.query == Query::Open && view.profile.path(row) == "/etc/hosts";
        let names = view.rows_of(id).filter(|(_, row)| hosts(row) && row.ok());
        let names: u64 = names.map(|(_, row)| row.count).sum();
        // With a search list there are at least three queries for a name: two servers that are
        // asked in turn make two.
        if names > 0 && queries >= FEWEST_QUERIES && queries >= 3 * names {
            let rows = rows.into_iter().map(|(at, _)| at).collect();
            cases.push(Case { process: id, needless: queries - names, of: queries, rows });
        }
    }
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let first = view.process(cases[0].process);
        let glibc = matches!(view.libc(cases[0].process), Libc::Glibc(_));
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} queries ask name servers for names that do not exist",
            number(merged.needless)
        );
        let why = format!(
            "{program} looks up full names, and the resolver tries them with each domain of its search \
             list first ({} queries for {} names).",
            number(merged.of),
            number(merged.of - merged.needless),
        );
        let remedies = vec![remedy(first)];
        let stage = if glibc { Stage::Explained } else { Stage::Seen };
        let besides = (merged.needless * MORE_PER_QUERY) as i64;
        let finding = helpers::finding(merged, RULE.name, stage, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// Adds an option to those that the process has.
pub(crate) fn remedy(process: &Process) -> Remedy {
    let price = "Short names with a dot in them (db.other-namespace) are then tried as they are first, \
                 and found one query later.";
    helpers::add(process, "RES_OPTIONS", "ndots:1", price)
}
