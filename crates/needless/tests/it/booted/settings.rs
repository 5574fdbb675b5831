//! What `fix` sets besides variables, with the real systemd and nginx: the calls are gone, and every byte comes back.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;

/// Starts a program, again and again, that closes all that could be open.
pub(crate) const STORM: &str = "#!/usr/bin/perl
while (1) { system '/usr/local/bin/closer'; select undef, undef, undef, 0.2 }
";
pub(crate) const CLOSER: &str = "#!/usr/bin/perl
use POSIX ();
open my $f, '<', '/proc/self/limits';
my ($most) = map { /^Max open files +(\\d+)/ } <$f>;
POSIX::close($_) for 3 .. $most - 1;
";
const STORMY: &str = "/etc/systemd/system/storm.service";
const LIMITED: &str = "/etc/systemd/system/storm.service.d/zz-needless.conf";

/// The soft and the hard limit of open files of the main process of a unit.
fn limits(machine: &Machine, unit: &str) -> String {
    let pid = machine.main_of(unit);
    let line = machine.ok(&format!("grep '^Max open files' /proc/{pid}/limits"));
    flat(&line).trim_start_matches("Max open files ").to_owned()
}

/// Whether a report of the unit, of some seconds, has a finding of the rule.
pub(crate) fn reports(machine: &Machine, unit: &str, rule: &str) -> bool {
    machine.ok(&format!("needless attach --unit {unit} --for 3s -o /run/r.json"));
    has_finding(machine, rule)
}

/// Whether the report in /run/r.json has a finding of the rule.
fn has_finding(machine: &Machine, rule: &str) -> bool {
    let report: serde_json::Value = serde_json::from_str(&machine.ok("cat /run/r.json")).unwrap();
    report["findings"].as_array().unwrap().iter().any(|finding| finding["rule"] == rule)
}

fn storm(service: &str) -> Option<Machine> {
    let machine = machine_with(&[("storm", STORM), ("closer", CLOSER)], "")?;
    if !observes_others() {
        return None;
    }
    let unit = format!("[Service]\nExecStart=/usr/local/bin/storm\n{service}");
    machine.write(STORMY, "644", &unit);
    machine.ok("systemctl daemon-reload && systemctl start storm");
    Some(machine)
}

