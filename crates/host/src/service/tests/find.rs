//! From names to groups.

use super::groups::group;
use crate::service::find::{UnitState, choose_container, parse_unit_state, unit_name};
use crate::service::hierarchy::hierarchies;
use crate::service::{find_container, find_unit};
use crate::{HostError, run_for_output};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[test]
fn unit_names() {
    let of = |name: &str| unit_name(name).unwrap();
    assert_eq!(of("nginx"), "nginx.service");
    assert_eq!(of("nginx.service"), "nginx.service");
    assert_eq!(of("getty@tty1"), "getty@tty1.service");
    assert_eq!(of("getty@"), "getty@.service");
    assert_eq!(of("app.v1"), "app.v1.service");
    assert_eq!(of("session-3.scope"), "session-3.scope");
    assert_eq!(of("system.slice"), "system.slice");
    assert_eq!(of(r"a\x2db.mount"), r"a\x2db.mount");
    assert_eq!(
        unit_name("logrotate.timer").unwrap_err().to_string(),
        "logrotate.timer has no processes: name what it starts (logrotate.service?)"
    );
    for bad in ["", "-p", "--root=/x", "a/b", "../x", "a b", "a\nb", "\u{1b}[0m", ".service"] {
        let error = unit_name(bad).unwrap_err().to_string();
        assert!(error.ends_with("is not a valid unit name: `systemctl list-units` lists them"));
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn units() {
    let Some(group) = group("units") else { return };
    let unit = format!("{}.service", group.name);
    let dir = group.sub(&unit);
    assert_eq!(find_unit(&unit).unwrap(), dir);
    assert_eq!(find_unit(&group.name).unwrap(), dir);

    // A unit of a user or in a container does not hide the host's unit.
    let of_user =
        |uid: u32| format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/{unit}");
    group.sub(&of_user(77));
    group.sub(&format!("lxc.payload.x/system.slice/{unit}"));
    assert_eq!(find_unit(&unit).unwrap(), dir);
    fs::remove_dir(&dir).unwrap();
    assert_eq!(find_unit(&unit).unwrap(), group.dir.join(of_user(77)));

    // Two users
    let other = group.sub(&of_user(78));
    let error = find_unit(&unit).unwrap_err().to_string();
    let start = format!("2 units of {unit} run here: choose one with --cgroup /");
    assert!(error.starts_with(&start) && error.contains(other.to_str().unwrap()), "{error}");

    // Names as systemd writes them and as we print them
    let escaped = format!("{}\\x2desc.service", group.name);
    let dir = group.sub(&escaped);
    assert_eq!(find_unit(&escaped).unwrap(), dir);
    assert_eq!(find_unit(&format!("{}-esc", group.name)).unwrap(), dir);
}

#[test]
fn templates() {
    let Some(group) = group("tmpl") else { return };
    let slice = format!("system-{}.slice", group.name);
    let one = group.sub(&format!("{slice}/{}@one.service", group.name));
    let bare = format!("{}@", group.name);
    assert_eq!(find_unit(&bare).unwrap(), one);
    assert_eq!(find_unit(&format!("{bare}one")).unwrap(), one);
    let two = group.sub(&format!("{slice}/{}@two.service", group.name));
    assert_eq!(find_unit(&format!("{bare}two")).unwrap(), two);
    let error = find_unit(&bare).unwrap_err().to_string();
    assert!(error.starts_with(&format!("2 instances of {bare}.service run here: ")), "{error}");
    assert!(error.contains("@one.service") && error.contains("@two.service"), "{error}");
}

#[test]
fn no_unit() {
    let Some(_group) = group("nounit") else { return };
    assert_eq!(
        find_unit("needless-no-such").unwrap_err().to_string(),
        "no unit needless-no-such.service here: `systemctl list-units` lists them"
    );
}

#[test]
fn answers_of_systemctl() {
    let running = parse_unit_state(
        "ControlGroup=/system.slice/a.service\nLoadState=loaded\nActiveState=active\n",
    );
    let group = Some("/system.slice/a.service".to_owned());
    assert_eq!(running, UnitState { loaded: true, state: "active".into(), group });
    let stopped = parse_unit_state("LoadState=loaded\nActiveState=inactive\nControlGroup=\n");
    assert_eq!(stopped, UnitState { loaded: true, state: "inactive".into(), group: None });
    let missing = parse_unit_state("LoadState=not-found\nActiveState=inactive\nControlGroup=\n");
    assert!(!missing.loaded);
    // "/" is not a unit of its own.
    assert_eq!(parse_unit_state("ControlGroup=/\n").group, None);
    assert_eq!(
        parse_unit_state(""),
        UnitState { loaded: false, state: String::new(), group: None }
    );
}

/// An ID of 64 digits that no other test uses.
fn id(start: &str) -> String {
    format!("{:0<64}", format!("{start}{:08x}", std::process::id()))
}

fn with_path(name: &str, path: &Path) -> Result<PathBuf, HostError> {
    choose_container(&hierarchies(), name, path.as_os_str())
}

#[test]
fn containers_by_id() {
    let Some(group) = group("byid") else { return };
    let nothing = tempfile::tempdir().unwrap();
    let (first, second) = (id("a1b2c3d4"), id("a1b2c3d5"));
    let dir = group.sub(&format!("docker-{first}.scope"));
    group.sub(&format!("docker-{first}.scope/init.scope"));
    group.sub(&format!("docker-{first}.scope/docker/{first}"));
    assert_eq!(find_container(&first).unwrap(), dir);
    assert_eq!(find_container(&first[..16]).unwrap(), dir);
    assert_eq!(find_container(&first[..16].to_uppercase()).unwrap(), dir);
    assert_eq!(with_path(&first[..8], nothing.path()).unwrap(), dir);

    // The monitor of a container is not in it; conmon's group is nearer to the root.
    group.sub(&format!("libpod-conmon-{second}.scope"));
    let error = with_path(&second, nothing.path()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("no container {second} below /")), "{error}");
    let inside = group.sub(&format!("machine.slice/libpod-{second}.scope"));
    group.sub(&format!("machine.slice/libpod-{second}.scope/container"));
    assert_eq!(with_path(&second, nothing.path()).unwrap(), inside);

    let error = with_path("a1b2c3d", nothing.path()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "2 containers have IDs starting with a1b2c3d: give more of {}, {}",
            &first[..12],
            &second[..12]
        )
    );

    // In a pod, with the system's driver misread by containerd
    let third = id("a1b2c3e6");
    let pod = group.sub(&format!("kubepods-pod12_34.slice:cri-containerd:{third}"));
    assert_eq!(with_path(&third[..12], nothing.path()).unwrap(), pod);
}

