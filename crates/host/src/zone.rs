//! The time zone of programs without `TZ` below a root directory, and the name to set instead.

use crate::Root;
use crate::tzif::{NotTzif, Tzif};
use needless_model::{SystemZone, ZoneFile};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::HashSet;
use std::io::ErrorKind;

const LOCALTIME: &str = "/etc/localtime";
const TIMEZONE: &str = "/etc/timezone";
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// Symbolic links followed by hand before giving up; the kernel's own limit is 40.
const LINKS: usize = 40;

/// Names taken from the tz database at most; it has about 600.
const NAMES: usize = 4000;

/// What `/etc/localtime` is below `root`, and the IANA name to recommend for `TZ` there.
///
/// The name comes from the link, else from the file with the same contents; it is given only where
/// `/usr/share/zoneinfo/NAME` below that root has the same local times as `/etc/localtime` at every transition from
/// 1843 to 2200. The one exception is `UTC`, which every runtime knows without a file.
pub fn read_zone(root: &Root) -> SystemZone {
    if let Err(why) = root.usable() {
        return unnamed(ZoneFile::NotAZone(why.to_string()), why.to_string(), false);
    }
    let tzdata = root.is_dir(ZONEINFO);
    let links = links(root);
    let local = match root.read(LOCALTIME) {
        Ok(bytes) => match Tzif::parse(bytes) {
            Ok(local) => local,
            Err(NotTzif::Damaged(why)) => return damaged(&why, tzdata),
            Err(what) => return not_a_zone(&links, &what.to_string(), tzdata),
        },
        Err(error) => return unreadable(&links, &error, tzdata),
    };
    let file = match links.first() {
        Some(text) => ZoneFile::Link(text.clone()),
        None => ZoneFile::Regular,
    };
    match name(root, &links, &local, tzdata) {
        Ok((name, how)) => {
            let how = how + &stale_timezone(root, &name, &local);
            SystemZone { file, name: Some(name), how, tzdata }
        }
        Err(why) => unnamed(file, why, tzdata),
    }
}

/// Whether the file `path` below `root` is a zone to every C library; `None` where that is not known.
pub fn is_zone(root: &Root, path: &str) -> Option<bool> {
    use ErrorKind::{IsADirectory, NotADirectory, NotFound};
    match root.read(path).map(Tzif::parse) {
        Ok(Ok(_)) => Some(true),
        Ok(Err(NotTzif::Empty | NotTzif::Other)) => Some(false),
        Ok(Err(NotTzif::Damaged(_))) => None,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory) => {
            Some(false)
        }
        Err(_) => None,
    }
}

/// The name and how it was found, or why there is none.
fn name(
    root: &Root,
    links: &[String],
    local: &Tzif,
    tzdata: bool,
) -> Result<(String, String), String> {
    if local.leap_seconds() {
        return Err(format!(
            "{LOCALTIME} counts leap seconds (a \"right/\" zone); under any plain name, times \
             would differ by those seconds"
        ));
    }
    let linked = links.iter().find_map(|text| Some((named_in(text)?, text)));
    if local.is_utc() {
        let how = match linked {
            Some((_, text)) => format!("{LOCALTIME} is a link to {text}"),
            None => format!("{LOCALTIME} is UTC at all times"),
        };
        return Ok(("UTC".into(), how));
    }
    if !tzdata {
        return Err(format!("there is no {ZONEINFO}, so no zone can be given by name"));
    }
    if let Some((name, text)) = linked
        && agrees(root, name, local)
    {
        return Ok((name.into(), format!("{LOCALTIME} is a link to {text}")));
    }
    if let Some(name) = timezone(root)
        && agrees(root, &name, local)
    {
        let how = format!("{LOCALTIME} gives the same times as {name}, which {TIMEZONE} names");
        return Ok((name, how));
    }
    match same_contents(root, local) {
        Some((name, true)) => {
            let how = format!("{LOCALTIME} has the same contents as {ZONEINFO}/{name}");
            Ok((name, how))
        }
        Some((name, false)) => {
            let how = format!(
                "{LOCALTIME} gives the same local times as {ZONEINFO}/{name} from 1843 to 2200"
            );
            Ok((name, how))
        }
        None => Err(format!(
            "no zone in {ZONEINFO} gives the same local times as {LOCALTIME} from 1843 to 2200"
        )),
    }
}

/// The texts of the symbolic links that `/etc/localtime` leads through, in order.
fn links(root: &Root) -> Vec<String> {
    let mut texts = Vec::new();
    let mut at = LOCALTIME.to_owned();
    while texts.len() < LINKS {
        let Ok(text) = root.read_link(&at) else { break };
        at = match at.rsplit_once('/') {
            // The kernel resolves "..": the directory before it may be a link itself.
            Some((dir, _)) if !text.starts_with('/') => format!("{dir}/{text}"),
            _ => text.clone(),
        };
        texts.push(text);
    }
    texts
}

/// The zone that a link's text names: what follows `zoneinfo/`, without `posix/`.
fn named_in(text: &str) -> Option<&str> {
    let (_, name) = text.rsplit_once("zoneinfo/")?;
    let name = name.strip_prefix("posix/").unwrap_or(name);
    is_name(name).then_some(name)
}

/// Whether `name` can be a zone's name: safe to put after `TZ=`, and not one of the database's files that are not a
/// zone of their own.
fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_+-".contains(c))
    };
    name.len() <= 64
        && name.split('/').all(part)
        && !["posix/", "right/"].iter().any(|p| name.starts_with(p))
        // "localtime" leads back to /etc/localtime, "posixrules" is a default for rules, "Factory" means that no zone
        // was chosen.
        && !["localtime", "posixrules", "Factory"].contains(&name)
}

