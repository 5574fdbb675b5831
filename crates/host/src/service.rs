//! Which service a process belongs to: the systemd unit, container, pod, login session or cron
//! its cgroup path names, else its executable. cgroups(7), proc_pid_cgroup(5).

mod container;
mod find;
mod hierarchy;
mod path_part;
mod pods;
#[cfg(test)]
mod tests;

pub use container::is_container_helper;
pub use find::{find_cgroup, find_container, find_unit};
pub use hierarchy::{cgroup_id, cgroup_mount, processes_of_cgroup};
pub use pods::Pods;

use path_part::PathPart;
use std::fmt;
use std::path::Path;

/// What kind of thing runs a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServiceKind {
    /// A unit of the host's service manager: systemd, or OpenRC with a cgroup for each service.
    Unit,
    /// A unit of a user's systemd (`user@UID.service`).
    UserUnit,
    /// A desktop application in a scope of its own (snap, flatpak).
    App,
    /// A login session.
    Session,
    /// A job of cron or at. Cron makes its environment, not the unit of cron's daemon.
    Cron,
    /// A container, with everything that runs in it.
    Container,
    /// A Kubernetes pod, or a container in it.
    Pod,
    /// A machine known to systemd-machined: systemd-nspawn, libvirt.
    Machine,
    /// None of the above: the executable, whoever started it.
    Executable,
    /// Neither the cgroup nor the executable shows it.
    Unknown,
}

/// What runs a process; the key by which a whole host is grouped. `Display` gives its name as
/// people write it: "nginx.service", "container 3f2a9c1b7d4e (docker)", "session 3 of user 1000".
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service {
    /// Its kind; of nested services (a unit in a container) that of the outermost.
    pub kind: ServiceKind,
    /// What distinguishes it from others of its kind, without control characters.
    pub name: String,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ServiceKind::App => "app ",
            ServiceKind::Session => "session ",
            ServiceKind::Container => "container ",
            ServiceKind::Pod => "pod ",
            ServiceKind::Machine => "machine ",
            ServiceKind::Unit
            | ServiceKind::UserUnit
            | ServiceKind::Cron
            | ServiceKind::Executable
            | ServiceKind::Unknown => "",
        };
        write!(f, "{kind}{}", self.name)
    }
}

impl ServiceKind {
    /// Whether its processes have the environment of a container's configuration.
    pub fn is_container(self) -> bool {
        matches!(self, ServiceKind::Container | ServiceKind::Pod)
    }
}

impl Service {
    fn new(kind: ServiceKind, name: impl Into<String>) -> Service {
        Service { kind, name: name.into() }
    }

    /// The service of the process whose `/proc/PID/cgroup`, read on the host, is `text`. `exe`:
    /// its executable, a path or a name; without it a process of cron's unit is taken for a job.
    ///
    /// With several hierarchies (cgroup v1, hybrid), the first that names a service counts: first `name=systemd`,
    /// then v2, then the longest path.
    pub fn of_cgroup(text: &str, exe: Option<&str>) -> Service {
        let mut lines: Vec<(&str, &str)> = text.lines().filter_map(controllers_and_path).collect();
        // A stable sort: of paths of one length the first line stays first.
        lines.sort_by_key(|(controllers, path)| match *controllers {
            "name=systemd" => (0, 0),
            "" => (1, 0),
            _ => (2, usize::MAX - path.len()),
        });
        let named = lines.iter().find_map(|(controllers, path)| match *controllers {
            // OpenRC's own v1 hierarchy holds one group for each service.
            "name=openrc" => named(&format!("/openrc.{}", path.trim_start_matches('/')), exe),
            _ => named(path, exe),
        });
        named.unwrap_or_else(|| of_executable(exe))
    }

    /// The same from one cgroup path, relative to the mount of the hierarchy.
    pub fn of_path(path: &str, exe: Option<&str>) -> Service {
        named(path, exe).unwrap_or_else(|| of_executable(exe))
    }

