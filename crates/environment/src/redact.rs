//! Hides secrets in diffs and traces that are shown: a line beside a change may hold a password, and the output of
//! `fix --yes` ends up in logs.

use crate::config_format::LineKind;
use crate::format_list::format_of_file;
use crate::shape::{is_number, is_plain, is_plain_beside};
use needless_model::{Provenance, Value, Visibility};

/// Parts of names, in capitals, whose values are secret.
const TELLTALE: [&str; 7] = ["PASS", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "PRIVATE", "_PWD"];
/// The same, as whole words: too short to search for within others.
const TELLTALE_WORDS: [&str; 11] =
    ["PIN", "OTP", "AUTH", "PSK", "WEBHOOK", "HOOK", "PW", "KEY", "CARD", "DSN", "CRED"];
/// The same where the value is a number, which alone would be harmless: `PINCODE`, `OAUTH`, `DBPWD`.
const TELLTALE_OF_NUMBERS: [&str; 10] =
    ["PIN", "CODE", "PASS", "PWD", "OTP", "AUTH", "KEY", "CARD", "CVV", "SSN"];
/// Printed instead of such a value.
pub(crate) const HIDDEN: &str = "(not shown)";

/// What the lines of a file are; of an unknown file, those of a script.
pub(crate) fn line_kind(path: &str, text: &str) -> LineKind {
    format_of_file(path, text).map_or(LineKind::Script, |format| format.lines)
}

