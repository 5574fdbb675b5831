//! Whose a command is that root runs, where sudo is not the parent or its traces are gone.

use crate::common::*;
use crate::sudo::{EXECUTES, STAYS, as_nobody, as_nobody_with, folder};

/// A sudo that becomes the command and what removes the traces that it leaves, `CMD` stands for needless.
const SCRUBBED: [&str; 6] = [
    "sudo -n env -i CMD",
    "sudo -n env -u SUDO_UID -u SUDO_GID CMD",
    "sudo -n env SUDO_UID=x CMD",
    "sudo -n env SUDO_UID=0 SUDO_GID=0 CMD",
    "sudo -n env SUDO_UID=1 SUDO_GID=1 CMD",
    "sudo -n setsid -w sh -c 'env -i CMD; exit $?'",
];

#[test]
fn a_removed_variable_does_not_make_a_command_roots() {
    let folder = folder();
    let cmd = "./needless run --backend ptrace -o /dev/null -- id -u";
    for way in SCRUBBED {
        let Some(done) = as_nobody_with(EXECUTES, folder.path(), &way.replace("CMD", cmd)) else {
            return;
        };
        assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(125), ""), "{way}");
        let line = assert_one_line(&done);
        assert!(line.contains("--as USER") && line.contains("--as-root"), "{way}: {line}");
        // The ancestors say whose it is, or the two contradict each other.
        let done = as_nobody_with(STAYS, folder.path(), &way.replace("CMD", cmd)).unwrap();
        let (out, said) = (stdout(&done), stderr(&done));
        let refuses = way.contains("UID=x") || way.contains("UID=1");
        let expected = if refuses { "" } else { "65534\n" };
        assert_eq!(out, expected, "{way}: {said}");
        assert_eq!(said.contains("--as USER"), refuses, "{way}: {said}");
    }
}

#[test]
fn the_end_of_the_process_that_ran_sudo_does_not_make_a_command_roots() {
    let folder = folder();
    for removed in ["-i", "SUDO_UID=0 SUDO_GID=0"] {
        let script = format!(
            "cat > late <<'E'\nwhile kill -0 $1; do sleep 0.1; done 2> /dev/null\n\
             env {removed} ./needless run --backend ptrace -o /dev/null -- id -u > out 2> err\n\
             > end\nE\nrm -f end; sh -c 'setsid sudo -n sh late $$ & :'\n\
             while [ ! -e end ]; do sleep 0.1; done; cat out; cat err >&2"
        );
        let Some(done) = as_nobody(folder.path(), &script) else { return };
        assert_ne!(stdout(&done), "0\n", "{removed}");
        assert!(!stderr(&done).contains("cannot open"), "{removed}: {}", stderr(&done));
        assert!(
            !stdout(&done).is_empty() || stderr(&done).contains("--as USER"),
            "{}",
            stderr(&done)
        );
    }
}

/// Neither sudo nor its variables are left, but the kernel knows who logged in.
#[test]
fn a_command_in_another_users_session_is_not_roots() {
    if root().is_none() || program("setsid").is_none() {
        return;
    }
    let folder = folder();
    let with = |uid: &str, words: &str| {
        let script = format!(
            "echo {uid} >/proc/self/loginuid && [ $(cat /proc/self/loginuid) = {uid} ] || exit 77
             env -u SUDO_UID -u SUDO_GID -u SUDO_USER setsid --wait ./needless run -o /dev/null {words} -- id -u"
        );
        command("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap()
    };
    let first = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let here = with("65534", "");
    if here.status.code() == Some(77) || first.to_str() != Some("pid:[4026531836]") {
        let why = "setting the login user needs the right to it, on the machine itself";
        needless_fixtures::needed::<()>(Err(why.into()));
        return;
    }
    assert_eq!(stdout(&here), "65534\n", "{}", stderr(&here));
    assert_eq!(stdout(&with("65534", "--as-root")), "0\n");
    assert_eq!(stdout(&with("0", "")), "0\n");
    let unknown = with("64999", "");
    assert_eq!(unknown.status.code(), Some(125), "{}", stdout(&unknown));
    let line = assert_one_line(&unknown);
    assert!(line.contains("64999") && line.contains("--as USER"), "{line}");
}

#[test]
fn a_number_of_no_user_is_refused_in_a_plain_line() {
    let folder = folder();
    let script = "sudo -n env SUDO_UID=4294967295 ./needless run -o /dev/null -- id -u";
    let Some(done) = as_nobody(folder.path(), script) else { return };
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(125), ""));
    let line = assert_one_line(&done);
    assert!(line.contains("SUDO_UID is \"4294967295\""), "{line}");
}

