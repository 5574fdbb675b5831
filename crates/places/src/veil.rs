//! Diffs and stories as they may be shown: what stands beside a change may be a password, and output
//! of `fix --yes` ends up in logs.

use crate::shape::is_plain;
use needless_model::{Reaches, Story, Value};

/// What is in a name, in capitals, whose value is not for others.
const TELLTALE: [&str; 8] =
    ["PASS", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE", "_PWD"];
/// What is printed instead of such a value.
const VEIL: &str = "(not shown)";

/// `text`, line by line, without the values of secret-sounding names, passwords in URLs, and values of
/// variables that do not look harmless; those of `variable`, which is changed, may look as they like.
pub(crate) fn veiled(text: &str, variable: &str) -> String {
    let mut name_before = None;
    let lines = text.split('\n').map(|line| {
        // Kubernetes and compose: `- name: PASSWORD`, and its value on the next line.
        let item = line.trim_start_matches(['+', '-', ' ']);
        let at = line.len() - item.len() + "value:".len();
        let value = item.strip_prefix("value:").map(|value| value.trim().trim_matches(['"', '\'']));
        let hidden =
            name_before.zip(value).is_some_and(|(name, value)| hides(name, value, variable));
        let out =
            if hidden { format!("{} {VEIL}", &line[..at]) } else { urls(&values(line, variable)) };
        name_before = item.strip_prefix("name:").map(str::trim);
        out
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a value is not to be seen.
fn hides(name: &str, value: &str, changed: &str) -> bool {
    // In brackets: `env[NAME]` of php-fpm.
    let name = name.rsplit('[').next().unwrap_or(name).trim_end_matches(']');
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let of_environment = name.len() > 1 && name.chars().all(capital);
    secret(name) || (of_environment && name != changed && !is_plain(name, value))
}

fn secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TELLTALE.iter().any(|telltale| name.contains(telltale)) || name.ends_with("_KEY")
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.[]".contains(c)
}

/// `NAME=value`, `NAME = "value"`, `NAME: value`, wherever on the line.
fn values(line: &str, variable: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        out.push_str(&rest[..=at]);
        rest = after;
        let before = before.trim_end_matches([' ', '\t', '"', '\'']);
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let value = after.trim_start_matches([' ', '\t']);
        // A word in quotes, or one that a quote before the name began, ends with the quote; a value of a
        // variable that has the line for itself, with the line.
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let head = out[..out.len() - 1].trim_end_matches([' ', '\t', '"', '\'']);
        let head = head.strip_suffix(name).unwrap_or(head).trim_start_matches(['+', '-']);
        let alone = ["", "export", "ENV"].contains(&head.trim());
        let end = match quote {
            Some(quote) => value[1..].find(quote).map_or(value.len(), |end| end + 2),
            None if alone => value.find(" #").unwrap_or(value.len()),
            None => value.find(['"', '\'', ' ', '\t', ',']).unwrap_or(value.len()),
        };
        let bare = value[..end].trim().trim_matches(['"', '\'']);
        if end == 0 || !hides(name, bare, variable) {
            continue;
        }
        out.push_str(&after[..after.len() - value.len()]);
        out.push_str(VEIL);
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

/// Leaves the values of a variable out of its story where its name sounds like a secret's, and those that
/// do not look harmless; which of them are the same can still be told.
pub fn veil(story: &mut Story) {
    let all = secret(&story.variable);
    let assigned = format!("{}=", story.variable);
    let mut values: Vec<String> = Vec::new();
    for step in &story.steps {
        values.extend(
            [&step.initial, &step.live].into_iter().filter_map(|v| v.text()).map(Into::into),
        );
    }
    let written = story.mentions.iter().filter_map(|m| m.says.split_once(&assigned));
    values.extend(written.map(|(_, value)| value.to_owned()));
    values.retain(|value| !value.is_empty() && (all || !is_plain(&story.variable, value)));
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
            (" url=postgres://me:hunter2@host/db", " url=postgres://me:(not shown)@host/db"),
            (" URL=postgres://me:hunter2@host/db", " URL=(not shown)"),
            (" API=sk-live-abcdef", " API=(not shown)"),
            ("-export API=two words # why", "-export API=(not shown) # why"),
            (" environment=API=\"sk-live\",N=\"1\"", " environment=API=(not shown),N=\"1\""),
            (" env[API] = sk-live", " env[API] = (not shown)"),
            (" - name: API\n   value: sk-live", " - name: API\n   value: (not shown)"),
            (" - name: N\n   value: \"3\"", " - name: N\n   value: \"3\""),
            ("+TZ=<+0330>-3:30", "+TZ=<+0330>-3:30"),
            (" PATH=/usr/bin:/bin", " PATH=/usr/bin:/bin"),
            (" ExecStart=/usr/bin/x --a=b c", " ExecStart=/usr/bin/x --a=b c"),
            (" Description=Web: the server", " Description=Web: the server"),
            ("+TZ=:/etc/localtime", "+TZ=:/etc/localtime"),
            (" Url=http://host:80/a@b", " Url=http://host:80/a@b"),
            (" PASSWORD=", " PASSWORD="),
            ("@@ -1,3 +1,3 @@", "@@ -1,3 +1,3 @@"),
        ] {
            assert_eq!(veiled(line, "TZ"), shown);
        }
    }
}
