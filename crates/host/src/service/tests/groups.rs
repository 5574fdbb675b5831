//! cgroups of the running kernel.

use crate::service::hierarchy::{hierarchies, hierarchies_in};
use crate::service::{
    Service, ServiceKind, cgroup_id, cgroup_mount, find_cgroup, processes_of_cgroup,
};
use needless_fixtures::{needed, skipped};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A cgroup v2 directory of the test's own, removed with everything in it when dropped.
pub(super) struct Group {
    pub dir: PathBuf,
    /// `needless-test-PID-NAME`
    pub name: String,
    children: Vec<Child>,
    /// Mounted by the test itself.
    mounted: Option<PathBuf>,
}

/// `None`, and the test counts as skipped, where this machine does not allow it.
pub(super) fn group(name: &str) -> Option<Group> {
    let name = format!("needless-test-{}-{name}", std::process::id());
    let (root, mounted) = match hierarchies().into_iter().find(|h| h.v2).map(|h| h.dir) {
        Some(dir) => (dir, None),
        None => {
            let dir = needed(mount(&name, &["-t", "cgroup2", "cgroup2"]))?;
            (dir.clone(), Some(dir))
        }
    };
    let mut group = Group { dir: root.join(&name), name, children: Vec::new(), mounted };
    let allowed = fs::create_dir(&group.dir)
        .map_err(|error| format!("mkdir {}: {error}", group.dir.display()))
        .and_then(|()| group.try_child("").map(drop));
    needed(allowed.map_err(no_right))?;
    group.end_children();
    Some(group)
}

/// Without the detail of the error, which differs from test to test.
fn no_right(error: String) -> String {
    eprintln!("{error}");
    "no right to make a cgroup".to_owned()
}

/// A mount of a cgroup file system, for this test alone.
fn mount(name: &str, what: &[&str]) -> Result<PathBuf, String> {
    let dir = std::env::temp_dir().join(name);
    fs::create_dir(&dir).map_err(|error| error.to_string())?;
    let mut mount = Command::new("mount");
    mount.args(what).arg(&dir);
    match mount.output() {
        Ok(done) if done.status.success() => Ok(dir),
        done => {
            let _ = fs::remove_dir(&dir);
            Err(no_right(done.map_or_else(
                |error| error.to_string(),
                |done| String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            )))
        }
    }
}

impl Group {
    /// A directory below it.
    pub(super) fn sub(&self, path: &str) -> PathBuf {
        let dir = self.dir.join(path);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// A process in the group `path` below it, asleep until the group is dropped.
    pub(super) fn child(&mut self, path: &str) -> u32 {
        self.try_child(path).unwrap()
    }

    fn try_child(&mut self, path: &str) -> Result<u32, String> {
        let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("sleep: {error}"))?;
        let pid = child.id();
        self.children.push(child);
        let procs = self.dir.join(path).join("cgroup.procs");
        fs::write(&procs, pid.to_string())
            .map_err(|error| format!("write {}: {error}", procs.display()))?;
        Ok(pid)
    }

