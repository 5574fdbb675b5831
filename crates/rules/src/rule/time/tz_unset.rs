//! ## What it finds
//!
//! A program that checks `/etc/localtime` each time it converts a time (by `stat`, `newfstatat` or
//! `statx`, whichever the architecture has), because the variable TZ is not set.
//!
//! ## Why it happens
//!
//! POSIX requires that `localtime()`, `mktime()` and `tzset()` act as if the time zone were set
//! again at each call. With TZ set, glibc compares the text with the last one and is done. With TZ
//! unset it asks the kernel at every call after the first whether `/etc/localtime` has changed
//! (glibc 2.7 and later; `mktime` and `tzset` since 2.3.4). `localtime_r()` does not ask. musl
//! reads the file once and never asks.
//!
//! bash (`printf '%(…)T'`, `\t` in the prompt) and Perl (`POSIX::strftime`, `POSIX::mktime`) ask
//! twice per conversion. GLib makes its own checks: at every call `g_date_time_new_now_local()`
//! reads the link `/etc/localtime` and checks the file behind it and `/usr/share/zoneinfo`.
//!
//! ## Example
//!
//! Ten times `localtime()`: the first reads the file, the other nine ask whether it has changed.
//!
//! ```trace
//! env -TZ
//! zone link Europe/Athens
//! execve("./test", ["./test"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x9
//! site main+0xc3: call localtime@plt
//! ```
//! ```finding
//! tz-unset: 9 of 10
//! stage explained
//! set TZ=Europe/Athens
//! ```
//!
//! A program that also asks by itself: of the checks only those of the time functions go.
//!
//! ```trace
//! env -TZ
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x500
//! site main+0xc3: call localtime@plt
//! site look+0x91c: call stat64@plt
//! ```
//! ```finding
//! tz-unset: 250 of 251
//! stage seen
//! set TZ
//! ```
//!
//! The same from a log that shows neither the environment nor the machine nor stacks: it is found,
//! but the value to set has to be looked up, and the program itself may make the calls, as Python
//! does with `os.stat("/etc/localtime")`.
//!
//! ```trace
//! execve("./test", ["./test"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! open("/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! stat("/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}) = 0 x9
//! ```
//! ```finding
//! tz-unset: 9 of 10
//! stage seen
//! set TZ
//! ```
//!
//! GLib, which gets the current local time ten times:
//!
//! ```trace
//! env -TZ
//! execve("/usr/bin/panel", ["panel"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY) = 3
//! readlink("/etc/localtime", "/usr/share/zoneinfo/Europe/Athens", 256) = 33 x10
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athens", {st_mode=S_IFREG|0644, ...}, AT_SYMLINK_NOFOLLOW) = 0 x10
//! newfstatat(AT_FDCWD, "/usr/share/zoneinfo", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0 x10
//! ```
//! ```finding
//! tz-unset: 27 of 30
//! set TZ
//! ```
//!
//! ## Not a finding
//!
//! With TZ set, glibc asks nothing after the first reading, and musl never asks twice:
//!
//! ```trace
//! env TZ=Europe/Athens
//! execve("./test", ["./test"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/zoneinfo/Europe/Athens", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A zone that really changed is read again, and that check was needed:
//!
//! ```trace
//! env -TZ
//! execve("./clock", ["./clock"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x6
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3 x5
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that watches the file without ever reading it, here by its own call of `stat`:
//!
//! ```trace
//! env -TZ
//! execve("/usr/bin/zone-watch", ["zone-watch"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x5000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The same holds for a program that did convert a time, if stacks show that it calls `stat`
//! itself:
//!
//! ```trace
//! env -TZ
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x500
//! site os_stat+0x91c: call fstatat@plt
//! ```
//! ```finding
//! nothing
//! ```
//!
//! `statx` in a 64-bit program on x86-64 is never glibc's: this is a library that checks once in a while by itself.
//!
//! ```trace
//! env -TZ
//! machine x86_64
//! execve("/usr/bin/rusty", ["rusty"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! statx(AT_FDCWD, "/etc/localtime", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, ...}) = 0 x100
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Checks are also not a finding if they come less than twice a second over five seconds or more (a
//! watcher, or too few to matter), or if they come from a place in the program that calls `stat`
//! itself.
//!
//! If only some of the sampled places call `stat`, their share of the checks is left out, and the rest is *seen*, because
//! samples are an estimate.
//!
//! ## Fix and caveat
//!
//! Set TZ to the *name* of the zone (`TZ=Europe/Athens`), which every language runtime understands
//! except PHP's, which has a setting of its own. The program then sees a change of the zone, or an
//! update of the tz database, only when it is restarted. Do not use `TZ=:/etc/localtime` if Java or
//! Node may inherit it: they take it for a fixed offset and lose daylight saving. Never use a POSIX
//! string: Go takes it for UTC.
//!
//! If the program must see a change of the zone without a restart: `needless preload -- COMMAND`
//! runs it with a library that spares `localtime`, `ctime` and `tzset` all checks but one a second.
//! It costs each start of a program some 40 µs, so it is for a service and not for a whole system.
//! It needs a program linked dynamically with glibc.
//!
//! In a program of your own: call `tzset()` once and `localtime_r()` afterwards.
//!
//! ## References
//!
//! * `man 3 tzset`, `man 3 localtime`
//! * POSIX.1-2024, `localtime()`, `tzset()`; glibc, `time/tzset.c`
//! * <https://sourceware.org/bugzilla/show_bug.cgi?id=5186>: why glibc checks the file
//! * <https://blog.packagecloud.io/set-environment-variable-save-thousands-of-system-calls/>
//! * <https://github.com/luanti-org/luanti/issues/12079>: a program that was hit
//! * <https://github.com/nodejs/node/issues/37271>: what Node makes of `:/etc/localtime`

use crate::engine::{Case, merge};
use crate::mechanism::zone::{self, LOCALTIME, positions, sum};
use crate::mechanism::zone_looker::{Looker, asked_by_hand, glib, looker, stat_ok};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{
    Change, Fact, Finding, Libc, ProcId, Query, Remedy, Row, Runtime, Safety, Stage,
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RULE: Rule = Rule {
    name: "tz-unset",
    summary: "TZ is not set, so each time conversion asks whether /etc/localtime has changed",
    variables: &["TZ"],
    ..Rule::PLAIN
};

const ZONEINFO: &str = "/usr/share/zoneinfo";
type Rows<'p> = Vec<(usize, &'p Row)>;

/// What is in one finding: its cases, the processes that read the zone for them, and how many checks are the programs' own.
type Group = (Vec<Case>, BTreeSet<ProcId>, u64);

/// What makes one finding: the program, whether GLib makes the checks, and the zone to advise.
type GroupKey<'p> = (Option<&'p str>, bool, Option<&'p str>);

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let zoneinfo = view.rows_at(ZONEINFO);
    let localtime = view.rows_at(LOCALTIME);
    let reads = |id| localtime.get(&id).is_some_and(|rows| opens_ok(rows) > 0);
    let mut groups: BTreeMap<GroupKey<'_>, Group> = BTreeMap::new();
    for (&process, rows) in &localtime {
        if !zone::tz_may_be_unset(view, process) || *view.libc(process) == Libc::Musl {
            continue;
        }
        let dirs = zoneinfo.get(&process).map_or(&[][..], Vec::as_slice);
        let glib = glib(view, process, rows, dirs);
        let stats: Rows<'_> = rows.iter().copied().filter(|(_, row)| stat_ok(row)).collect();
        let mut case = Case { process, needless: 0, of: 0, rows: Vec::new() };
        if let Some(glib) = &glib {
            case.needless += glib.needless;
            case.of += glib.of;
            case.rows.extend(&glib.rows);
        }
        // A forked child goes on with what its parent read.
        let reader = view.lineage(process).skip(1).find(|up| reads(*up));
        let mut own = 0;
        if !stats.is_empty() {
            let read = reader.is_some() || reads(process);
            match looker(view, process, read, &stats) {
                Looker::Program | Looker::Rare => sink.explain(&positions(&stats)),
                Looker::Unknown => {
                    sink.explain(&positions(&stats));
                    sink.lack(RULE.name, Fact::CallSites);
                }
                Looker::Libc => {
                    // GLib reads the file once for itself.
                    let loads = u64::from(reader.is_none()) + u64::from(glib.is_some());
                    own = asked_by_hand(&stats);
                    add_stats(&mut case, opens_ok(rows), loads, own, &stats);
                }
            }
        }
        if case.needless > 0 {
            let exe = view.process(process).exe.as_deref();
            let zone = zone::zone_of(view, process).and_then(|z| z.name.as_deref());
            let group = groups.entry((exe, glib.is_some(), zone)).or_default();
            group.0.push(case);
            group.1.extend(reader);
            group.2 += own;
        }
    }
    for ((_, glib, _), (mut cases, readers, own)) in groups {
        // The first reading of a parent that did nothing else counts as its children's.
        let asks: BTreeSet<ProcId> = cases.iter().map(|case| case.process).collect();
        cases[0].of += readers.difference(&asks).count() as u64;
        sink.find(finding(view, cases, glib, own));
    }
}

