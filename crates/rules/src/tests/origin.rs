//! A remedy about a variable names the program that the variable came from.

use super::profile;
use crate::{CheckOptions, Verdict, check};
use needless_model::{Change, Finding, Safety};

/// The loader looks for a library of `app` and does not find it; process 10 executes `app` with
/// `env`.
fn app(path: &str, env: &str) -> String {
    let mut text = format!("10 execve({path:?}, [\"app\"], [{env}]) = 0\n");
    for library in 1..8 {
        text += &format!(
            "10 openat(AT_FDCWD, \"/opt/x/lib/lib{library}.so\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)\n"
        );
    }
    text
}

fn found(trace: &str) -> Finding {
    let Verdict { findings, .. } = check(&profile(trace), &CheckOptions::default());
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.into_iter().next().unwrap()
}

/// A wrapper that a log shows to be a script: its interpreter opens it.
const SCRIPT: &str = "10 execve(\"/opt/wrap\", [\"wrap\"], []) = 0\n\
                      10 openat(AT_FDCWD, \"/opt/wrap\", O_RDONLY) = 3\n";

const BAD: &str = r#""LD_LIBRARY_PATH=/opt/x/lib""#;

#[test]
fn what_the_command_got_is_changed_in_front_of_it() {
    let log =
        format!("10 execve(\"/opt/wrap\", [\"wrap\"], [{BAD}]) = 0\n{}", app("/opt/app", BAD));
    let remedy = &found(&log).remedies[0];
    assert_eq!(remedy.change, Change::UnsetEnv { variable: "LD_LIBRARY_PATH".into() });
}

#[test]
fn what_a_wrapper_set_is_changed_in_the_wrapper() {
    let log = format!("{SCRIPT}{}", app("/opt/app", BAD));
    let finding = found(&log);
    assert!(
        finding.why.ends_with(
            "LD_LIBRARY_PATH=/opt/x/lib was set by /opt/wrap, on the way to the program."
        ),
        "{}",
        finding.why
    );
    let remedy = &finding.remedies[0];
    let there = "in /opt/wrap, which sets LD_LIBRARY_PATH: unset it there";
    assert_eq!(remedy.change, Change::Manual(there.into()));
    assert!(matches!(remedy.safety, Safety::Manual(_)));
}

#[test]
fn the_innermost_of_several_wrappers_is_named() {
    let log = format!(
        "10 execve(\"/opt/outer\", [\"outer\"], [\"LD_LIBRARY_PATH=/opt/y/lib\"]) = 0\n\
         10 execve(\"/opt/inner\", [\"inner\"], []) = 0\n\
         10 execve(\"/usr/bin/env\", [\"env\"], []) = 0\n{}",
        app("/opt/app", BAD)
    );
    let Change::Manual(text) = &found(&log).remedies[0].change else { panic!("{log}") };
    assert!(text.starts_with("in /opt/inner (by /usr/bin/env), which sets"), "{text}");
}