    pub(super) fn end_children(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.children.clear();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end_children();
        remove(&self.dir);
        if let Some(dir) = &self.mounted {
            let _ = Command::new("umount").arg(dir).status();
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Removes a group and those below it. The kernel frees a group a moment after the last of
/// its processes was waited for.
fn remove(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    for _ in 0..1000 {
        match fs::remove_dir(dir) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return,
        }
    }
}

#[test]
fn processes() {
    let Some(mut group) = group("procs") else { return };
    group.sub("a/b");
    assert_eq!(processes_of_cgroup(&group.dir).unwrap(), []);
    let mut all = vec![group.child(""), group.child("a"), group.child("a/b"), group.child("a/b")];
    let deepest = {
        let mut two = all[2..].to_vec();
        two.sort_unstable();
        two
    };
    all.sort_unstable();
    assert_eq!(processes_of_cgroup(&group.dir).unwrap(), all);
    assert_eq!(processes_of_cgroup(&group.dir.join("a/b")).unwrap(), deepest);
    // The kernel's own file about one of them agrees.
    let text = fs::read_to_string(format!("/proc/{}/cgroup", all[0])).unwrap();
    assert!(text.contains(&group.name), "{text}");

    let gone = group.dir.join("c");
    let error = processes_of_cgroup(&gone).unwrap_err().to_string();
    assert_eq!(error, format!("{}: no cgroup directory (no cgroup.procs in it)", gone.display()));
}

/// From another PID namespace the processes have no numbers: this test runs itself in one.
#[test]
fn processes_of_another_namespace() {
    if let Some(dir) = std::env::var_os("NEEDLESS_TEST_GROUP") {
        let error = processes_of_cgroup(Path::new(&dir)).unwrap_err().to_string();
        let says = ": its 2 processes are in a PID namespace that is not ours: ";
        assert!(error.contains(says), "{error}");
        return;
    }
    let Some(mut group) = group("pidns") else { return };
    group.sub("a");
    group.child("");
    group.child("a");
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork"]).arg(std::env::current_exe().unwrap());
    inside.args(["--exact", "service::tests::groups::processes_of_another_namespace"]);
    let done = inside.env("NEEDLESS_TEST_GROUP", &group.dir).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && out.contains("1 passed"), "{out}{err}");
}

/// v1 has the same files; if none is mounted, a hierarchy without controllers is mounted here.
#[test]
fn processes_of_v1() {
    let name = format!("needless-test-{}-v1", std::process::id());
    let (root, mounted) = match hierarchies().into_iter().find(|h| !h.v2) {
        Some(v1) => (v1.dir, None),
        None => {
            let options = format!("none,name={name}");
            let what = ["-t", "cgroup", "-o", options.as_str(), "cgroup"];
            let Some(dir) = needed(mount(&name, &what)) else { return };
            (dir.clone(), Some(dir))
        }
    };
    assert_eq!(cgroup_id(&root).unwrap_err().kind(), ErrorKind::InvalidInput, "of v2 only");
    // cpuset takes no process before its processors are set; name=systemd and others do.
    let mut group = Group { dir: root.join(&name), name, children: Vec::new(), mounted };
    let allowed = fs::create_dir(&group.dir)
        .and_then(|()| fs::create_dir(group.dir.join("sub")))
        .map_err(|error| error.to_string())
        .and_then(|()| group.try_child("sub"));
    match allowed {
        Ok(pid) => assert_eq!(processes_of_cgroup(&group.dir).unwrap(), [pid]),
        Err(error) => skipped(no_right(error)),
    }
}

/// The kernel does not list the processes of a threaded group.
#[test]
fn threaded() {
    let Some(mut group) = group("threads") else { return };
    let sub = group.sub("t");
    fs::write(sub.join("cgroup.type"), "threaded").unwrap();
    let pid = group.child("");
    fs::write(sub.join("cgroup.threads"), pid.to_string()).unwrap();
    assert!(fs::read_to_string(sub.join("cgroup.procs")).is_err());
    assert_eq!(processes_of_cgroup(&sub).unwrap(), [pid]);
    assert_eq!(processes_of_cgroup(&group.dir).unwrap(), [pid]);
}

/// An ID of another file system could be that of a different group.
#[test]
fn ids_of_v2_only() {
    let error = cgroup_id(Path::new("/proc")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "/proc: not in a cgroup v2 file system; BPF knows no others");
    let error = cgroup_id(Path::new("/nowhere")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().starts_with("/nowhere: "), "{error}");
}

#[test]
fn service_of_a_process() {
    let Some(mut group) = group("pid") else { return };
    // If name=systemd of v1 names a service, it has precedence over cgroup v2: leave that group first.
    let systemd = hierarchies().into_iter().find(|h| !h.v2 && h.dir.ends_with("systemd"));
    let leave = |pid: u32| {
        if let Some(systemd) = &systemd {
            fs::write(systemd.dir.join("cgroup.procs"), pid.to_string()).unwrap();
        }
    };
    group.sub("dnsmasq.service");
    let pid = group.child("dnsmasq.service");
    leave(pid);
    let expected = Service { kind: ServiceKind::Unit, name: "dnsmasq.service".into() };
    assert_eq!(Service::of_pid(pid).unwrap(), expected);

    group.sub("cron.service");
    let job = group.child("cron.service");
    leave(job);
    assert_eq!(Service::of_pid(job).unwrap().kind, ServiceKind::Cron);

    group.end_children();
    let error = Service::of_pid(pid).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// Kernel threads have no executable, only a name, which may look like a path. So has a process that has
/// ended and was not waited for; PID namespaces other than the first see only these.
#[test]
fn service_without_executable() {
    let script = "printf kworker/9:1 >/proc/$$/comm";
    let mut ended = Command::new("sh").args(["-c", script]).spawn().unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", ended.id())).unwrap();
    while !state().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(fs::read_link(format!("/proc/{}/exe", ended.id())).is_err());
    let (ours, its) = (Service::of_pid(std::process::id()), Service::of_pid(ended.id()).unwrap());
    match ours.unwrap() {
        ours if ours.kind == ServiceKind::Executable => assert_eq!(its.to_string(), "kworker/9:1"),
        ours => assert_eq!(its, ours),
    }
    ended.wait().unwrap();
    for pid in 2..200 {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm"));
        let Ok(comm) = comm.map(|name| name.trim_end().to_owned()) else { continue };
        // The names of other kworkers change while they run.
        if comm != "kthreadd" && !(comm.starts_with("kworker/") && comm.ends_with("H-kblockd")) {
            continue;
        }
        if fs::read_link(format!("/proc/{pid}/exe")).is_ok() {
            continue;
        }
        let Ok(service) = Service::of_pid(pid) else { continue };
        let shown = service.to_string();
        assert!(shown == "kthreadd" || shown.starts_with("kworker/"), "{comm}: {shown}");
    }
}

#[test]
fn by_path() {
    let Some(group) = group("path") else { return };
    let dir = group.sub("x.service");
    assert_eq!(find_cgroup(dir.to_str().unwrap()).unwrap(), dir);
    if group.mounted.is_none() {
        assert_eq!(find_cgroup(&format!("/{}/x.service", group.name)).unwrap(), dir);
        assert_eq!(find_cgroup(&group.name).unwrap(), group.dir);
        assert!(find_cgroup(&format!("/{}/../..", group.name)).is_err());
        assert!(find_cgroup("").unwrap_err().to_string().contains("is not a cgroup"));
    }
    let error = find_cgroup("/needless/nowhere").unwrap_err().to_string();
    assert!(error.starts_with("no cgroup /needless/nowhere here, nor below /"), "{error}");
    assert!(!error.contains('\n'));
    assert!(cgroup_mount().is_some());
}

const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw shared:10 master:3 - cgroup2 cgroup2 rw,nsdelegate
";

#[test]
fn mounts() {
    let dirs = |text: &str| -> Vec<String> {
        hierarchies_in(text).iter().map(|h| h.dir.display().to_string()).collect()
    };
    let (unified, systemd, cpu) =
        ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/cpu,cpuacct");
    assert_eq!(dirs(HYBRID), [unified, systemd, cpu]);
    let v1 = HYBRID.replace("cgroup2 cgroup2", "tmpfs tmpfs");
    assert_eq!(dirs(&v1), [systemd, cpu]);
    // A bind mount of one group is not the hierarchy.
    let bound =
        "7 1 0:38 /a /mnt rw - cgroup2 c rw\n8 1 0:38 / /sys/fs/c\\040x rw - cgroup2 c rw\n";
    assert_eq!(dirs(bound), ["/sys/fs/c x", "/mnt"]);
    for text in ["", "x", "1 2 3 - cgroup2", "1 2 3 / /a\\0 rw - cgroup", " - ", "\\"] {
        assert_eq!(dirs(text), <[&str; 0]>::default(), "{text}");
    }
}

#[test]
fn paths_below_a_mount() {
    let of = |root: &str, path: &str| {
        let line = format!("7 1 0:38 {root} /m rw - cgroup2 c rw\n");
        hierarchies_in(&line)[0].dir_of(path).map(|dir| dir.display().to_string())
    };
    assert_eq!(of("/", "/a/b").as_deref(), Some("/m/a/b"));
    assert_eq!(of("/", "/").as_deref(), Some("/m/"));
    assert_eq!(of("/a", "/a/b").as_deref(), Some("/m/b"));
    assert_eq!(of("/a", "/ab"), None);
    assert_eq!(of("/a", "/b"), None);
    assert_eq!(of("/", "/a/../../etc"), None);
}
