//! Names of services for cgroup paths of real machines.

use crate::service::{Service, ServiceKind, of_session_file};

const ID: &str = "3f2a9c1b7d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd";
const ID2: &str = "b7e0c4d1a2f35968b7e0c4d1a2f35968b7e0c4d1a2f35968b7e0c4d1a2f35968";
const POD: &str = "6d1a0c52-9f0e-4b7a-8c3d-2e5f60718293";
const POD_: &str = "6d1a0c52_9f0e_4b7a_8c3d_2e5f60718293";

/// `{ID}`, `{ID2}`, `{POD}` and `{POD_}` stand for the constants above.
fn fill(text: &str) -> String {
    text.replace("{ID}", ID).replace("{ID2}", ID2).replace("{POD}", POD).replace("{POD_}", POD_)
}

/// The kind of a service and its name.
fn of(service: &Service) -> String {
    format!("{:?}: {service}", service.kind)
}

#[track_caller]
fn check(text: &str, exe: Option<&str>, shown: &str) {
    assert_eq!(of(&Service::of_cgroup(&fill(text), exe)), fill(shown), "{text}");
}

/// A path of v2, and what a process shows there that runs `/usr/bin/prog`.
const PATHS: &str = r"
# systemd, system
/system.slice/nginx.service -> Unit: nginx.service
/init.scope -> Unit: init.scope
/system.slice/system-getty.slice/getty@tty1.service -> Unit: getty@tty1.service
/system.slice/system-postgresql.slice/postgresql@15-main.service -> Unit: postgresql@15-main.service
/system.slice/system-systemd\x2dfsck.slice/systemd-fsck@dev-disk-by\x2duuid-1A2B.service -> Unit: systemd-fsck@dev-disk-by-uuid-1A2B.service
/system.slice/caf\xc3\xa9.service -> Unit: café.service
/system.slice/run-r1f2e3d4c.scope -> Unit: run-r1f2e3d4c.scope
/system.slice/docker.service -> Unit: docker.service
/system.slice/docker.socket -> Unit: docker.socket
/system.slice/php8.2-fpm.service/pool-www -> Unit: php8.2-fpm.service
/nomad.slice/share.slice/3c1f.web.scope -> Unit: 3c1f.web.scope
/system.slice/web.service/runtime -> Unit: web.service
/system.slice/nginx.service (deleted) -> Unit: nginx.service
/system.slice/systemd-nspawn@web.service/supervisor -> Unit: systemd-nspawn@web.service
# OpenRC
/openrc.sshd -> Unit: sshd (openrc)
# users
/user.slice/user-1000.slice/user@1000.service/app.slice/syncthing.service -> UserUnit: user@1000 syncthing.service
/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo.scope -> UserUnit: user@1000 app-foo.scope
/user.slice/user-1000.slice/user@1000.service/gnome-terminal-server.service -> UserUnit: user@1000 gnome-terminal-server.service
/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.gnome.Maps\x2dx-4711.scope -> UserUnit: user@1000 app-gnome-org.gnome.Maps-x-4711.scope
/user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service -> UserUnit: user@1000 org.gnome.Shell@wayland.service
/user.slice/user-1000.slice/user@1000.service/init.scope -> Unit: user@1000.service
/user.slice/user-1000.slice/user@1000.service -> Unit: user@1000.service
/user.slice/user-1000.slice/session-3.scope -> Session: session 3 of user 1000
/user.slice/user-0.slice/session-c12.scope -> Session: session c12 of user 0
/session-9.scope -> Session: session 9
/user-web.slice/session-9.scope -> Session: session 9
# snap and flatpak
/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-6d1a0c52-9f0e-4b7a-8c3d-2e5f60718293.scope -> App: app firefox.firefox (snap) of user 1000
/system.slice/snap.lxd.lxc.6d1a0c52-9f0e-4b7a-8c3d-2e5f60718293.scope -> App: app lxd.lxc (snap)
/system.slice/snap.lxd.daemon.service -> Unit: snap.lxd.daemon.service
/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.mozilla.firefox-3261.scope -> App: app org.mozilla.firefox (flatpak) of user 1000
# docker
/system.slice/docker-{ID}.scope -> Container: container 3f2a9c1b7d4e (docker)
/docker/{ID} -> Container: container 3f2a9c1b7d4e (docker)
/mine.slice/docker-{ID}.scope -> Container: container 3f2a9c1b7d4e (docker)
/by-hand/{ID} -> Container: container 3f2a9c1b7d4e
/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope -> Container: container 3f2a9c1b7d4e (docker)
/docker/{ID}/system.slice/nginx.service -> Container: container 3f2a9c1b7d4e (docker): nginx.service
/docker/{ID}/init.scope -> Container: container 3f2a9c1b7d4e (docker): init.scope
/docker/{ID}/docker/{ID2} -> Container: container 3f2a9c1b7d4e (docker): container b7e0c4d1a2f3 (docker)
# podman
/machine.slice/libpod-{ID}.scope/container -> Container: container 3f2a9c1b7d4e (podman)
/machine.slice/libpod-{ID}.scope -> Container: container 3f2a9c1b7d4e (podman)
/machine.slice/machine-libpod_pod_{ID2}.slice/libpod-{ID}.scope/container -> Container: container 3f2a9c1b7d4e (podman)
/machine.slice/libpod-conmon-{ID}.scope -> Container: container 3f2a9c1b7d4e (podman conmon)
/libpod_parent/libpod-{ID} -> Container: container 3f2a9c1b7d4e (podman)
/libpod_parent/{ID} -> Container: container 3f2a9c1b7d4e (podman)
/system.slice/web.service/libpod-payload-{ID} -> Container: container 3f2a9c1b7d4e (podman)
/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container -> Container: container 3f2a9c1b7d4e (podman)
# containerd, nerdctl, cri-o outside of pods
/system.slice/nerdctl-{ID}.scope -> Container: container 3f2a9c1b7d4e (nerdctl)
/default/{ID} -> Container: container 3f2a9c1b7d4e
/system.slice/crio-{ID}.scope -> Container: container 3f2a9c1b7d4e (cri-o)
# Kubernetes
/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD_}.slice/cri-containerd-{ID}.scope -> Pod: pod {POD}/container 3f2a9c1b7d4e
/kubepods.slice/kubepods-pod{POD_}.slice/crio-{ID}.scope -> Pod: pod {POD}/container 3f2a9c1b7d4e
/kubepods.slice/kubepods-pod{POD_}.slice/crio-conmon-{ID}.scope -> Pod: pod {POD}/container 3f2a9c1b7d4e (conmon)
/kubepods/besteffort/pod{POD}/{ID} -> Pod: pod {POD}/container 3f2a9c1b7d4e
/kubepods/pod{POD}/{ID} -> Pod: pod {POD}/container 3f2a9c1b7d4e
/kubepods/burstable/pod{POD} -> Pod: pod {POD}
/kubepods/burstable/pod0a1b2c3d4e5f60718293a4b5c6d7e8f9/{ID} -> Pod: pod 0a1b2c3d4e5f60718293a4b5c6d7e8f9/container 3f2a9c1b7d4e
/system.slice/containerd.service/kubepods-burstable-pod{POD_}.slice:cri-containerd:{ID} -> Pod: pod {POD}/container 3f2a9c1b7d4e
/docker/{ID2}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod{POD_}.slice/cri-containerd-{ID}.scope -> Container: container b7e0c4d1a2f3 (docker): pod {POD}/container 3f2a9c1b7d4e
# lxc
/lxc.payload.web -> Container: container web (lxc)
/lxc.payload.web/system.slice/nginx.service -> Container: container web (lxc): nginx.service
/lxc.monitor.web -> Container: container web (lxc monitor)
/lxc/101/ns/system.slice/cron.service -> Container: container 101 (lxc): cron
/user.slice/user-5.slice/user@5.service/lxc.payload.web/system.slice/nginx.service -> Container: container web (lxc): nginx.service
/user.slice/user-5.slice/user@5.service/user.slice/libpod-{ID}.scope/session-2.scope -> Container: container 3f2a9c1b7d4e (podman): session 2
# machined
/machine.slice/machine-web.scope/payload/init.scope -> Machine: machine web: init.scope
/machine.slice/machine-my\x2dbox.scope/payload/system.slice/nginx.service -> Machine: machine my-box: nginx.service
/machine.slice/machine-qemu\x2d1\x2dguest.scope/libvirt/emulator -> Machine: machine qemu-1-guest
/machine.slice/systemd-nspawn@web.service/payload/user.slice/user-7.slice/session-2.scope -> Machine: machine web: session 2 of user 7
# seen from another cgroup namespace
/../nginx.service -> Unit: nginx.service
/../../user.slice/user-5.slice/session-1.scope -> Session: session 1 of user 5
/../cri-containerd-{ID}.scope -> Container: container 3f2a9c1b7d4e (containerd)
/.. -> Executable: prog
# nothing known
/ -> Executable: prog
/system.slice -> Executable: prog
/some/group/.service -> Executable: prog
/by-hand/1066f278e3ab444e9728d5adae86618a -> Executable: prog
";

