//! `look_up` in roots built from this machine's tz database.

use needless_fixtures::skipped;
use needless_host::{Root, read_zone};
use needless_model::{SystemZone, ZoneFile};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const ZONEINFO: &str = "usr/share/zoneinfo";

struct FakeRoot(TempDir);

impl FakeRoot {
    /// A root with an empty /etc and the named zones of this machine; `None`, and the test counts as
    /// skipped, where this machine lacks one.
    fn with(zones: &[&str]) -> Option<FakeRoot> {
        let real = Path::new("/").join(ZONEINFO);
        if let Some(zone) = zones.iter().find(|zone| !real.join(zone).exists()) {
            skipped(format!("no {} (tzdata, tzdata-legacy)", real.join(zone).display()));
            return None;
        }
        let root = FakeRoot(tempfile::tempdir().unwrap());
        fs::create_dir_all(root.at("etc")).unwrap();
        fs::create_dir_all(root.at(ZONEINFO)).unwrap();
        for zone in zones {
            root.write(&format!("{ZONEINFO}/{zone}"), &fs::read(real.join(zone)).unwrap());
        }
        Some(root)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), bytes).unwrap();
    }

    fn copy(&self, zone: &str, to: &str) {
        let bytes = fs::read(self.at(&format!("{ZONEINFO}/{zone}"))).unwrap();
        self.write(to, &bytes);
    }

    fn link(&self, text: &str) {
        symlink(text, self.at("etc/localtime")).unwrap();
    }

    fn look_up(&self) -> SystemZone {
        read_zone(&Root::of(fs::File::open(self.0.path()).unwrap().into()))
    }
}

/// A zone file of version 2 with one kind of time, no transitions, and a footer.
fn tzif(offset: i32, abbreviation: &str, footer: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for last in [false, true] {
        bytes.extend(b"TZif2");
        bytes.extend([0; 15]);
        for count in [0, 0, 0, 0, 1, abbreviation.len() as u32 + 1] {
            bytes.extend(count.to_be_bytes());
        }
        bytes.extend(offset.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(abbreviation.as_bytes());
        bytes.push(0);
        if last {
            bytes.extend(format!("\n{footer}\n").as_bytes());
        }
    }
    bytes
}

#[test]
fn a_link_gives_the_name() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    root.link("/usr/share/zoneinfo/Europe/Athens");
    let zone = root.look_up();
    assert_eq!(zone.file, ZoneFile::Link("/usr/share/zoneinfo/Europe/Athens".into()));
    assert_eq!(zone.name.as_deref(), Some("Europe/Athens"));
    assert_eq!(zone.how, "/etc/localtime is a link to /usr/share/zoneinfo/Europe/Athens");
    assert!(zone.tzdata);
}

#[test]
fn a_relative_link_gives_the_name() {
    let Some(root) = FakeRoot::with(&["Asia/Tokyo"]) else { return };
    root.link("../usr/share/zoneinfo/Asia/Tokyo");
    assert_eq!(root.look_up().name.as_deref(), Some("Asia/Tokyo"));
}

#[test]
fn a_chain_of_links_gives_the_name() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    root.link("alternatives/zone");
    fs::create_dir(root.at("etc/alternatives")).unwrap();
    symlink("../../var/zone", root.at("etc/alternatives/zone")).unwrap();
    fs::create_dir(root.at("var")).unwrap();
    symlink("/usr/share/zoneinfo/Europe/Athens", root.at("var/zone")).unwrap();
    let zone = root.look_up();
    assert_eq!(zone.name.as_deref(), Some("Europe/Athens"));
    assert_eq!(zone.file, ZoneFile::Link("alternatives/zone".into()));
}

#[test]
fn a_posix_link_gives_the_plain_name() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    root.copy("Europe/Athens", &format!("{ZONEINFO}/posix/Europe/Athens"));
    root.link("/usr/share/zoneinfo/posix/Europe/Athens");
    assert_eq!(root.look_up().name.as_deref(), Some("Europe/Athens"));
}

#[test]
fn a_link_to_a_name_with_other_contents_is_not_believed() {
    let Some(root) = FakeRoot::with(&["Europe/Athens", "Asia/Tokyo"]) else { return };
    root.copy("Asia/Tokyo", "opt/zoneinfo/Europe/Athens");
    root.link("/opt/zoneinfo/Europe/Athens");
    assert_eq!(root.look_up().name.as_deref(), Some("Asia/Tokyo"));
}

#[test]
fn an_absolute_link_is_resolved_below_that_root() {
    // Outside, /usr/share/zoneinfo/Mars/Base does not exist; inside, it is Tokyo.
    let Some(root) = FakeRoot::with(&["Asia/Tokyo"]) else { return };
    root.copy("Asia/Tokyo", &format!("{ZONEINFO}/Mars/Base"));
    root.link("/usr/share/zoneinfo/Mars/Base");
    assert_eq!(root.look_up().name.as_deref(), Some("Mars/Base"));
}

