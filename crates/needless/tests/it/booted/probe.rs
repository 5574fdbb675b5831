//! The probe, which makes needless calls; a machine that has it; and what the tests of `fix` do with both.

use crate::booted::machine::Machine;
use crate::common::*;

/// Converts fifty times, sleeps, and repeats: with TZ unset each conversion checks /etc/localtime.
pub(crate) const PROBE: &str = "#!/usr/bin/perl
while (1) { my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 }
";
/// The command line of the probe, without its argument.
pub(crate) const WORDS: &str = "/usr/bin/perl /usr/local/bin/probe";
/// The value that `fix` writes.
pub(crate) const ZONE: &str = "Asia/Tokyo";
/// Writes without a question, also where local times change: the zone of the machine is another one.
pub(crate) const YES: &str = "--yes --times-change";
/// The text of probe.service.
pub(crate) const SERVICE: &str = "[Service]\nExecStart=/usr/local/bin/probe unit\n";
pub(crate) const DROP_IN: &str = "/etc/systemd/system/probe.service.d/zz-needless.conf";

/// A machine with the probe in it and a zone of its own, and the packages of these folders in `target/tools`.
pub(crate) fn machine(debs: &str) -> Option<Machine> {
    machine_with(&[], debs)
}

/// The same with more programs: name, text.
pub(crate) fn machine_with(programs: &[(&str, &str)], debs: &str) -> Option<Machine> {
    program("perl")?;
    program("strace")?;
    let machine = Machine::boot_with(&[&[("probe", PROBE)], programs].concat(), debs)?;
    machine.ok("ln -sf /usr/share/zoneinfo/America/New_York /etc/localtime
         rm -f /etc/timezone; : >/etc/environment");
    Some(machine)
}

/// Makes probe.service and starts it; its process.
pub(crate) fn start_unit(machine: &Machine, text: &str) -> String {
    machine.write("/etc/systemd/system/probe.service", "644", text);
    machine.ok("systemctl daemon-reload && systemctl restart probe");
    machine.pid_of(&format!("{WORDS} unit"), "0")
}

/// A text in one line.
pub(crate) fn flat(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// The output of `origin`, in one line.
pub(crate) fn origin(machine: &Machine, pid: &str) -> String {
    flat(&machine.ok(&format!("needless origin --all TZ {pid}")))
}

/// The number of the change in the output of `fix`.
pub(crate) fn made(said: &str) -> &str {
    let id = said.split_once("written: change ").and_then(|(_, rest)| rest.split_once(';'));
    id.unwrap_or_else(|| panic!("{said}")).0
}

/// Every file that a change may be in, with its checksum, mode and owner.
pub(crate) fn files(machine: &Machine) -> String {
    files_in(machine, "etc home usr/local/bin var/spool/cron")
}

/// The same of other folders. crontab(1) has files of its own while it checks a table.
pub(crate) fn files_in(machine: &Machine, folders: &str) -> String {
    machine.ok(&format!("cd /; set -- {folders}
         {{ find \"$@\" -printf '%p %y %m %u %g %l\\n'; find \"$@\" -type f -size -9999k -exec sha256sum {{}} +; }} 2>/dev/null |
         grep -v crontabs/tmp | sort"))
}

/// Asserts that two listings of files are the same, and shows the lines that differ.
pub(crate) fn same(before: &str, after: &str, name: &str) {
    let only = |these: &str, those: &str| -> Vec<String> {
        let those: std::collections::BTreeSet<&str> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(str::to_owned).collect()
    };
    let (gone, new) = (only(before, after), only(after, before));
    assert!(before == after, "{name}: not every byte is back: {gone:#?} became {new:#?}");
}

/// How often the probe checks /etc/localtime in two of its rounds, which is about half a second: strace shows where a
/// round ends.
pub(crate) fn calls(machine: &Machine, pid: &str) -> usize {
    let log = machine.ok(&format!(
        "strace -e trace=%file,pselect6,select -o /run/strace.{pid} -p {pid} 2>/dev/null & tracer=$!
         until [ \"$(grep -c select /run/strace.{pid} 2>/dev/null)\" -ge 4 ]; do
             kill -0 {pid} && kill -0 $tracer && sleep 0.05 || exit 1; done
         kill -INT $tracer; wait $tracer; cat /run/strace.{pid}; rm /run/strace.{pid}"
    ));
    let mut rounds = 0;
    let count = |line: &&str| {
        rounds += usize::from(line.contains("select"));
        (1..=2).contains(&rounds) && line.contains("\"/etc/localtime\"")
    };
    log.lines().filter(count).count()
}

/// Texts that some format treats specially.
pub(crate) const HARD: [&str; 9] = [
    "plain",
    "two words",
    "a\"b",
    "it's",
    "50% of $HOME %h %%",
    "back\\slash \\x41",
    "# no comment #",
    ";semi; `tick`",
    "<+0330>-3:30",
];

/// The real reader passes each written value to the program byte for byte; `fix` refuses values that the
/// format cannot express. Returns how many were written.
pub(crate) fn values_arrive(machine: &Machine, write: &str, read: &str) -> usize {
    let mut written = 0;
    for value in HARD {
        let quoted = value.replace('\'', "'\\''");
        let fixed = machine.run(&format!("needless fix {write} --set 'X={quoted}' --yes"));
        if !fixed.status.success() {
            assert!(stderr(&fixed).contains("X="), "{write} {value}: {}", stderr(&fixed));
            continue;
        }
        written += 1;
        assert_eq!(machine.ok(read), format!("X={value}\n"), "{write}: {}", stdout(&fixed));
    }
    written
}
