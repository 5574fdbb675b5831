use super::*;
use crate::file::parquet;
use crate::rows::{Dimensions, Measures};

const SECOND: i64 = 1_000_000;

fn window(second: i64) -> AgentWindow {
    let start_us = 1_700_000_000 * SECOND + second * SECOND;
    AgentWindow { start_us, end_us: start_us + SECOND, host: "a".into(), ..AgentWindow::default() }
}

fn file() -> Vec<u8> {
    parquet(&window(0), &[(Dimensions::default(), Measures::default())]).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn add(ring: &mut Ring, second: i64) {
    ring.add(&window(second), &file()).unwrap();
}

#[test]
fn the_oldest_go_first_by_size_and_by_age() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = file().len() as u64;
    let keep = Keep { bytes: 3 * bytes, age: Duration::from_secs(60) };
    let mut ring = Ring::open(folder.path(), keep).unwrap();
    (0..5).for_each(|second| add(&mut ring, second));
    let name = |second| format!("needless-17000000{second:02}000000-a.parquet");
    assert_eq!(names(folder.path()), [name(2), name(3), name(4)]);
    assert_eq!(ring.bytes(), 3 * bytes);
    add(&mut ring, 63);
    assert_eq!(names(folder.path()), [name(4), name(63)]);
    // A window that is there is not replaced.
    assert!(ring.add(&window(63), b"other").unwrap_err().to_string().contains("exists"));
    assert_eq!(std::fs::read(folder.path().join(name(63))).unwrap(), file());
    assert_eq!(names(folder.path()), [name(4), name(63)]);
}

#[test]
fn a_clock_that_was_wrong_costs_no_new_window() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = file().len() as u64;
    let keep = Keep { bytes: 3 * bytes, age: Duration::from_secs(60) };
    let mut ring = Ring::open(folder.path(), keep).unwrap();
    let year = 365 * 86_400;
    (0..3).for_each(|second| add(&mut ring, year + second));
    // The clock is right again: what it was wrong for goes, one by one.
    let start = |name: &String| start_of(name).unwrap() / SECOND - 1_700_000_000;
    for (second, expected) in [
        (0, vec![0, year + 1, year + 2]),
        (1, vec![0, 1, year + 2]),
        (2, vec![0, 1, 2]),
        (3, vec![1, 2, 3]),
        // Set back by two seconds, the new window is not the last one by name.
        (1, vec![1, 2, 3]),
    ] {
        let mut window = window(second);
        ring.give_name(&mut window);
        ring.add(&window, &file()).unwrap();
        let starts: Vec<_> = names(folder.path()).iter().map(start).collect();
        assert_eq!(starts, expected);
    }
    // The other window of that second was older.
    assert_eq!(start_of(&names(folder.path())[0]), Some(window(1).start_us + 1));
}

#[test]
fn nothing_but_files_of_ours_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(elsewhere.path(), file()).unwrap();
    let put = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    put("needless-0000000000000001-a.parquet", b"not a Parquet file");
    let mut foreign = file();
    let key = b"needless.schema";
    while let Some(at) = foreign.windows(key.len()).position(|text| text == key) {
        foreign[at] = b'N';
    }
    put("needless-0000000000000002-a.parquet", &foreign);
    put("needless-1-a.parquet", &file());
    put("needless-0000000000000003-a.parquet.bak", &file());
    put("other.parquet", &file());
    let link = folder.path().join("needless-0000000000000004-a.parquet");
    std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
    std::fs::create_dir(folder.path().join("needless-0000000000000005-a.parquet")).unwrap();
    let before = names(folder.path());
    put("needless-0000000000000006-a.parquet", &file());
    put(UNFINISHED, b"PAR1");
    let keep = Keep { bytes: 0, age: Duration::ZERO };
    let mut ring = Ring::open(folder.path(), keep).unwrap();
    add(&mut ring, 0);
    let mut expected = before;
    expected.push("needless-1700000000000000-a.parquet".into());
    expected.sort();
    assert_eq!(names(folder.path()), expected);
    assert!(elsewhere.path().exists() && link.is_symlink());
}

#[test]
fn one_agent_has_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Keep { bytes: 0, age: Duration::ZERO };
    let path = folder.path().join("new");
    let _ring = Ring::open(&path, keep).unwrap();
    let error = Ring::open(&path, keep).unwrap_err().to_string();
    assert!(error.contains("another agent"), "{error}");
    let error = Ring::open(&folder.path().join("not/there"), keep).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}
