//! The manual page names every key that is read, and its example is one that is read.

use needless_config::{Config, MANUAL, parse};

/// The keys of the table in which `text` has a key that does not exist: the reader lists them.
fn keys(text: &str) -> Vec<String> {
    let why = parse(text, "needless.toml", &mut Config::default()).unwrap_err().to_string();
    let (_, known) = why.split_once("expected").unwrap_or_else(|| panic!("{text}: {why}"));
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A part of the page, by its heading.
fn section(heading: &str) -> &'static str {
    let (_, after) = MANUAL.split_once(&format!("\n.SH {heading}\n")).unwrap();
    after.split("\n.SH ").next().unwrap()
}

/// Whether the page shows the key in bold, as it shows every key.
fn names(section: &str, key: &str) -> bool {
    let key = key.replace('-', "\\-");
    let bold = section.lines().filter(|line| line.starts_with(".B"));
    bold.flat_map(|line| line.split([' ', '"', ','])).any(|word| word == key)
}

#[test]
fn each_key_is_in_the_manual() {
    const RULE: &str = "[[rule]]\nname = 'a-b'\ncalls = 'stat'\nmessage = 'm'\nwhy = 'W.'\n";
    let remedy = format!("{RULE}remedy = {{ wrong = 1 }}\n");
    let example = format!("{RULE}[[rule.example]]\nwrong = 1\n");
    for (heading, text, some) in [
        ("RULES", "[[rule]]\nwrong = 1\n", "at-least"),
        ("RULES", &remedy, "caveat"),
        ("RULES", &example, "trace"),
        ("SUPPRESSIONS", "[[ignore]]\nwrong = 1\n", "until"),
        ("BUDGETS", "[budget.x]\nwrong = 1\n", "cpu-ms"),
        ("BUDGETS", "[budget.x]\ncalls = { most = 1, wrong = 1 }\n", "vary"),
    ] {
        let keys = keys(text);
        assert!(keys.iter().any(|key| key == some), "{text}: {keys:?}");
        for key in keys {
            assert!(names(section(heading), &key), "{heading} of needless.toml.5 lacks {key}");
        }
    }
    for table in keys("wrong = 1\n") {
        assert!(MANUAL.contains(&format!("[{table}")), "needless.toml.5 lacks [{table}]");
    }
    assert!(!names(section("RULES"), "wrong"));
}

#[test]
fn the_example_of_the_manual_is_read() {
    let (_, example) = section("EXAMPLES").split_once(".EX\n").unwrap();
    let example = example.split(".EE").next().unwrap();
    let mut config = Config::default();
    parse(example, "needless.toml", &mut config).unwrap();
    assert_eq!((config.ignores.len(), config.budgets.len()), (1, 1), "{example}");
}
