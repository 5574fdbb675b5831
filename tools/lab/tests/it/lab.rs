//! The laboratory: the counts of the sources, from real runs; and a machine that does not change.

use needless_fixtures::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LAB: &str = env!("CARGO_BIN_EXE_needless-lab");

fn run(args: &[&str]) -> Output {
    command(LAB).args(args).output().unwrap()
}

fn json(done: &Output) -> Value {
    assert!(done.status.success() && done.stderr.is_empty(), "{}", stderr(done));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn lab(args: &[&str]) -> Value {
    json(&run(&[args, &["--format", "json"]].concat()))
}

/// The rows of the table whose title has `words`, by the names of their columns (with their group).
fn table<'a>(reported: &'a Value, words: &str) -> Vec<Vec<(String, &'a Value)>> {
    let tables = reported["tables"].as_array().unwrap();
    let one = tables.iter().find(|table| table["title"].as_str().unwrap().contains(words));
    let one = one.unwrap_or_else(|| panic!("no table of {words} in {reported:#}"));
    let names = one["columns"].as_array().unwrap().iter().map(|column| {
        let [group, name] = ["group", "name"].map(|of| column[of].as_str().unwrap());
        format!("{group} {name}").trim().to_owned()
    });
    let names: Vec<String> = names.collect();
    let rows = one["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        let cells = row.as_array().unwrap();
        assert_eq!(cells.len(), names.len());
        names.iter().cloned().zip(cells).collect()
    })
    .collect()
}

fn cell<'a>(row: &[(String, &'a Value)], name: &str) -> &'a Value {
    row.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {row:?}")).1
}

fn texts(reported: &Value, of: &str) -> String {
    let all = reported[of].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    all.collect::<Vec<_>>().join("\n")
}

/// One line on standard error, in the program's name.
fn assert_one_line(done: &Output) -> String {
    let text = stderr(done);
    assert!(text.lines().count() == 1 && text.starts_with("needless-lab: "), "{text:?}");
    text
}

/// What an experiment could have changed on the machine, and the mounts.
fn machine() -> (String, Option<PathBuf>, Vec<PathBuf>) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let link = std::fs::read_link("/etc/localtime").ok();
    let entries = ["/usr/lib/locale", "/etc"].map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<PathBuf> =
        entries.into_iter().flatten().map(|e| e.unwrap().path()).collect();
    paths.sort();
    (mounts, link, paths)
}

#[test]
fn experiments_are_listed_with_their_sources() {
    let done = run(&[]);
    assert!(done.status.success() && done.stderr.is_empty());
    let text = stdout(&done);
    for word in ["needless-lab tz", "needless-lab locale", "source", "2001", "2015", "2016", "2017"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!stdout(&run(&["--help"])).contains("subject"));
    assert_eq!(run(&["nothing"]).status.code(), Some(2));
}

/// The sample of packagecloud: nine of ten conversions ask again, and none with TZ as advised.
fn the_sample(reported: &Value) {
    let calls = |words: &str, path: &str| -> u64 {
        let rows = table(reported, words);
        let of =
            rows.iter().filter(|row| cell(row, "path") == path && cell(row, "call") != "openat");
        of.map(|row| cell(row, "count").as_u64().unwrap()).sum()
    };
    assert_eq!(calls("TZ unset", "/etc/localtime"), 9, "{reported:#}");
    assert_eq!(calls("as advised", "/etc/localtime"), 0, "{reported:#}");
    assert!(texts(reported, "says").contains("9 of 10 conversions"), "{reported:#}");
}

#[test]
#[ignore = "long: measures for a quarter of a minute"]
fn tz_has_the_rows_of_its_sources_and_leaves_the_machine_alone() {
    if !Path::new("/etc/localtime").exists() {
        return skipped("no /etc/localtime");
    }
    let before = machine();
    let reported = lab(&["tz", "--calls", "2000"]);
    assert_eq!(machine(), before);
    the_sample(&reported);
    let rows = table(&reported, "2015");
    let private = own_mounts().is_some();
    assert_eq!(rows.len(), if private { 12 } else { 6 }, "{}", texts(&reported, "skipped"));
    for row in &rows {
        let [zone, function] = ["TZ", "function"].map(|name| cell(row, name).as_str().unwrap());
        let asks = if zone.starts_with("unset") && function == "localtime" { 1.0 } else { 0.0 };
        assert_eq!(cell(row, "here asks"), asks, "{zone} {function}");
        assert!(cell(row, "here ns/call").is_number() && cell(row, "2015 ns/call").is_number());
    }
    let dates = table(&reported, "Date functions");
    for row in &dates {
        let function = cell(row, "calls of").as_str().unwrap();
        let asks = ["time and localtime", "tzset", "mktime", "ctime"].contains(&function);
        assert_eq!(cell(row, "asks unset"), f64::from(u8::from(asks)), "{function}");
        assert_eq!(cell(row, "asks Moscow"), 0.0, "{function}");
    }
    let moscow = dates.iter().find(|row| *cell(row, "2016, µs/call as") == "$ztz").unwrap();
    assert_eq!(cell(moscow, "2016, µs/call unset"), 1.0);
}