fn opens_ok(rows: &[(usize, &Row)]) -> u64 {
    rows.iter().filter(|(_, row)| row.query == Query::Open && row.ok()).map(|(_, r)| r.count).sum()
}

/// Counts what glibc asked: its stats, except those after which the file was read again, and `own` ones of the program.
fn add_stats(case: &mut Case, opens: u64, most_loads: u64, own: u64, stats: &[(usize, &Row)]) {
    let loads = opens.min(most_loads);
    let asked = sum(stats).saturating_sub(own);
    case.needless += asked.saturating_sub(opens - loads);
    case.of += asked + loads;
    case.rows.extend(positions(stats));
}

fn finding(view: &View<'_>, cases: Vec<Case>, glib: bool, own: u64) -> Finding {
    let merged = merge(view.profile, cases);
    let first = merged.processes[0];
    let explained = merged.processes.iter().all(|p| zone::tz_known_unset(view, *p));
    let known = KNOWN.iter().find(|(program, ..)| *program == view.process(first).name());
    let blind = !glib && known.is_none() && !view.profile.facts.has(Fact::CallSites);
    let explained = explained && !blind && own == 0;
    let (needless, of) = (number(merged.needless), number(merged.of));
    let looks = format!("{needless} of {of} looks at the time zone find it unchanged");
    let (what, why) = match known {
        _ if glib => (looks + ": several per conversion", GLIB.to_owned()),
        Some((_, often, how)) => (format!("{looks}: {often}"), format!("{WHY} {how}")),
        // Without stacks, a program's own check looks like one of libc.
        None if blind => (
            format!("{needless} of {of} times /etc/localtime is asked about, it is unchanged"),
            format!("{WHY} {BLIND}"),
        ),
        None => {
            (format!("{needless} of {of} time conversions stat /etc/localtime"), WHY.to_owned())
        }
    };
    let mut set = zone::set_tz(view, first);
    if blind {
        let sentence = format!(
            "Only if the program converts times: TZ does not end checks that it makes by itself. {}",
            set.safety.sentence()
        );
        set.safety = match set.safety {
            Safety::Manual(_) => Safety::Manual(sentence),
            _ => Safety::Caveat(sentence),
        };
    }
    let mut remedies = vec![set];
    remedies.extend(preload(view, &merged.processes, glib));
    remedies.extend(by_hand(view.process(first).name(), glib));
    Finding {
        stage: if explained { Stage::Explained } else { Stage::Seen },
        what,
        why: why + &about_own(own),
        remedies,
        ..merged.finding(RULE.name)
    }
}

