//! `origin` on processes that the tests start: where a variable comes from.

mod written;

use crate::common::*;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command that reports when it is ready.
fn start(command: &mut Command) -> Running {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    Running(child)
}

fn story(of: &Running) -> String {
    let done = needless(&["origin", "TZ", &of.0.id().to_string()]);
    assert!(done.status.success(), "{}", stderr(&done));
    stdout(&done).split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

const READY: &str = "$| = 1; print qq(ready\\n); sleep 100";

#[test]
fn set_unset_and_changed_after_the_start() {
    let Some(perl) = program("perl") else { return };
    let perl = |script: &str| {
        let mut perl = command(&perl);
        perl.args(["-e", script]);
        perl
    };
    let set = start(perl(READY).env("TZ", "Asia/Tokyo"));
    let printed = story(&set);
    assert!(printed.starts_with("TZ is Asia/Tokyo in perl["), "{printed}");
    let unset = start(&mut perl(READY));
    let printed = story(&unset);
    assert!(printed.starts_with("TZ is not set in perl["), "{printed}");
    let own = start(perl(&format!("$ENV{{TZ}} = 'UTC'; {READY}")).env("TZ", "Asia/Tokyo"));
    let printed = story(&own);
    assert!(
        printed
            .contains("it changed the variable itself, after its start: Asia/Tokyo then, UTC now"),
        "{printed}"
    );
    let removed = start(perl(&format!("delete $ENV{{TZ}}; {READY}")).env("TZ", "Asia/Tokyo"));
    let printed = story(&removed);
    assert!(
        printed.contains("TZ is not set") && printed.contains("it removed the variable itself"),
        "{printed}"
    );
}

/// setproctitle overwrites the block: /proc then shows nothing about a variable, and not that it is unset.
#[test]
fn a_block_that_was_written_over() {
    let Some(perl) = program("perl") else { return };
    let script = format!("$0 = 'x' x 4000; {READY}");
    let printed = story(&start(command(perl).args(["-e", &script]).env("TZ", "Asia/Tokyo")));
    assert!(printed.starts_with("TZ is Asia/Tokyo in perl["), "{printed}");
    assert!(
        printed.contains("TZ=Asia/Tokyo now") && printed.contains("has written over the block"),
        "{printed}"
    );
}

#[test]
fn static_and_musl_programs_have_a_live_value_too() {
    for name in ["sleeper", "sleeper-static", "sleeper-musl", "sleeper-stripped"] {
        let Some(testee) = testee(name) else { continue };
        let printed = story(&start(command(testee).env("TZ", "Asia/Tokyo")));
        assert!(printed.contains("TZ=Asia/Tokyo at its start, TZ=UTC now"), "{name}: {printed}");
    }
}

#[test]
fn nothing_but_the_variable_is_shown() {
    let Some(perl) = program("perl") else { return };
    let mut perl = command(perl);
    perl.args(["-e", READY, "--", "--password=hunter3"])
        .env("PASSWORD", "hunter2")
        .env("TZ", "UTC");
    let running = start(&mut perl);
    let printed = story(&running);
    assert!(!printed.contains("hunter") && !printed.contains("PASSWORD"), "{printed}");
}

/// Every field, compared with what the test set up.
#[test]
fn the_story_as_json() {
    let Some(perl) = program("perl") else { return };
    let own = start(
        command(perl).args(["-e", &format!("$ENV{{TZ}} = 'UTC'; {READY}")]).env("TZ", "Asia/Tokyo"),
    );
    let pid = own.0.id();
    let done = needless(&["origin", "TZ", &pid.to_string(), "--json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let story: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(story["schema"], "needless.origin/1");
    assert_eq!(story["needless_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(story["variable"], "TZ");
    assert!(story["answer"].as_str().unwrap().starts_with("TZ is UTC in perl["), "{story:#}");
    let steps = story["steps"].as_array().unwrap();
    let (me, up) = (&steps[steps.len() - 1], &steps[steps.len() - 2]);
    assert_eq!(me["pid"], pid);
    assert!(me["program"].as_str().unwrap().contains("perl"));
    assert_eq!(me["initial"], serde_json::json!({"state": "set", "value": "Asia/Tokyo"}));
    assert_eq!(me["live"], serde_json::json!({"state": "set", "value": "UTC"}));
    let changed = me["says"].as_array().unwrap().last().unwrap();
    assert!(changed.as_str().unwrap().contains("it changed the variable itself"), "{story:#}");
    assert_eq!(up["pid"], std::process::id());
    let place = &story["belongs"][0];
    assert_eq!(place["confidence"], "low");
    assert!(place["why"].as_str().unwrap().contains("started by"), "{story:#}");
    assert!(story["or"].is_array() && story["files"].is_array() && story["not_read"].is_array());
    // The output has exactly the fields of the schema.
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/needless.origin-1.json");
    let schema: serde_json::Value =
        serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    let fields = |of: &serde_json::Value| -> Vec<String> {
        of.as_object().unwrap().keys().cloned().collect()
    };
    let mut required: Vec<String> =
        schema["required"].as_array().unwrap().iter().map(|f| f.as_str().unwrap().into()).collect();
    required.sort();
    let mut written = fields(&story);
    written.sort();
    assert_eq!(written, required);
    let mut step = fields(&schema["$defs"]["Step"]["properties"]);
    step.sort();
    let mut is = fields(me);
    is.sort();
    assert_eq!(is, step);
}

/// The text and the JSON report leave out a password, and say where it came from.
#[test]
fn the_value_of_a_password_is_not_shown() {
    let Some(perl) = program("perl") else { return };
    let script = format!("$ENV{{DB_PASSWORD}} = 'hunter3'; {READY}");
    let running = start(command(perl).args(["-e", &script]).env("DB_PASSWORD", "hunter2"));
    let pid = running.0.id().to_string();
    for json in [&[][..], &["--json"]] {
        let done = needless(&[&["origin", "DB_PASSWORD", &pid], json].concat());
        let printed = stdout(&done).split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!printed.contains("hunter"), "{printed}");
        assert!(
            printed.contains("(value 1, not shown) then, (value 2, not shown) now"),
            "{printed}"
        );
    }
}

/// A value that does not look harmless is not shown either: not every secret has a telling name.
#[test]
fn a_value_is_shown_only_if_it_looks_harmless() {
    let Some(perl) = program("perl") else { return };
    let secrets = [
        ("DATABASE_URL", "postgres://u:sup3r@h/db"),
        ("GITHUB_PAT", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        ("JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"),
        ("STRIPE_SK", "sk-live-abcdef"),
        ("SESSION_COOKIE", "s%3Aabc.def"),
        ("DBPIN", "48151623"),
        ("SMSCODE", "48151624"),
        ("OAUTH", "48151625"),
    ];
    let plain = [("WORK_DIR", "/srv/app"), ("THREADS", "16"), ("MY_LOCALE", "de_DE.UTF-8")];
    let mut perl = command(perl);
    let running = start(perl.args(["-e", READY]).envs(secrets).envs(plain));
    let pid = running.0.id().to_string();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("story.json");
    let file = file.to_str().unwrap();
    for (name, value) in secrets {
        for more in [&[][..], &["--json"], &["-o", file]] {
            let done = needless(&[&["origin", name, &pid], more].concat());
            assert!(done.status.success(), "{}", stderr(&done));
            let printed = stdout(&done) + &std::fs::read_to_string(file).unwrap_or_default();
            assert!(!printed.contains(value) && printed.contains("not shown"), "{name}: {printed}");
        }
        std::fs::remove_file(file).unwrap();
        let done = needless(&["origin", name, &pid, "--show-value"]);
        assert!(stdout(&done).contains(value), "{name}: {}", stdout(&done));
    }
    for (name, value) in plain {
        let done = needless(&["origin", name, &pid]);
        assert!(stdout(&done).contains(value), "{name}: {}", stdout(&done));
    }
}

#[test]
fn a_story_of_a_command_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("story.json");
    let mut run = command(NEEDLESS);
    run.args(["origin", "TZ", "-o"]).arg(&file).args(["--", "env", "TZ=UTC", "sh", "-c", "echo x"]);
    let done = run.output().unwrap();
    assert!(done.status.success() && done.stdout == b"x\n" && done.stderr.is_empty());
    let story: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let steps = story["steps"].as_array().unwrap();
    assert_eq!(steps[0]["initial"]["state"], "unset");
    assert_eq!(steps[1]["initial"]["value"], "UTC");
    assert_eq!(steps[1]["live"]["state"], "unknown");
}

#[test]
fn the_very_program_that_dropped_it_is_named() {
    let mut run = command(NEEDLESS);
    run.env("TZ", "Asia/Tokyo");
    run.args(["origin", "TZ", "--", "sh", "-c", "env -i sh -c 'exit 3'"]);
    let done = run.output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    let printed = stderr(&done);
    assert!(printed.starts_with("TZ is not set at the end: "), "{printed}");
    assert!(printed.contains("env dropped it before it executed"), "{printed}");
}

#[test]
fn bad_words_are_one_line() {
    for (args, says) in [
        (&["origin", "T=Z", "1"][..], "not a valid variable name"),
        (&["origin", "TZ", "4294967290"], "there is no process"),
        (&["origin", "TZ", "--unit", "nosuch"], "there is no unit nosuch.service"),
        (&["fix", "--unit", "nosuch", "--set", "TZ=UTC"], "there is no unit nosuch.service"),
        (&["fix", "/nonexistent.json"], "cannot read /nonexistent.json"),
        (&["fix", "--in", "/etc/passwd", "--set", "TZ=UTC", "--diff"], "its format is not known"),
        // The value was forgotten: this must not remove the variable.
        (&["fix", "--unit", "cron", "--set", "TZ"], "expected VAR=VALUE"),
    ] {
        let done = needless(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        let said = stderr(&done);
        assert!(said.lines().next().unwrap().contains(says), "{args:?}: {said}");
    }
}

/// The message about missing rights says how to get them, and not only the kernel's words.
#[test]
fn what_is_closed_says_what_would_open_it() {
    let root = if is_root() { Ok(()) } else { Err("only root can become another user".into()) };
    let (Some(()), Some(setpriv)) = (needed(root), program("setpriv")) else { return };
    let running = start(command("perl").args(["-e", READY]));
    let pid = running.0.id().to_string();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = folder.path().join("needless");
    copy(NEEDLESS, &program);
    for (words, says) in [
        (&["origin", "TZ", &pid][..], "belongs to another user"),
        (&["fix", "--pid", &pid, "--set", "TZ=UTC", "--yes"], "run this with sudo"),
        (&["undo"], "no permission"),
    ] {
        let mut as_other = command(&setpriv);
        as_other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        as_other.arg(&program).args(words).env("HOME", "/nonexistent").current_dir("/");
        let done = as_other.output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{words:?}: {}", stdout(&done));
        let said = stderr(&done);
        assert!(said.contains(says) && !said.contains("os error"), "{words:?}: {said}");
    }
    // Root may lack a capability that the process has: more of root's rights do not help.
    let mut as_less = command(&setpriv);
    as_less.args(["--bounding-set=-sys_ptrace", NEEDLESS, "origin", "TZ", &pid]);
    let said = stderr(&as_less.output().unwrap());
    assert!(said.contains("this root lacks CAP_SYS_PTRACE") && !said.contains("sudo"), "{said}");
}

/// In a root of its own that is an overlay of an overlay, /proc/PID/exe and /proc/PID/maps name the
/// program differently: its environment is still read, and the variable not taken for removed.
#[test]
fn a_variable_is_read_in_a_root_of_overlays() {
    let (Some(perl), Some(unshare)) = (program("perl"), own_mounts()) else { return };
    // Where / is an overlay itself, one more is enough; the kernel allows no third.
    let enter = "set -e; mount -t tmpfs none /mnt; cd /mnt; root=/; for n in 1 2; do mkdir u$n w$n m$n; \
                 options=lowerdir=$root,upperdir=/mnt/u$n,workdir=/mnt/w$n; \
                 mount -t overlay overlay -o $options m$n || [ $n = 2 ]; \
                 if mountpoint -q m$n; then root=/mnt/m$n; fi; done; \
                 : >>$root/dev/null; exec chroot $root \"$@\"";
    for (script, said) in [
        (READY.to_owned(), "TZ is Asia/Tokyo in perl["),
        (format!("delete $ENV{{TZ}}; {READY}"), "TZ is not set in perl["),
    ] {
        let mut inside = command(unshare[0]);
        inside.args(&unshare[1..]).args(["sh", "-c", enter, "sh"]).arg(&perl).args(["-e", &script]);
        let running = start(inside.env("TZ", "Asia/Tokyo"));
        let pid = running.0.id();
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        assert!(!maps.contains(&format!(" {}\n", exe.display())), "the names do not differ");
        let printed = story(&running);
        assert!(printed.starts_with(said), "{printed}");
    }
}

/// A process with its own mounts: its files are read, not the host's, and none is changed.
#[test]
fn the_files_are_those_that_the_process_sees() {
    let (Some(perl), Some(unshare)) = (program("perl"), own_mounts()) else { return };
    let enter = "mount -t tmpfs none /etc/profile.d && echo 'export TZ=Asia/Tokyo' >/etc/profile.d/inside.sh && exec \"$@\"";
    let mut inside = command(unshare[0]);
    inside.args(&unshare[1..]).args(["sh", "-c", enter, "sh"]).arg(perl).args(["-e", READY]);
    let running = start(&mut inside);
    let printed = story(&running);
    assert!(printed.contains("/etc/profile.d/inside.sh:1"), "{printed}");
    let pid = running.0.id().to_string();
    let done = needless(&["fix", "--pid", &pid, "--set", "TZ=UTC", "--yes"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("not done by a tool"), "{}", stderr(&done));
}