/// Without the preload library beside the program, the report says that its column is missing.
#[test]
#[ignore = "long: measures for a minute"]
fn the_preloaded_column_is_there_or_reported_missing() {
    let folder = tempfile::tempdir().unwrap();
    let lonely = folder.path().join("needless-lab");
    copy(LAB, &lonely);
    let run = || {
        let done = command(&lonely).args(["tz", "--calls", "500", "--format", "json"]).output();
        json(&done.unwrap())
    };
    let without = run();
    assert!(texts(&without, "skipped").contains("libneedless/preload/build-so"), "{without:#}");
    assert!(table(&without, "2015").iter().all(|row| cell(row, "preloaded ns/call").is_null()));

    // A library that cannot be loaded must not count as loaded.
    let library = folder.path().join("libneedless_localtime.so");
    std::fs::write(&library, "no library").unwrap();
    let broken = run();
    assert!(texts(&broken, "skipped").contains("was not loaded"), "{broken:#}");

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../libneedless/preload/build-so");
    let built = Path::new(LAB).with_file_name("");
    let done = Command::new(script).arg(&built).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    copy(built.join("libneedless_localtime.so").to_str().unwrap(), &library);
    let with = run();
    assert_eq!(texts(&with, "skipped").find("preload"), None, "{with:#}");
    assert!(table(&with, "2015").iter().all(|row| cell(row, "preloaded ns/call").is_number()));
}

/// The words that run a command without the right to mount, also in a private namespace: as root without
/// capabilities, in a user namespace that allows no further ones. Where the kernel allows none at all (in a
/// chroot, user_namespaces(7)), to run without capabilities is enough.
fn without_mounts() -> Option<Vec<&'static str>> {
    program("unshare")?;
    program("setpriv")?;
    let allowed = command("unshare").args(["-U", "-r", "true"]).output().unwrap().status.success();
    let close = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    let (namespace, drop) = (
        ["unshare", "-U", "-r", "sh", "-c", close, "sh"],
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
    );
    match (allowed, is_root()) {
        (true, _) => Some([&namespace[..], &drop].concat()),
        (false, true) => Some(drop.to_vec()),
        // We have neither right; setpriv would fail, as it has no capabilities to drop.
        (false, false) => Some(vec!["env"]),
    }
}

#[test]
fn rows_that_need_rights_are_skipped_by_name() {
    let Some(words) = without_mounts() else { return };
    let run =
        |args: &[&str]| command(words[0]).args(&words[1..]).arg(LAB).args(args).output().unwrap();
    let reported = json(&run(&["tz", "--calls", "500", "--format", "json"]));
    let skipped = texts(&reported, "skipped");
    for row in ["\"unset, symlink\"", "\"unset, file\"", "not allowed here"] {
        assert!(skipped.contains(row), "{row}: {skipped}");
    }
    assert_eq!(table(&reported, "2015").len(), 6, "{reported:#}");
    the_sample(&reported);
    let mail = run(&["locale", "--as-in-2001", "--runs", "1"]);
    assert_eq!(mail.status.code(), Some(2));
    let said = assert_one_line(&mail);
    assert!(said.contains("needs private mounts") || said.contains("package locales"), "{said}");
}

/// As an ordinary user, in user namespaces, if the kernel lets every user make them.
#[test]
fn an_ordinary_user_gets_the_rows_or_reads_which_are_skipped() {
    let Some(user) = as_ordinary_user() else { return };
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(mode).tempdir_in("/tmp").unwrap();
    let ours = folder.path().join("needless-lab");
    copy(LAB, &ours);
    let run = |words: &[&str]| command_of(&[user, words].concat()).output();
    let before = machine();
    let done = run(&[ours.to_str().unwrap(), "tz", "--calls", "500", "--format", "json"]);
    let reported = json(&done.unwrap());
    let may = run(&["unshare", "-r", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]);
    let (rows, skipped) = (table(&reported, "2015").len(), texts(&reported, "skipped"));
    match may.unwrap().status.success() {
        true => assert_eq!(rows, 12, "{skipped}"),
        false => assert!(rows == 6 && skipped.contains("unset, symlink"), "{skipped}"),
    }
    assert_eq!(machine(), before);
}

