//! The names of pods: a control group has only the pod's UID and the container's ID, and both are others after each
//! rollout.
//!
//! The kubelet writes the names into the file system of its node, whatever the runtime is: a directory
//! `/var/log/pods/NAMESPACE_POD_UID` for each pod, and a link `/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log` for each
//! container that has logged (Kubernetes 1.14 and newer, pkg/kubelet/kuberuntime/logs). Neither the API server nor the
//! runtime's socket is asked.

use super::container::{is_id, is_uid};
use super::{Service, ServiceKind};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Digits of a container's ID that the name of a service has.
const SHORT: usize = 12;

/// The pods and containers of this node, as they were when it was first asked about one.
#[derive(Debug)]
pub struct Pods {
    log: PathBuf,
    names: OnceCell<Names>,
}

#[derive(Debug, Default)]
struct Names {
    /// Namespace and pod by UID.
    pods: HashMap<String, (String, String)>,
    /// The container's name by the first digits of its ID.
    containers: HashMap<String, String>,
}

impl Pods {
    /// Those of the node's `/var/log`. Where nothing can be read there, no pod has a name.
    pub fn of_node() -> Pods {
        Pods::below(Path::new("/var/log"))
    }

    fn below(log: &Path) -> Pods {
        Pods { log: log.to_owned(), names: OnceCell::new() }
    }

    /// The service with names in place of a pod's UID and a container's ID: `shop/web-*/app`. The star stands for what
    /// Kubernetes has made up (or for a number, or the node): such a name is derived, and the same after a rollout. The
    /// same service where it is in no pod, or its pod has no name here.
    pub fn named(&self, service: Service) -> Service {
        if service.kind != ServiceKind::Pod {
            return service;
        }
        let (path, nested) = match service.name.split_once(": ") {
            Some((path, nested)) => (path, Some(nested)),
            None => (&*service.name, None),
        };
        let (uid, container) = match path.split_once("/container ") {
            Some((uid, container)) => (uid, container.get(..SHORT)),
            None => (path, None),
        };
        let names = self.names.get_or_init(|| Names::read(&self.log));
        let Some((namespace, pod)) = names.pods.get(uid) else { return service };
        let mut name = format!("{namespace}/{}", workload(pod));
        // The container that holds the pod's namespaces logs nothing.
        if let Some(container) = container.and_then(|id| names.containers.get(id)) {
            name += &format!("/{container}");
        }
        if let Some(nested) = nested {
            name += &format!(": {nested}");
        }
        Service { name, ..service }
    }
}

impl Names {
    fn read(log: &Path) -> Names {
        let mut found = Names::default();
        for name in names(&log.join("pods")) {
            // Neither a namespace nor a pod's name has an underscore.
            if let [namespace, pod, uid] = *name.split('_').collect::<Vec<_>>()
                && is_uid(uid)
                && is_name(namespace)
                && is_name(pod)
            {
                found.pods.insert(uid.to_owned(), (namespace.to_owned(), pod.to_owned()));
            }
        }
        for name in names(&log.join("containers")) {
            let stem = name.strip_suffix(".log").and_then(|stem| stem.rsplit_once('-'));
            let container = stem.and_then(|(names, _)| names.rsplit('_').next());
            if let (Some((_, id)), Some(container)) = (stem, container)
                && is_id(id)
                && is_name(container)
            {
                found.containers.insert(id[..SHORT].to_owned(), container.to_owned());
            }
        }
        found
    }
}

/// The names in a directory; none where it cannot be read.
fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Whether it is a name of Kubernetes (RFC 1123): whoever may write into the directory chooses the others.
fn is_name(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    (1..=253).contains(&text.len()) && text.bytes().all(fits)
}