#[test]
fn sudo_is_recognised_under_another_name() {
    let folder = folder();
    // As after an upgrade of sudo, while it runs.
    let gone = "cat > gone <<'E'\nrm -f sudo\nenv -i PATH=$PATH ./needless run -o /dev/null -- id -u\nE\n\
                sudo -n cp /usr/bin/sudo sudo; sudo -n chmod 4755 sudo; ./sudo -n sh gone";
    let named = "sudo -n cp /usr/bin/sudo sudo.ws; sudo -n chmod 4755 sudo.ws; \
                 ./sudo.ws -n env -i PATH=$PATH ./needless run -o /dev/null -- id -u";
    for script in [gone, named] {
        let Some(done) = as_nobody(folder.path(), script) else { return };
        assert_eq!(stdout(&done), "65534\n", "{script}: {}", stderr(&done));
    }
}

#[test]
fn root_behind_su_and_in_a_user_namespace_is_its_own_caller() {
    let folder = folder();
    let Some(_) = program("su") else { return };
    let cmd = "./needless run --backend ptrace -o /dev/null -- id -u";
    let su = format!(
        "printf 'auth sufficient pam_permit.so\\naccount sufficient pam_permit.so\\n\
         session optional pam_permit.so\\n' > pam; \
         sudo -n mount --bind pam /etc/pam.d/su; su -c '{cmd}'"
    );
    // Inside it all outside users have one number, that of the user `nobody`.
    let namespace = format!("unshare -Ur {cmd}");
    let made = as_nobody(folder.path(), "unshare -Ur true");
    let made = made.is_some_and(|done| done.status.success());
    if !made {
        skipped("no user namespace can be made here");
    }
    for script in [Some(su), Some(namespace).filter(|_| made)].into_iter().flatten() {
        let Some(done) = as_nobody(folder.path(), &script) else { return };
        assert_eq!((stdout(&done).as_str(), stderr(&done).as_str()), ("0\n", ""), "{script}");
    }
}

#[test]
fn root_without_a_trace_of_sudo_has_to_name_the_user() {
    let folder = folder();
    // As in a container: no ancestor is visible, and SUDO_UID is set.
    let script = |words: &str| format!("sudo -n unshare -pf --mount-proc ./needless {words}");
    let run = |words: &str| as_nobody(folder.path(), &script(words));
    let Some(refused) = run("run -- id -u") else { return };
    assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(125), ""));
    let line = assert_one_line(&refused);
    assert!(line.contains("--as USER") && line.contains("--as-root"), "{line}");
    for (words, status) in
        [("prove --set X=1 -- id -u", 2), ("preload -- id -u", 125), ("origin TZ -- id -u", 125)]
    {
        let done = run(words).unwrap();
        assert_eq!(done.status.code(), Some(status), "{words}: {}", stderr(&done));
        assert!(assert_one_line(&done).contains("--as USER"), "{words}: {}", stderr(&done));
    }
    for (option, id) in
        [("--as-root", "0\n"), ("--as nobody", "65534\n"), ("--as 65534", "65534\n")]
    {
        let done = run(&format!("run {option} -o /dev/null -- id -u")).unwrap();
        assert_eq!((stdout(&done).as_str(), stderr(&done).as_str()), (id, ""), "{option}");
    }
    let done = run("run --as no-such-user -- id -u").unwrap();
    assert!(assert_one_line(&done).contains("no user"), "{}", stderr(&done));
}

#[test]
fn a_command_in_a_root_shell_belongs_to_root_with_a_warning() {
    let folder = folder();
    let Some(script) = program("script") else { return };
    for (defaults, options, says) in
        [(STAYS, "", true), (EXECUTES, "", true), (STAYS, "--as-root", false)]
    {
        let typed = format!("./needless run {options} -o /dev/null -- id -u > out\\nexit\\n");
        let words = format!(
            "printf '{typed}' | {} -qec 'sudo -n bash --norc' /dev/null; cat out; rm -f out",
            script.display()
        );
        let Some(done) = as_nobody_with(defaults, folder.path(), &words) else { return };
        let printed = stdout(&done);
        assert!(printed.ends_with("\n0\n"), "{defaults}{printed:?}{}", stderr(&done));
        let said = printed.contains("this is a root shell that another user started");
        assert_eq!(said, says, "{defaults}{options}: {printed}");
    }
}
