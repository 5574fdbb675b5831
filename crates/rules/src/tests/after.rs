//! What comes after the rules: suppressions.

use super::profile;
use crate::{CheckOptions, Glob, Ignore, LastDay, NotChecked, Verdict, check, suppress};
use needless_model::{Fact, Profile};

const TODAY: LastDay = LastDay { year: 2026, month: 11, day: 21 };

/// Two programs that search the same list and find nothing: one finding.
fn two_programs() -> (Profile, Verdict) {
    let asks = |pid: u32, name: &str| {
        format!(
            "{pid} execve(\"/usr/bin/{name}\", [\"{name}\"], 0x7 /* 2 vars */) = 0\n\
             {pid} access(\"/opt/x/icons\", F_OK) = -1 ENOENT (No such file or directory) x20\n\
             {pid} +++ exited with 0 +++\n"
        )
    };
    let env = "env XDG_DATA_DIRS=/opt/x:/usr/share\n";
    let profile = profile(&format!("{}{}{env}", asks(11, "one"), asks(12, "two")));
    let verdict = check(&profile, &CheckOptions::default());
    assert_eq!(verdict.findings.len(), 1, "{verdict:?}");
    assert_eq!(verdict.findings[0].processes.len(), 2);
    (profile, verdict)
}

fn ignore(program: &str, until: Option<LastDay>) -> Ignore {
    Ignore {
        rule: "data-directories".to_owned(),
        program: Some(Glob::new(program).unwrap()),
        path: None,
        unit: None,
        reason: "r".to_owned(),
        until,
        place: "f:1".to_owned(),
    }
}

#[test]
fn a_part_of_a_finding_is_not_suppressed() {
    for (program, suppressed, said) in [
        ("*", 1, None),
        ("/usr/bin/*", 1, None),
        ("one", 0, Some("fits only a part of a finding")),
        ("three", 0, None),
    ] {
        let (profile, mut verdict) = two_programs();
        let ignores = [ignore(program, None)];
        suppress(&mut verdict, &profile, &ignores, &CheckOptions::default(), TODAY);
        assert_eq!(verdict.suppressed.len(), suppressed, "{program}");
        assert_eq!(verdict.findings.len(), 1 - suppressed, "{program}");
        assert_eq!(verdict.notices.len(), usize::from(said.is_some()), "{:?}", verdict.notices);
        assert!(said.is_none_or(|said| verdict.notices[0].contains(said)), "{:?}", verdict.notices);
    }
}

/// A program that did not run says nothing about its suppression.
#[test]
fn a_suppression_is_unused_where_its_program_ran() {
    for (program, path, said) in [
        ("one", Some("/nowhere/*"), true),
        ("*", Some("/nowhere/*"), true),
        ("three", Some("/nowhere/*"), false),
        ("three", None, false),
    ] {
        let (profile, mut verdict) = two_programs();
        let path = path.map(|path| Glob::new(path).unwrap());
        let ignores = [Ignore { path, ..ignore(program, None) }];
        suppress(&mut verdict, &profile, &ignores, &CheckOptions::default(), TODAY);
        let unused = |notice: &String| notice.starts_with("unused-ignore: f:1: ");
        assert_eq!(verdict.notices.len(), usize::from(said), "{program}: {:?}", verdict.notices);
        assert!(verdict.notices.iter().all(unused), "{:?}", verdict.notices);
    }
}

#[test]
fn a_suppression_holds_on_its_last_day_and_not_after() {
    for (day, suppressed) in [(21, 1), (20, 0)] {
        let (profile, mut verdict) = two_programs();
        let ignores = [ignore("*", Some(LastDay { day, ..TODAY }))];
        suppress(&mut verdict, &profile, &ignores, &CheckOptions::default(), TODAY);
        assert_eq!(verdict.suppressed.len(), suppressed, "{day}");
        assert_eq!(verdict.notices.is_empty(), suppressed == 1, "{:?}", verdict.notices);
    }
}

#[test]
fn what_was_not_looked_for_is_not_unused() {
    let (profile, _) = two_programs();
    let ignores = [ignore("three", None)];
    let only = CheckOptions { only: vec!["perl-path".to_owned()], ..CheckOptions::default() };
    let quiet =
        CheckOptions { ignore: vec![crate::UNUSED_IGNORE.to_owned()], ..CheckOptions::default() };
    for options in [only, quiet] {
        let mut verdict = Verdict::default();
        suppress(&mut verdict, &profile, &ignores, &options, TODAY);
        assert_eq!(verdict.notices, Vec::<String>::new());
    }
    let skipped = NotChecked { rule: "data-directories".into(), missing: vec![Fact::Paths] };
    let mut verdict = Verdict { not_checked: vec![skipped], ..Verdict::default() };
    suppress(&mut verdict, &profile, &ignores, &CheckOptions::default(), TODAY);
    assert_eq!(verdict.notices, Vec::<String>::new());
}
