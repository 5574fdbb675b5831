//! The list and the pages of rules, and the doctor.

use insta::assert_snapshot;
use needless_report::{DoctorCheck, RulesFormat, Style};
use needless_rules::RULES;
use serde_json::Value;

const PLAIN: Style = Style { colour: false, width: 80 };

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_table_has_every_rule_and_fits() {
    let table = text(|out| needless_report::write_rules(out, &[], RulesFormat::Full, PLAIN));
    let mut lines = table.lines().filter(|line| !line.starts_with(' '));
    for rule in RULES {
        let line = lines.next().expect("a line for each rule");
        let (name, summary) = line.split_once("  ").expect("two columns");
        assert_eq!(name, rule.name);
        assert!(rule.summary.starts_with(summary.trim()), "{line}");
    }
    assert_eq!(lines.next(), None);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn the_list_for_tools_has_every_rule() {
    let json: Value = serde_json::from_str(&text(|out| {
        needless_report::write_rules(out, &[], RulesFormat::Json, PLAIN)
    }))
    .unwrap();
    assert_eq!(json["schema"], "needless.rules/1");
    let listed = json["rules"].as_array().unwrap();
    assert_eq!(listed.len(), RULES.len());
    for (entry, rule) in listed.iter().zip(RULES) {
        assert_eq!(entry["name"], rule.name);
        assert_eq!(entry["summary"], rule.summary);
        assert_eq!(entry["needs"].as_array().unwrap().len(), rule.needs.len());
        assert_eq!(entry["variables"], serde_json::json!(rule.variables));
    }
}

#[test]
fn explain_prints_the_page_as_it_is() {
    for rule in RULES {
        let page = needless_rules::page(rule).markdown();
        let rendered = text(|out| needless_report::explain(out, &page, PLAIN));
        assert_eq!(rendered.trim_end(), page.trim_end());
        let coloured = Style { colour: true, ..PLAIN };
        let coloured = text(|out| needless_report::explain(out, &page, coloured));
        assert_eq!(coloured.replace("\x1b[1m", "").replace("\x1b[0m", ""), rendered);
        let headings = page.lines().filter(|line| line.starts_with("## ")).count();
        assert_eq!(coloured.matches("\x1b[1m## ").count(), headings);
    }
}

#[test]
fn the_doctor_says_what_to_do() {
    let check = |name: &str, ok, says: &str, remedy: Option<&str>| DoctorCheck {
        name: name.to_owned(),
        ok,
        says: says.to_owned(),
        remedy: remedy.map(str::to_owned),
    };
    let checks = [
        check("ptrace", true, "a child can be traced", None),
        check(
            "locales",
            false,
            "this host's C library has a locale archive that cannot be read, so advice about the \
             spelling of locale names is not checked",
            Some("ls -l /usr/lib/locale"),
        ),
    ];
    assert_snapshot!(text(|out| needless_report::doctor(out, &checks, PLAIN)), @r#"
    ok  ptrace   a child can be traced
    no  locales  this host's C library has a locale archive that cannot be read, so
                 advice about the spelling of locale names is not checked
                 → ls -l /usr/lib/locale
    1 of 2 checks not ok
    "#);
    let healthy = text(|out| needless_report::doctor(out, &checks[..1], PLAIN));
    assert!(healthy.ends_with("1 check, nothing to do\n"), "{healthy}");
}