#[test]
fn containers_by_name() {
    let Some(group) = group("byname") else { return };
    let nothing = tempfile::tempdir().unwrap();
    let lxc = format!("web.{}", group.name);
    let dir = group.sub(&format!("lxc.payload.{lxc}"));
    assert_eq!(with_path(&lxc, nothing.path()).unwrap(), dir);
    let machine = format!("box-{}", group.name);
    let dir = group.sub(&format!("machine-{}.scope", machine.replace('-', "\\x2d")));
    assert_eq!(with_path(&machine, nothing.path()).unwrap(), dir);
    group.sub(&format!("lxc/{machine}"));
    let error = with_path(&machine, nothing.path()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("2 are called {machine}: choose one")), "{error}");

    let error = with_path("shop", nothing.path()).unwrap_err().to_string();
    assert!(error.contains("; no docker, podman, nerdctl or crictl is installed"), "{error}");
    for bad in ["", "-h", "--help", "a\u{1b}b"] {
        let error = with_path(bad, nothing.path()).unwrap_err().to_string();
        assert!(error.ends_with("is not a container: give its name or ID"), "{error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

/// A program that stands in for a runtime. Written by another process: while ours holds it open,
/// even in a child just forked by another test, the kernel refuses to run it.
fn stand_in(dir: &Path, name: &str, script: &str) {
    let text = format!("#!/bin/sh\n{script}\n");
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let done = Command::new("sh").args(["-c", write]).arg(dir.join(name)).arg(text).status();
    assert!(done.unwrap().success());
}

#[test]
fn runtimes_are_asked_for_names() {
    let Some(group) = group("asked") else { return };
    let tools = tempfile::tempdir().unwrap();
    let (ours, stopped) = (id("d0c5e401"), id("d0c5e402"));
    let dir = group.sub(&format!("docker-{ours}.scope"));
    // docker knows "shop", podman "old" and "cafe", which is also the start of another's ID.
    group.sub(&format!("docker-{}.scope", id("cafe0000")));
    let known = |name: &str, id: &str| {
        format!(
            "[ \"$1 $2 $3\" = 'container inspect {name}' ] && \
             {{ echo '[ {{ \"Id\": \"{id}\", \"Image\": {{ \"Id\": \"sha256:1\" }} }} ]'; exit; }}"
        )
    };
    let fail =
        "echo >&2; echo 'permission denied while trying to connect.' >&2; echo x >&2; exit 1";
    stand_in(tools.path(), "docker", &format!("{}\n{fail}", known("shop", &ours)));
    let podman = format!(
        "{}\n{}\necho \"Error: no such container $3\" >&2\nexit 125",
        known("cafe", &ours),
        known("old", &stopped)
    );
    stand_in(tools.path(), "podman", &podman);
    assert_eq!(with_path("shop", tools.path()).unwrap(), dir);
    assert_eq!(with_path("cafe", tools.path()).unwrap(), dir);
    assert_eq!(
        with_path("old", tools.path()).unwrap_err().to_string(),
        format!("podman knows old ({}), but it does not run here: start it", &stopped[..12])
    );
    let error = with_path("nope", tools.path()).unwrap_err().to_string();
    let said = "; docker: permission denied while trying to connect; \
                podman: Error: no such container nope (give its ID, or --cgroup PATH)";
    assert!(error.starts_with("no container nope below /") && error.ends_with(said), "{error}");

    // crictl filters by a regular expression and may know one name in several pods.
    let other = id("d0c5e403");
    let script = format!(
        "[ \"$*\" = 'ps -q --no-trunc --name ^w\\.1$' ] && echo {ours}\n\
         [ \"$*\" = 'ps -q --no-trunc --name ^two$' ] && echo {ours} && echo {other}\nexit 0"
    );
    stand_in(tools.path(), "crictl", &script);
    assert_eq!(with_path("w.1", tools.path()).unwrap(), dir);
    assert_eq!(
        with_path("two", tools.path()).unwrap_err().to_string(),
        format!("crictl has several two: give one of {}, {}", &ours[..12], &other[..12])
    );

    // Invalid answers
    stand_in(tools.path(), "docker", "echo '[{\"Id\": \"../../etc\"}]'");
    stand_in(tools.path(), "podman", "kill -9 $$");
    let error = with_path("nope", tools.path()).unwrap_err().to_string();
    assert!(error.contains("; docker: an answer without an ID; podman: signal: 9"), "{error}");
    // A relative PATH is not searched.
    assert!(
        choose_container(&hierarchies(), "shop", OsStr::new(".:bin:"))
            .unwrap_err()
            .to_string()
            .contains("is installed to ask")
    );
}

#[test]
fn asking() {
    let shell = |script: &str, patience: Duration| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_for_output(command, patience)
    };
    let long = Duration::from_secs(60);
    assert_eq!(shell("echo a; echo b >&2", long).as_deref(), Ok("a\n"));
    // More than a pipe holds, on both streams streams
    let much = "head -c 300000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero >&2";
    assert_eq!(shell(much, long).unwrap().len(), 300_000);
    let short = Duration::from_millis(100);
    assert_eq!(shell("exec sleep 1000", short), Err("no answer within 0.1 s".into()));
    // The shell ends; the process that it started keeps the pipes open.
    assert_eq!(shell("sleep 3 & exit 0", short), Err("no answer within 0.1 s".into()));
    assert_eq!(shell("exit 3", long), Err("exit status: 3".into()));
    assert_eq!(shell("printf '\\n \\033[1mno.\\n' >&2; exit 1", long), Err("[1mno".into()));
    let missing = run_for_output(Command::new("/nowhere/docker"), long).unwrap_err().to_string();
    assert_eq!(missing, "No such file or directory (os error 2)");
}
