//! What the rules about time zones share: facts about a process's zone, and which value of TZ to
//! advise.
//!
//! An IANA name is advised, and not `:/etc/localtime`: that value is the cheapest for glibc, but gives Java and Node a
//! fixed offset without summer time. It is offered only where every program seen uses glibc, and a name cannot be
//! found.

use crate::View;
use crate::engine::helpers;
use needless_localtime::{Zone as GlibcZone, posix_tz};
use needless_model::{Change, Libc, ProcId, Remedy, Row, Runtime, Safety, SystemZone};

/// The file that glibc reads where TZ is not set (`TZDEFAULT`).
pub(crate) const LOCALTIME: &str = "/etc/localtime";

/// Programs whose own schedule, or whose users' environment, depends on TZ.
const PASS_ON: [&str; 8] = ["systemd", "init", "cron", "crond", "atd", "sshd", "sudo", "login"];

/// How many calls these rows stand for.
pub(crate) fn sum(rows: &[(usize, &Row)]) -> u64 {
    rows.iter().map(|(_, row)| row.count).sum()
}

/// The positions of rows.
pub(crate) fn positions(rows: &[(usize, &Row)]) -> Vec<usize> {
    rows.iter().map(|(at, _)| *at).collect()
}

/// Whether TZ may be unset in the environment of `process`; `true` if that is not known.
pub(crate) fn tz_may_be_unset(view: &View<'_>, process: ProcId) -> bool {
    view.process(process).env.get("TZ").flatten().is_none()
}

/// Whether both causes of glibc's behaviour without TZ are known: glibc, and no TZ.
pub(crate) fn tz_known_unset(view: &View<'_>, process: ProcId) -> bool {
    view.process(process).env.is_unset("TZ") && matches!(view.libc(process), Libc::Glibc(_))
}

/// The zone facts that hold for `process`.
pub(crate) fn zone_of<'v>(view: &'v View<'_>, process: ProcId) -> Option<&'v SystemZone> {
    view.profile.host.zone_of(process, view.process(process).shares_root)
}

/// The name of a zone, as TZ has it: the part of a file's path below a `zoneinfo` directory. Go
/// puts two slashes before it.
pub(crate) fn zone_name(path: &str) -> Option<&str> {
    path.rsplit_once("/zoneinfo/").map(|(_, name)| name.trim_start_matches('/'))
}

/// Whether a TZ for which there is no file makes the times UTC, though its text does not say so. glibc
/// applies what it understands of a string with a mistake.
pub(crate) fn is_utc_by_mistake(value: &str) -> bool {
    if posix_tz(value).is_some() {
        return false;
    }
    let zone = GlibcZone::from_posix(value.as_bytes());
    // A day of each month: daylight saving of a string with a mistake may last nearly all year.
    (0..12).all(|month| zone.type_at(A_DAY + month * MONTH).is_some_and(|kind| kind.gmtoff == 0))
}

/// Noon of 15 January 2025.
pub(crate) const A_DAY: i64 = 1_736_942_400;
/// Seconds between a day of one month and a day of the next.
pub(crate) const MONTH: i64 = 30 * 86_400;

/// The change that ends the checks: TZ set to what /etc/localtime means now.
pub(crate) fn set_tz(view: &View<'_>, process: ProcId) -> Remedy {
    let program = view.process(process).name();
    let set = |value: Option<&str>, safety: Safety| Remedy {
        change: Change::SetEnv { variable: "TZ".to_owned(), value: value.map(str::to_owned) },
        safety,
    };
    let price = "Takes effect at the next start; from then on a change of the zone or of the tz \
                 database is seen only after a restart";
    let Some(zone) = zone_of(view, process) else {
        let safety = Safety::Caveat(format!(
            "{price}. The value is the name of the zone of the machine that {program} runs \
             on: what `readlink -f /etc/localtime` prints there after zoneinfo/, such as \
             Europe/Athens. Not a POSIX string such as EET-2EEST (UTC in Go, no daylight \
             saving in Java), and `:/etc/localtime` only if every program that inherits it \
             uses glibc (Java and Node lose daylight saving under it)."
        ));
        return set(None, safety);
    };
    // Names are looked up there.
    if let Some(elsewhere) = view.process(process).env.value("TZDIR").filter(|dir| !dir.is_empty())
    {
        let safety = Safety::Manual(format!(
            "TZDIR={elsewhere} says where zones are looked up: unset it first, or make sure that the zone of \
             this machine is there. {price}."
        ));
        return set(None, safety);
    }
    let how = &zone.how;
    let Some(name) = &zone.name else { return without_name(view, how, price) };
    let safety = if PASS_ON.contains(&program) {
        Safety::Manual(format!(
            "{program} passes TZ on to what it starts, or keeps a schedule by it: decide \
             whether all of that should have a fixed zone. {price}."
        ))
    } else {
        Safety::Caveat(format!(
            "{price}. Local times stay the same, checked for every change of the clocks from \
             1843 to 2200: {how}."
        ))
    };
    set(Some(name), safety)
}

/// The same where the zone has no name that could be advised; `how` says why.
fn without_name(view: &View<'_>, how: &str, price: &str) -> Remedy {
    if view.only_glibc() {
        let safety = Safety::Caveat(format!(
            "{price}. No zone name can be advised: {how}. This value is right for glibc, \
             and every program seen here uses it; Java, Node and Chromium lose daylight \
             saving under it, so set it for these programs only."
        ));
        return helpers::set("TZ", ":/etc/localtime", safety);
    }
    let others = if view.ids().any(|id| view.process(id).runtime != Runtime::Native) {
        "Java, Node or Go programs run here, which misread"
    } else {
        "not every program here is known to use glibc, and others may misread"
    };
    helpers::by_hand(
        "Set TZ to a name from /usr/share/zoneinfo that gives the times of /etc/localtime",
        &format!("No zone name can be advised: {how}; and {others} `:/etc/localtime`. {price}."),
    )
}
