//! A program in a chroot gets the facts of its own root, not of ours.

use needless_fixtures::skipped;
use needless_host::Roots;
use needless_launch::{Launch, Stdio};
use needless_model::{Libc, ZoneFile};
use needless_observe::enrich;
use needless_ptrace::{TraceOptions, trace};
use std::fs;
use std::process::Command;

#[test]
fn a_chrooted_program_has_the_zone_of_its_root() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    let source = root.path().join("ask.c");
    let text = "#include <time.h>\n\
        int main(void) { time_t t = 1; for (int i = 0; i < 9; i++) localtime(&t); return 7; }\n";
    fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-static").arg("-o").arg(root.path().join("ask")).arg(&source);
    assert!(cc.status().expect("cc").success());
    fs::write(root.path().join("etc/localtime"), b"").unwrap();

    // chroot(8) needs root; a user namespace gives as much of it as is needed.
    let directory = root.path().to_str().unwrap();
    let (program, words) = match rustix::process::geteuid().is_root() {
        true => ("chroot", vec!["chroot", directory, "/ask"]),
        false => ("unshare", vec!["unshare", "-r", "chroot", directory, "/ask"]),
    };
    let places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let program = places.iter().map(|dir| format!("{dir}/{program}"));
    let Some(program) = program.into_iter().find(|path| fs::metadata(path).is_ok()) else {
        panic!("{} (coreutils, util-linux) is not installed", words[0]);
    };
    let launch = Launch {
        program: program.into(),
        argv: words.iter().map(Into::into).collect(),
        env: Some(vec![("PATH".into(), places.join(":").into())]),
        stdio: Stdio::Null,
        caller: None,
    };
    let traced = trace(launch, &TraceOptions::default()).unwrap();
    if traced.exit != needless_model::Exit::Code(7) {
        return skipped("neither root nor a user namespace");
    }
    let mut profile = traced.profile;
    enrich(&mut profile, &Roots::new(traced.roots).unwrap());
    let row = profile.rows.iter().filter(|row| profile.path(row) == "/etc/localtime");
    let row = row.max_by_key(|row| row.count).expect("it asks for /etc/localtime");
    let process = profile.process(row.process);
    assert!(!process.shares_root);
    assert_eq!(process.libc, Libc::Static);
    let zone = profile.host.zone_of(row.process, process.shares_root).expect("of its root");
    assert_eq!(zone.file, ZoneFile::NotAZone("is empty".into()));
    assert_eq!(zone.name.as_deref(), Some("UTC"));
    assert!(!zone.tzdata);
}
