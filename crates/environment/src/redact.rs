//! Which values may be shown, and hides the others where a variable is traced: the output ends up in logs.
//!
//! Of an environment, only the variable that was asked for is kept (`watched`), and the few marks by which launchers
//! are recognised (`SYSTEMD_EXEC_PID`, `SUPERVISOR_PROCESS_NAME` …). Words of command lines are compared, never
//! printed.

use crate::settings;
use crate::shape::{is_number, is_plain, is_plain_in_file};
use crate::sources::AS_WRITTEN;
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

/// Whether the value of a variable may be shown beside its name: neither its name nor its form is that of a secret.
pub(crate) fn may_show(variable: &str, value: &str) -> bool {
    settings::is_name(variable) || (!secret(variable, value) && is_plain(variable, value))
}

/// The same for a value that was found in a file.
pub(crate) fn may_show_old(variable: &str, value: &str) -> bool {
    !secret(variable, value) && is_plain_in_file(value)
}

/// Whether a value is secret by its name.
pub(crate) fn secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let any = |telltale: &[&str]| telltale.iter().any(|telltale| name.contains(telltale));
    any(&TELLTALE)
        || (is_number(value) && any(&TELLTALE_OF_NUMBERS))
        || name.split(|c: char| !c.is_alphanumeric()).any(|word| TELLTALE_WORDS.contains(&word))
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
    let plain = |value: &str| value.strip_suffix(AS_WRITTEN).unwrap_or(value).to_owned();
    values.extend(written.map(|(_, value)| plain(value)));
    let variable = &provenance.variable;
    values.retain(|value| !value.is_empty() && !may_show(variable, value));
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
    use super::secret;

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
        assert_eq!(crate::label("DATABASE", Some("pg://me:x@h")), "DATABASE=(not shown)");
        assert_eq!(crate::label("TZ", Some("UTC")), "TZ=UTC");
    }
}