#[test]
fn a_path_shows_the_kind_and_the_name_of_the_service() {
    let rows = PATHS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (path, shown) in rows.map(|row| row.split_once(" -> ").unwrap()) {
        check(&format!("0::{path}\n"), Some("/usr/bin/prog"), shown);
        // The same on a machine with v1.
        let v1 = format!("12:pids:{path}\n3:cpu,cpuacct:/\n1:name=systemd:{path}\n0::/\n");
        check(&v1, Some("prog"), shown);
        if !path.ends_with(" (deleted)") {
            assert_eq!(of(&Service::of_path(&fill(path), Some("prog"))), fill(shown), "{path}");
        }
    }
}

#[test]
fn the_hierarchy_that_names_a_service_is_chosen() {
    // docker with its cgroupfs driver on v1, and on the hybrid layout
    check(
        "11:memory:/docker/{ID}\n4:cpu:/docker/{ID}\n1:name=systemd:/docker/{ID}\n\
         0::/system.slice/containerd.service\n",
        None,
        "Container: container 3f2a9c1b7d4e (docker)",
    );
    // No systemd: the longest path that names a service.
    check(
        "9:name=systemd:/\n4:memory:/docker/{ID}\n3:cpu:/x\n0::/\n",
        None,
        "Container: container 3f2a9c1b7d4e (docker)",
    );
    check("4:memory:/a-long-name-for-nothing\n3:cpu:/a.service\n", None, "Unit: a.service");
    // v2 before controllers of v1
    check("4:memory:/system.slice/b.service\n0::/a.service\n", None, "Unit: a.service");
    check("3:name=openrc:/sshd\n2:cpu:/\n", Some("/usr/sbin/sshd"), "Unit: sshd (openrc)");
    check("3:name=openrc:/\n", Some("/usr/sbin/sshd"), "Executable: sshd");
}

