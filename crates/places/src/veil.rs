//! Diffs and stories as they may be shown: what stands beside a change may be a password, and output
//! of `fix --yes` ends up in logs.

use needless_model::{Reaches, Story, Value};

/// What is in a name, in capitals, whose value is not for others.
const TELLTALE: [&str; 8] =
    ["PASS", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE", "_PWD"];
/// What is printed instead of such a value.
const VEIL: &str = "(not shown)";

/// `text`, line by line, with the values of secret-sounding names, and passwords in URLs, left out.
pub(crate) fn veiled(text: &str) -> String {
    let mut after_name = false;
    let lines = text.split('\n').map(|line| {
        // Kubernetes and compose: `- name: PASSWORD`, and its value on the next line.
        let item = line.trim_start_matches(['+', '-', ' ']);
        let value = item.starts_with("value:").then(|| line.len() - item.len() + "value:".len());
        let out = match value.filter(|_| after_name) {
            Some(at) => format!("{} {VEIL}", &line[..at]),
            None => urls(&values(line)),
        };
        after_name = item.strip_prefix("name:").is_some_and(secret);
        out
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TELLTALE.iter().any(|telltale| name.contains(telltale)) || name.ends_with("_KEY")
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.[]".contains(c)
}

/// `NAME=value`, `NAME = "value"`, `NAME: value`, wherever on the line.
fn values(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        out.push_str(&rest[..=at]);
        rest = after;
        let name = before.trim_end_matches([' ', '\t', '"', '\'']).rsplit(|c| !is_name(c)).next();
        if !name.is_some_and(secret) {
            continue;
        }
        let value = after.trim_start_matches([' ', '\t']);
        out.push_str(&after[..after.len() - value.len()]);
        // A word in quotes, or one that a quote before the name began, ends with the quote.
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let end = match quote {
            Some(quote) => value[1..].find(quote).map_or(value.len(), |end| end + 2),
            None => value.find(['"', '\'', ' ', '\t', ',']).unwrap_or(value.len()),
        };
        if end > 0 {
            out.push_str(VEIL);
        }
        rest = &value[end..];
    }
    out + rest
}

/// `scheme://user:password@host`
fn urls(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let authority = &after[..after.find(['/', ' ', '"', '\'']).unwrap_or(after.len())];
        rest = after;
        let Some((user, _)) = authority.rsplit_once('@').and_then(|(who, _)| who.split_once(':'))
        else {
            continue;
        };
        out.push_str(&format!("{user}:{VEIL}"));
        rest = &after[authority.rfind('@').unwrap_or(0)..];
    }
    out + rest
}

/// Leaves the values of a variable out of its story where its name sounds like a secret's; which of
/// them are the same can still be told.
pub fn veil(story: &mut Story) {
    if !secret(&story.variable) {
        return;
    }
    let assigned = format!("{}=", story.variable);
    let mut values: Vec<String> = Vec::new();
    for step in &story.steps {
        values.extend(
            [&step.initial, &step.live].into_iter().filter_map(|v| v.text()).map(Into::into),
        );
    }
    let written = story.mentions.iter().filter_map(|m| m.says.split_once(&assigned));
    values.extend(written.map(|(_, value)| value.to_owned()));
    values.retain(|value| !value.is_empty());
    values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    values.dedup();
    let hide = |text: &mut String| {
        for (at, value) in values.iter().enumerate() {
            *text = without(text, value, &format!("(value {}, not shown)", at + 1));
        }
    };
    hide(&mut story.answer);
    story.or.iter_mut().for_each(&hide);
    for step in &mut story.steps {
        step.says.iter_mut().for_each(&hide);
        for value in [&mut step.initial, &mut step.live] {
            if let Value::Set(value) = value {
                hide(value);
            }
        }
    }
    for mention in &mut story.mentions {
        hide(&mut mention.says);
        let (Reaches::Yes(why) | Reaches::No(why) | Reaches::Perhaps(why)) = &mut mention.reaches;
        hide(why);
    }
}

/// `text` with `hidden` replaced where it stands as a word, or words, of its own.
fn without(text: &str, hidden: &str, by: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(hidden) {
        let (before, after) = (&rest[..at], &rest[at + hidden.len()..]);
        let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        out.push_str(before);
        match inside(out.chars().next_back()) || inside(after.chars().next()) {
            true => out.push_str(hidden),
            false => out.push_str(by),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::veiled;

    #[test]
    fn passwords_are_left_out_and_all_else_stays() {
        for (line, shown) in [
            (" DB_PASSWORD=hunter2", " DB_PASSWORD=(not shown)"),
            (
                "-environment=A=\"1\",API_TOKEN=\"hun,ter2\",B=2",
                "-environment=A=\"1\",API_TOKEN=(not shown),B=2",
            ),
            (" Environment=\"SECRET=hunter2\" A=1", " Environment=\"SECRET=(not shown)\" A=1"),
            (" export AWS_SECRET_KEY='hunter 2'", " export AWS_SECRET_KEY=(not shown)"),
            ("     POSTGRES_PASSWORD: hunter2", "     POSTGRES_PASSWORD: (not shown)"),
            (" env[MYSQL_PASS] = hunter2", " env[MYSQL_PASS] = (not shown)"),
            (
                " - name: PASSWORD\n   value: \"hunter2\"",
                " - name: PASSWORD\n   value: (not shown)",
            ),
            (" URL=postgres://me:hunter2@host/db", " URL=postgres://me:(not shown)@host/db"),
            ("+TZ=:/etc/localtime", "+TZ=:/etc/localtime"),
            (" URL=http://host:80/a@b", " URL=http://host:80/a@b"),
            (" PASSWORD=", " PASSWORD="),
            ("@@ -1,3 +1,3 @@", "@@ -1,3 +1,3 @@"),
        ] {
            assert_eq!(veiled(line), shown);
        }
    }
}
