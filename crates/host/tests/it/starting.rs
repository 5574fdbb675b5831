//! A process that its loader still prepares has no variables yet, which is not to say that it removed them.

use needless_fixtures::{command, program};
use needless_model::Value;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Ended with the test, also if that fails.
struct Waits(Child);

impl Drop for Waits {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is known of FLAVOUR in a program whose loader waits, opening this pipe.
fn live(dir: &Path, pipe: &str, start: &mut Command) -> Value {
    assert!(Command::new("mkfifo").arg(dir.join(pipe)).status().unwrap().success());
    let child = Waits(start.env("FLAVOUR", "sweet").spawn().unwrap());
    let pid = child.0.id();
    // It sleeps in open(2) of a pipe nobody writes to: before that it waits for nothing but the disk.
    let status = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    while !status().contains("State:\tS") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let chain = needless_host::ancestry(pid, "FLAVOUR").unwrap();
    let last = chain.last().unwrap();
    assert_eq!((last.pid, &last.initial), (pid, &Value::Set("sweet".into())));
    last.live.clone()
}

fn is_unknown(live: &Value) {
    let Value::Unknown(why) = live else { panic!("{live:?}") };
    assert!(why.contains("its loader still prepares it"), "{why}");
}

#[test]
fn before_the_c_library_is_mapped_nothing_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.so");
    is_unknown(&live(dir.path(), "pipe.so", Command::new("cat").env("LD_PRELOAD", &pipe)));
}

#[test]
fn before_the_c_library_has_set_environ_nothing_is_known() {
    let Some(cc) = program("cc") else { return };
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libpipe.so");
    let compile = |source: &str, arguments: &[&str]| {
        std::fs::write(dir.path().join("source.c"), source).unwrap();
        let mut cc = command(&cc);
        let output = cc.current_dir(dir.path()).arg("source.c").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    compile("int none;", &["-shared", "-o", "libpipe.so"]);
    // The C library is mapped first.
    let order = ["-o", "program", "-Wl,--no-as-needed", "-lc", "-L.", "-lpipe"];
    compile("extern char **environ; int main(void) { return environ == 0; }", &order);
    std::fs::remove_file(&library).unwrap();
    let mut start = Command::new(dir.path().join("program"));
    is_unknown(&live(dir.path(), "libpipe.so", start.env("LD_LIBRARY_PATH", dir.path())));
}
