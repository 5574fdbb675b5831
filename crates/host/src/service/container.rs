//! How a container, pod or machine is recognised: by a part of a cgroup path, or by the program that watches over it.
//! All other code asks here.

use super::path_part::{between, clean};
use super::{Service, ServiceKind};

/// A container known by its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Container<'a> {
    /// All 64 digits.
    pub id: &'a str,
    /// The first twelve, as the runtimes print them.
    pub short: &'a str,
    /// "docker"; empty where the path does not show it.
    runtime: &'a str,
    /// Whether it is the process that watches over the container from outside.
    pub monitor: bool,
}

impl Container<'_> {
    /// The text after the pod's name.
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

/// `kubepods-burstable-podUID.slice`, `podUID` below one of the quality classes, and
/// `kubepods-podUID.slice:cri-containerd:ID`, which containerd makes of a systemd path where its
/// own driver is cgroupfs.
pub(super) fn pod(part: &str) -> Option<Service> {
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
pub(super) fn is_uid(text: &str) -> bool {
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
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// `machine-NAME.scope`, and the payload of `systemd-nspawn@NAME.service`.
pub(super) fn machine(part: &str, above: &str) -> Option<Service> {
    let name = match between(part, "machine-", ".scope") {
        Some(name) => name,
        None if part == "payload" => between(above, "systemd-nspawn@", ".service")?,
        None => return None,
    };
    Some(Service::new(ServiceKind::Machine, clean(name)))
}

/// `lxc.payload.NAME`, `lxc.monitor.NAME`, and `/lxc/NAME` of older versions.
pub(super) fn lxc(part: &str, above: &str) -> Option<Service> {
    let (name, runtime) = if let Some(name) = part.strip_prefix("lxc.payload.") {
        (name, "lxc")
    } else if let Some(name) = part.strip_prefix("lxc.monitor.") {
        (name, "lxc monitor")
    } else {
        (Some(part).filter(|_| above == "lxc")?, "lxc")
    };
    Some(Service::new(ServiceKind::Container, format!("{} ({runtime})", clean(name))))
}

/// The name of an lxc container or a machine, which have no ID.
fn plain_name<'a>(part: &'a str, above: &'a str) -> Option<&'a str> {
    part.strip_prefix("lxc.payload.")
        .or_else(|| between(part, "machine-", ".scope"))
        .or_else(|| between(above, "systemd-nspawn@", ".service").filter(|_| part == "payload"))
        .or_else(|| Some(part).filter(|_| above == "lxc"))
}

/// Whether a program called `name` (its executable's file name) starts the first process of containers or watches
/// over it from the host: its children have the environment of the container's configuration.
pub fn is_container_helper(name: &str) -> bool {
    matches!(name, "conmon" | "tini" | "docker-init") || name.starts_with("containerd-shim")
}

/// The ID, or else the name, under which users know the running container whose cgroup directory is `part` below
/// `above`; and whether it is an ID. `None` for anything else, and for the process that watches over a container.
pub(super) fn container_key(part: &str, above: &str) -> Option<(String, bool)> {
    // containerd's `SLICE:cri-containerd:ID` ends with the ID.
    let last = part.rsplit(':').next().unwrap_or(part);
    match container(last, above) {
        Some(container) => (!container.monitor).then(|| (container.id.to_owned(), true)),
        None => plain_name(part, above).map(|name| (clean(name), false)),
    }
}