    /// The service of the running process `pid`. A login session that cron opened through PAM
    /// (Red Hat's crond does) counts as cron.
    ///
    /// # Errors
    /// When `/proc/PID/cgroup` cannot be read: `ENOENT` or `ESRCH` where the process has ended.
    pub fn of_pid(pid: u32) -> std::io::Result<Service> {
        let text = std::fs::read(format!("/proc/{pid}/cgroup"))?;
        // Without permission to follow the link, and for kernel threads, there is still a name; some ("kworker/0:1")
        // look like paths.
        let name = std::fs::read(format!("/proc/{pid}/comm")).ok();
        let name = name.as_deref().map(String::from_utf8_lossy);
        let name = name.as_deref().map(|name| name.trim_end_matches('\n'));
        let link = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let link = link.as_deref().map(Path::to_string_lossy);
        let exe = link.as_deref().or(name.filter(|name| !name.contains('/')));
        let found = Service::of_cgroup(&String::from_utf8_lossy(&text), exe);
        if let (ServiceKind::Unknown, Some(name)) = (found.kind, name) {
            return Ok(Service::new(ServiceKind::Executable, path_part::clean(name)));
        }
        if found.kind != ServiceKind::Session {
            return Ok(found);
        }
        let id = found.name.split(' ').next().unwrap_or_default();
        let opened = std::fs::read_to_string(format!("/run/systemd/sessions/{id}"));
        Ok(opened.ok().and_then(|session| of_session_file(&session)).unwrap_or(found))
    }
}

/// Controllers and path of a line `ID:CONTROLLERS:PATH`; the path may have colons.
fn controllers_and_path(line: &str) -> Option<(&str, &str)> {
    let mut parts = line.splitn(3, ':');
    let (_id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    // The kernel adds this where the group was removed and the process is not yet reaped.
    Some((controllers, path.strip_suffix(" (deleted)").unwrap_or(path)))
}

/// Cron, where the PAM service that opened the session is cron's: a file of systemd-logind, one
/// `KEY=value` in a line.
fn of_session_file(text: &str) -> Option<Service> {
    let service = text.lines().find_map(|line| line.strip_prefix("SERVICE="))?;
    path_part::launcher(service).map(|name| Service::new(ServiceKind::Cron, name))
}

fn of_executable(exe: Option<&str>) -> Service {
    match exe.map(path_part::base_name) {
        Some(name) if !name.is_empty() => {
            Service::new(ServiceKind::Executable, path_part::clean(name))
        }
        _ => Service::new(ServiceKind::Unknown, "unknown"),
    }
}

/// The service that a cgroup path names; `None` where no part of it is known. From the root to the leaf: each
/// container or machine starts a new service; otherwise the part nearest to the leaf counts.
fn named(path: &str, exe: Option<&str>) -> Option<Service> {
    let mut outer: Vec<Service> = Vec::new();
    let mut inner: Option<Service> = None;
    let mut user: Option<&str> = None;
    let mut manager: Option<&str> = None;
    // "..": the path is shown from a cgroup namespace that does not contain it.
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "..")).collect();
    for (at, part) in parts.iter().enumerate() {
        let above = if at > 0 { parts[at - 1] } else { "" };
        match PathPart::of(part, above, user) {
            None => {}
            Some(PathPart::User(uid)) => user = Some(uid),
            Some(PathPart::Manager(uid)) => {
                (user, manager) = (Some(uid), Some(uid));
                let unit = format!("user@{}.service", path_part::clean(uid));
                inner = Some(Service::new(ServiceKind::Unit, unit));
            }
            Some(PathPart::Inner(service)) => match manager {
                // The user's manager itself runs there.
                Some(_) if service.name == "init.scope" => {}
                Some(uid) if service.kind == ServiceKind::Unit => {
                    let name = format!("user@{} {}", path_part::clean(uid), service.name);
                    inner = Some(Service::new(ServiceKind::UserUnit, name));
                }
                _ => inner = Some(cron(service, exe)),
            },
            Some(PathPart::Outer(service)) => {
                outer.push(service);
                (inner, user, manager) = (None, None, None);
            }
            Some(PathPart::Container(container)) => {
                match outer.last_mut().filter(|last| last.kind == ServiceKind::Pod) {
                    Some(pod) => pod.name = format!("{}/{}", pod.name, container.in_pod()),
                    None => outer.push(container.alone()),
                }
                (inner, user, manager) = (None, None, None);
            }
        }
    }
    let mut chain = outer.into_iter().chain(inner);
    let mut service = chain.next()?;
    for nested in chain {
        service.name = format!("{}: {nested}", service.name);
    }
    Some(service)
}

/// A process in the unit of a cron daemon is the daemon only while it runs the daemon's program. Before the job is
/// executed, the process runs cron's own code in the unit's environment; after that it has the environment that cron
/// made.
fn cron(unit: Service, exe: Option<&str>) -> Service {
    let stem = unit.name.strip_suffix(".service");
    match stem.and_then(path_part::launcher) {
        Some(name) if exe.map(path_part::base_name).and_then(path_part::launcher).is_none() => {
            Service::new(ServiceKind::Cron, name)
        }
        _ => unit,
    }
}