/// A sentence on checks that the program makes by itself.
fn about_own(own: u64) -> String {
    if own == 0 {
        return String::new();
    }
    format!(
        " The program also asks by itself, about {} times by the call sites that were sampled: these are not \
         counted here.",
        number(own)
    )
}

const WHY: &str = "TZ is not set, so glibc's localtime(), mktime() and tzset() ask at every call \
                   after the first whether /etc/localtime has changed.";
const GLIB: &str = "TZ is not set, so GLib's g_date_time_new_now_local() and g_time_zone_new_local() find \
                    out again at every call what /etc/localtime is and where the zones are. The calls are \
                    GLib's own: a preload library for localtime() does not help.";
const BLIND: &str = "Or the program itself asks: it is not known where the calls come from (a log shows it with \
                     strace -k).";
/// Programs of which is known how often each conversion asks, and why; after [`WHY`].
const KNOWN: [(&str, &str, &str); 2] = [
    (
        "bash",
        "two for each time that bash prints",
        "bash's printf '%(…)T' and \\t in its prompt ask twice.",
    ),
    (
        "perl",
        "one to three for each time that Perl converts",
        "Perl calls tzset() before each localtime(), and POSIX::strftime and POSIX::mktime ask twice.",
    ),
];

/// The preload library, if the processes can load it.
pub(crate) fn preload(view: &View<'_>, processes: &[ProcId], glib: bool) -> Option<Remedy> {
    let takes_it = |id: &ProcId| {
        let process = view.process(*id);
        *view.libc(*id) != Libc::Static
            && process.secure != Some(true)
            && process.runtime == Runtime::Native
    };
    (!glib && processes.iter().all(takes_it)).then(|| Remedy {
        change: Change::Preload,
        safety: Safety::Caveat(
            "Use this where a new zone must be seen without a restart: it is seen within a second. The library costs each \
             program started under it some 40 µs: it is for a service, not for a whole system. It cannot help \
             static and set-user-ID programs, and it spares localtime(), ctime() and tzset() the question, not mktime()."
                .to_owned(),
        ),
    })
}

/// What the owner of the code can do. Nothing for interpreters: their code is not the user's.
fn by_hand(program: &str, glib: bool) -> Option<Remedy> {
    if glib {
        return Some(Remedy {
            change: Change::Manual(
                "In the program: keep one GTimeZone of g_time_zone_new_local() and pass it to \
                 g_date_time_new_now()"
                    .to_owned(),
            ),
            safety: Safety::Manual(
                "A change of code; the zone is then read again when the program says so."
                    .to_owned(),
            ),
        });
    }
    let interpreter = ["bash", "perl", "ruby", "gawk", "mawk", "busybox", "lua"].contains(&program)
        || program.starts_with("python");
    (!interpreter).then(|| Remedy {
        change: Change::Manual(
            "In the program: call tzset() once, then localtime_r() instead of localtime()"
                .to_owned(),
        ),
        safety: Safety::Manual(
            "A change of code; mktime() has no such twin. The zone is then seen as of the last \
             tzset()."
                .to_owned(),
        ),
    })
}
