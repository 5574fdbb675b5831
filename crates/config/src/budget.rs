//! Budgets of commands: read with the position of each limit, and written without a change of anything else.

use crate::ConfigError;
use crate::file::{BudgetIn, LimitIn, Text, Vary};
use needless_model::{parser_message, quote};
use needless_rules::{Budget, Counted, Limit};
use std::collections::BTreeMap;
use toml::Spanned;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

pub(crate) fn budget(
    name: String,
    from: Spanned<BudgetIn>,
    text: &Text<'_>,
) -> Result<Budget, ConfigError> {
    let span = from.span();
    let from = from.into_inner();
    if !is_name(&name) {
        let what = format!("{}: a budget's name has letters, digits, . _ + and -", quote(&name));
        return Err(text.wrong(&span, what));
    }
    let mut limits = BTreeMap::new();
    let mut add = |counted: Counted, limit: Spanned<LimitIn>| {
        let line = text.number(limit.span().start);
        let LimitIn { most, vary } = limit.into_inner();
        let vary = match vary {
            Vary::Calls(calls) => calls,
            Vary::Percent(percent) => (most as f64 * percent / 100.0).ceil() as u64,
        };
        limits.insert(counted, Limit { most, vary, line });
    };
    for (counted, limit) in [
        (Counted::Calls, from.calls),
        (Counted::PathCalls, from.path_calls),
        (Counted::Failed, from.failed),
        (Counted::Needless, from.needless),
        (Counted::Processes, from.processes),
        (Counted::CpuMs, from.cpu_ms),
    ] {
        if let Some(limit) = limit {
            add(counted, limit);
        }
    }
    from.call.into_iter().for_each(|(call, limit)| add(Counted::Call(call), limit));
    from.rule.into_iter().for_each(|(rule, limit)| add(Counted::Rule(rule), limit));
    let line = text.number(span.start);
    Ok(Budget { name, file: text.name().to_owned(), line, limits, of_report: false })
}

/// Whether a budget may be called so: the name is also part of a file's name.
pub fn is_budget_name(name: &str) -> bool {
    is_name(name)
}

fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(legal)
}

/// The text of a file with `budget` in it; every other byte stays. `about` gives the comment behind a limit.
///
/// # Errors
/// When the text is not TOML, or has something else in the budget's place.
pub fn with_budget(
    text: &str,
    file: &str,
    budget: &Budget,
    about: &dyn Fn(&Counted) -> Option<String>,
) -> Result<String, ConfigError> {
    let wrong = |what: String| ConfigError::of_file(file, what);
    let mut document: DocumentMut = text
        .parse()
        .map_err(|why: toml_edit::TomlError| wrong(parser_message(why.message()).into_owned()))?;
    let no_table = |key: &str| wrong(format!("{key} is not a table: write it as [{key}]"));
    let budgets = document.entry("budget").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let budgets = budgets.as_table_mut().ok_or_else(|| no_table("budget"))?;
    let known = budgets.contains_key(&budget.name);
    let table = budgets.entry(&budget.name).or_insert_with(|| {
        let mut table = Table::new();
        let first = if text.trim().is_empty() { "" } else { "\n" };
        table.decor_mut().set_prefix(format!("{first}{HEAD}"));
        Item::Table(table)
    });
    let key = format!("budget.{}", budget.name);
    let table = table.as_table_mut().ok_or_else(|| no_table(&key))?;
    for (counted, limit) in &budget.limits {
        let (part, name) = match counted {
            Counted::Call(name) => (Some("call"), name.clone()),
            Counted::Rule(name) => (Some("rule"), name.clone()),
            other => (None, other.to_string()),
        };
        let at = match part {
            None => &mut *table,
            Some(part) => {
                let below = table.entry(part).or_insert_with(|| Item::Table(Table::new()));
                below.as_table_mut().ok_or_else(|| no_table(&format!("{key}.{part}")))?
            }
        };
        put(at, &name, *limit, about(counted));
    }
    // What is no longer done has no limit any more.
    for part in ["call", "rule"] {
        let Some(below) = table.get_mut(part).and_then(Item::as_table_mut).filter(|_| known) else {
            continue;
        };
        below.retain(|name, _| {
            let name = name.to_owned();
            let counted = if part == "call" { Counted::Call(name) } else { Counted::Rule(name) };
            budget.limits.contains_key(&counted)
        });
    }
    Ok(with_endings(&document.to_string(), text))
}

/// The new text with the line endings of the old one: the editor knows only `\n`.
fn with_endings(new: &str, old: &str) -> String {
    if !old.contains("\r\n") {
        return new.to_owned();
    }
    let first = if old.lines().next().map(str::len) == old.find("\r\n") { "\r\n" } else { "\n" };
    let mut left: Vec<&str> = old.split_inclusive('\n').collect();
    let mut text = String::with_capacity(new.len());
    for line in new.lines() {
        let same = |old: &&str| old.trim_end_matches(['\r', '\n']) == line;
        match left.iter().position(same) {
            Some(at) => {
                text += left[at];
                left.drain(..=at);
            }
            None => text += &format!("{line}{first}"),
        }
    }
    text
}

const HEAD: &str = "\
# What `needless check` allows: `needless check --update` writes new figures. A limit is a number, or
# { most = 12, vary = 3 } where runs differ. A limit that is deleted is not checked.
";