#[test]
fn of_several_aliases_the_database_chooses() {
    let Some(root) = FakeRoot::with(&["Europe/Istanbul", "zone1970.tab"]) else { return };
    // In alphabetical order, Asia/Istanbul would be first.
    root.copy("Europe/Istanbul", &format!("{ZONEINFO}/Asia/Istanbul"));
    root.copy("Europe/Istanbul", &format!("{ZONEINFO}/Turkey"));
    root.copy("Europe/Istanbul", "etc/localtime");
    let zone = root.look_up();
    assert_eq!(zone.file, ZoneFile::Regular);
    assert_eq!(zone.name.as_deref(), Some("Europe/Istanbul"));
    assert_eq!(
        zone.how,
        "/etc/localtime has the same contents as /usr/share/zoneinfo/Europe/Istanbul"
    );
}

#[test]
fn a_timezone_file_that_agrees_wins_over_other_aliases() {
    let Some(root) = FakeRoot::with(&["Europe/Istanbul", "zone1970.tab"]) else { return };
    root.copy("Europe/Istanbul", &format!("{ZONEINFO}/Turkey"));
    root.copy("Europe/Istanbul", "etc/localtime");
    root.write("etc/timezone", b"Turkey\n");
    let zone = root.look_up();
    assert_eq!(zone.name.as_deref(), Some("Turkey"));
    assert!(zone.how.contains("which /etc/timezone names"), "{}", zone.how);
}

#[test]
fn a_stale_timezone_file_does_not_win() {
    let Some(root) = FakeRoot::with(&["Europe/Athens", "Asia/Tokyo"]) else { return };
    root.write("etc/timezone", b"Asia/Tokyo\n");
    root.copy("Europe/Athens", "etc/localtime");
    let zone = root.look_up();
    assert_eq!(zone.name.as_deref(), Some("Europe/Athens"));
    assert!(zone.how.contains("/etc/timezone says Asia/Tokyo"), "{}", zone.how);

    fs::remove_file(root.at("etc/localtime")).unwrap();
    root.link("/usr/share/zoneinfo/Europe/Athens");
    assert_eq!(root.look_up().name.as_deref(), Some("Europe/Athens"));
}

#[test]
fn a_zone_of_ones_own_has_no_name() {
    let Some(root) = FakeRoot::with(&["Europe/Athens", "Asia/Tokyo"]) else { return };
    root.write("etc/localtime", &tzif(19020, "XYZ", "XYZ-5:17"));
    root.write("etc/timezone", b"Europe/Athens\n");
    let zone = root.look_up();
    assert_eq!(zone.file, ZoneFile::Regular);
    assert_eq!(zone.name, None);
    assert!(zone.how.starts_with("no zone in /usr/share/zoneinfo gives the same"), "{}", zone.how);
}

#[test]
fn the_same_times_in_other_bytes_are_recognised() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    root.write(&format!("{ZONEINFO}/Etc/Nine"), &tzif(32400, "+09", "<+09>-9"));
    root.write("etc/localtime", &tzif(32400, "+09", ""));
    let zone = root.look_up();
    assert_eq!(zone.name.as_deref(), Some("Etc/Nine"));
    assert!(zone.how.contains("same local times"), "{}", zone.how);
}

#[test]
fn another_abbreviation_is_another_zone() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    root.write(&format!("{ZONEINFO}/Etc/Nine"), &tzif(32400, "+09", "<+09>-9"));
    root.write("etc/localtime", &tzif(32400, "JST", "JST-9"));
    assert_eq!(root.look_up().name, None);
}

#[test]
fn fat_and_slim_files_of_a_zone_are_the_same_zone() {
    let Some(root) = FakeRoot::with(&["tzdata.zi"]) else { return };
    let compile = |form: &str, to: PathBuf| {
        let zic = ["/usr/sbin/zic", "/usr/bin/zic"].into_iter().find(|p| Path::new(p).exists())?;
        let source = root.at(&format!("{ZONEINFO}/tzdata.zi"));
        Command::new(zic).args(["-b", form, "-d"]).args([to, source]).status().ok()
    };
    let Some(made) = compile("slim", root.at(ZONEINFO)) else {
        return skipped("no zic");
    };
    assert!(made.success());
    assert!(compile("fat", root.at("fat")).unwrap().success());
    let (slim, fat) = (root.at(&format!("{ZONEINFO}/Europe/Athens")), root.at("fat/Europe/Athens"));
    assert_ne!(fs::read(slim).unwrap(), fs::read(&fat).unwrap());
    fs::copy(fat, root.at("etc/localtime")).unwrap();
    assert_eq!(root.look_up().name.as_deref(), Some("Europe/Athens"));
}