#[test]
fn fix_lowers_the_limit_of_a_close_storm() {
    let Some(machine) = storm("LimitNOFILE=8000:16000\n") else { return };
    let before = files(&machine);
    assert!(reports(&machine, "storm", "close-storm"));
    let fix = "needless fix /run/r.json --rule close-storm --yes";
    let said = machine.ok(&format!("{fix} --restart"));
    eprintln!("{said}");
    for part in [
        "+LimitNOFILE=1024:16000\n",
        "The hard limit stays 16000",
        "storm.service:3 sets LimitNOFILE=8000:16000, and the new drop-in is read after it",
        "in force: LimitNOFILE=1024:16000 in storm[",
        " calls per second before, 0 after",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert_eq!(limits(&machine, "storm"), "1024 16000 files");
    // Once more there is nothing to do; beside it a variable is set, and taken back alone.
    let again = machine.all(fix);
    assert!(again.contains("soft limit of open files is 1024 there"), "{again}");
    machine.ok("needless fix --unit storm --set TZ=Asia/Tokyo --yes --times-change");
    let both = machine.ok(&format!("cat {LIMITED}"));
    assert!(both.contains("LimitNOFILE=1024:16000") && both.contains("TZ=Asia/Tokyo"), "{both}");
    machine.ok("needless undo --last");
    assert!(!reports(&machine, "storm", "close-storm"));
    let undone = machine.ok("needless undo --last");
    assert!(undone.contains("systemctl restart storm.service"), "{undone}");
    same(&before, &files(&machine), "undo");
    machine.ok("systemctl restart storm");
    assert_eq!(limits(&machine, "storm"), "8000 16000 files");
    assert!(reports(&machine, "storm", "close-storm"));
}

/// Where the limit is not the unit's, or somebody has the last word, nothing is written.
#[test]
fn fix_lowers_no_limit_that_another_sets_or_needs() {
    let Some(machine) = storm("LimitNOFILE=8000:16000\n") else { return };
    let fix = "needless fix --unit storm --rule close-storm --yes --restart";
    let last = "/etc/systemd/system/storm.service.d/zzz-last.conf";
    machine.write(last, "644", "[Service]\nLimitNOFILE=9000\n");
    machine.ok("systemctl daemon-reload && systemctl restart storm");
    let before = files(&machine);
    let said = machine.all(fix);
    let why = format!("{last}:2 sets it, and sorts after zz-needless.conf: change it there");
    assert!(said.contains(&why) && said.ends_with("rc 2"), "{said}");
    same(&before, &files(&machine), "refused");
    // The program raises its own limit.
    machine.ok(&format!("rm -r $(dirname {last})"));
    let own = "[Service]\nLimitNOFILE=1024:16000\nExecStart=/bin/sh -c 'ulimit -Sn 8000; exec /usr/local/bin/storm'\n";
    machine.write(STORMY, "644", own);
    machine.ok("systemctl daemon-reload && systemctl restart storm");
    let said = machine.all(fix);
    assert!(said.contains("starts its program with a soft limit of 1024 open files"), "{said}");
    let raises = own.replace("1024:16000", "2048:16000");
    machine.write(STORMY, "644", &raises);
    machine.ok("systemctl daemon-reload && systemctl restart storm");
    let before = files(&machine);
    let said = machine.all(fix);
    assert!(
        said.contains(
            "has a soft limit of 8000 open files, which it, or what starts it, sets itself"
        ),
        "{said}"
    );
    assert!(said.contains("taken back, and restarted once more"), "{said}");
    same(&before, &files(&machine), "taken back");
    // It has many open.
    let many = "[Service]\nLimitNOFILE=8000:16000\nExecStart=/usr/bin/perl -e 'open $f[$_], \"</dev/null\" for 1 .. 600; while (1) { system \"/usr/local/bin/closer\"; select undef, undef, undef, 0.2 }'\n";
    machine.write(STORMY, "644", many);
    machine.ok("systemctl daemon-reload && systemctl restart storm; sleep 1");
    let said = machine.all(fix);
    assert!(said.contains("descriptors open, under the limit that it was started with"), "{said}");
    // A report is evidence: no other rule advises it.
    let forged = serde_json::json!({ "schema": "needless.report/1", "backend": "eBPF",
        "source": { "kind": "attach", "name": "host" }, "complete": true, "window_s": 9.0,
        "totals": { "calls": 9 }, "lost": {}, "findings": [{ "rule": "tz-unset", "service": "storm.service",
        "needless": 9, "process": { "pid": 1 }, "exes": [], "evidence": [], "remedies": [{ "kind": "setting",
        "variable": null, "value": null, "setting": "open-files", "text": "x", "caveat": "y", "safety": "safe" }] }] });
    machine.write("/run/forged.json", "644", &forged.to_string());
    let said = machine.all("needless fix /run/forged.json --yes");
    assert!(said.contains("does not advise a setting"), "{said}");
}

/// Asks for seven files in turn, without end.
const ASKER: &str = "#!/usr/bin/perl
use IO::Socket::INET;
for (my $n = 0; ; $n++) {
    my $s = IO::Socket::INET->new('127.0.0.1:8089') or next;
    print $s 'GET /f' . $n % 7 . \".html HTTP/1.0\\r\\n\\r\\n\";
    1 while <$s>;
    select undef, undef, undef, 0.003;
}
";
const CACHED: &str = "/etc/nginx/conf.d/zz-needless.conf";

#[test]
fn fix_has_nginx_keep_files_open() {
    let Some(machine) = machine_with(&[("asker", ASKER)], "debs debs-daemons") else { return };
    if machine.has("nginx").is_none() || !observes_others() {
        return;
    }
    let site = "server { listen 127.0.0.1:8089; root /srv/www; }\n";
    machine.write("/etc/nginx/conf.d/probe.conf", "644", site);
    machine.ok("mkdir -p /srv/www /var/log/nginx /var/lib/nginx; for n in $(seq 0 6); do echo $n >/srv/www/f$n.html; done
        systemctl daemon-reload; systemctl restart nginx");
    let mut asker = machine.start("exec /usr/local/bin/asker");
    let before = files(&machine);
    assert!(reports(&machine, "nginx", "nginx-open-files"));
    let worker = "pgrep -n -f '^nginx: worker process$'";
    let old = machine.ok(worker);
    let fix = "needless fix /run/r.json --rule nginx-open-files --yes";
    let said = machine.ok(&format!("{fix} --restart"));
    eprintln!("{said}");
    for part in [
        "+open_file_cache max=128 inactive=60s;\n",
        "reloaded: systemctl reload nginx.service",
        "in force: open_file_cache=max=128 inactive=60s in nginx[",
        " calls per second before, 0 after",
        "is seen up to 30s later",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert_ne!(machine.ok(worker), old);
    assert!(!reports(&machine, "nginx", "nginx-open-files"));
    // The truth: the worker opens none of the files.
    let opens =
        machine.ok(&format!("timeout 2 strace -qq -e trace=openat,open -p $({worker}) 2>&1; true"));
    assert!(opens.matches("/srv/www/").count() <= 7, "{opens}");
    let undone = machine.ok("needless undo --last");
    assert!(undone.contains("systemctl reload nginx.service"), "{undone}");
    same(&before, &files(&machine), "undo");
    machine.ok("systemctl reload nginx; sleep 1");
    assert!(reports(&machine, "nginx", "nginx-open-files"));
    // A site has its own opinion.
    machine.write(
        "/etc/nginx/conf.d/probe.conf",
        "644",
        &site.replace("root", "open_file_cache off; root"),
    );
    let said = machine.all(fix);
    assert!(
        said.contains("probe.conf sets open_file_cache already") && said.ends_with("rc 2"),
        "{said}"
    );
    // A mistake of somebody else, and no such directory for all sites.
    machine.write("/etc/nginx/conf.d/probe.conf", "644", "server { lisen 1; }\n");
    let said = machine.all(fix);
    assert!(said.contains("its configuration is wrong now"), "{said}");
    machine.write("/etc/nginx/conf.d/probe.conf", "644", site);
    machine.ok("sed -i 's,include /etc/nginx/conf.d,# &,' /etc/nginx/nginx.conf");
    let said = machine.all(fix);
    assert!(said.contains("does not include /etc/nginx/conf.d/*.conf in its http block"), "{said}");
    assert!(!machine.run(&format!("test -e {CACHED}")).status.success());
    let _ = asker.kill();
    let _ = asker.wait();
}

/// Runs a command with needless: whether it has a finding of the rule. The report stays in /run/r.json.
fn finds(machine: &Machine, rule: &str, command: &str) -> bool {
    machine.run(&format!("cd /run; needless run -o /run/r.json -- {command}"));
    has_finding(machine, rule)
}

/// What is found, put right, not found any more, taken back, and found again.
fn puts_right(machine: &Machine, rule: &str, command: &str, says: &[&str]) {
    let all = |machine: &Machine| files_in(machine, "etc usr/local/bin srv var/cache/fontconfig");
    assert!(finds(machine, rule, command), "{rule}: {}", machine.ok("cat /run/r.json"));
    let before = all(machine);
    let fix = format!("needless fix /run/r.json --rule {rule} --yes");
    let said = machine.ok(&fix);
    eprintln!("{said}");
    for part in says {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(machine.ok(&fix).contains("already so"), "{rule}");
    assert!(!finds(machine, rule, command), "{rule}: {}", machine.ok("cat /run/r.json"));
    machine.ok("needless undo --last");
    same(&before, &all(machine), rule);
    assert!(finds(machine, rule, command), "{rule}: {}", machine.ok("cat /run/r.json"));
}

/// Starts a program often.
const LISTS: &str = "sh -c 'for _ in $(seq 50); do ls / >/dev/null; done'";

#[test]
fn fix_makes_the_caches_of_a_machine() {
    let Some(machine) = machine("") else { return };
    machine.ok("rm -f /etc/ld.so.cache");
    let new =
        ["new file /etc/ld.so.cache", "it takes effect with programs that are started from now on"];
    puts_right(&machine, "loader-cache", LISTS, &new);
    machine
        .ok("needless fix /run/r.json --rule loader-cache --yes; ldconfig -p | grep -q libc.so.6");
    if machine.has("fc-cache").is_some() && machine.has("fc-match").is_some() {
        machine.ok("rm -rf /var/cache/fontconfig/*");
        let nobody = "setpriv --reuid nobody --clear-groups env HOME=/nonexistent fc-match serif";
        puts_right(&machine, "font-cache", nobody, &["new file /var/cache/fontconfig/"]);
    }
    // Of the libraries that every program preloads, those that are gone.
    let list = "# agents\n/opt/agent/libgone.so /lib/x86_64-linux-gnu/libm.so.6\n";
    machine.write("/etc/ld.so.preload", "644", &list.replace("x86_64", std::env::consts::ARCH));
    let says = [
        "/opt/agent/libgone.so out of /etc/ld.so.preload",
        "-/opt/agent/libgone.so",
        "Every program of the machine",
    ];
    puts_right(&machine, "preload-missing", LISTS, &says);
    // With nothing left in it, the file goes, too.
    machine.write("/etc/ld.so.preload", "644", "/opt/agent/libgone.so\n");
    puts_right(&machine, "preload-missing", LISTS, &["/opt/agent/libgone.so out of"]);
}

/// Twelve modules whose user may not write beside them.
#[test]
fn fix_compiles_the_modules_of_a_directory() {
    let Some(machine) = machine("") else { return };
    if machine.has("python3").is_none() {
        return;
    }
    machine.ok("mkdir -p /srv/app; for n in $(seq 12); do echo 'x = 1' >/srv/app/mod$n.py; echo import mod$n >>/srv/main.py; done");
    let nobody = "setpriv --reuid nobody --clear-groups env PYTHONPATH=/srv/app";
    let imports = format!("{nobody} python3 /srv/main.py");
    let says = [
        "modules of /srv/app compiled: 12",
        "reaches  every program that has modules from /srv/app",
        "/srv/app belongs to user 0: 12 files are made there",
        "new file /srv/app/__pycache__/mod1.cpython-",
    ];
    puts_right(&machine, "python-bytecode", &imports, &says);
    let gone = machine.run("test -e /srv/app/__pycache__");
    assert!(!gone.status.success(), "what `fix` made is gone, its directory, too");
    // Somebody else's directory: a file of root in it would be in the way of its owner.
    machine.ok("chown daemon /srv/app");
    assert!(finds(&machine, "python-bytecode", &imports));
    let said = machine.all("needless fix /run/r.json --rule python-bytecode --yes");
    assert!(said.contains("/srv/app") && said.ends_with("rc 2"), "{said}");
    assert!(!machine.run("test -e /srv/app/__pycache__").status.success());
}
