//! `sudo needless run`: the command is the caller's, and so is the report.

use crate::common::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Output;

/// Prints everything that sudo would change.
const SHOW: &str = "id; echo; env | grep -v -e '^_=' -e '^NEEDLESS_' | sort; echo; umask; ulimit -n; ulimit -c; pwd";

/// How sudo is set up on most machines, and so that it becomes the command itself (sudoers(5)): then sudo is
/// not among the ancestors.
pub(crate) const STAYS: &str = "";
pub(crate) const EXECUTES: &str = "Defaults:nobody !pam_session,!pam_setcred,!use_pty\n";

/// Runs `script` as the user `nobody`, who may use sudo there and only there; `None`, and the test counts as
/// skipped, where this is not possible.
pub(crate) fn as_nobody(folder: &Path, script: &str) -> Option<Output> {
    as_nobody_with(STAYS, folder, script)
}

pub(crate) fn as_nobody_with(defaults: &str, folder: &Path, script: &str) -> Option<Output> {
    // Only root can give a user the right to use sudo for the test.
    root()?;
    program("sudo")?;
    program("setpriv")?;
    let unshare = own_mounts()?;
    let sudoers = folder.join("sudoers");
    let _ = std::fs::remove_file(&sudoers);
    let rule = "nobody,root ALL=(ALL) NOPASSWD: ALL\n";
    std::fs::write(&sudoers, format!("{defaults}{rule}")).unwrap();
    std::fs::set_permissions(&sudoers, PermissionsExt::from_mode(0o440)).unwrap();
    let enter = format!(
        "mount --bind {} /etc/sudoers && cd {} && exec setpriv --reuid nobody --regid nogroup --init-groups sh -c \"$1\"",
        sudoers.display(),
        folder.display()
    );
    let mut command = command(unshare[0]);
    command.args(&unshare[1..]).args(["sh", "-c", &enter, "sh", script]);
    Some(command.env("MINE", "1").env("TZ", "Europe/Athens").output().unwrap())
}

/// A folder with needless that the user `nobody` may enter and write to.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(NEEDLESS, &folder.path().join("needless"));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    folder
}

#[test]
fn the_command_and_the_report_belong_to_the_caller() {
    let folder = folder();
    let script =
        |wrapper: &str| format!("umask 027; ulimit -n 500; {wrapper} sh -c \"{SHOW}\"; true");
    let Some(plain) = as_nobody(folder.path(), &script("")) else { return };
    assert!(plain.stdout.starts_with(b"uid=65534(nobody)"), "{}", stdout(&plain));
    // sudo passes no variables on.
    for backend in ["auto"].into_iter().chain(backends().map(|backend| backend[0].1)) {
        let run = format!("sudo -n ./needless run --backend {backend} -o {backend}.json --");
        let wrapped = as_nobody(folder.path(), &script(&run)).unwrap();
        assert_eq!(stdout(&wrapped), stdout(&plain), "{}", stderr(&wrapped));
        let report = folder.path().join(format!("{backend}.json")).metadata().unwrap();
        assert_eq!((report.uid(), report.mode() & 0o777), (65534, 0o640));
    }
}

#[test]
fn the_report_goes_nowhere_that_the_caller_may_not_write() {
    let folder = folder();
    // In a shell of its own and as what the shell becomes: sudo's parent is another each time.
    for script in [
        "sudo -n ./needless run -o /etc/needless-test.json -- true; exit $?",
        "exec sudo -n ./needless run -o /etc/needless-test.json -- true",
    ] {
        let Some(done) = as_nobody(folder.path(), script) else { return };
        let written = Path::new("/etc/needless-test.json").exists();
        let _ = std::fs::remove_file("/etc/needless-test.json");
        assert!(!written, "{script}");
        assert_eq!(done.status.code(), Some(125), "{}", stderr(&done));
        assert!(stderr(&done).contains("/etc"), "{}", stderr(&done));
    }
}

#[test]
fn elevate_observes_by_sudo_and_runs_the_command_as_the_caller() {
    let folder = folder();
    let script = "./needless run --backend ebpf --elevate -o report.json -- id -u";
    let Some(done) = as_nobody(folder.path(), script) else { return };
    assert_eq!(stdout(&done), "65534\n", "{}", stderr(&done));
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(report.contains("\"backend\": \"eBPF\""), "{report}");
}

#[test]
fn needless_behind_sudo_keeps_the_capabilities_to_write_as_the_caller() {
    let folder = folder();
    let script = r#"sudo -n ./needless run --backend ebpf -o report.json -- sh -c 'sed -n "s/^CapPrm:.//p" /proc/$PPID/status'"#;
    let Some(done) = as_nobody(folder.path(), script) else { return };
    let held = u64::from_str_radix(stdout(&done).trim(), 16);
    let held = held.unwrap_or_else(|_| panic!("{}", stderr(&done)));
    // CAP_SETUID, CAP_SETGID
    assert_eq!(held & !OBSERVING, 1 << 7 | 1 << 6, "{held:x}");
    assert_eq!(folder.path().join("report.json").metadata().unwrap().uid(), 65534);
}

