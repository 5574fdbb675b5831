//! Which files are read; and that no text causes a panic.

use needless_config::{Config, find, parse, read};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[test]
fn the_nearest_directory_with_a_file_or_a_folder_counts() {
    let top = tempfile::tempdir().unwrap();
    let (top, deep) = (top.path(), top.path().join("a/b/c"));
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(find(&deep, |_| None).unwrap().files, Vec::<std::path::PathBuf>::new());
    fs::write(top.join("needless.toml"), "").unwrap();
    assert_eq!(find(&deep, |_| None).unwrap().files, [top.join("needless.toml")]);
    let folder = top.join("a/needless.d");
    fs::create_dir(&folder).unwrap();
    // An empty folder does not count.
    assert_eq!(find(&deep, |_| None).unwrap().files, [top.join("needless.toml")]);
    for name in ["20.toml", "10.toml", "README"] {
        fs::write(folder.join(name), "").unwrap();
    }
    let two = [folder.join("10.toml"), folder.join("20.toml")];
    assert_eq!(find(&deep, |_| None).unwrap().files, two);
    fs::write(top.join("a/needless.toml"), "").unwrap();
    let three = [top.join("a/needless.toml"), two[0].clone(), two[1].clone()];
    assert_eq!(find(&deep, |_| None).unwrap().files, three);
    let doubt = |file: &Path| file.ends_with("10.toml").then(|| "others may write to it".into());
    let found = find(&deep, doubt).unwrap();
    assert_eq!(found.files, [three[0].clone(), three[2].clone()]);
    let said = format!(
        "{} is not read: others may write to it; --config reads it all the same",
        two[0].display()
    );
    assert_eq!(found.refused, [said]);
}

#[test]
fn what_has_the_name_and_is_no_file_is_reported() {
    let top = tempfile::tempdir().unwrap();
    let (dir, below) = (top.path().join("a"), top.path().join("a/b"));
    fs::create_dir_all(&below).unwrap();
    let above = top.path().join("needless.toml");
    fs::write(&above, "").unwrap();
    let found = || find(&below, |_| None).unwrap();
    let refused = |name: &str, why: &str| {
        // What lies above was not meant.
        assert_eq!(found().files, Vec::<std::path::PathBuf>::new());
        let said = format!("{} is not read: {why}", dir.join(name).display());
        assert_eq!(found().refused, [said]);
    };
    let file = dir.join("needless.toml");
    std::os::unix::fs::symlink("gone", &file).unwrap();
    refused("needless.toml", "No such file or directory (os error 2)");
    fs::write(dir.join("gone"), "").unwrap();
    assert_eq!(found().files, [file.as_path()]);
    fs::remove_file(&file).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
    refused("needless.toml", "it is not a regular file");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(found().files, [above.as_path()]);
    fs::write(dir.join("needless.d"), "").unwrap();
    refused("needless.d", "it is not a directory");
    fs::remove_file(dir.join("needless.d")).unwrap();
    fs::create_dir(dir.join("needless.d")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(dir.join("needless.d/1.toml")).unwrap();
    refused("needless.d/1.toml", "it is not a regular file");
    let error = read([dir.join("needless.d").as_path()]).unwrap_err().to_string();
    assert!(error.ends_with("1.toml: cannot be read: it is not a regular file"), "{error}");
}

/// Anybody can put a file into /tmp, and it would count for whoever works below it.
#[test]
fn a_shared_directory_ends_the_search() {
    let top = tempfile::tempdir().unwrap();
    let (shared, below) = (top.path().join("shared"), top.path().join("shared/project"));
    fs::create_dir_all(&below).unwrap();
    fs::write(top.path().join("needless.toml"), "").unwrap();
    fs::write(shared.join("needless.toml"), "").unwrap();
    for (mode, found) in [(0o777, 1), (0o1775, 1), (0o1777, 0)] {
        fs::set_permissions(&shared, PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(find(&below, |_| None).unwrap().files.len(), found, "{mode:o}");
        // Whoever works in it means its file.
        assert_eq!(find(&shared, |_| None).unwrap().files, [shared.join("needless.toml")]);
    }
}

#[test]
fn rules_and_suppressions_of_several_files_count_together() {
    let folder = tempfile::tempdir().unwrap();
    let ignore = "[[ignore]]\nrule = 'tz-unset'\nreason = 'x'\n";
    fs::write(folder.path().join("1.toml"), ignore).unwrap();
    fs::write(folder.path().join("2.toml"), format!("\n{ignore}")).unwrap();
    let config = read([folder.path()]).unwrap();
    let places: Vec<&str> = config.ignores.iter().map(|one| one.place.as_str()).collect();
    assert!(places[0].ends_with("/1.toml:1") && places[1].ends_with("/2.toml:2"), "{places:?}");
}

/// Each cut and each damaged byte of a whole file is read or refused in one line.
#[test]
fn damaged_files_are_refused_in_one_line() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/own-rules.md");
    let page = fs::read_to_string(page).unwrap();
    let whole = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    parse(whole, "x.toml", &mut Config::default()).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        let damaged = ["", "\"", "]", "=", "\u{0}", "é"].map(|put| {
            let rest = whole[at..].chars().next().map_or(0, char::len_utf8);
            format!("{}{put}{}", &whole[..at], &whole[at + rest..])
        });
        for text in damaged.iter().map(String::as_str).chain([&whole[..at]]) {
            if let Err(error) = parse(text, "x.toml", &mut Config::default()) {
                let error = error.to_string();
                assert!(error.starts_with("x.toml:") && error.lines().count() == 1, "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[path = "../../../../fuzz/check_config.rs"]
mod check_config;

/// What fuzzing starts from, and what it found.
#[test]
fn the_fuzz_corpus_is_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/config");
    let files = fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let read = files.filter(|bytes| check_config::check_config(bytes)).count();
    assert!(read >= 3, "{read}");
}
