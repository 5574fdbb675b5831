//! `probe` on this host: its figures are those of strace.

use needless_fixtures::{needed, skipped};
use needless_model::{LocaleProbe, Spelling};
use needless_observe::probe;
use std::path::Path;
use std::process::Command;

fn spelling<'a>(spellings: &'a [Spelling], name: &str) -> Option<&'a Spelling> {
    spellings.iter().find(|spelling| spelling.name == name)
}

/// The lines that strace writes of `locale charmap` with `LC_ALL=name`.
fn strace(name: &str) -> Option<Vec<String>> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut strace = Command::new("strace");
    let path = std::env::var_os("PATH").unwrap_or_default();
    strace.env_clear().env("PATH", path).arg("-o").arg(log.path());
    strace.args(["-E", "PATH", "-E", &format!("LC_ALL={name}"), "/usr/bin/locale", "charmap"]);
    needed(strace.output().map_err(|error| format!("strace: {error}")))?;
    let text = std::fs::read_to_string(log.path()).unwrap();
    Some(text.lines().map(str::to_owned).filter(|line| line.contains(" = ")).collect())
}

fn probed(name: &str) -> Option<LocaleProbe> {
    needed(probe(name).ok_or("no /usr/bin/locale".to_owned()))
}

#[test]
fn figures_are_those_of_strace() {
    if !Path::new("/usr/bin/locale").exists() {
        return skipped("no /usr/bin/locale");
    }
    let probed = probe("C.UTF-8").expect("locale can be traced");
    assert_eq!(probed.requested, "C.UTF-8");
    assert_eq!(probed.spellings[0].name, "C.UTF-8");
    for found in &probed.spellings {
        let Some(lines) = strace(&found.name) else { return };
        let failed = lines.iter().filter(|line| {
            line.contains("/lib/locale/") && line.contains(" = -1 ") && !line.contains("/gconv/")
        });
        assert_eq!(found.failed_opens, failed.count() as u64, "{found:?}");
        let calls = lines.iter().filter(|line| !line.starts_with("exit_group")).count() as u64;
        // As `strace -c` counts: exit_group never returns.
        assert_eq!(found.total_calls, calls, "{found:?}");
        assert!(found.accepted);
        assert_eq!(found.charmap, "UTF-8");
    }
}

#[test]
fn a_locale_that_is_not_there_is_not_accepted() {
    let Some(probed) = probed("xx_YY.UTF-8") else { return };
    let first = &probed.spellings[0];
    assert!(!first.accepted);
    assert_eq!(first.charmap, "");
    // Six names for the first category, and the archive where there is none.
    let archive = u64::from(!Path::new("/usr/lib/locale/locale-archive").exists());
    assert_eq!(first.failed_opens, 6 + archive);
    let c = spelling(&probed.spellings, "C.utf8").expect("always tried instead");
    assert_eq!(c.accepted, c.charmap == "UTF-8");
}

#[test]
fn what_is_tried_comes_in_the_same_order_each_time() {
    let (Some(first), Some(second)) = (probed("C.UTF-8"), probed("C.UTF-8")) else { return };
    assert_eq!(first, second);
}
