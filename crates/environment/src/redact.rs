//! Diffs and stories as they may be shown: what stands beside a change may be a password, and output
//! of `fix --yes` ends up in logs.

use crate::config_format::{self, ConfigFormat};
use crate::shape::{is_number, is_plain, is_plain_beside};
use needless_model::{Provenance, Value, Visibility};

/// What is in a name, in capitals, whose value is not for others.
const TELLTALE: [&str; 7] = ["PASS", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "PRIVATE", "_PWD"];
/// The same, of words too short to be looked for within others.
const TELLTALE_WORDS: [&str; 11] =
    ["PIN", "OTP", "AUTH", "PSK", "WEBHOOK", "HOOK", "PW", "KEY", "CARD", "DSN", "CRED"];
/// The same, of a number: alone it would be harmless. `PINCODE`, `OAUTH`, `DBPWD`.
const TELLTALE_OF_NUMBERS: [&str; 10] =
    ["PIN", "CODE", "PASS", "PWD", "OTP", "AUTH", "KEY", "CARD", "CVV", "SSN"];
/// What is printed instead of such a value.
pub(crate) const VEIL: &str = "(not shown)";

/// What the lines of a file are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Assignments, comments, and further lines of values.
    Assignments,
    /// Assignments, and others.
    Script,
    /// Of a format in which `NAME=value` is no variable.
    Other,
}

impl Lines {
    /// Those of a file.
    pub(crate) fn of(path: &str, text: &str) -> Lines {
        let Some(place) = config_format::of_file(path, text) else { return Lines::Script };
        let one_of = |places: &[&'static ConfigFormat]| places.contains(&place);
        match () {
            () if one_of(&[
                &config_format::PAM_ENV,
                &config_format::ENVIRONMENT_D,
                &config_format::POSTGRESQL,
            ]) || one_of(&[&config_format::DEFAULT_LOCALE, &config_format::LOCALE_CONF]) =>
            {
                Lines::Assignments
            }
            () if one_of(&[
                &config_format::DEFAULTS,
                &config_format::PROFILE_D,
                &config_format::APACHE,
            ]) || one_of(&[&config_format::CRONTAB, &config_format::WRAPPER]) =>
            {
                Lines::Script
            }
            () => Lines::Other,
        }
    }
}

/// The diff of a file of assignments, in which each value but that of `variable` is looked at whole; of other
/// files as [`veiled`].
pub(crate) fn veiled_diff(diff: &str, variable: &str, lines: Lines) -> String {
    if lines == Lines::Other {
        return veiled(diff, variable);
    }
    let shown = diff.split('\n').enumerate().map(|(at, line)| {
        let content = line.get(1..).unwrap_or_default();
        let text = content.trim_start();
        if at < 2 || text.is_empty() || line.starts_with("@@") || line.starts_with('\\') {
            return line.to_owned();
        }
        let Some((name, value)) = assignment(text) else {
            return match lines == Lines::Assignments && !text.starts_with('#') {
                true => format!("{}{VEIL}", &line[..1]),
                false => veiled(line, variable),
            };
        };
        if !secret(name, unquoted(value))
            && (name == variable || is_plain_beside(name, unquoted(value)))
        {
            return line.to_owned();
        }
        match unquoted(value) {
            "" => line.to_owned(),
            _ => format!("{}{VEIL}", &line[..line.len() - value.len()]),
        }
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The name and all that follows, of a line that assigns one; also of one that is commented out.
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

/// `text`, line by line, without the values of secret-sounding names, passwords in URLs, and values of
/// variables that do not look harmless; those of `variable`, which is changed, may look as they like.
fn veiled(text: &str, variable: &str) -> String {
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
    secret(name, value) || (of_environment && name != changed && !is_plain(name, value))
}

/// Whether a value is not for others by the name that it has.
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
        // A word in quotes, or one that a quote before the name began, ends with the quote; a value of a
        // variable that has the line for itself, with the line.
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
        out.push_str(VEIL);
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
        out.push_str(&format!("{user}:{VEIL}"));
        rest = &after[authority.rfind('@').unwrap_or(0)..];
    }
    out + rest
}

/// Leaves the values of a variable out of its story where its name sounds like a secret's, and those that
/// do not look harmless; which of them are the same can still be told.
pub fn redact(story: &mut Provenance) {
    let assigned = format!("{}=", story.variable);
    let mut values: Vec<String> = Vec::new();
    for step in &story.steps {
        values.extend(
            [&step.initial, &step.live].into_iter().filter_map(|v| v.text()).map(Into::into),
        );
    }
    let written = story.mentions.iter().filter_map(|m| m.says.split_once(&assigned));
    values.extend(written.map(|(_, value)| value.to_owned()));
    let variable = &story.variable;
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
        let (Visibility::Yes(why) | Visibility::No(why) | Visibility::Perhaps(why)) =
            &mut mention.reaches;
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
    use super::{Lines, secret, veiled, veiled_diff};

    /// What is not harmless by its form is hidden to the end of its line.
    #[test]
    fn values_beside_a_change_are_left_out() {
        let etc = Lines::of("/etc/environment", "");
        assert!(etc == Lines::Assignments);
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
                for lines in [etc, Lines::Script] {
                    let diff =
                        format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n {line}{value}\n+TZ=UTC #x\n");
                    let shown = veiled_diff(&diff, "TZ", lines);
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
            let shown = veiled_diff(&format!("-\n+\n {line}"), "TZ", etc);
            let (name, _) = line.split_once('=').unwrap();
            assert_eq!(shown, format!("-\n+\n {name}=(not shown)"));
        }
        for line in
            [" PATH=\"/usr/bin:/bin\"", " N=3", " x='yes'", " LANG=C.UTF-8", " A=", " # a word"]
        {
            let diff = format!("-\n+\n {line}\n\\ No newline at end of file");
            assert_eq!(veiled_diff(&diff, "TZ", etc), diff);
        }
        // The second line of a value.
        assert_eq!(veiled_diff("-\n+\n hunter2\"", "TZ", etc), "-\n+\n (not shown)");
        assert_eq!(veiled_diff("-\n+\n   . x", "TZ", Lines::Script), "-\n+\n   . x");
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
            assert_eq!(veiled(line, "TZ"), shown);
        }
    }

    /// A number says nothing by itself, unless its name says what it is; a path or a switch does.
    #[test]
    fn numbers_of_names_that_sound_like_a_secrets_are_left_out() {
        for name in
            ["DB_PIN", "PINCODE", "SMSCODE", "DBPWD", "USERPASS", "OTPSEED", "OAUTH", "my_keyid"]
        {
            assert!(secret(name, "1234") && secret(name, "-12.5"), "{name}");
        }
        assert!(!secret("CODESET", "UTF-8") && !secret("KEYBOARD", "/dev/input/event0"));
        assert!(!secret("THREADS", "16") && !secret("LICENSE", "/a/b"));
        assert_eq!(crate::words("API_TOKEN", Some("abc")), "API_TOKEN=(not shown)");
        assert_eq!(crate::words("DBPIN", Some("1234")), "DBPIN=(not shown)");
        assert_eq!(crate::words("TZ", Some("UTC")), "TZ=UTC");
    }
}