#[test]
fn jobs_of_cron_and_at_are_not_the_daemons() {
    for unit in ["cron", "crond", "cronie"] {
        let line = format!("0::/system.slice/{unit}.service\n");
        check(&line, Some("/usr/bin/dash"), "Cron: cron");
        check(&line, None, "Cron: cron");
        for exe in ["/usr/sbin/cron", "/usr/sbin/crond", "/usr/sbin/cron (deleted)", "cron"] {
            check(&line, Some(exe), &format!("Unit: {unit}.service"));
        }
    }
    check("0::/system.slice/atd.service\n", Some("/bin/sh"), "Cron: at");
    check("0::/system.slice/atd.service\n", Some("/usr/sbin/atd"), "Unit: atd.service");
    // A user's own cron is an ordinary unit, and so is a unit whose name only resembles cron's.
    let own = "0::/user.slice/user-5.slice/user@5.service/app.slice/cron.service\n";
    check(own, Some("/bin/sh"), "UserUnit: user@5 cron.service");
    check("0::/system.slice/cron-update.service\n", Some("/bin/sh"), "Unit: cron-update.service");
}

#[test]
fn a_session_of_cron_is_cron() {
    let file = "UID=0\nUSER=root\nACTIVE=1\nSERVICE=crond\nCLASS=background\n";
    assert_eq!(of_session_file(file).map(|s| s.to_string()).as_deref(), Some("cron"));
    assert_eq!(of_session_file("UID=0\nSERVICE=sshd\n"), None);
    assert_eq!(of_session_file("UID=0\n"), None);
}

#[test]
fn a_process_without_a_service_is_named_by_its_executable() {
    check("0::/\n", Some("/usr/bin/python3.11"), "Executable: python3.11");
    check("0::/\n", Some("/usr/bin/python3.11 (deleted)"), "Executable: python3.11");
    check("0::/\n", Some("kworker"), "Executable: kworker");
    check("0::/\n", Some("/tmp/\u{1b}[31mred"), "Executable: \\u{1b}[31mred");
    check("0::/\n", None, "Unknown: unknown");
    check("0::/\n", Some(""), "Unknown: unknown");
}

/// The creator of a cgroup chooses its name; and not every text comes from the kernel.
#[test]
fn hostile_names_are_shown_harmlessly() {
    check("0::/\u{1b}]0;x\u{7}.service\n", None, "Unit: \\u{1b}]0;x\\u{7}.service");
    // Unescaped, this would be a line end: it stays as it is.
    check(r"0::/a\x0ab.service", None, r"Unit: a\x0ab.service");
    check(r"0::/a\xffb.service", None, r"Unit: a\xffb.service");
    check(r"0::/a\x.service", None, r"Unit: a\x.service");
    check(r"0::/a\x+1b\x2.service", None, r"Unit: a\x+1b\x2.service");
    check(
        "0::/snap.é-0000000000000000000000000000000000é.scope",
        None,
        "App: app é-0000000000000000000000000000000000é (snap)",
    );
    for text in ["", "\n", "0", "0:", "0::", "::::", "x:y", "no colon at all", "0::no-slash"] {
        check(text, Some("prog"), "Executable: prog");
    }
    check("0::/kubepods-pod.slice\n", None, "Unknown: unknown");
    let deep = format!("0::{}", "/a.service".repeat(10_000));
    check(&deep, None, "Unit: a.service");
    let nested = format!("0::{}", "/lxc.payload.x".repeat(300));
    assert_eq!(Service::of_cgroup(&nested, None).kind, ServiceKind::Container);
}
