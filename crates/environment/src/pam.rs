//! The files that PAM reads for a session, by pam_env(8).

use crate::place::{Destination, Place};
use crate::places::pam_env;
use crate::places::pam_env_conf::{self, PAM_ENV_CONF};
use needless_host::Root;
use needless_model::Confidence;

const EVERY_SESSION: &str =
    "It reaches every session that PAM opens on this machine, not this program alone.";
/// What pam_env reads by itself.
pub(crate) const ENVIRONMENT: &str = "/etc/environment";
/// Debian's file for the locale.
pub(crate) const LOCALE: &str = "/etc/default/locale";
const LOCALE_CONF: &str = "/etc/locale.conf";

/// Its configuration, which it reads before the file with assignments, each time that the rules name it.
pub(crate) const CONFIGURATION: &str = "/etc/security/pam_env.conf";

/// The file in a home directory that pam_env reads where its rule says `user_readenv=1`, last of all, and with the
/// grammar of its configuration.
pub(crate) const OF_USER: &str = ".pam_environment";

/// Whether a PAM service runs pam_env with `file`; `None` where its rules cannot be read.
pub(crate) fn pam_reads_file(root: &Root, service: &str, file: &str) -> Option<bool> {
    let mut read = Vec::new();
    rules(root, service, 0, &mut read)?;
    Some(read.iter().any(|one| one == file))
}

/// Whether a file that pam_env reads for a service sets the variable.
pub(crate) fn pam_sets(root: &Root, service: &str, variable: &str) -> bool {
    let mut read = Vec::new();
    if rules(root, service, 0, &mut read).is_none() {
        return false;
    }
    // That of the user is not known here.
    read.iter().filter(|file| file.starts_with('/')).any(|file| {
        let text = root.read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let find = if file == CONFIGURATION { pam_env_conf::find } else { pam_env::find };
        !find(&text, variable, None).is_empty()
    })
}

/// The files that pam_env reads for a service, in order; a later one takes the place of an earlier one.
fn rules(root: &Root, service: &str, depth: u32, read: &mut Vec<String>) -> Option<()> {
    let text = match root.read(&format!("/etc/pam.d/{service}")) {
        Ok(text) => text,
        // A service without a file has the rules of "other"; "su-l" is "su" on some systems.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && depth == 0 => {
            let other = service.strip_suffix("-l").unwrap_or("other");
            return rules(root, other, 1, read);
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
            if depth < 8 {
                // One that cannot be read gives nothing.
                let _ = rules(root, other, depth + 1, read);
            }
        } else if words.iter().any(|word| word.ends_with("pam_env.so")) {
            let named = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
            read.push(named("conffile=").unwrap_or(CONFIGURATION).to_owned());
            if !words.contains(&"readenv=0") {
                read.push(named("envfile=").unwrap_or(ENVIRONMENT).to_owned());
            }
            if words.contains(&"user_readenv=1") {
                read.push(named("user_envfile=").unwrap_or(OF_USER).to_owned());
            }
        }
    }
    Some(())
}

/// Whether pam_env.conf sets the variable for a service, and pam_env reads it after /etc/environment: Debian's rules
/// name pam_env twice, and each time it reads pam_env.conf anew.
fn configuration_wins(root: &Root, service: &str, variable: &str) -> bool {
    let mut read = Vec::new();
    if rules(root, service, 0, &mut read).is_none() {
        return false;
    }
    let at = |file: &str| read.iter().rposition(|one| one == file);
    let text = root.read(CONFIGURATION).unwrap_or_default();
    let sets = !pam_env_conf::find(&String::from_utf8_lossy(&text), variable, None).is_empty();
    sets && at(CONFIGURATION) > at(ENVIRONMENT)
}

/// Whether Debian's file for the locale is a link to systemd's, as it is from Debian 13 on. A change follows no link: the file
/// itself is named.
fn is_link_to_locale_conf(root: &Root) -> bool {
    root.read_link(LOCALE).is_ok_and(|to| to == "../locale.conf" || to == LOCALE_CONF)
}

/// /etc/environment, or for a locale Debian's file if PAM reads it; `formats`: theirs. pam_env.conf where it sets the
/// variable and is stronger.
pub(crate) fn pam_location(
    root: &Root,
    service: &str,
    variable: &str,
    who: &str,
    formats: [&'static Place; 2],
) -> Destination {
    use Confidence::{High, Low};
    let why = format!("{who} reads it through PAM, whichever shell or command it starts");
    let locale = ["LANG", "LANGUAGE"].contains(&variable) || variable.starts_with("LC_");
    let [general, for_locale] = formats;
    if locale && pam_reads_file(root, service, LOCALE) == Some(true) {
        let file = if is_link_to_locale_conf(root) { LOCALE_CONF } else { LOCALE };
        return Destination::new(for_locale, file.to_owned(), why, High).caveat(EVERY_SESSION);
    }
    if configuration_wins(root, service, variable) {
        let why = format!("{why}, after {ENVIRONMENT}");
        let location = Destination::new(&PAM_ENV_CONF, CONFIGURATION.to_owned(), why, High);
        return location.caveat(EVERY_SESSION);
    }
    let confidence =
        if pam_reads_file(root, service, ENVIRONMENT) == Some(true) { High } else { Low };
    Destination::new(general, ENVIRONMENT.to_owned(), why, confidence).caveat(EVERY_SESSION)
}
