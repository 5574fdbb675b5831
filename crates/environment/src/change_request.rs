//! Whether a value is right for the programs it would reach: FACTS of the runtimes, and the files it needs.

use needless_host::Root;
use needless_model::{Runtime, posix_tz};

/// Where zones are looked up by name.
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// Refuses a value that is wrong for the programs `exes`, whose file system is `root`.
///
/// # Errors
/// In a sentence: which program would take it wrongly, or what it needs that is not there.
pub fn check_target(
    variable: &str,
    value: Option<&str>,
    exes: &[String],
    root: &Root,
) -> Result<(), String> {
    let (Some(value), "TZ") = (value, variable) else { return Ok(()) };
    // It would be a part of a sentence otherwise.
    crate::format::check_value(value)?;
    let name = value.strip_prefix(':').unwrap_or(value);
    let is_path = name.starts_with('/');
    let file = if is_path { name.to_owned() } else { format!("{ZONEINFO}/{name}") };
    // A name may not lead out of the directory of zones.
    let plain = is_path || !name.split('/').any(|part| part == "..");
    let known = !name.is_empty() && plain && is_zone(root, &file);
    // POSIX: "EST5EDT,M3.2.0,M11.1.0", "<+0330>-3:30".
    let is_rule = !known && posix_tz(value).is_some();
    for exe in exes {
        let runtime = Runtime::of_exe(exe);
        let wrong = match runtime {
            Runtime::Java | Runtime::Node => is_path || is_rule,
            Runtime::Go => is_rule,
            Runtime::Native => false,
        };
        if wrong {
            return Err(format!(
                "{exe} takes TZ={value} for another zone, without summer time or in UTC: give the \
                 zone's name (Area/City)"
            ));
        }
    }
    match known || is_rule || matches!(name, "UTC" | "") {
        true => Ok(()),
        false if is_path => {
            Err(format!("{name} is no file of a time zone: its time would silently be UTC"))
        }
        false => Err(format!(
            "there is no zone {name} for it ({file} is missing, and it is no POSIX string such as \
             EST5EDT,M3.2.0,M11.1.0): its time would silently be UTC"
        )),
    }
}

/// Whether the file begins as those of tzfile(5) do.
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
            let said = check(wrong).unwrap_err();
            assert!(said.contains("silently be UTC") && !said.contains('\n'), "{wrong}: {said}");
        }
        for right in ["<+0330>-3:30", "EST5EDT,M3.2.0,M11.1.0", "UTC", "", "JST-9", "CET-1CEST"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
    }

    /// The folder is a root of its own: a zone that is there, by name and by path.
    #[test]
    fn a_zone_is_a_file_of_zones() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("usr/share/zoneinfo/Area");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("City"), b"TZif2").unwrap();
        std::fs::write(dir.join("list.tab"), b"# no zone").unwrap();
        let root = Root::of(std::fs::File::open(folder.path()).unwrap().into());
        let node = ["/usr/bin/node".to_owned()];
        let check = |value: &str| check_target("TZ", Some(value), &[], &root);
        assert_eq!(check("Area/City"), Ok(()));
        assert_eq!(check(":/usr/share/zoneinfo/Area/City"), Ok(()));
        assert!(check("Area/list.tab").is_err() && check("Area/Twon").is_err());
        let path = ":/usr/share/zoneinfo/Area/City";
        assert!(check_target("TZ", Some(path), &node, &root).unwrap_err().contains("node takes"));
        assert!(check_target("TZ", Some("EST5"), &node, &root).is_err());
        assert_eq!(check_target("TZ", Some("Area/City"), &node, &root), Ok(()));
    }
}
