//! Locales that are not installed, spelt in another way, or named by an alias.

use super::*;

#[test]
fn a_locale_that_is_not_installed_is_reported_with_one_that_is() {
    let report = run(&[("LC_ALL", "xx_XX.UTF-8")], &["ls", "/"]);
    assert!(needless_of(&report, "locale-not-installed") > 0, "{report:#}");
    let one = finding(&report, "locale-not-installed");
    assert!(one["what"].as_str().unwrap().contains("xx_XX.UTF-8"));
    for value in advised(one, "LC_ALL") {
        let names = std::process::Command::new("locale").arg("-a").output().unwrap();
        let known = stdout(&names).lines().any(|name| name == value);
        assert!(known, "advises {value}, which is not installed either");
        let fixed = run(&[("LC_ALL", value)], &["ls", "/"]);
        assert_eq!(needless_of(&fixed, "locale-not-installed"), 0, "{value}");
    }
}

#[test]
fn the_c_locale_is_advised_as_it_is_spelt_on_disk() {
    if !Path::new("/usr/lib/locale/C.utf8").is_dir() {
        return skipped("no /usr/lib/locale/C.utf8");
    }
    let all = ["--min-saving", "0"];
    for backend in backends() {
        let with = |value| [backend, &[("LANG", value)]].concat();
        let report = run_with(&all, &with("C.UTF-8"), &["ls", "-z"]);
        assert_eq!(needless_of(&report, "locale-spelling"), 12, "{report:#}");
        assert_eq!(advised(finding(&report, "locale-spelling"), "LANG"), ["C.utf8"]);
        let fixed = run_with(&all, &with("C.utf8"), &["ls", "-z"]);
        assert_eq!(needless_of(&fixed, "locale-spelling"), 0);
        // At one start this is not worth a change, nor is what the advice leaves.
        for value in ["C.UTF-8", "C.utf8"] {
            assert_eq!(found(&run(&with(value), &["ls", "-z"])), [], "{value}");
        }
    }
}

/// Makes el_GR a directory, as in 2001, where only the words that follow see it.
const GREEK: &str = "
mount -t tmpfs none /usr/lib/locale
localedef --no-archive -i el_GR -f ISO-8859-7 el_GR || exit 77
exec \"$@\"
";

fn ls_in_greek(mounts: &[&str], lang: &str, options: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let done = command(mounts[0])
        .env("LANG", lang)
        .args(&mounts[1..])
        .args(["sh", "-c", GREEK, "sh", NEEDLESS, "run"])
        .args(options)
        .args(["-o", file.to_str().unwrap(), "--", "ls", "-z"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2), "ls rejects -z: {}", stderr(&done));
    serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap()
}

#[test]
fn a_locale_alias_costs_what_was_reported_in_2001() {
    let source = Path::new("/usr/share/i18n/locales/el_GR");
    let source = match source.exists() {
        true => installed("localedef"),
        false => Err("no source of el_GR (package locales)".to_owned()),
    };
    let (Some(_), Some(mounts)) = (needed(source), own_mounts()) else { return };
    let alias = ls_in_greek(&mounts, "greek", &[]);
    let (locale, messages) =
        (needless_of(&alias, "locale-alias"), needless_of(&alias, "catalogue-search"));
    assert_eq!(alias["totals"]["needless"], locale + messages, "{alias:#}");
    assert_eq!(locale, 24, "12 categories under two names: {alias:#}");
    assert_eq!(advised(finding(&alias, "locale-alias"), "LANG"), ["el_GR"]);
    let name = ls_in_greek(&mounts, "el_GR", &[]);
    assert_eq!(found(&name), [], "2 calls are not worth a line");
    let shown = ls_in_greek(&mounts, "el_GR", &["--min-saving", "0"]);
    // Ubuntu's C library looks for catalogues in a second folder, too; small images have none.
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let has = |name: &str| Path::new("/usr/share/locale/el/LC_MESSAGES").join(name).exists();
    let debian = release.lines().any(|line| line == "ID=debian");
    if debian && has("libc.mo") && has("coreutils.mo") {
        assert_eq!(locale + messages, 34, "{alias:#}");
        assert_eq!(name["below_threshold"]["calls"], 2, "{name:#}");
        assert_eq!(shown["totals"]["needless"], 2, "{shown:#}");
    } else {
        assert!(shown["totals"]["needless"].as_u64().unwrap() < messages);
    }
}
