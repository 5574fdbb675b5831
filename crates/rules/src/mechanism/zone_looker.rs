//! Who checks /etc/localtime: the C library, GLib, or the program itself.

use crate::View;
use crate::engine::Case;
use crate::mechanism::zone::{self, positions, sum};
use needless_model::{CallSite, Fact, ProcId, Query, Row, Runtime, Spawn};

/// Checks at a lower rate come from a watcher, or are not worth a change.
const RARE_PER_SECOND: f64 = 2.0;
/// The rate of a shorter burst says nothing.
const SHORT_NS: u64 = 5_000_000_000;
/// Where GLib looks for the zone's name if /etc/localtime is not a link: FreeBSD's file, Debian's.
const VAR_DB: &str = "/var/db/zoneinfo";
const TIMEZONE: &str = "/etc/timezone";

type Rows<'p> = Vec<(usize, &'p Row)>;

pub(crate) fn stat_ok(row: &Row) -> bool {
    row.query == Query::Stat && row.ok()
}

/// Who checks /etc/localtime.
pub(crate) enum Looker {
    /// The time functions of glibc, or what looks like them.
    Libc,
    /// The program, by its own call of stat: that is its purpose.
    Program,
    /// A watcher, or time functions that are called too rarely to matter.
    Rare,
    /// Not known: it is glibc on only a few kinds of machines.
    Unknown,
}

pub(crate) fn looker(
    view: &View<'_>,
    process: ProcId,
    read: bool,
    stats: &[(usize, &Row)],
) -> Looker {
    // A process that existed before the log began may have read the file earlier.
    let never_read = !read && view.born(view.image(process)) != Spawn::Seen;
    if never_read || view.process(process).runtime == Runtime::Go || called_by_hand(stats) {
        return Looker::Program;
    }
    let machine = &view.profile.host.machine;
    let is_64bit = view.process(process).is_64bit;
    let by_statx = stats.iter().all(|(_, r)| view.profile.call(r) == "statx");
    if by_statx && is_64bit != Some(false) && !statx_may_be_glibcs(machine) {
        let known = is_64bit == Some(true) || !machine.is_empty();
        return if known { Looker::Program } else { Looker::Unknown };
    }
    if !view.profile.facts.has(Fact::Clock) {
        return Looker::Libc;
    }
    let first = stats.iter().map(|(_, row)| row.first_ns).min().unwrap_or(0);
    let last = stats.iter().map(|(_, row)| row.last_ns).max().unwrap_or(0);
    let span = last.saturating_sub(first);
    let rare = span >= SHORT_NS && sum(stats) as f64 <= RARE_PER_SECOND * span as f64 / 1e9;
    if rare { Looker::Rare } else { Looker::Libc }
}

/// glibc asks by `statx` only where the kernel has no better call: 32-bit architectures (since
/// 2.34), MIPS and LoongArch. Where the machine is not known, it is taken for a usual one.
fn statx_may_be_glibcs(machine: &str) -> bool {
    let others = ["x86_64", "amd64", "aarch64", "arm64", "riscv64", "ppc64", "ppc64le", "s390x"];
    !machine.is_empty() && !others.contains(&machine)
}

/// Whether every sampled place in the program calls a function of the stat family itself.
fn called_by_hand(stats: &[(usize, &Row)]) -> bool {
    let mut sites = stats.iter().flat_map(|(_, row)| &row.sites).peekable();
    sites.peek().is_some() && sites.all(|(site, _)| is_by_hand(site))
}

fn is_by_hand(site: &CallSite) -> bool {
    let name = site.calls.as_deref().unwrap_or("").trim_start_matches("__");
    matches!(
        name.trim_end_matches("64").trim_end_matches("_time"),
        "stat" | "lstat" | "fstatat" | "xstat" | "lxstat" | "fxstatat" | "statx"
    )
}

/// How many of the checks the program makes itself, as far as the places of those that were sampled show it.
pub(crate) fn asked_by_hand(stats: &[(usize, &Row)]) -> u64 {
    let of_row = |row: &Row| {
        let weights = |own: bool| -> u64 {
            let sites = row.sites.iter().filter(|(site, _)| !own || is_by_hand(site));
            sites.map(|(_, weight)| weight).sum()
        };
        let share = u128::from(row.count) * u128::from(weights(true));
        share.div_ceil(u128::from(weights(false)).max(1)) as u64
    };
    stats.iter().map(|(_, row)| of_row(row)).sum()
}

/// GLib's own checks, once per call: the link, its target (or, if it is not a link, other places
/// that may hold the zone's name), and the directory of zones.
pub(crate) fn glib(
    view: &View<'_>,
    process: ProcId,
    rows: &[(usize, &Row)],
    dirs: &[(usize, &Row)],
) -> Option<Case> {
    let links: Rows<'_> =
        rows.iter().copied().filter(|(_, row)| row.query == Query::Readlink).collect();
    let dirs: Rows<'_> = dirs.iter().copied().filter(|(_, row)| stat_ok(row)).collect();
    let calls = sum(&links);
    if calls < 2 || sum(&dirs) < calls {
        return None;
    }
    let opens_of = |path: &str| -> Rows<'_> {
        let opens = |row: &Row| row.query == Query::Open && view.profile.path(row) == path;
        view.rows_of(process).filter(|(_, row)| opens(row)).collect()
    };
    let behind: Rows<'_> = view
        .rows_of(process)
        .filter(|(_, row)| row.query == Query::Lstat && row.ok())
        .filter(|(_, row)| zone::zone_name(view.profile.path(row)).is_some())
        .filter(|(_, row)| row.count.abs_diff(calls) <= 1)
        .take(1)
        .collect();
    let mut case = Case { process, needless: 0, of: 0, rows: Vec::new() };
    for kind in [&links, &behind, &dirs, &opens_of(VAR_DB), &opens_of(TIMEZONE)] {
        // GLib checks the directory twice the first time; both of these were needed.
        let asked = sum(kind);
        case.of += asked;
        case.needless += asked.min(calls).saturating_sub(1);
        case.rows.extend(positions(kind));
    }
    Some(case)
}
