//! The files that PAM reads for a session, by pam_env(8).

use crate::config_format::{ConfigFormat, ConfigLocation};
use needless_host::Root;
use needless_model::Confidence;

const EVERY_SESSION: &str =
    "It reaches every session that PAM opens on this machine, not this program alone.";
/// What pam_env reads by itself.
pub(crate) const ENVIRONMENT: &str = "/etc/environment";
/// Debian's file for the locale.
pub(crate) const LOCALE: &str = "/etc/default/locale";

/// Whether a PAM service runs pam_env with /etc/environment, or with the `file` that `envfile=` names; `None` where its
/// rules cannot be read.
pub(crate) fn pam_reads_file(root: &Root, service: &str, file: Option<&str>) -> Option<bool> {
    rules_read(root, service, file, 0)
}

fn rules_read(root: &Root, service: &str, file: Option<&str>, depth: u32) -> Option<bool> {
    let text = match root.read(&format!("/etc/pam.d/{service}")) {
        Ok(text) => text,
        // A service without a file has the rules of "other"; "su-l" is "su" on some systems.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && depth == 0 => {
            let other = service.strip_suffix("-l").unwrap_or("other");
            return rules_read(root, other, file, 1);
        }
        Err(_) => return None,
    };
    for line in String::from_utf8_lossy(&text).lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let included = match words[..] {
            ["@include", other] => Some(other),
            [_, "include" | "substack", other] => Some(other),
            _ => None,
        };
        if let Some(other) = included {
            if depth < 8 && rules_read(root, other, file, depth + 1) == Some(true) {
                return Some(true);
            }
            continue;
        }
        let named = words.iter().find_map(|word| word.strip_prefix("envfile="));
        let reads = words.iter().any(|word| word.ends_with("pam_env.so"))
            && named == file
            && !words.contains(&"readenv=0");
        if reads {
            return Some(true);
        }
    }
    Some(false)
}

/// /etc/environment, or for a locale Debian's file if PAM reads it; `formats`: theirs.
pub(crate) fn pam_location(
    root: &Root,
    service: &str,
    variable: &str,
    who: &str,
    formats: [&'static ConfigFormat; 2],
) -> ConfigLocation {
    use Confidence::{High, Low};
    let why = format!("{who} reads it through PAM, whichever shell or command it starts");
    let locale = ["LANG", "LANGUAGE"].contains(&variable) || variable.starts_with("LC_");
    let [general, for_locale] = formats;
    if locale && pam_reads_file(root, service, Some(LOCALE)) == Some(true) {
        return ConfigLocation::new(for_locale, LOCALE.to_owned(), why, High).caveat(EVERY_SESSION);
    }
    let confidence = if pam_reads_file(root, service, None) == Some(true) { High } else { Low };
    ConfigLocation::new(general, ENVIRONMENT.to_owned(), why, confidence).caveat(EVERY_SESSION)
}
