//! A ring whose writer is killed at any moment: every file is whole, and the next writer goes on.

use needless_fleet::is_window;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The example beside this test's own program.
fn fill() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("examples/fill")
}

#[test]
#[ignore = "long: kills at random"]
fn what_is_in_the_ring_is_whole_whenever_its_writer_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    let newest = || {
        let names = std::fs::read_dir(&ring).into_iter().flatten();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".parquet")).max()
    };
    let mut left_unfinished = 0;
    for _ in 0..60 {
        let before = newest();
        let mut writer = Command::new(fill()).arg(&ring).stderr(Stdio::piped()).spawn().unwrap();
        while newest() == before && writer.try_wait().unwrap().is_none() {}
        let random = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 10_000;
        std::thread::sleep(Duration::from_micros(u64::from(random)));
        writer.kill().unwrap();
        let done = writer.wait_with_output().unwrap();
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        let mut starts = BTreeSet::new();
        for entry in std::fs::read_dir(&ring).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if !name.ends_with(".parquet") {
                left_unfinished += 1;
                continue;
            }
            assert!(is_window(File::open(entry.path()).unwrap()), "{name}");
            assert!(starts.insert(name.split('-').nth(1).unwrap().to_owned()), "{name} is doubled");
        }
    }
    assert!(left_unfinished > 0, "it was never killed while it wrote");
}