/// A pod's name with a star for what is another in the next pod of the same workload: `web-7d9f8c6b54-x2x4z` of a
/// Deployment, `web-x2x4z` of a DaemonSet or Job, `web-29384756-x2x4z` of a CronJob, `db-0` of a StatefulSet, `etcd-NODE`
/// of the node's own files.
fn workload(pod: &str) -> String {
    let node = rustix::system::uname();
    let node = node.nodename().to_str().unwrap_or_default();
    if let Some(stem) = pod.strip_suffix(node).and_then(|stem| stem.strip_suffix('-'))
        && !node.is_empty()
    {
        return format!("{stem}-*");
    }
    let Some((stem, last)) = pod.rsplit_once('-') else { return pod.to_owned() };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if last.len() == 5 && is_made_up(last) {
        let of_set = |part: &str| (6..=10).contains(&part.len()) && is_made_up(part);
        let of_time = |part: &str| part.len() == 8 && is_number(part);
        let longer = stem.rsplit_once('-').filter(|(_, part)| of_set(part) || of_time(part));
        return format!("{}-*", longer.map_or(stem, |(stem, _)| stem));
    }
    if is_number(last) && last.len() < 5 { format!("{stem}-*") } else { pod.to_owned() }
}

/// Whether Kubernetes may have made it up: it takes no letter that could be part of a word, and no digit that looks like a
/// letter (k8s.io/apimachinery/pkg/util/rand).
fn is_made_up(text: &str) -> bool {
    text.bytes().all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_with_each_pod_is_a_star() {
        for (pod, expected) in [
            ("web-7d9f8c6b54-x2x4z", "web-*"),
            ("web-api-x2x4z", "web-api-*"),
            ("backup-29384756-x2x4z", "backup-*"),
            ("db-0", "db-*"),
            ("db-12", "db-*"),
            // Made by hand.
            ("redis", "redis"),
            ("web-proxy", "web-proxy"),
            ("web-stats", "web-stats"),
            ("web-2026112901", "web-2026112901"),
        ] {
            assert_eq!(workload(pod), expected);
        }
        let node = rustix::system::uname().nodename().to_str().unwrap().to_owned();
        assert_eq!(workload(&format!("etcd-{node}")), "etcd-*");
    }

    #[test]
    fn a_pod_keeps_its_name_over_a_rollout() {
        let log = tempfile::tempdir().unwrap();
        let dir = |path: &str| std::fs::create_dir_all(log.path().join(path)).unwrap();
        let (old, new) =
            ("5b2c1a90-1111-4c3d-9e0f-aabbccddeeff", "6b2c1a90-2222-4c3d-9e0f-aabbccddeeff");
        let id = |digit: &str| digit.repeat(64);
        dir("containers");
        for (uid, pod, digit) in
            [(old, "web-7d9f8c6b54-x2x4z", "a"), (new, "web-6c8f7d5b49-q8w7z", "b")]
        {
            dir(&format!("pods/shop_{pod}_{uid}/app"));
            let link = log.path().join(format!("containers/{pod}_shop_app-{}.log", id(digit)));
            std::os::unix::fs::symlink("/nowhere", link).unwrap();
        }
        // Names that nobody but an attacker gives, and half a link.
        dir("pods/shop_evil\u{1b}[2J_7b2c1a90-2222-4c3d-9e0f-aabbccddeeff");
        dir("pods/one_two");
        dir("containers/-.log");
        let pods = Pods::below(log.path());
        let named = |path: &str| pods.named(Service::of_path(path, None)).to_string();
        // As containerd writes it with systemd, CRI-O, and containerd with cgroupfs.
        let slice = |uid: &str| {
            let part = uid.replace('-', "_");
            format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{part}.slice")
        };
        for path in [
            format!("{}/cri-containerd-{}.scope", slice(old), id("a")),
            format!("{}/crio-{}.scope", slice(new), id("b")),
            format!("/kubepods/burstable/pod{new}/{}", id("b")),
        ] {
            assert_eq!(named(&path), "pod shop/web-*/app", "{path}");
        }
        // The container that only holds the namespaces.
        let pause = format!("{}/cri-containerd-{}.scope", slice(old), id("c"));
        assert_eq!(named(&pause), "pod shop/web-*");
        let inside =
            format!("{}/cri-containerd-{}.scope/system.slice/x.service", slice(old), id("a"));
        assert_eq!(named(&inside), "pod shop/web-*/app: x.service");
        let unknown = "/kubepods/pod7b2c1a90-2222-4c3d-9e0f-aabbccddeeff";
        assert_eq!(named(unknown), "pod 7b2c1a90-2222-4c3d-9e0f-aabbccddeeff");
        assert_eq!(named("/system.slice/web.service"), "web.service");
        let missing = Pods::below(&log.path().join("missing"));
        let service = Service::of_path(unknown, None);
        assert_eq!(missing.named(service.clone()), service);
    }
}
