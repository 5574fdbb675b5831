//! How a command ends is how we end.

use super::*;

#[test]
fn the_commands_end_is_ours() {
    let folder = tempfile::tempdir().unwrap();
    let end = |options: &[&str], script: &str| {
        let run = command(RUN, folder.path())
            .args(options)
            .args(["-o", "report", "sh", "-c", script])
            .status();
        let status = run.unwrap();
        (status.code(), status.signal())
    };
    for options in [&[][..], &["--all"]] {
        for code in [0, 1, 42, 125, 255] {
            assert_eq!(end(options, &format!("exit {code}")), (Some(code), None));
        }
        for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGINT, 40] {
            assert_eq!(end(options, &format!("kill -{signal} $$")), (None, Some(signal)));
        }
    }
    let not_there = command(RUN, folder.path()).arg("/missing/program").status().unwrap();
    assert_eq!(not_there.code(), Some(127));
    let not_executable = command(RUN, folder.path()).arg("/etc/passwd").status().unwrap();
    assert_eq!(not_executable.code(), Some(126));
}

#[test]
fn a_signal_at_any_moment_of_the_start_ends_us_as_it_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&[][..], &["--all"]] {
        for step in 0..40 {
            let mut run = command(RUN, folder.path());
            run.args(options).args(["-o", "report", "sleep", "600"]).stderr(Stdio::piped());
            let child = run.spawn().unwrap();
            std::thread::sleep(Duration::from_micros(500 * step));
            send(child.id(), libc::SIGTERM);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{step}: {said}");
        }
    }
}