/// Sets a limit, and keeps what a person wrote around it.
fn put(table: &mut Table, name: &str, limit: Limit, about: Option<String>) {
    let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let old = table.get_mut(name).and_then(Item::as_value_mut);
    if let Some(Value::InlineTable(both)) = &old
        && both.get("vary").is_some_and(Value::is_str)
    {
        // A share of it stays a share.
        if let Some(most) = table[name].get_mut("most").and_then(Item::as_value_mut) {
            replace(most, whole(limit.most).into());
        }
        return;
    }
    let mut new: Value = match limit.vary {
        0 => whole(limit.most).into(),
        vary => {
            let mut both = InlineTable::new();
            both.insert("most", whole(limit.most).into());
            both.insert("vary", whole(vary).into());
            both.into()
        }
    };
    let said = about.map_or_else(String::new, |about| format!(" # {about}"));
    match old {
        Some(old) => {
            let suffix = old.decor().suffix().and_then(|raw| raw.as_str()).unwrap_or_default();
            let ours = suffix.trim().is_empty() || suffix.trim_end().ends_with(RUNS);
            let suffix = if ours { said } else { suffix.to_owned() };
            replace(old, new);
            old.decor_mut().set_suffix(suffix);
        }
        None => {
            new.decor_mut().set_prefix(" ");
            new.decor_mut().set_suffix(said);
            table.insert(name, Item::Value(new));
        }
    }
}

/// The end of each comment that [`with_budget`] may replace.
pub const RUNS: &str = "runs";

fn replace(old: &mut Value, mut new: Value) {
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn limits(all: &[(Counted, u64, u64)]) -> Budget {
        let limits = all.iter();
        Budget {
            name: "demo".into(),
            limits: limits
                .map(|(counted, most, vary)| {
                    (counted.clone(), Limit { most: *most, vary: *vary, line: 0 })
                })
                .collect(),
            ..Budget::default()
        }
    }

    fn read(text: &str) -> Result<Budget, ConfigError> {
        let mut config = Config::default();
        crate::parse(text, "needless.toml", &mut config)?;
        Ok(config.budgets.remove(0))
    }

    fn openat() -> Counted {
        Counted::Call("openat".into())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let budget =
            limits(&[(Counted::Calls, 100, 0), (Counted::Failed, 7, 2), (openat(), 12, 0)]);
        let before = "# mine\r\n[[ignore]]\r\nrule = 'tz-unset'   # why\nreason = '''\n[budget.demo]\n'''\r\n";
        let text = with_budget(before, "f", &budget, &|of| {
            (*of == Counted::Failed).then(|| "5 to 7 in 3 runs".to_owned())
        })
        .unwrap();
        assert!(text.starts_with(before), "{text}");
        assert!(text.contains("failed = { most = 7, vary = 2 } # 5 to 7 in 3 runs\r\n"), "{text}");
        let again = read(&text).unwrap();
        let plain: Vec<(Counted, u64, u64)> =
            again.limits.iter().map(|(of, limit)| (of.clone(), limit.most, limit.vary)).collect();
        assert_eq!(limits(&plain), budget);
        let line = text.lines().position(|line| line.starts_with("failed")).unwrap() + 1;
        assert_eq!(again.limits[&Counted::Failed].line, line);
        let comment = " # 5 to 7 in 3 runs";
        let without = with_budget(&text, "f", &budget, &|_| None).unwrap();
        assert_eq!(without, text.replace(comment, ""));
    }

    #[test]
    fn what_a_person_wrote_stays() {
        let text = "[budget.demo] # ours\n# all\ncalls =  90 # do not raise\ncpu-ms = { most = 10, vary = \"50%\" }\n\
                    [budget.demo.call]\nopenat = 3\ngone = 4\n[[rule]] # after\n";
        let budget = limits(&[(Counted::Calls, 100, 0), (Counted::CpuMs, 30, 9), (openat(), 5, 1)]);
        let new = with_budget(text, "f", &budget, &|_| None).unwrap();
        assert_eq!(
            new,
            "[budget.demo] # ours\n# all\ncalls =  100 # do not raise\ncpu-ms = { most = 30, vary = \"50%\" }\n\
             [budget.demo.call]\nopenat = { most = 5, vary = 1 }\n[[rule]] # after\n"
        );
    }

    #[test]
    fn a_percentage_of_little_is_rounded_up() {
        let vary = |most: u64| {
            let text = format!("[budget.demo]\ncalls = {{ most = {most}, vary = \"10%\" }}\n");
            read(&text).unwrap().limits[&Counted::Calls].vary
        };
        assert_eq!([0, 1, 10, 11].map(vary), [0, 1, 1, 2]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, wanted) in [
            ("[budget.x]\ncals = 1\n", "needless.toml:2:1: unknown field `cals`"),
            ("[budget.x]\ncalls = -1\n", "needless.toml:2:9: "),
            ("[budget.x]\ncalls = { most = 1, vary = \"x\" }\n", "a percentage"),
            ("[budget.'a/b']\ncalls = 1\n", "letters, digits"),
        ] {
            let why = read(text).unwrap_err().to_string();
            assert!(why.contains(wanted) && !why.contains('\n'), "{text}: {why}");
        }
        let share = read("[budget.x]\ncpu-ms = { most = 10, vary = \"25%\" }\n").unwrap();
        assert_eq!(share.limits[&Counted::CpuMs], Limit { most: 10, vary: 3, line: 2 });
    }
}