/// The diff of a file of assignments, in which each value but that of `variable` is checked as a whole; for other
/// files see [`redacted`].
pub(crate) fn redacted_diff(diff: &str, variable: &str, lines: LineKind) -> String {
    if lines == LineKind::Other {
        return redacted(diff, variable);
    }
    let shown = diff.split('\n').enumerate().map(|(at, line)| {
        let content = line.get(1..).unwrap_or_default();
        let text = content.trim_start();
        if at < 2 || text.is_empty() || line.starts_with("@@") || line.starts_with('\\') {
            return line.to_owned();
        }
        let Some((name, value)) = assignment(text) else {
            return if lines == LineKind::Assignments && !text.starts_with('#') {
                format!("{}{HIDDEN}", &line[..1])
            } else {
                redacted(line, variable)
            };
        };
        if !secret(name, unquoted(value))
            && (name == variable || is_plain_beside(name, unquoted(value)))
        {
            return line.to_owned();
        }
        match unquoted(value) {
            "" => line.to_owned(),
            _ => format!("{}{HIDDEN}", &line[..line.len() - value.len()]),
        }
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The name and all that follows, in a line that assigns a variable or in a comment that would.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (before, value) = line.split_once('=')?;
    let mut words = before.trim_start_matches(['#', ' ', '\t']).split_ascii_whitespace();
    let name = words.next_back().filter(|name| name.chars().all(is_name))?;
    let before = ["export", "declare", "typeset", "readonly", "local", "ENV"];
    let alone = words.all(|word| before.contains(&word) || word.starts_with('-'));
    alone.then(|| (name, value.trim_start()))
}

/// A value without the quotes around all of it.
fn unquoted(value: &str) -> &str {
    let value = value.trim_end();
    let within = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

/// `text`, line by line, without the values of names that sound secret, passwords in URLs, and values of variables
/// that do not look harmless. Values of `variable`, which is changed, may have any form.
fn redacted(text: &str, variable: &str) -> String {
    let mut name_before = None;
    let lines = text.split('\n').map(|line| {
        // Kubernetes and compose: `- name: PASSWORD`, and its value on the next line.
        let item = line.trim_start_matches(['+', '-', ' ']);
        let at = line.len() - item.len() + "value:".len();
        let value = item.strip_prefix("value:").map(|value| value.trim().trim_matches(['"', '\'']));
        let hidden =
            name_before.zip(value).is_some_and(|(name, value)| hides(name, value, variable));
        let out = if hidden {
            format!("{} {HIDDEN}", &line[..at])
        } else {
            urls(&values(line, variable))
        };
        name_before = item.strip_prefix("name:").map(str::trim);
        out
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a value is hidden.
fn hides(name: &str, value: &str, changed: &str) -> bool {
    // In brackets: `env[NAME]` of php-fpm.
    let name = name.rsplit('[').next().unwrap_or(name).trim_end_matches(']');
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let of_environment = name.len() > 1 && name.chars().all(capital);
    secret(name, value) || (of_environment && name != changed && !is_plain(name, value))
}

/// Whether a value is secret by its name.
pub(crate) fn secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let any = |telltale: &[&str]| telltale.iter().any(|telltale| name.contains(telltale));
    any(&TELLTALE)
        || (is_number(value) && any(&TELLTALE_OF_NUMBERS))
        || name.split(|c: char| !c.is_alphanumeric()).any(|word| TELLTALE_WORDS.contains(&word))
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
        // A word in quotes, or after a quote that began before the name, ends with the quote; the value of a variable
        // that is alone on its line ends with the line.
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let head = out[..out.len() - 1].trim_end_matches([' ', '\t', '"', '\'']);
        let head = head.strip_suffix(name).unwrap_or(head).trim_start_matches(['+', '-']);
        let alone = ["", "export", "ENV"].contains(&head.trim());
        let end = match quote {
            _ if alone => value.len(),
            Some(quote) => end_of(&value[1..], &[quote]).map_or(value.len(), |end| end + 2),
            None => end_of(value, &['"', '\'', ' ', '\t', ',']).unwrap_or(value.len()),
        };
        let bare = value[..end].trim().trim_matches(['"', '\'']);
        if end == 0 || !hides(name, bare, variable) {
            continue;
        }
        out.push_str(&after[..after.len() - value.len()]);
        out.push_str(HIDDEN);
        rest = &value[end..];
    }
    out + rest
}

/// Where one of `ends` is in `text` without a backslash before it.
fn end_of(text: &str, ends: &[char]) -> Option<usize> {
    let mut escaped = false;
    let mut ended = text.char_indices().filter(|(_, c)| {
        let end = !escaped && ends.contains(c);
        escaped = !escaped && *c == '\\';
        end
    });
    ended.next().map(|(at, _)| at)
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
        out.push_str(&format!("{user}:{HIDDEN}"));
        rest = &after[authority.rfind('@').unwrap_or(0)..];
    }
    out + rest
}

/// Hides the values of a variable whose name sounds secret, and values that do not look harmless. Equal values still
/// get equal numbers.
pub fn redact(provenance: &mut Provenance) {
    let assigned = format!("{}=", provenance.variable);
    let mut values: Vec<String> = Vec::new();
    for step in &provenance.steps {
        values.extend(
            [&step.initial, &step.live].into_iter().filter_map(|v| v.text()).map(Into::into),
        );
    }
    let written = provenance.mentions.iter().filter_map(|m| m.says.split_once(&assigned));
    values.extend(written.map(|(_, value)| value.to_owned()));
    let variable = &provenance.variable;
    values.retain(|value| {
        !value.is_empty() && (secret(variable, value) || !is_plain(variable, value))
    });
    values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    values.dedup();
    let hide = |text: &mut String| {
        for (at, value) in values.iter().enumerate() {
            *text = without(text, value, &format!("(value {}, not shown)", at + 1));
        }
    };
    hide(&mut provenance.answer);
    provenance.or.iter_mut().for_each(&hide);
    for step in &mut provenance.steps {
        step.says.iter_mut().for_each(&hide);
        for value in [&mut step.initial, &mut step.live] {
            if let Value::Set(value) = value {
                hide(value);
            }
        }
    }
    for mention in &mut provenance.mentions {
        hide(&mut mention.says);
        let (Visibility::Yes(why) | Visibility::No(why) | Visibility::Perhaps(why)) =
            &mut mention.reaches;
        hide(why);
    }
}

/// `text` with `hidden` replaced where it is a whole word or several.
fn without(text: &str, hidden: &str, by: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(hidden) {
        let (before, after) = (&rest[..at], &rest[at + hidden.len()..]);
        let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        out.push_str(before);
        if inside(out.chars().next_back()) || inside(after.chars().next()) {
            out.push_str(hidden)
        } else {
            out.push_str(by)
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{LineKind, line_kind, redacted, redacted_diff, secret};

    /// What does not look harmless is hidden to the end of its line.
    #[test]
    fn values_beside_a_change_are_left_out() {
        let etc = line_kind("/etc/environment", "");
        assert!(etc == LineKind::Assignments);
        for line in [
            "mysql_auth=",
            "Auth=",
            "key=",
            "DB=",
            "export Dsn=",
            "hook=",
            "A=",
            "PASSPHRASE=",
            "PASSWORD=",
            "#api=",
            "x = ",
            "lower=",
            "LANG=",
        ] {
            for value in [
                "/abchunter4",
                "\"hunter6\"",
                "https://x.y/T/hunter7",
                "1 hunter8",
                "\"hun\\\"terhunter9\"",
                "a #hunter14",
                "'a' #hunter",
                "1;x=hunter",
                "./hunter",
                "hunter.so",
            ] {
                // Of a language every value but a comment may be seen.
                if line == "LANG=" && !value.contains('#') {
                    continue;
                }
                for lines in [etc, LineKind::Script] {
                    let diff =
                        format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n {line}{value}\n+TZ=UTC #x\n");
                    let shown = redacted_diff(&diff, "TZ", lines);
                    assert_eq!(shown, diff.replace(value, "(not shown)"), "{line}{value}");
                }
            }
        }
        for line in [
            "PIN=1",
            "PINCODE=4938",
            "access_code=4938",
            "my_otp=4938",
            "AUTH=/usr/Ab",
            "KEY=libx.so",
            "x.card=42",
            "DB_PW=on",
        ] {
            let shown = redacted_diff(&format!("-\n+\n {line}"), "TZ", etc);
            let (name, _) = line.split_once('=').unwrap();
            assert_eq!(shown, format!("-\n+\n {name}=(not shown)"));
        }
        for line in
            [" PATH=\"/usr/bin:/bin\"", " N=3", " x='yes'", " LANG=C.UTF-8", " A=", " # a word"]
        {
            let diff = format!("-\n+\n {line}\n\\ No newline at end of file");
            assert_eq!(redacted_diff(&diff, "TZ", etc), diff);
        }
        // The second line of a value.
        assert_eq!(redacted_diff("-\n+\n hunter2\"", "TZ", etc), "-\n+\n (not shown)");
        assert_eq!(redacted_diff("-\n+\n   . x", "TZ", LineKind::Script), "-\n+\n   . x");
    }

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
            ("-export API=two words # why", "-export API=(not shown)"),
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
            (
                " Environment=\"PASSWORD=hun\\\"ter\" A=1",
                " Environment=\"PASSWORD=(not shown)\" A=1",
            ),
            (" Environment=pin=4938 A=1", " Environment=pin=(not shown) A=1"),
            (" environment=PW=\"a\\\"b\",B=2", " environment=PW=(not shown),B=2"),
            ("@@ -1,3 +1,3 @@", "@@ -1,3 +1,3 @@"),
        ] {
            assert_eq!(redacted(line, "TZ"), shown);
        }
    }

    /// A number is harmless unless its name sounds secret; a path or a switch is harmless.
    #[test]
    fn numbers_of_names_that_sound_like_a_secrets_are_left_out() {
        for name in
            ["DB_PIN", "PINCODE", "SMSCODE", "DBPWD", "USERPASS", "OTPSEED", "OAUTH", "my_keyid"]
        {
            assert!(secret(name, "1234") && secret(name, "-12.5"), "{name}");
        }
        assert!(!secret("CODESET", "UTF-8") && !secret("KEYBOARD", "/dev/input/event0"));
        assert!(!secret("THREADS", "16") && !secret("LICENSE", "/a/b"));
        assert_eq!(crate::label("API_TOKEN", Some("abc")), "API_TOKEN=(not shown)");
        assert_eq!(crate::label("DBPIN", Some("1234")), "DBPIN=(not shown)");
        assert_eq!(crate::label("TZ", Some("UTC")), "TZ=UTC");
    }
}