#[test]
fn what_was_removed_on_the_way_is_not_set_in_front() {
    let asks = "10 openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
                10 stat(\"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=2326, ...}) = 0 x99\n\
                site main+0x10: call localtime@plt\nlibc glibc 2.36\nzone link Europe/Athens\n";
    for (at_the_top, removed) in [("\"TZ=Asia/Tokyo\"", true), ("", false)] {
        let log = format!(
            "10 execve(\"/opt/wrap\", [\"wrap\"], [{at_the_top}]) = 0\n\
             10 execve(\"/opt/app\", [\"app\"], []) = 0\n{asks}"
        );
        let finding = found(&log);
        assert_eq!(finding.rule, "tz-unset");
        let set = finding.remedies.iter().any(|r| matches!(r.change, Change::SetEnv { .. }));
        assert_eq!(set, !removed, "{finding:#?}");
        assert_eq!(finding.why.contains("TZ=Asia/Tokyo was removed by /opt/wrap"), removed);
    }
}

/// If only some processes have it from the first program, the caveat says so.
#[test]
fn what_reaches_only_some_says_so() {
    let asks = |pid: u32| {
        format!(
            "{pid} execve(\"/opt/app\", [\"app\"], []) = 0\n\
             {pid} openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
             {pid} stat(\"/etc/localtime\", {{st_mode=S_IFREG|0644, st_size=2326, ...}}) = 0 x99\n\
             site main+0x10: call localtime@plt\n\
             {pid} +++ exited with 0 +++\n"
        )
    };
    let log = format!(
        "10 execve(\"/opt/first\", [\"first\"], []) = 0\n\
         10 clone(child_stack=NULL, flags=SIGCHLD) = 11\n\
         10 clone(child_stack=NULL, flags=SIGCHLD) = 12\n\
         11 execve(\"/opt/sets\", [\"sets\"], [\"TZ=UTC\"]) = 0\n{}{}libc glibc 2.36\nzone link Europe/Athens\n",
        asks(11),
        asks(12)
    );
    let finding = found(&log);
    let change = &finding.remedies[0].change;
    assert!(matches!(change, Change::SetEnv { .. }), "{finding:#?}");
    let Safety::Caveat(caveat) = &finding.remedies[0].safety else { panic!("{finding:#?}") };
    assert!(caveat.contains("In 1 of the 2 processes TZ was removed by /opt/sets"), "{caveat}");
}

/// `LD_LIBRARY_PATH=/opt/x:$LD_LIBRARY_PATH` leaves an empty entry where the variable is not set.
#[test]
fn what_a_script_adds_to_is_not_unset_by_a_tool() {
    let below = |value: &str| {
        format!(
            "{}10 clone(child_stack=NULL, flags=SIGCHLD) = 11\n\
             11 execve(\"/opt/ls\", [\"ls\"], [\"LD_LIBRARY_PATH={value}\"]) = 0\n",
            app("/opt/script", BAD)
        )
    };
    for value in ["/opt/y:/opt/x/lib", "/opt/x/lib:/opt/y"] {
        let finding = found(&below(value));
        let remedy = &finding.remedies[0];
        assert!(matches!(remedy.change, Change::Manual(_)), "{value}: {finding:#?}");
        let Safety::Manual(sentence) = &remedy.safety else { panic!("{value}: {finding:#?}") };
        let makes = "/opt/script makes its own value of LD_LIBRARY_PATH from it";
        assert!(sentence.starts_with(makes), "{sentence}");
    }
    for value in ["/opt/x/lib", "/opt/y", "/opt/x/library:/opt/y"] {
        let remedy = &found(&below(value)).remedies[0];
        let unset = Change::UnsetEnv { variable: "LD_LIBRARY_PATH".into() };
        assert_eq!(remedy.change, unset, "{value}");
    }
}

/// The environments show no change where a script assigns the value that is there already.
#[test]
fn what_a_script_assigns_again_is_not_unset_by_a_tool() {
    let log =
        format!("10 execve(\"/opt/wrap\", [\"wrap\"], [{BAD}]) = 0\n{}", app("/opt/app", BAD));
    let mut profile = profile(&log);
    profile.processes[0].assigns.insert("LD_LIBRARY_PATH".to_owned());
    let Verdict { findings, .. } = check(&profile, &CheckOptions::default());
    let remedy = &findings[0].remedies[0];
    let both = "unset LD_LIBRARY_PATH in front of the command, and in /opt/wrap, which assigns LD_LIBRARY_PATH as well";
    assert_eq!(remedy.change, Change::Manual(both.into()));
    assert!(matches!(remedy.safety, Safety::Manual(_)));
}

/// What is set above env -i or sudo does not arrive.
#[test]
fn what_would_be_cleared_on_the_way_is_not_set_in_front() {
    let asks = "10 openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
                10 stat(\"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=2326, ...}) = 0 x99\n\
                site main+0x10: call localtime@plt\nlibc glibc 2.36\nzone link Europe/Athens\n";
    let path = "\"PATH=/usr/bin\", \"LANG=C\"";
    let below = |by: &str, env: &str| {
        found(&format!(
            "10 execve(\"/opt/wrap\", [\"wrap\"], [{path}]) = 0\n\
             10 execve(\"/usr/bin/{by}\", [\"{by}\"], [{path}]) = 0\n\
             10 execve(\"/opt/app\", [\"app\"], [{env}]) = 0\n{asks}"
        ))
    };
    let cleared = below("env", "");
    let Change::Manual(text) = &cleared.remedies[0].change else { panic!("{cleared:#?}") };
    assert!(
        text.starts_with("in /opt/wrap (by /usr/bin/env), which clears the environment: TZ="),
        "{text}"
    );
    for (by, env) in [("env", "\"PATH=/usr/bin\""), ("sudo", path)] {
        let some = below(by, env);
        assert!(matches!(some.remedies[0].change, Change::SetEnv { .. }), "{some:#?}");
        let sentence = some.remedies[0].safety.sentence();
        assert!(sentence.contains("may not pass on TZ"), "{sentence}");
    }
    let handed = below("nice", path);
    assert!(!handed.remedies[0].safety.sentence().contains("pass on"), "{handed:#?}");
}

#[test]
fn a_makefile_and_a_command_line_are_named() {
    let by = |exe: &str, opens: &str| {
        let log = format!("10 execve(\"{exe}\", [\"x\"], []) = 0\n{opens}{}", app("/opt/app", BAD));
        let Change::Manual(text) = &found(&log).remedies[0].change else { panic!("{log}") };
        text.clone()
    };
    let opens = "10 openat(AT_FDCWD, \"/src/Makefile\", O_RDONLY) = 3\n";
    let made = by("/usr/bin/make", opens);
    assert!(made.starts_with("in /src/Makefile or the command line of /usr/bin/make, "), "{made}");
    let env = by("/usr/bin/env", "");
    assert!(env.starts_with("in the command line of /usr/bin/env, "), "{env}");
    let shell = by("/usr/bin/dash", "");
    assert!(shell.starts_with("in a command line of /usr/bin/dash, "), "{shell}");
}

/// Readers of the report cannot change a compiled program: only a notice, unless it is asked for.
#[test]
fn what_only_a_compiled_program_could_change_is_shown_on_demand() {
    let set_by =
        |path: &str| format!("10 execve({path:?}, [\"x\"], []) = 0\n{}", app("/opt/app", BAD));
    let log = profile(&set_by("/usr/bin/cargo"));
    let verdict = check(&log, &CheckOptions::default());
    assert!(verdict.findings.is_empty() && verdict.below.is_empty(), "{verdict:#?}");
    let said = "library-search: 7 calls are left out: LD_LIBRARY_PATH is set on the way by \
                /usr/bin/cargo, a compiled program, and can be changed only there; -vv shows it";
    assert_eq!(verdict.notices, [said]);
    let by_service = crate::check_by_service(&log, &CheckOptions::default());
    assert!(by_service.findings.is_empty(), "{by_service:#?}");
    assert_eq!(by_service.notices, [said]);
    let wanted = CheckOptions { pedantic: true, ..CheckOptions::default() };
    let named = CheckOptions { only: vec!["library-search".into()], ..CheckOptions::default() };
    let all = CheckOptions { min_saving_percent: 0.0, ..CheckOptions::default() };
    for options in [wanted, named, all] {
        let verdict = check(&log, &options);
        assert_eq!((verdict.findings.len(), verdict.notices.len()), (1, 0), "{verdict:#?}");
    }
    // What its user says decides what these set.
    for path in
        ["/usr/bin/env", "/usr/bin/make", "/bin/bash", "/usr/bin/python3.11", "/usr/bin/java"]
    {
        let verdict = check(&profile(&set_by(path)), &CheckOptions::default());
        assert_eq!((verdict.findings.len(), verdict.notices.len()), (1, 0), "{path}");
    }
    // One of the processes got it from a script.
    let both = format!(
        "10 execve(\"/bin/sh\", [\"sh\"], []) = 0\n10 clone(child_stack=NULL, flags=SIGCHLD) = 11\n\
         11 execve(\"/usr/bin/cargo\", [\"cargo\"], []) = 0\n{}{}",
        app("/opt/app", BAD).replace("10 ", "11 "),
        app("/opt/app", BAD)
    );
    assert_eq!(check(&profile(&both), &CheckOptions::default()).findings.len(), 1);
}

/// stdbuf is compiled, and does what its user writes: the finding is the user's.
#[test]
fn what_stdbuf_sets_is_on_a_command_line() {
    let finding = found(
        "10 execve(\"/usr/bin/stdbuf\", [\"stdbuf\"], [\"LANG=C\"]) = 0\n\
         10 execve(\"/usr/bin/cut\", [\"cut\"], [\"LANG=C\", \"_STDBUF_O=L\"]) = 0\n\
         10 write(1, \"line\\n\", 5) = 5 x3000\n",
    );
    assert!(
        finding.why.contains("_STDBUF_O=L was set by the command line of /usr/bin/stdbuf"),
        "{}",
        finding.why
    );
    let Change::Manual(text) = &finding.remedies[0].change else { panic!("{finding:#?}") };
    assert!(text.starts_with("in the command line of /usr/bin/stdbuf, "), "{text}");
}