/// Ways in which sudo is not the parent of needless; `CMD` stands for needless.
const WAYS: [&str; 8] = [
    "sudo -n CMD",
    "sudo -n timeout 60 CMD",
    "sudo -n sh -c \"CMD; exit \\$?\"",
    "sudo -n sh -c \"timeout 60 CMD; exit \\$?\"",
    "sudo -n nice env A=1 CMD",
    "sudo -n -u root sudo -n CMD",
    "sudo -n sh -c \"sudo -n CMD; exit \\$?\"",
    "sudo -n setsid -w CMD",
];

#[test]
fn the_command_belongs_to_the_caller_behind_other_programs_too() {
    let folder = folder();
    for defaults in [STAYS, EXECUTES] {
        for way in WAYS {
            // Root has run sudo in between: where that leaves no trace, the user is not known, and that is reported.
            let traceless = defaults == EXECUTES && way.matches("sudo").count() > 1;
            let script = way.replace("CMD", "./needless run -o report.json -- id");
            let Some(done) = as_nobody_with(defaults, folder.path(), &script) else { return };
            if traceless {
                let said = stderr(&done);
                assert!(stdout(&done).contains("65534") || said.contains("--as"), "{way}: {said}");
                continue;
            }
            let printed = (stdout(&done), stderr(&done));
            assert!(
                printed.0.starts_with("uid=65534(nobody) gid=65534"),
                "{defaults}{way}: {printed:?}"
            );
            assert!(!printed.0.contains("(root)"), "{defaults}{way}: {printed:?}");
            let report = folder.path().join("report.json");
            assert_eq!(report.metadata().unwrap().uid(), 65534, "{defaults}{way}");
            std::fs::remove_file(report).unwrap();
        }
    }
}

#[test]
fn every_subcommand_runs_its_command_as_the_caller() {
    let folder = folder();
    // Any library will do; the test is about who loads it.
    let any = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"];
    let any = any.into_iter().find(|file| Path::new(file).exists());
    copy(any.expect("a C library"), &folder.path().join("libneedless_localtime.so"));
    let all = "./needless preload -- id -u >> ids; \
               ./needless origin -o o.txt TZ -- id -u >> ids; \
               ./needless run --prove --runs 1 -o r.txt -- sh -c \\\"id -u >> ids\\\"; \
               ./needless prove --set X=1 --runs 1 -o p.txt --prepare \\\"id -u >> ids\\\" \
               --cleanup \\\"id -u >> ids\\\" -- sh -c \\\"id -u >> ids\\\"";
    for defaults in [STAYS, EXECUTES] {
        let script = format!("rm -f ids; : > ids; sudo -n sh -c \"{all}\"; sort ids | uniq -c");
        let Some(done) = as_nobody_with(defaults, folder.path(), &script) else { return };
        let counted = stdout(&done);
        let mut words = counted.split_whitespace();
        let (times, who) = (words.next().unwrap_or("0"), words.next());
        assert_eq!((who, words.next()), (Some("65534"), None), "{counted}{}", stderr(&done));
        assert!(times.parse::<u32>().unwrap() > 10, "{counted}{}", stderr(&done));
        for file in ["o.txt", "r.txt", "p.txt"] {
            let file = folder.path().join(file);
            assert_eq!(file.metadata().unwrap().uid(), 65534, "{}", file.display());
        }
    }
}

#[test]
fn a_variable_set_behind_sudo_reaches_the_command() {
    let folder = folder();
    let show = "./needless run -o r.json -- sh -c 'echo $TZ $HOME $MINE'";
    let quoted = show.replace('$', "\\$");
    let script = format!(
        "sudo -n {show}; sudo -n sh -c \"{quoted}; :\"; \
         sudo -n sh -c \"export TZ=UTC; unset MINE; {quoted}; :\""
    );
    let Some(done) = as_nobody(folder.path(), &script) else { return };
    let plain = "Europe/Athens /nonexistent 1\n";
    assert_eq!(stdout(&done), format!("{plain}{plain}UTC /nonexistent 1\n"), "{}", stderr(&done));
}

#[test]
fn only_root_may_choose_another_user() {
    let folder = folder();
    for option in ["--as root", "--as-root"] {
        let script = format!("./needless run {option} -- id -u");
        let Some(done) = as_nobody(folder.path(), &script) else { return };
        assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(125), ""));
        assert!(assert_one_line(&done).contains("run it with sudo"), "{}", stderr(&done));
    }
}

