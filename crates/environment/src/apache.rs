//! Apache: what its server has, and what of it a CGI program gets.
//! <https://httpd.apache.org/docs/2.4/mod/mod_env.html>

use crate::belongs::ConfigLocation;
use crate::channel::Channel;
use crate::config_format;
use needless_host::Root;
use needless_model::{Assignment, Confidence, Visibility};

/// What Debian's apachectl sources.
pub(crate) const ENVVARS: &str = "/etc/apache2/envvars";

/// Why a CGI program lacks what the server has.
pub(crate) const NOT_HANDED_ON: &str =
    "Apache hands a CGI program TZ of its own variables, and others only if PassEnv names them";

/// Where a variable of the server, or of a CGI program of it, is set.
pub(crate) fn spot(root: &Root, variable: &str, cgi: bool) -> ConfigLocation {
    if cgi && !hands_on(root, variable) {
        let why = format!(
            "{NOT_HANDED_ON}: write `PassEnv {variable}` or `SetEnv {variable} …` into the \
             configuration of the site"
        );
        return ConfigLocation::new(&config_format::APACHE, None, why, Confidence::Low);
    }
    let known = root.read(ENVVARS).is_ok();
    let confidence = if known { Confidence::High } else { Confidence::Low };
    let why = "apachectl reads it after its unit's variables";
    ConfigLocation::new(&config_format::APACHE, ENVVARS.to_owned(), why, confidence)
        .restart(&["systemctl", "restart", "apache2.service"])
        .caveat("It reaches all of Apache, not one site.")
}

/// Whether a CGI program gets this variable of the server's.
pub(crate) fn hands_on(root: &Root, variable: &str) -> bool {
    variable == "TZ"
        || directives(root).into_iter().any(|(.., words)| {
            words[0].eq_ignore_ascii_case("PassEnv") && words[1..].iter().any(|w| w == variable)
        })
}

/// What the configuration itself says of the variable: for CGI programs, never for the server.
pub(crate) fn mentions(root: &Root, variable: &str, channel: &Channel) -> Vec<Assignment> {
    let reaches = match channel {
        Channel::Apache { cgi: true } if variable == "TZ" => Visibility::Perhaps(
            "if the request is of that part of the site; a TZ of Apache itself comes before".into(),
        ),
        Channel::Apache { cgi: true } => {
            Visibility::Perhaps("if the request is of that part of the site".into())
        }
        Channel::Apache { cgi: false } => {
            Visibility::No("SetEnv is for requests, not for Apache's own environment".into())
        }
        _ => Visibility::No("only for requests to Apache".into()),
    };
    let all = directives(root).into_iter().filter_map(|(file, line, words)| {
        let [directive, name, value, ..] = &words[..] else { return None };
        let set = directive.eq_ignore_ascii_case("SetEnv") && name == variable;
        let says = format!("SetEnv {variable}={value}");
        set.then(|| Assignment { file, line, says, reaches: reaches.clone() })
    });
    all.collect()
}

/// The lines of the files that Debian's Apache reads which begin with SetEnv or PassEnv: file, line
/// from 1, words.
fn directives(root: &Root) -> Vec<(String, u32, Vec<String>)> {
    let mut files = vec!["/etc/apache2/apache2.conf".to_owned()];
    for dir in ["mods-enabled", "conf-enabled", "sites-enabled"] {
        let dir = format!("/etc/apache2/{dir}");
        let below = root.list(&dir).unwrap_or_default().into_iter().map(|(name, _)| name);
        files.extend(below.filter(|name| name.ends_with(".conf")).map(|n| format!("{dir}/{n}")));
    }
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = root.read(&file) else { continue };
        for (at, line) in String::from_utf8_lossy(&text).lines().enumerate() {
            let words: Vec<String> =
                line.split_ascii_whitespace().map(|w| w.trim_matches('"').to_owned()).collect();
            let known = words.first().is_some_and(|word| {
                ["SetEnv", "PassEnv"].iter().any(|known| word.eq_ignore_ascii_case(known))
            });
            if known {
                found.push((file.clone(), u32::try_from(at + 1).unwrap_or(u32::MAX), words));
            }
        }
    }
    found
}