#[test]
fn every_spelling_of_utc_is_utc() {
    for spelling in ["Etc/UTC", "Etc/Universal", "UCT", "Zulu", "Etc/Zulu"] {
        let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
        root.write(&format!("{ZONEINFO}/{spelling}"), &tzif(0, "UTC", "UTC0"));
        root.link(&format!("/usr/share/zoneinfo/{spelling}"));
        assert_eq!(root.look_up().name.as_deref(), Some("UTC"), "{spelling}");
    }
    let Some(root) = FakeRoot::with(&[]) else { return };
    root.write("etc/localtime", &tzif(0, "UTC", "UTC0"));
    assert_eq!(root.look_up().name.as_deref(), Some("UTC"));
    // Greenwich time has the same offset and another name.
    let Some(root) = FakeRoot::with(&[]) else { return };
    root.write(&format!("{ZONEINFO}/Etc/GMT"), &tzif(0, "GMT", "GMT0"));
    root.link("/usr/share/zoneinfo/Etc/GMT");
    assert_eq!(root.look_up().name.as_deref(), Some("Etc/GMT"));
}

#[test]
fn what_is_missing_or_no_zone_is_utc() {
    let say = |root: &FakeRoot| {
        let zone = root.look_up();
        assert_eq!(zone.name.as_deref(), Some("UTC"), "{zone:?}");
        (zone.file, zone.how)
    };
    let Some(root) = FakeRoot::with(&[]) else { return };
    let (file, how) = say(&root);
    assert_eq!(file, ZoneFile::Missing);
    assert_eq!(how, "/etc/localtime is missing, so programs run in UTC");

    root.link("/usr/share/zoneinfo/Europe/Athens");
    let (file, how) = say(&root);
    assert_eq!(file, ZoneFile::Missing);
    assert!(how.contains("Europe/Athens, which is not there"), "{how}");

    fs::remove_file(root.at("etc/localtime")).unwrap();
    root.write("etc/localtime", b"");
    assert_eq!(say(&root).0, ZoneFile::NotAZone("is empty".into()));
    root.write("etc/localtime", b"Europe/Athens\n");
    assert!(matches!(say(&root).0, ZoneFile::NotAZone(what) if what.contains("TZif")));

    fs::remove_file(root.at("etc/localtime")).unwrap();
    fs::create_dir(root.at("etc/localtime")).unwrap();
    assert_eq!(say(&root).0, ZoneFile::NotAZone("is a directory".into()));
}

#[test]
fn a_damaged_zone_gets_no_advice() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    let bytes = fs::read(root.at(&format!("{ZONEINFO}/Europe/Athens"))).unwrap();
    root.write("etc/localtime", &bytes[..60]);
    let zone = root.look_up();
    assert_eq!(zone.name, None);
    assert!(matches!(zone.file, ZoneFile::NotAZone(what) if what.contains("damaged")));
}

#[test]
fn without_a_database_there_is_no_name() {
    let Some(root) = FakeRoot::with(&["Europe/Athens"]) else { return };
    root.copy("Europe/Athens", "etc/localtime");
    fs::remove_dir_all(root.at("usr")).unwrap();
    let zone = root.look_up();
    assert_eq!((zone.name, zone.tzdata), (None, false));
    assert!(zone.how.contains("there is no /usr/share/zoneinfo"), "{}", zone.how);
}

#[test]
fn zones_that_count_leap_seconds_are_refused() {
    let Some(root) = FakeRoot::with(&["right/Europe/Athens", "right/UTC", "Europe/Athens"]) else {
        return;
    };
    for zone in ["right/Europe/Athens", "right/UTC"] {
        let _ = fs::remove_file(root.at("etc/localtime"));
        root.link(&format!("/usr/share/zoneinfo/{zone}"));
        let found = root.look_up();
        assert_eq!(found.name, None, "{zone}");
        assert!(found.how.contains("leap seconds"), "{}", found.how);
    }
    // A plain name below right/ without leap seconds is found by its contents.
    let _ = fs::remove_file(root.at("etc/localtime"));
    root.copy("Europe/Athens", &format!("{ZONEINFO}/right/Europe/Plain"));
    root.link("/usr/share/zoneinfo/right/Europe/Plain");
    assert_eq!(root.look_up().name.as_deref(), Some("Europe/Athens"));
}

#[test]
fn a_fifo_in_its_place_does_not_hang() {
    let Some(root) = FakeRoot::with(&[]) else { return };
    let made = Command::new("mkfifo").arg(root.at("etc/localtime")).status().unwrap();
    assert!(made.success());
    let zone = root.look_up();
    assert_eq!(zone.name, None);
    assert!(matches!(zone.file, ZoneFile::NotAZone(_)));
}

#[test]
fn the_own_root_is_looked_up() {
    let zone = read_zone(&Root::own().unwrap());
    match fs::read_link("/etc/localtime") {
        Ok(text) if Path::new("/etc/localtime").is_file() => {
            assert_eq!(zone.file, ZoneFile::Link(text.to_str().unwrap().into()));
        }
        _ => assert!(!matches!(zone.file, ZoneFile::Link(_))),
    }
}
