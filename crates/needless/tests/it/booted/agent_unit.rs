//! The unit of `needless agent`, under a booted systemd: it counts in the kernel as an ordinary user in a sandbox.

use crate::booted::machine::{Machine, wait};
use crate::common::*;
use needless_fixtures::duckdb;
use std::path::{Path, PathBuf};

/// Converts a time a hundred times in a second.
const CLOCK: &str =
    "#!/usr/bin/perl\nuse POSIX; while (1) { localtime(time); select undef, undef, undef, 0.01 }\n";
const WINDOWS: &str = "/var/lib/needless-agent/windows";

#[test]
fn the_unit_works_in_its_sandbox() {
    let Some(machine) = Machine::boot_with(&[("clock", CLOCK)], "debs debs-ansible") else {
        return;
    };
    if machine.has("ansible-playbook").is_none() {
        return;
    }
    let unit = project().join("packaging/needless-agent.service");
    let text = std::fs::read_to_string(&unit).unwrap();
    let file = "/etc/systemd/system/needless-agent.service";
    machine.write(file, "644", &text);
    let exposure =
        format!("systemd-analyze security --offline=true --no-pager --threshold=30 {file}");
    machine.ok(&exposure);
    // Shorter windows than the unit's, and more time on a processor: with half a percent the start alone is paid back for
    // minutes, and windows are left out.
    // The first of them begins with a break all the same, and so the programs are attached again in the sandbox.
    let start = text.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    let shorter = format!("[Service]\nExecStart=\n{start} --every 1s --cpu-limit 60\n");
    machine.write(&format!("{file}.d/every.conf"), "644", &shorter);
    let clock = "[Service]\nExecStart=/usr/local/bin/clock\n";
    machine.write("/etc/systemd/system/clock.service", "644", clock);
    machine.ok("systemctl daemon-reload && systemctl start clock");
    let log = || {
        machine.ok(
            "journalctl -u needless-agent --no-pager 2>&1; systemctl status needless-agent; true",
        )
    };
    let started = machine.run("systemctl start needless-agent");
    assert!(started.status.success(), "{}{}", stderr(&started), log());

    let list = || machine.ok(&format!("ls {WINDOWS}/"));
    wait(|| (list().lines().count() >= 3).then_some(())).unwrap_or_else(|| panic!("{}", log()));
    let pid = machine.ok("systemctl show -p MainPID --value needless-agent");
    let status = machine.ok(&format!("cat /proc/{}/status", pid.trim()));
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_ne!(field("Uid:"), "0");
    assert_eq!((&*field("NoNewPrivs:"), &*field("Seccomp:")), ("1", "2"));
    // Of the four that it has, PERFMON is given up once the programs are in the kernel.
    assert_eq!(u64::from_str_radix(&field("CapPrm:"), 16), Ok(OBSERVING & !(1 << 5)));
    let metrics = machine.ok("curl -s http://127.0.0.1:9466/metrics");
    let clock = "systemd_unit=\"clock.service\"";
    assert!(metrics.contains(clock), "{metrics}");

    machine.ok("systemctl reload needless-agent");
    let read = || machine.ok("journalctl -u needless-agent --no-pager").contains("was read again");
    wait(|| read().then_some(())).unwrap_or_else(|| panic!("{}", log()));

    let fixed_at = fixed_by_a_play(&machine);
    let before = list().lines().count();
    wait(|| (list().lines().count() >= before + 4).then_some(()))
        .unwrap_or_else(|| panic!("{}", log()));

    machine.ok("systemctl stop needless-agent");
    assert_eq!(machine.ok("systemctl show -p Result --value needless-agent").trim(), "success");
    let folder = tempfile::tempdir().unwrap();
    for name in list().lines() {
        let file = machine.run(&format!("cat {WINDOWS}/{name}"));
        std::fs::write(folder.path().join(name), file.stdout).unwrap();
    }
    assert_clock_is_fixed(folder.path(), &fixed_at);
}

/// The windows in `folder` show the cause, and that it is gone since `fixed_at`.
fn assert_clock_is_fixed(folder: &Path, fixed_at: &str) {
    let all = format!("read_parquet('{}/*.parquet')", folder.display());
    let sql = "SELECT count(DISTINCT host), min(length(host)), count(DISTINCT window_start), sum(needless) > 5 \
        FROM needless_rows WHERE service = 'clock.service' AND cause = 'tz-unset'";
    let Some(answer) = duckdb(&all, sql) else { return };
    assert!(answer[0].starts_with("1|32|") && answer[0].ends_with("|true"), "{answer:?}");
    // The agent's user can read the journal of root's changes.
    let sql = std::fs::read_to_string(project().join("sql/states.sql")).unwrap();
    let sql = format!(
        "CREATE VIEW needless_since AS SELECT TIMESTAMPTZ '{fixed_at}' AS since; SELECT state, windows_since > 0 \
         FROM ({}) WHERE service = 'clock.service' AND cause = 'tz-unset'",
        sql.trim_end().trim_end_matches(';')
    );
    assert_eq!(duckdb(&all, &sql).unwrap(), ["verified|true"]);
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Has Ansible run the play that `needless-fleet fix` prints, with this host and its service in it. Returns when it was
/// done.
fn fixed_by_a_play(machine: &Machine) -> String {
    let play = project().join("crates/fleet-query/tests/fleet/play.yaml");
    let play = std::fs::read_to_string(play).unwrap();
    let hash = "systemd-id128 machine-id --app-specific=59105bbaa866430a88318697295475b8";
    let play = play.replace("nginx.service", "clock.service");
    let play = play.replace("host-000006", machine.ok(hash).trim());
    machine.write("/root/play.yaml", "644", &play);
    let run = |words: &str| {
        let words = format!(
            "cd /root; LC_ALL=C.UTF-8 ansible-playbook -i localhost, -c local {words} 2>&1"
        );
        machine.ok(&words)
    };
    let said = run("--syntax-check play.yaml");
    assert!(said.contains("playbook: play.yaml"), "{said}");
    let said = run("play.yaml");
    assert!(said.contains("changed=1 ") && said.contains("failed=0"), "{said}");
    machine.ok("date -u +'%F %T.%N+00'").trim().to_owned()
}
