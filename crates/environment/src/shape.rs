//! Which values may be shown: those whose form shows that they are not secret.

/// Values of switches.
const SWITCHES: [&str; 18] = [
    "on", "off", "yes", "no", "y", "n", "true", "false", "auto", "none", "all", "always", "never",
    "enable", "enabled", "disable", "disabled", "default",
];
/// First parts of zone names in the tz database.
const AREAS: [&str; 18] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "Canada",
    "Chile",
    "Etc",
    "Europe",
    "Indian",
    "Mexico",
    "Pacific",
    "US",
    "posix",
    "right",
];
/// Directories in the root.
const TOPS: [&str; 17] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "proc", "root",
    "run", "sbin", "srv", "usr", "var",
];
/// Longest number, digits. Longer ones may be keys.
const DIGITS: usize = 12;

/// Whether the value of `variable` may be shown: a path or a list of paths, a locale, a zone, a number or a
/// switch.
pub(crate) fn is_plain(variable: &str, value: &str) -> bool {
    // These variables hold nothing else, and a wrong value must be visible; a script may compute one with a password.
    let by_name = (matches!(variable, "TZ" | "LANG" | "LANGUAGE") || variable.starts_with("LC_"))
        && !value.contains("//")
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "/_.:,+-<>@".contains(c));
    by_name || has_plain_form(value) || is_options(variable, value)
}

/// `rotate ndots:2` of resolv.conf(5), `-Xmx1g -XX:-UsePerfData` of a JVM; `-Dname=value` may hold a password.
fn is_options(variable: &str, value: &str) -> bool {
    let begins = match variable {
        "RES_OPTIONS" => "",
        "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS" => "-X",
        _ => return false,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || ":-+".contains(c);
    value.split(' ').all(|word| word.starts_with(begins) && word.chars().all(plain))
}

fn has_plain_form(value: &str) -> bool {
    value.is_empty()
        || SWITCHES.contains(&value.to_ascii_lowercase().as_str())
        || is_number(value)
        || is_zone(value)
        || value.split(':').all(|part| part.is_empty() || is_path(part))
        || value.split(':').all(is_locale)
}

/// The same for a value in a file, where whatever follows may be taken for a part of it: whatever the name, it must have
/// the form of a harmless value, and a path must begin with a known directory.
pub(crate) fn is_plain_in_file(value: &str) -> bool {
    let known = |part: &str| {
        let path = part.trim_start_matches('/');
        part.starts_with('/') && TOPS.contains(&path.split('/').next().unwrap_or_default())
    };
    let paths = value.split(':').any(is_path);
    has_plain_form(value)
        && !value.contains(['#', ';', ' '])
        && (!paths || value.split(':').all(|part| part.is_empty() || known(part)))
}

/// `268435456`, `-1`, `1.5`, `64k`.
pub(crate) fn is_number(value: &str) -> bool {
    let value = value.strip_prefix(['+', '-']).unwrap_or(value);
    let value = value.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(value);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (1..=DIGITS).contains(&digits) && value.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// `/usr/lib`, `~/bin`, `./x`, `libm.so.6`.
fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start));
    let library = value.contains(".so") && !value.contains('/');
    // In a URL's path, other characters may begin a key.
    let plain = |c: char| c.is_alphanumeric() || "/._-+~, %@".contains(c);
    (begins || library || matches!(value, "." | ".." | "~")) && value.chars().all(plain)
}

fn is_zone(value: &str) -> bool {
    let value = value.strip_prefix(':').unwrap_or(value);
    let (area, rest) = value.split_once('/').unwrap_or((value, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    matches!(value, "UTC" | "GMT")
        || (AREAS.contains(&area) && !rest.is_empty() && rest.len() < 40 && rest.chars().all(plain))
}

/// `C`, `de`, `de_DE.UTF-8`, `ca_ES@valencia`.
fn is_locale(value: &str) -> bool {
    let (value, modifier) = value.split_once('@').unwrap_or((value, "a"));
    let (value, codeset) = value.split_once('.').unwrap_or((value, "a"));
    let (language, territory) = value.split_once('_').unwrap_or((value, "XX"));
    let short = |text: &str, all: fn(&u8) -> bool| {
        (1..=10).contains(&text.len()) && text.as_bytes().iter().all(all)
    };
    let known = matches!(value, "C" | "POSIX")
        || ((2..=3).contains(&language.len())
            && language.bytes().all(|b| b.is_ascii_lowercase())
            && territory.len() == 2
            && territory.bytes().all(|b| b.is_ascii_uppercase()));
    known
        && short(codeset, |b| b.is_ascii_alphanumeric() || *b == b'-')
        && short(modifier, u8::is_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn only_what_is_no_secret_by_its_form_is_shown() {
        for value in [
            "",
            "1",
            "-1.5",
            "64k",
            "268435456",
            "yes",
            "OFF",
            "/usr/bin:/bin",
            ":/a b:~/x",
            "./lib",
            "libjemalloc.so.2",
            "/opt/libx.so:/opt/liby.so",
            "Europe/Athens",
            ":Etc/GMT+5",
            "UTC",
            "C.UTF-8",
            "de_DE",
            "de_AT:en_GB:fr",
            "ca_ES.utf8@valencia",
            "POSIX",
        ] {
            assert!(is_plain("X", value), "{value}");
        }
        for value in [
            "postgres://u:sup3r@h/db",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "sk-live-abcdef",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x",
            "hunter2",
            "correct horse",
            "4242424242424242",
            "s%3Aabc.def",
            "/cb?token=abc",
            "abc/def+ghi==",
            "Europe",
            "secretfoo",
            "user:pass",
            "x1;rm -rf /",
            "https://k@sentry.io/1",
            "de_DE.sk-live-abcdef",
        ] {
            assert!(!is_plain("X", value), "{value}");
        }
        assert!(is_plain("RES_OPTIONS", "rotate ndots:2") && !is_plain("X", "rotate ndots:2"));
        assert!(is_plain("JAVA_TOOL_OPTIONS", "-Xmx1g -XX:-UsePerfData"));
        assert!(!is_plain("JAVA_TOOL_OPTIONS", "-Xmx1g -Dpassword=x"));
        assert!(
            is_plain("TZ", "EST5EDT") && is_plain("LC_ALL", "greek") && !is_plain("X", "greek")
        );
    }
}
