//! What one part of a cgroup path says: the names systemd and the container runtimes give.

use super::{Service, ServiceKind};

/// What one part of a path is.
#[derive(Debug)]
pub(super) enum Place<'a> {
    /// `user-UID.slice`: sessions below belong to this user.
    User(&'a str),
    /// `user@UID.service`: units below belong to this user's own systemd.
    Manager(&'a str),
    /// A unit, session or application.
    Inner(Service),
    /// Something with processes and service managers of its own inside.
    Outer(Service),
    /// A container by its ID: belongs to the pod above it, if there is one.
    Container(Container<'a>),
}

/// A container known by its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Container<'a> {
    /// All 64 digits.
    pub id: &'a str,
    /// The first twelve, as the runtimes print them.
    pub short: &'a str,
    /// "docker"; empty where the path does not tell.
    runtime: &'a str,
    /// Not the container but the process that watches over it, outside of it.
    pub monitor: bool,
}

impl Container<'_> {
    /// What follows the pod's name.
    pub(super) fn in_pod(&self) -> String {
        format!("container {}{}", self.short, if self.monitor { " (conmon)" } else { "" })
    }

    /// A container that is in no pod.
    pub(super) fn alone(&self) -> Service {
        let name = match self.runtime {
            "" => self.short.to_owned(),
            runtime => format!("{} ({runtime})", self.short),
        };
        Service::new(ServiceKind::Container, name)
    }
}

/// The kinds of unit that have a cgroup of their own with processes in it, systemd.unit(5).
const UNITS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];

impl<'a> Place<'a> {
    /// `above`: the part above it in the path. `user`: the user whose slice it is in.
    pub(super) fn of(part: &'a str, above: &'a str, user: Option<&'a str>) -> Option<Place<'a>> {
        if let Some(uid) = between(part, "user-", ".slice").filter(|uid| is_number(uid)) {
            return Some(Place::User(uid));
        }
        if let Some(uid) = between(part, "user@", ".service") {
            return Some(Place::Manager(uid));
        }
        if let Some(pod) = pod(part) {
            return Some(Place::Outer(pod));
        }
        if let Some(container) = container(part, above) {
            return Some(Place::Container(container));
        }
        if let Some(outer) = machine(part, above).or_else(|| lxc(part, above)) {
            return Some(Place::Outer(outer));
        }
        inner(part, user).map(Place::Inner)
    }
}

/// `kubepods-burstable-podUID.slice`, `podUID` below one of the quality classes, and
/// `kubepods-podUID.slice:cri-containerd:ID`, which containerd makes of a systemd path where its
/// own driver is cgroupfs.
fn pod(part: &str) -> Option<Service> {
    let (slice, container) = match part.split_once(".slice:") {
        Some((slice, rest)) => (Some(slice), rest.rsplit(':').next()),
        None => (part.strip_suffix(".slice"), None),
    };
    let uid = match slice.filter(|slice| slice.contains("kubepods")) {
        Some(slice) => slice.rsplit_once("-pod").filter(|(_, uid)| !uid.is_empty())?.1,
        None => part.strip_prefix("pod").filter(|uid| is_uid(uid))?,
    };
    // A systemd name has dashes only between slices.
    let uid = clean(&uid.replace('_', "-"));
    let name = match container.filter(|id| is_id(id)) {
        Some(id) => format!("{uid}/container {}", &id[..12]),
        None => uid,
    };
    Some(Service::new(ServiceKind::Pod, name))
}

/// A UUID, or the 32 digits of a static pod's.
fn is_uid(text: &str) -> bool {
    (32..=36).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// The container of `RUNTIME-ID.scope`, `RUNTIME-ID` or a bare ID.
pub(super) fn container<'a>(part: &'a str, above: &'a str) -> Option<Container<'a>> {
    let stem = part.strip_suffix(".scope").unwrap_or(part);
    let (prefix, id) = stem.rsplit_once('-').unwrap_or(("", stem));
    if !is_id(id) {
        return None;
    }
    let runtime = match if prefix.is_empty() { above } else { prefix } {
        "docker" => "docker",
        "libpod" | "libpod-payload" | "libpod_parent" => "podman",
        "libpod-conmon" => "podman conmon",
        "cri-containerd" => "containerd",
        "crio" => "cri-o",
        "crio-conmon" => "cri-o conmon",
        _ => prefix,
    };
    Some(Container { id, short: &id[..12], runtime, monitor: prefix.ends_with("-conmon") })
}

/// The 64 hexadecimal digits every runtime of the Open Container Initiative gives.
fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// `machine-NAME.scope`, and the payload of `systemd-nspawn@NAME.service`.
fn machine(part: &str, above: &str) -> Option<Service> {
    let name = match between(part, "machine-", ".scope") {
        Some(name) => name,
        None if part == "payload" => between(above, "systemd-nspawn@", ".service")?,
        None => return None,
    };
    Some(Service::new(ServiceKind::Machine, clean(name)))
}

/// `lxc.payload.NAME`, `lxc.monitor.NAME`, and `/lxc/NAME` of older versions.
fn lxc(part: &str, above: &str) -> Option<Service> {
    let (name, runtime) = if let Some(name) = part.strip_prefix("lxc.payload.") {
        (name, "lxc")
    } else if let Some(name) = part.strip_prefix("lxc.monitor.") {
        (name, "lxc monitor")
    } else {
        (Some(part).filter(|_| above == "lxc")?, "lxc")
    };
    Some(Service::new(ServiceKind::Container, format!("{} ({runtime})", clean(name))))
}

/// The name by which `find_container` finds what has no ID: of lxc and machines.
pub(super) fn plain_name<'a>(part: &'a str, above: &'a str) -> Option<&'a str> {
    part.strip_prefix("lxc.payload.")
        .or_else(|| between(part, "machine-", ".scope"))
        .or_else(|| between(above, "systemd-nspawn@", ".service").filter(|_| part == "payload"))
        .or_else(|| Some(part).filter(|_| above == "lxc"))
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

/// The application of a scope that snap or flatpak made. What follows its name tells one start
/// from the next: a UUID, a process ID.
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

/// What a job of the daemon called `name` is called; `None` where that is no cron or at.
pub(super) fn launcher(name: &str) -> Option<&'static str> {
    match name {
        "cron" | "crond" | "cronie" | "fcron" | "anacron" => Some("cron"),
        "atd" => Some("at"),
        _ => None,
    }
}

/// The last part of an executable's path, without the kernel's word for a removed file.
pub(super) fn base_name(exe: &str) -> &str {
    let exe = exe.strip_suffix(" (deleted)").unwrap_or(exe);
    exe.rsplit('/').next().unwrap_or(exe)
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix(end).filter(|middle| !middle.is_empty())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A name for people: systemd's `\x2d` undone, and nothing in it that a terminal would obey.
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

/// `\xHH` as the byte it stands for; `None` where that is no text.
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