/// Whether the zone `name` exists and has the same times.
fn agrees(root: &Root, name: &str, local: &Tzif) -> bool {
    let Ok(bytes) = root.read(&format!("{ZONEINFO}/{name}")) else { return false };
    Tzif::parse(bytes).is_ok_and(|zone| zone.same_times(local))
}

/// The name in `/etc/timezone`, which Debian keeps beside the link. It is always verified, since it stays when the
/// link is changed by hand.
fn timezone(root: &Root) -> Option<String> {
    let text = String::from_utf8(root.read(TIMEZONE).ok()?).ok()?;
    let name = text.lines().next()?.trim();
    is_name(name).then(|| name.to_owned())
}

/// A remark where `/etc/timezone` names another zone than the one found.
fn stale_timezone(root: &Root, name: &str, local: &Tzif) -> String {
    match timezone(root) {
        Some(other) if other != name && !agrees(root, &other, local) => {
            format!(" ({TIMEZONE} says {other}, which is another zone)")
        }
        _ => String::new(),
    }
}

/// The zone with the same bytes (`true`), else with the same times (`false`). With several, the one that the database
/// itself prefers.
fn same_contents(root: &Root, local: &Tzif) -> Option<(String, bool)> {
    let mut others = Vec::new();
    for name in names(root) {
        let Ok(bytes) = root.read(&format!("{ZONEINFO}/{name}")) else { continue };
        if bytes == local.bytes() {
            return Some((name, true));
        }
        others.push((name, bytes));
    }
    let same = |bytes: Vec<u8>| Tzif::parse(bytes).is_ok_and(|zone| zone.same_times(local));
    others.into_iter().find_map(|(name, bytes)| same(bytes).then_some((name, false)))
}

/// The names of the tz database below `root`, preferred ones first: those of zone1970.tab (one
/// for each set of clocks that agree since 1970), the zones of tzdata.zi and of zone.tab, then
/// whatever files there are, aliases included.
fn names(root: &Root) -> Vec<String> {
    let text = |file: &str| {
        let bytes = root.read(&format!("{ZONEINFO}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let table = |file: &str| -> Vec<String> {
        let rows = text(file);
        let rows = rows.lines().filter(|line| !line.starts_with('#'));
        rows.filter_map(|line| line.split('\t').nth(2)).map(str::to_owned).collect()
    };
    let mut all = table("zone1970.tab");
    let source = text("tzdata.zi");
    let zones = source.lines().filter_map(|line| line.strip_prefix("Z ")?.split(' ').next());
    all.extend(zones.map(str::to_owned));
    all.extend(table("zone.tab"));
    walk(root, "", &mut all);
    let mut seen = HashSet::new();
    all.retain(|name| is_name(name) && seen.insert(name.clone()));
    all
}

/// Adds every file below `ZONEINFO/prefix`.
fn walk(root: &Root, prefix: &str, names: &mut Vec<String>) {
    // Names have at most three parts (America/Argentina/Ushuaia).
    if prefix.matches('/').count() > 3 {
        return;
    }
    for (name, kind) in root.list(&format!("{ZONEINFO}/{prefix}")).unwrap_or_default() {
        if names.len() >= NAMES {
            return;
        }
        let path = format!("{prefix}{name}");
        match kind {
            FileType::Directory if path == "posix" || path == "right" => {}
            FileType::Directory => walk(root, &format!("{path}/"), names),
            _ => names.push(path),
        }
    }
}

/// `/etc/localtime` exists, but is not a zone: the C library then uses UTC.
fn not_a_zone(links: &[String], what: &str, tzdata: bool) -> SystemZone {
    let leads = links.first().map_or(String::new(), |text| format!("is a link to {text}, which "));
    let file = ZoneFile::NotAZone(format!("{leads}{what}"));
    let how = format!("{LOCALTIME} {leads}{what}, so programs run in UTC");
    SystemZone { file, name: Some("UTC".into()), how, tzdata }
}

/// `/etc/localtime` begins like a zone and is damaged.
fn damaged(why: &str, tzdata: bool) -> SystemZone {
    let what = NotTzif::Damaged(why.into()).to_string();
    let how = format!("{LOCALTIME} {what}; what a program makes of it depends on its C library");
    unnamed(ZoneFile::NotAZone(what), how, tzdata)
}

/// `/etc/localtime` could not be read.
fn unreadable(links: &[String], error: &std::io::Error, tzdata: bool) -> SystemZone {
    let errno = error.raw_os_error().unwrap_or(0);
    if error.kind() == ErrorKind::NotFound || errno == Errno::NOTDIR.raw_os_error() {
        let how = match links.first() {
            Some(text) => format!("{LOCALTIME} is a link to {text}, which is not there"),
            None => format!("{LOCALTIME} is missing"),
        };
        let how = how + ", so programs run in UTC";
        return SystemZone { file: ZoneFile::Missing, name: Some("UTC".into()), how, tzdata };
    }
    if errno == Errno::ISDIR.raw_os_error() {
        return not_a_zone(links, "is a directory", tzdata);
    }
    let why = format!("cannot be read ({error})");
    unnamed(ZoneFile::NotAZone(why.clone()), format!("{LOCALTIME} {why}"), tzdata)
}

fn unnamed(file: ZoneFile, why: String, tzdata: bool) -> SystemZone {
    SystemZone { file, name: None, how: why, tzdata }
}