#[test]
fn the_option_as_gives_the_users_groups_home_and_files() {
    let folder = folder();
    let script = "sudo -n sh -c \"./needless run --as daemon -o r.json -- \
                  sh -c 'id; echo \\$HOME \\$USER \\$SUDO_UID'; stat -c %U r.json\"; \
                  id daemon; echo ~daemon daemon; echo daemon";
    let Some(done) = as_nobody(folder.path(), script) else { return };
    let printed = stdout(&done);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..3], lines[3..], "{printed}{}", stderr(&done));
}

#[test]
fn the_option_as_searches_where_that_user_may() {
    let folder = folder();
    let script = "sudo -n sh -c \"mkdir -m 700 own && cp /bin/false own/id && \
                  PATH=\\$PWD/own:\\$PATH ./needless run --as daemon -o /dev/null -- id -un\"";
    let Some(done) = as_nobody(folder.path(), script) else { return };
    assert_eq!(stdout(&done), "daemon\n", "{}", stderr(&done));
}

/// sudo drops a TZ that is a path outside the zones: the command of root must not get it back.
#[test]
fn a_command_gets_what_sudo_gives_if_root_runs_sudo() {
    if root().is_none() || program("sudo").is_none() {
        return;
    }
    let under = |words: &[&str]| {
        let mut sudo = command("sudo");
        sudo.arg("-n").args(words).args(["sh", "-c", SHOW]);
        let done = sudo.env("TZ", ":/etc/localtime").env("MINE", "1").output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        // The command line differs.
        let text = stdout(&done);
        let kept = text.lines().filter(|line| !line.starts_with("SUDO_COMMAND="));
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = under(&[]);
    assert_eq!(under(&[NEEDLESS, "run", "-o", "/dev/null", "--"]), plain);
    let script = format!("exec {NEEDLESS} run -o /dev/null -- \"$@\"");
    assert_eq!(under(&["sh", "-c", &script, "sh"]), plain);
}

#[test]
fn a_file_that_the_caller_may_not_read_is_refused() {
    let folder = folder();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "TOPSECRET = 1\n").unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    for words in [
        "read secret",
        "read --config secret secret",
        "diff secret secret",
        "fix secret",
        "prove secret -- true",
        "prove --set X=1 --runs 1 --stdin secret -- cat",
        "check --baseline secret -- true",
    ] {
        let script = format!("sudo -n ./needless {words}");
        let Some(done) = as_nobody(folder.path(), &script) else { return };
        let printed = stdout(&done) + &stderr(&done);
        assert!(!printed.contains("TOPSECRET"), "{words}: {printed}");
        assert!(
            !done.status.success() && printed.contains("ermission denied"),
            "{words}: {printed}"
        );
        assert_one_line(&done);
    }
    // The file belongs to root and is trusted for that reason, in a directory that only the caller may write
    // to.
    std::os::unix::fs::chown(folder.path(), Some(65534), None).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let found =
        "ln -s secret needless.toml; sudo -n ./needless explain; s=$?; rm needless.toml; exit $s";
    let done = as_nobody(folder.path(), found).unwrap();
    assert!(assert_one_line(&done).contains("ermission denied"), "{}", stderr(&done));
    // A file that somebody else has put there stops no command.
    assert!(done.status.success() && stdout(&done).contains("tz-unset"), "{}", stdout(&done));
}

#[test]
fn the_callers_own_files_are_read() {
    let folder = folder();
    let script = "umask 077; echo words > in; \
                  sudo -n ./needless prove --set X=1 --runs 1 --stdin in -o p.txt -- \
                  sh -c 'cat >> seen'; sort -u seen; \
                  sudo -n ./needless run -o r.json -- ls; sudo -n ./needless diff r.json r.json; \
                  sudo -n ./needless read - < in";
    let Some(done) = as_nobody(folder.path(), script) else { return };
    let (out, said) = (stdout(&done), stderr(&done));
    assert!(out.starts_with("words\n"), "{out}{said}");
    assert!(!said.contains("ermission denied") && said.contains("words"), "{out}{said}");
}

#[test]
fn an_agent_behind_sudo_reads_its_configuration_again() {
    if !observes_others() {
        return;
    }
    let folder = folder();
    // What is waited for comes after half a second; if it does not come, this ends all the same.
    let script = "wait_for() { for _ in $(seq 200); do sudo -n sh -c \"$1\" >ls 2>&1 && return; sleep 0.1; done; }; \
                  echo >n.toml; sudo -n ./needless agent --host a --dir ring --every 500ms --cpu-limit none \
                  --config n.toml 2>said & agent=$!; wait_for 'ls ring/*.parquet'; sudo -n kill -HUP $agent; \
                  wait_for 'test -s said'; sudo -n kill $agent; wait; cat said";
    let Some(done) = as_nobody_with(EXECUTES, folder.path(), script) else { return };
    assert!(stdout(&done).contains("was read again"), "{}{}", stdout(&done), stderr(&done));
}
