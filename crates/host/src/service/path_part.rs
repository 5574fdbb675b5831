//! What one part of a cgroup path means: the names that systemd and the container runtimes use.

use super::container::{Container, container, is_uid, lxc, machine, pod};
use super::{Service, ServiceKind};

/// What one part of a path is.
#[derive(Debug)]
pub(super) enum PathPart<'a> {
    /// `user-UID.slice`: sessions below belong to this user.
    User(&'a str),
    /// `user@UID.service`: units below belong to this user's own systemd.
    Manager(&'a str),
    /// A unit, session or application.
    Inner(Service),
    /// A container, pod or machine: it has processes and service managers of its own.
    Outer(Service),
    /// A container by its ID: belongs to the pod above it, if there is one.
    Container(Container<'a>),
}

/// The kinds of unit that have a cgroup of their own with processes in it, systemd.unit(5).
const UNITS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];

impl<'a> PathPart<'a> {
    /// `above`: the part above it in the path. `user`: the user whose slice it is in.
    pub(super) fn of(part: &'a str, above: &'a str, user: Option<&'a str>) -> Option<PathPart<'a>> {
        if let Some(uid) = between(part, "user-", ".slice").filter(|uid| is_number(uid)) {
            return Some(PathPart::User(uid));
        }
        if let Some(uid) = between(part, "user@", ".service") {
            return Some(PathPart::Manager(uid));
        }
        if let Some(pod) = pod(part) {
            return Some(PathPart::Outer(pod));
        }
        if let Some(container) = container(part, above) {
            return Some(PathPart::Container(container));
        }
        if let Some(outer) = machine(part, above).or_else(|| lxc(part, above)) {
            return Some(PathPart::Outer(outer));
        }
        inner(part, user).map(PathPart::Inner)
    }
}

fn inner(part: &str, user: Option<&str>) -> Option<Service> {
    if let Some(name) = part.strip_prefix("openrc.").filter(|name| !name.is_empty()) {
        return Some(Service::new(ServiceKind::Unit, format!("{} (openrc)", clean(name))));
    }
    if !is_unit(part) {
        return None;
    }
    let of_user = |what: String| match user {
        Some(uid) => format!("{what} of user {uid}"),
        None => what,
    };
    if let Some(id) = between(part, "session-", ".scope") {
        return Some(Service::new(ServiceKind::Session, of_user(clean(id))));
    }
    if let Some(app) = app(part) {
        return Some(Service::new(ServiceKind::App, of_user(app)));
    }
    Some(Service::new(ServiceKind::Unit, clean(part)))
}

/// The application of a scope that snap or flatpak made. After its name comes what distinguishes one start from the
/// next: a UUID, a process ID.
fn app(part: &str) -> Option<String> {
    if let Some(rest) = between(part, "snap.", ".scope") {
        let uuid = rest.len().checked_sub(37).filter(|at| rest.is_char_boundary(*at));
        let name = match uuid.map(|at| rest.split_at(at)) {
            Some((name, tail)) if tail.starts_with(['-', '.']) && is_uid(&tail[1..]) => name,
            _ => rest,
        };
        return Some(format!("{} (snap)", clean(name)));
    }
    let rest = between(part, "app-flatpak-", ".scope")?;
    let name = rest.rsplit_once('-').filter(|(_, pid)| is_number(pid)).map_or(rest, |(n, _)| n);
    Some(format!("{} (flatpak)", clean(name)))
}

/// Whether `name` ends as a unit with processes of its own does.
pub(super) fn is_unit(name: &str) -> bool {
    UNITS.iter().any(|suffix| name.strip_suffix(suffix).is_some_and(|stem| !stem.is_empty()))
}

/// The name for jobs of the daemon `name`; `None` where that is neither cron nor at.
pub(super) fn launcher(name: &str) -> Option<&'static str> {
    match name {
        "cron" | "crond" | "cronie" | "fcron" | "anacron" => Some("cron"),
        "atd" => Some("at"),
        _ => None,
    }
}

/// The last part of an executable's path, without the kernel's mark for a removed file.
pub(super) fn base_name(exe: &str) -> &str {
    let exe = exe.strip_suffix(" (deleted)").unwrap_or(exe);
    exe.rsplit('/').next().unwrap_or(exe)
}

pub(super) fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix(end).filter(|middle| !middle.is_empty())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A name to print: systemd's `\x2d` undone, and nothing in it that a terminal would interpret.
pub(super) fn clean(name: &str) -> String {
    let plain = unescape(name).filter(|plain| !plain.contains(char::is_control));
    let shown = plain.unwrap_or_else(|| name.to_owned());
    let mut clean = String::with_capacity(shown.len());
    for c in shown.chars() {
        if c.is_control() {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean
}

/// `\xHH` as the byte it stands for; `None` where the result is not UTF-8.
fn unescape(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}
