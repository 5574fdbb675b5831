//! Apache: what its server has, and which of it a CGI program gets.
//! <https://httpd.apache.org/docs/2.4/mod/mod_env.html>

use super::shell;
use crate::activation::Activation;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::sources::Sources;
use crate::started_by::StartedBy;
use needless_host::Root;
use needless_model::{Confidence, Visibility};

/// What Debian's apachectl sources.
const ENVVARS: &str = "/etc/apache2/envvars";

/// What a CGI program gets of the server without PassEnv (server/util_script.c, `ap_add_common_vars`).
const ALWAYS_PASSED_ON: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TZ"];
/// Why a CGI program lacks what the server has.
pub(crate) const NOT_PASSED_ON: &str = "Apache passes its own PATH, LD_LIBRARY_PATH and TZ on to a CGI program, and other variables only if PassEnv names them";

/// Apache's environment.
pub static APACHE: Place = Place {
    name: "Apache envvars",
    files: ENVVARS,
    reaches: "the server (Debian); its CGI programs get PATH, LD_LIBRARY_PATH and TZ",
    effect: "a restart of Apache",
    check: shell::CHECK,
    find: shell::find,
    put: shell::put,
    is_file: |path, _| path.name() == "envvars",
    scan,
    locate: |query| match query.started_by {
        StartedBy::Apache { cgi } => vec![location(query, *cgi)],
        _ => Vec::new(),
    },
    ..DEFAULT
};

fn location(query: &LocationQuery<'_>, cgi: bool) -> Destination {
    let variable = query.variable;
    if cgi && !passes_on(query.root, variable) {
        let why = format!(
            "{NOT_PASSED_ON}: write `PassEnv {variable}` or `SetEnv {variable} …` into the \
             configuration of the site"
        );
        return Destination::new(&APACHE, None, why, Confidence::Low);
    }
    let known = query.root.read(ENVVARS).is_ok();
    let confidence = if known { Confidence::High } else { Confidence::Low };
    let why = "apachectl reads it after the variables of its unit";
    Destination::new(&APACHE, ENVVARS.to_owned(), why, confidence)
        .activation(Activation::restart("apache2.service"))
        .caveat("It reaches all of Apache, not one site.")
}

/// Whether a CGI program gets this variable of the server.
fn passes_on(root: &Root, variable: &str) -> bool {
    ALWAYS_PASSED_ON.contains(&variable)
        || directives(root).into_iter().any(|(.., words)| {
            words[0].eq_ignore_ascii_case("PassEnv") && words[1..].iter().any(|w| w == variable)
        })
}

fn scan(sources: &mut Sources<'_>) {
    let (root, variable) = (sources.root, sources.variable);
    let reaches = match sources.started_by {
        StartedBy::Apache { cgi: true } if !passes_on(root, variable) => {
            Visibility::No(NOT_PASSED_ON.into())
        }
        StartedBy::Apache { .. } => Visibility::Yes("apachectl reads it".into()),
        _ => Visibility::No("only apachectl reads it".into()),
    };
    sources.file(ENVVARS, shell::find, None, reaches);
    // SetEnv in the configuration is for CGI programs, never for the server.
    let reaches = match sources.started_by {
        StartedBy::Apache { cgi: true } if ALWAYS_PASSED_ON.contains(&variable) => {
            Visibility::Perhaps(format!(
                "if the request is for that part of the site; {variable} of Apache itself is stronger"
            ))
        }
        StartedBy::Apache { cgi: true } => {
            Visibility::Perhaps("if the request is for that part of the site".into())
        }
        StartedBy::Apache { cgi: false } => {
            Visibility::No("SetEnv is for requests, not for Apache's own environment".into())
        }
        _ => Visibility::No("only for requests to Apache".into()),
    };
    for (file, line, words) in directives(root) {
        let [directive, name, value, ..] = &words[..] else { continue };
        if directive.eq_ignore_ascii_case("SetEnv") && name == variable {
            sources.add(&file, line, format!("SetEnv {variable}={value}"), reaches.clone());
        }
    }
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
