//! Containers of podman: in a unit that podman's generator makes of a quadlet, in a unit of an administrator, and by hand.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::needed;
use std::path::Path;

/// The program of the image, which ends when it is asked to.
const PROGRAM: &str = "#!/bin/sh\ntrap exit TERM\nwhile :; do sleep 0.2; done\n";
/// podman 4.3 leaves the file of the container's id, which the generator of later versions counts on to be removed.
const QUADLET: &str = "[Container]\nImage=localhost/plain\nExec=/bin/run\nENV\n\n[Service]\nEnvironment=TZ=Asia/Baku\nExecStartPre=-/bin/rm %t/%N.cid\n";
const FILE: &str = "/etc/containers/systemd/NAME.container";
const CONTAINER: Scenario<'static> = Scenario {
    find: "podman container inspect --format '{{.State.Pid}}' NAME 2>/dev/null",
    program: "",
    ..UNIT
};
/// Of a quadlet.
const GENERATED: Scenario<'static> = Scenario {
    find: "podman container inspect --format '{{.State.Pid}}' systemd-NAME 2>/dev/null",
    program: "",
    place: (FILE, "high"),
    ..UNIT
};

/// Two images, one of which sets TZ, and podman's generator.
fn prepare(machine: &Machine) -> Option<()> {
    machine.has("podman")?;
    let quadlet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin/quadlet");
    let missing = || "podman's quadlet is not built (scripts/install test builds it)".to_owned();
    needed(quadlet.exists().then_some(()).ok_or_else(missing))?;
    machine.bring(&quadlet, "/usr/lib/systemd/system-generators/podman-system-generator");
    // No network, and no file system or limit that a machine in namespaces cannot have.
    let conf = "[containers]\npids_limit = 0\nnetns = \"none\"\n[engine]\nruntime = \"runc\"\n";
    machine.write("/etc/containers/containers.conf", "644", conf);
    let conf = "[storage]\ndriver = \"vfs\"\ngraphroot = \"/run/podman/graph\"\nrunroot = \"/run/podman/run\"\n";
    machine.write("/etc/containers/storage.conf", "644", conf);
    machine.write("/run/image/bin/run", "755", PROGRAM);
    machine.ok("set -e; cd /run/image; cp $(command -v busybox) bin/; for name in sh sleep; do ln -s busybox bin/$name; done
         cp -L --parents /usr/share/zoneinfo/Asia/Tokyo /usr/share/zoneinfo/Asia/Baku .
         export TMPDIR=/run; tar -c . | podman import -q -c 'CMD [\"/bin/run\"]' - plain
         tar -c . | podman import -q -c 'ENV TZ=Asia/Baku' -c 'CMD [\"/bin/run\"]' - zoned; mkdir /etc/app");
    Some(())
}

/// What `--env-file` names.
const ENV_FILE: &str = "/etc/app/NAME.env";
const ROME: &str = "A=\"1\"\nTZ=Europe/Rome\n";

#[test]
fn fix_changes_containers_of_podman() {
    let Some(machine) = machine("debs-podman") else { return };
    if prepare(&machine).is_none() {
        return;
    }
    in_units(&machine);
    by_hand(&machine);
    a_value_that_each_reader_has_a_meaning_for(&machine);
}

fn quadlet(lines: &str) -> String {
    QUADLET.replace("ENV", lines)
}

/// A unit that calls podman.
fn run(options: &str) -> String {
    format!(
        "Environment=TZ=UTC\nExecStart=/usr/bin/podman run --rm --replace --name NAME {options} localhost/plain"
    )
}

/// Of quadlets, and of units that call podman.
fn in_units(machine: &Machine) {
    let (set, unset) = (quadlet("Environment=A=1 TZ=UTC"), quadlet("Environment=A=1"));
    let file = quadlet("EnvironmentFile=../../app/NAME.env");
    let (by_file, option, nothing) =
        (run("--env-file /etc/app/NAME.env"), run("-e TZ=Asia/Dubai"), run(""));
    hold(
        machine,
        &[
            // The unit's own variable reaches podman, and not the container.
            Scenario {
                name: "quadlet",
                files: &[(FILE, "644", &set)],
                truth: Some("UTC"),
                answer: &["/etc/containers/systemd/quadlet.container:4 sets it"],
                ..GENERATED
            },
            Scenario {
                name: "bare",
                files: &[(FILE, "644", &unset)],
                // podman's monitor has the variable in newer versions.
                answer: &["container"],
                fix: "--pid PID --restart",
                ..GENERATED
            },
            // A line of its own is stronger than the file.
            Scenario {
                name: "by-file",
                files: &[(FILE, "644", &file), (ENV_FILE, "644", ROME)],
                truth: Some("Europe/Rome"),
                answer: &["/etc/containers/systemd/../../app/by-file.env:2 sets it"],
                ..GENERATED
            },
            Scenario {
                name: "env-file",
                unit: &by_file,
                files: &[(ENV_FILE, "600", ROME)],
                truth: Some("Europe/Rome"),
                answer: &["/etc/app/env-file.env:2 sets it"],
                place: (ENV_FILE, "high"),
                ..CONTAINER
            },
            Scenario {
                name: "option",
                unit: &option,
                truth: Some("Asia/Dubai"),
                answer: &["/etc/systemd/system/option.service:3 sets it"],
                place: ("", "low"),
                ends: Ends::Refused(
                    "option.service:3 starts a container, which gets only what is said there",
                ),
                ..CONTAINER
            },
            Scenario {
                name: "nothing",
                unit: &nothing,
                // podman's monitor has the variable in newer versions.
                answer: &["container"],
                place: ("", "low"),
                ends: Ends::Refused(
                    "nothing.service:3 starts a container, which gets only what is said there",
                ),
                ..CONTAINER
            },
        ],
    );
}

/// Started by somebody who typed the command.
fn by_hand(machine: &Machine) {
    let typed = |options: &str| {
        format!("podman rm -f -t 1 NAME || true; podman run -d --rm --name NAME {options}")
    };
    let (of_image, of_option, of_file) = (
        typed("localhost/zoned"),
        typed("-e TZ=Asia/Seoul localhost/zoned"),
        typed("--env-file /etc/app/NAME.env localhost/plain"),
    );
    hold(
        machine,
        &[
            Scenario {
                name: "image",
                start: &of_image,
                truth: Some("Asia/Baku"),
                answer: &["image localhost/zoned:latest has it"],
                place: ("", "low"),
                fix: "--pid PID",
                ends: Ends::Refused("image localhost/zoned:latest sets it (ENV)"),
                ..CONTAINER
            },
            Scenario {
                name: "typed",
                start: &of_option,
                truth: Some("Asia/Seoul"),
                answer: &["`-e` of podman run has it"],
                place: ("", "low"),
                fix: "--pid PID",
                ends: Ends::Refused("make it again with another -e TZ=…"),
                ..CONTAINER
            },
            Scenario {
                name: "typed-file",
                start: &of_file,
                files: &[(ENV_FILE, "644", ROME)],
                truth: Some("Europe/Rome"),
                answer: &["/etc/app/typed-file.env:2 sets it"],
                place: (ENV_FILE, "high"),
                fix: "--pid PID",
                ..CONTAINER
            },
        ],
    );
}

/// A value with all that systemd, podman's generator and podman have a meaning for.
fn a_value_that_each_reader_has_a_meaning_for(machine: &Machine) {
    let hard = "a \"b\" $HOME ${X} %n \\t 'c'";
    machine.write("/etc/containers/systemd/hard.container", "644", &quadlet("Environment=A=1"));
    machine.write("/run/hard", "644", hard);
    machine.ok("needless fix --in /etc/containers/systemd/hard.container --set \"A=$(cat /run/hard)\" --yes
         systemctl daemon-reload; systemctl restart hard");
    let pid = machine.ok(&GENERATED.find.replace("NAME", "hard"));
    let environ = machine.ok(&format!("tr '\\0' '\\n' </proc/{}/environ", pid.trim()));
    assert!(environ.lines().any(|line| line == format!("A={hard}")), "{environ}");
}
