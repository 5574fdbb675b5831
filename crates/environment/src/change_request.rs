//! Whether a value is right for the programs that would get it: it depends on their runtimes, and on files that must
//! exist.

use crate::error::EnvironmentError;
use crate::local_times::ZONEINFO;
use crate::merge::label;
use crate::redact::may_show;
use needless_host::Root;
use needless_localtime::posix_tz;
use needless_model::Runtime;

/// Refuses a value that is wrong for the programs `exes`, whose file system is `root`.
///
/// # Errors
/// Which program would misread it, or which file is missing.
pub(crate) fn check_target(
    variable: &str,
    value: Option<&str>,
    exes: &[String],
    root: &Root,
) -> Result<(), EnvironmentError> {
    let (Some(value), "TZ" | "CRON_TZ") = (value, variable) else { return Ok(()) };
    // The value becomes part of a sentence.
    crate::places::check_value(value)?;
    let Zone { name, file, is_path, known, is_rule } = Zone::of(value, root);
    for exe in exes {
        let runtime = Runtime::of_exe(exe);
        let wrong = match runtime {
            Runtime::Java | Runtime::Node => is_path || is_rule,
            Runtime::Go => is_rule,
            Runtime::Native => false,
        };
        if wrong {
            return Err(format!(
                "{exe} reads {} as another zone, without summer time or in UTC: give the zone's name (Area/City)",
                label("TZ", Some(value))
            )
            .into());
        }
    }
    if known || is_rule || matches!(name, "UTC" | "") {
        Ok(())
    } else if !may_show("TZ", value) {
        Err("there is no such zone: the time would silently be UTC, or wrong".into())
    } else if is_path && root.is_ours() {
        Err(format!("{name} is not a time zone file: the time would silently be UTC").into())
    } else if !root.is_ours() {
        let what = if is_path { "zone file" } else { "zone" };
        Err(format!(
            "in the root of this process there is no {what} {name}: its time would silently be UTC"
        )
        .into())
    } else {
        Err(format!(
            "there is no zone {name} ({file} is missing, and it is not a POSIX string such as \
             EST5EDT,M3.2.0,M11.1.0): the time would silently be UTC, or wrong"
        )
        .into())
    }
}

/// What a value of TZ is, on the file system `root`.
struct Zone<'v> {
    /// The value without the colon at its start.
    name: &'v str,
    /// The file that it names.
    file: String,
    is_path: bool,
    /// Whether that is a file of zones.
    known: bool,
    /// POSIX: "EST5EDT,M3.2.0,M11.1.0", "<+0330>-3:30". After a colon only glibc takes it for one.
    is_rule: bool,
}

impl Zone<'_> {
    fn of<'v>(value: &'v str, root: &Root) -> Zone<'v> {
        let name = value.strip_prefix(':').unwrap_or(value);
        let is_path = name.starts_with('/');
        let file = if is_path { name.to_owned() } else { format!("{ZONEINFO}/{name}") };
        // A name must not lead out of the directory of zones.
        let plain = is_path || !name.split('/').any(|part| part == "..");
        let known = !name.is_empty() && plain && is_zone(root, &file);
        let is_rule = !known && posix_tz(value).is_some();
        Zone { name, file, is_path, known, is_rule }
    }
}

/// A caveat for a value of TZ that the runtimes of some programs read in another way than the C library. The value is
/// not in it: it may be one that is not shown.
pub(crate) fn misread_by_some(value: &str, root: &Root) -> Option<String> {
    let zone = Zone::of(value, root);
    let what = match (zone.is_path, zone.is_rule) {
        (true, _) => "Java and Node know no daylight saving if TZ is the path of a zone file",
        (false, true) => {
            "Java, Node and Go take many POSIX strings in TZ for another zone, or without daylight saving"
        }
        (false, false) => return None,
    };
    Some(format!("{what}: for such a program give the zone's name (Area/City)."))
}

/// Whether the file begins like a zone file, tzfile(5).
fn is_zone(root: &Root, file: &str) -> bool {
    root.read(file).is_ok_and(|bytes| bytes.starts_with(b"TZif"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zones_and_posix_strings_are_zones() {
        let root = Root::own().unwrap();
        let check = |value: &str| check_target("TZ", Some(value), &[], &root);
        for wrong in [
            "Europe/Berlin2",
            "America/Nwe_York5",
            "Etc/GMT+25",
            "x1;rm -rf /",
            "/etc/passwd",
            ":/nonexistent",
            "../../../etc/passwd",
            "Europe",
            ":EST5",
            "JST-9 ",
        ] {
            let said = check(wrong).unwrap_err().to_string();
            assert!(said.contains("silently be UTC") && !said.contains('\n'), "{wrong}: {said}");
        }
        for right in ["<+0330>-3:30", "EST5EDT,M3.2.0,M11.1.0", "UTC", "", "JST-9", "CET-1CEST"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for secret in ["postgres://me:hunter2@h", ":/srv/tz?token=hunter2"] {
            let said = check(secret).unwrap_err().to_string();
            assert!(said.contains("silently be UTC") && !said.contains("hunter2"), "{said}");
        }
    }

    /// A folder that is a root of its own, with a zone.
    fn one_zone() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("usr/share/zoneinfo/Area");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("City"), b"TZif2").unwrap();
        std::fs::write(dir.join("list.tab"), b"# no zone").unwrap();
        let root = Root::of(std::fs::File::open(folder.path()).unwrap().into());
        (folder, root)
    }

    /// A zone that is there, by name and by path.
    #[test]
    fn a_zone_is_a_file_of_zones() {
        let (_folder, root) = one_zone();
        let node = ["/usr/bin/node".to_owned()];
        let check = |value: &str| check_target("TZ", Some(value), &[], &root);
        assert_eq!(check("Area/City"), Ok(()));
        assert_eq!(check(":/usr/share/zoneinfo/Area/City"), Ok(()));
        assert!(check("Area/list.tab").is_err() && check("Area/Twon").is_err());
        let path = ":/usr/share/zoneinfo/Area/City";
        assert!(
            check_target("TZ", Some(path), &node, &root)
                .unwrap_err()
                .to_string()
                .contains("node reads")
        );
        assert!(check_target("TZ", Some("EST5"), &node, &root).is_err());
        assert_eq!(check_target("TZ", Some("Area/City"), &node, &root), Ok(()));
    }

    #[test]
    fn what_only_the_c_library_understands_has_a_caveat() {
        let (_folder, root) = one_zone();
        let caveat = |value: &str| misread_by_some(value, &root);
        let path = caveat(":/srv/hunter2").unwrap();
        assert!(path.starts_with("Java and Node know ") && !path.contains("hunter2"), "{path}");
        for rule in ["EST5EDT,M3.2.0,M11.1.0", "CET-1CEST", "<+0330>-3:30"] {
            assert!(caveat(rule).unwrap().starts_with("Java, Node and Go take "), "{rule}");
        }
        for plain in ["Area/City", ":Area/City", "UTC", ""] {
            assert_eq!(caveat(plain), None, "{plain}");
        }
    }
}