#[test]
fn the_mail_of_2001() {
    let source = Path::new("/usr/share/i18n/locales/el_GR");
    let source = match source.exists() {
        true => installed("localedef"),
        false => Err("no source of el_GR (package locales)".to_owned()),
    };
    let (Some(_), Some(_)) = (needed(source), own_mounts()) else { return };
    let before = machine();
    let reported = lab(&["locale", "--as-in-2001", "--runs", "10"]);
    assert_eq!(machine(), before);
    let rows = table(&reported, "Appendix A");
    let number = |row: &[(String, &Value)], name: &str| cell(row, name).as_u64().unwrap();
    let failed = |at: usize| {
        let parts = ["locale", ".mo", "other"]
            .map(|kind| number(&rows[at], &format!("failed opens {kind}")));
        (parts[0], parts[1])
    };
    let lang: Vec<&str> = rows.iter().map(|row| cell(row, "LANG").as_str().unwrap()).collect();
    assert_eq!(lang, ["greek", "el_GR", "greek", "spanish", "unset"]);
    assert_eq!(
        (failed(0).0, failed(1).0, failed(2).0, failed(4)),
        (24, 0, 0, (0, 0)),
        "{reported:#}"
    );
    assert_eq!(number(&rows[0], "opened locale"), 12);
    // Ubuntu's C library also looks for catalogues in a second directory; small images have no catalogues.
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let has = |name: &str| Path::new("/usr/share/locale/el/LC_MESSAGES").join(name).exists();
    let debian = release.lines().any(|line| line == "ID=debian");
    if debian && has("libc.mo") && has("coreutils.mo") {
        assert_eq!((failed(0), failed(1)), ((24, 10), (0, 2)), "{reported:#}");
        assert_eq!(number(&rows[0], "2001 failed"), 34);
        assert_eq!(number(&rows[1], "2001 failed"), 2);
    }
    let places = table(&reported, "Where each file");
    let of = |lang: &str, file: &str| {
        let row = places.iter().find(|row| {
            cell(row, "LANG") == lang && cell(row, "files").as_str().unwrap().starts_with(file)
        });
        row.unwrap_or_else(|| panic!("{lang} {file}: {places:?}"))
    };
    let greek = of("greek", "LC_");
    assert_eq!(cell(greek, "not in"), "el_GR.ISO-8859-7, el_GR.iso88597");
    assert_eq!(cell(greek, "found in"), "/usr/lib/locale/el_GR");
    assert_eq!(cell(of("greek, with links", "LC_"), "not in"), "-");
    assert_eq!(cell(of("spanish", "LC_"), "found in"), "/usr/lib/locale/es_ES");
    let runs = table(&reported, "Appendix B");
    assert_eq!(runs.len(), 5);
    for row in &runs {
        assert!(
            number(row, "page faults minor") > 0 && cell(row, "here CPU %").as_f64().unwrap() > 0.0
        );
    }
}

#[test]
fn spellings_of_this_machine() {
    if !Path::new("/usr/lib/locale/C.utf8").is_dir() {
        return skipped("no /usr/lib/locale/C.utf8");
    }
    let mut done = command(LAB);
    done.env("LANG", "C.UTF-8").args(["locale", "--runs", "10", "--format", "json"]);
    let reported = json(&done.output().unwrap());
    let rows = table(&reported, "Appendix A");
    let failed = |name: &str| {
        let row = rows.iter().find(|row| cell(row, "LANG") == name).unwrap();
        cell(row, "failed opens locale").as_u64().unwrap()
    };
    assert_eq!((failed("C.UTF-8"), failed("C.utf8"), failed("unset")), (12, 0, 0), "{reported:#}");
    let says = texts(&reported, "says");
    assert!(says.contains("Advice for this machine: LANG=C.utf8 gives the same"), "{says}");
    let missing = lab(&["locale", "--runs", "1", "xx_XX.UTF-8"]);
    assert!(texts(&missing, "says").contains("xx_XX.UTF-8 is not installed"), "{missing:#}");
}

#[test]
fn every_format_and_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.md");
    let args = ["locale", "--runs", "1", "--format", "markdown", "-o", file.to_str().unwrap(), "C"];
    let done = run(&args);
    assert!(done.status.success() && done.stdout.is_empty(), "{}", stderr(&done));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# needless-lab locale\n") && text.contains("\n| unset |"), "{text}");
    for wrong in
        [&["tz", "--calls", "0"][..], &["locale", "--format", "xml"], &["locale", "-o", "x.foo"]]
    {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let nowhere = run(&["locale", "--runs", "1", "-o", "/nowhere/x"]);
    assert!(nowhere.status.code() == Some(2) && assert_one_line(&nowhere).contains("/nowhere"));
}

#[test]
fn the_ending_of_a_file_chooses_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        let words = ["locale", "--runs", "1", "C.UTF-8", "-o", path.to_str().unwrap()];
        let done = run(&words);
        assert!(done.status.success(), "{}", stderr(&done));
        std::fs::read_to_string(path).unwrap()
    };
    let reported: Value = serde_json::from_str(&file("x.json")).unwrap();
    assert_eq!(reported["schema"], "needless.lab/1");
    assert!(file("x.md").contains("|---"));
    assert!(file("x.txt").starts_with("needless-lab locale"));
}
