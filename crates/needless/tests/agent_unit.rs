//! The unit of `needless agent`, under a booted systemd: it counts in the kernel as an ordinary user in a sandbox.

mod common;
#[path = "common/machine.rs"]
mod machine;
use common::*;
use machine::{Machine, wait};
use needless_fixtures::duckdb;
use std::path::Path;

/// Converts a time a hundred times in a second.
const CLOCK: &str =
    "#!/usr/bin/perl\nuse POSIX; while (1) { localtime(time); select undef, undef, undef, 0.01 }\n";
const WINDOWS: &str = "/var/lib/needless-agent/windows";

#[test]
fn the_unit_works_in_its_sandbox() {
    let Some(machine) = Machine::boot(&[("clock", CLOCK)]) else { return };
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/needless-agent.service");
    let text = std::fs::read_to_string(&unit).unwrap();
    let file = "/etc/systemd/system/needless-agent.service";
    machine.write(file, "644", &text);
    let exposure =
        format!("systemd-analyze security --offline=true --no-pager --threshold=30 {file}");
    machine.ok(&exposure);
    // Shorter windows than the unit's, and more time on a processor: for such short ones half a percent is not enough.
    // The first of them begins with a break all the same, and so the programs are attached again in the sandbox.
    let start = text.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    let shorter = format!("[Service]\nExecStart=\n{start} --every 1s --cpu-limit 20\n");
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

    machine.ok("systemctl stop needless-agent");
    assert_eq!(machine.ok("systemctl show -p Result --value needless-agent").trim(), "success");
    let folder = tempfile::tempdir().unwrap();
    for name in list().lines() {
        let file = machine.run(&format!("cat {WINDOWS}/{name}"));
        std::fs::write(folder.path().join(name), file.stdout).unwrap();
    }
    let all = format!("read_parquet('{}/*.parquet')", folder.path().display());
    let sql = "SELECT count(DISTINCT host), min(length(host)), count(DISTINCT window_start), sum(needless) > 5 \
        FROM needless_rows WHERE service = 'clock.service' AND cause = 'tz-unset'";
    let Some(answer) = duckdb(&all, sql) else { return };
    assert!(answer[0].starts_with("1|32|") && answer[0].ends_with("|true"), "{answer:?}");
}
