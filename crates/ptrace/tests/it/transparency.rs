//! A program that is traced sees the same start as without needless.

use super::common::*;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// stdout and stderr of `sh -c SCRIPT sh PROGRAM…`, where the script ends in `exec "$@"`.
fn started_by(script: &str, argv: &[&OsStr], folder: &Path) -> (String, String) {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let status = command("bash", folder)
        .env("EMPTY", "")
        .env("ODD", "a=b\n\u{e9}")
        .arg("-c")
        .arg(format!("exec >{} 2>{}; {script}", out.display(), err.display()))
        .arg("sh")
        .args(argv)
        .status()
        .unwrap();
    assert!(status.success(), "{script}: {}", std::fs::read_to_string(err).unwrap());
    (std::fs::read_to_string(out).unwrap(), std::fs::read_to_string(err).unwrap())
}

#[test]
fn a_program_sees_the_same_surroundings_with_and_without_us() {
    let Some(testee) = testee("surroundings") else { return };
    let Some(_) = needed(program("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let scripts = [
        r#"exec "$@""#,
        r#"umask 027; ulimit -Sn 64; ulimit -Sc 0; ulimit -Ss 4096; exec 7</dev/null; exec "$@""#,
        r#"trap '' PIPE HUP INT; exec "$@""#,
        r#"exec 0<&-; exec "$@""#,
        r#"exec nice -n 3 env -i A=1 "$@""#,
        r#"exec env --ignore-signal=PIPE,CHLD,QUIT --block-signal=USR1,TERM,CHLD "$@""#,
        r#"exec env --default-signal=PIPE --block-signal "$@""#,
        r#"cd /; exec setsid -w "$@""#,
        r#"echo 500 >/proc/$$/oom_score_adj; exec "$@""#,
        r#"exec -a another-name "$@""#,
    ];
    for script in scripts {
        for options in [&[][..], &["--all"]] {
            let arguments = ["one", "", "tw o"].map(OsStr::new);
            let mut native = vec![testee.as_os_str()];
            native.extend(arguments);
            let mut traced: Vec<&OsStr> = vec![RUN.as_ref()];
            traced.extend(options.iter().map(OsStr::new));
            traced.extend(["-o".as_ref(), report.as_os_str()]);
            traced.extend(&native);
            let mut alone = started_by(script, &native, folder.path());
            let mut with_us = started_by(script, &traced, folder.path());
            if script.contains("-a another") {
                // Then the name is that of needless, and the command has another one.
                alone.0 = alone.0.replacen("another-name", testee.to_str().unwrap(), 1);
            }
            // A new session has the number of its leader.
            if script.contains("setsid") {
                for text in [&mut alone.0, &mut with_us.0] {
                    let lines = text.lines().filter(|l| !l.starts_with("group "));
                    *text = lines.collect::<Vec<_>>().join("\n");
                }
            }
            assert!(alone.0.contains("argv[3]: tw o"));
            assert_eq!(alone.0, with_us.0, "{script} {options:?}");
            assert_eq!(alone.1, with_us.1, "{script} {options:?}");
        }
    }
}

#[test]
fn a_script_without_an_interpreter_line_runs_as_from_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "echo \"$# $1\"\nexit 4\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&script).status().unwrap().success());
    let output = command(RUN, folder.path())
        .args(["-o", "report"])
        .arg(&script)
        .args(["a b", "c"])
        .stdout(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(output.stdout, b"2 a b\n");
}

#[test]
fn a_reader_that_leaves_ends_the_command_by_sigpipe() {
    let Some(_) = needed(program("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{RUN} -o report yes | head -1; echo ${{PIPESTATUS[0]}}");
    let output = command("bash", folder.path())
        .args(["-c", &script])
        .stdout(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "y\n141\n");
}

#[test]
fn a_writer_whose_reader_ended_gets_sigpipe() {
    // `true` never reads: `yes` must get SIGPIPE although we still prepare the report.
    let Some(_) = needed(program("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = format!("yes | {RUN} -o report true; echo ${{PIPESTATUS[0]}}");
    let output = command("bash", folder.path())
        .args(["-c", &script])
        .stdout(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "141\n");
}
