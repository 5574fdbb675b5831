//! Files that init scripts source: /etc/default/NAME, /etc/sysconfig/NAME, and /etc/conf.d/NAME of OpenRC.

use super::{shared_file, shell};
use crate::activation::Activation;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::sources::Sources;
use crate::started_by::StartedBy;
use needless_model::{Confidence, Visibility};

/// What a service's init script sources.
pub static DEFAULTS: Place = Place {
    name: "init script",
    files: "/etc/default/NAME, /etc/sysconfig/NAME, /etc/conf.d/NAME, /etc/rc.conf",
    reaches: "the daemon of the init script that sources it; only variables that are exported",
    read_by: ReadBy::Anyone(shared_file::place_for),
    effect: "a restart of the service",
    check: shell::CHECK,
    find: shell::find,
    put: shell::put,
    is_file: |path, _| {
        let dirs = ["/etc/default/", "/etc/conf.d/", "/etc/sysconfig/"];
        path.is("/etc/rc.conf") || dirs.iter().any(|dir| path.below(dir))
    },
    scan,
    locate: |query| match query.started_by {
        StartedBy::OpenRc { service } => vec![openrc(query, service)],
        StartedBy::Orphan => init_script(query).into_iter().collect(),
        _ => Vec::new(),
    },
    needs_export: true,
    ..DEFAULT
};

fn scan(sources: &mut Sources<'_>) {
    let reaches = match sources.started_by {
        StartedBy::OpenRc { .. } => {
            Visibility::Yes("OpenRC reads it for all services, before conf.d".into())
        }
        _ => Visibility::No("only OpenRC reads it".into()),
    };
    sources.sourced_file("/etc/rc.conf", reaches, false);
    if *sources.started_by != StartedBy::At {
        return;
    }
    // A job of at is a script that sets the variables of the user who submitted it. One that runs has an equals sign
    // before its name.
    let mut jobs = sources.in_dir("/var/spool/cron/atjobs", "");
    jobs.retain(|file| file.contains("/="));
    let saved = "at saved the environment of the user who submitted it";
    let reaches = match &jobs[..] {
        [_] => Visibility::Yes(format!("it is the only job of at that runs: {saved}")),
        _ => Visibility::Perhaps(format!("if it is its job: {saved}")),
    };
    for file in jobs {
        sources.sourced_file(&file, reaches.clone(), false);
    }
}

fn openrc(query: &LocationQuery<'_>, service: &str) -> Destination {
    let file = format!("/etc/conf.d/{service}");
    let why = format!("OpenRC starts {service} with what this file exports, and clears the rest");
    let known = query.root.read(&format!("/etc/init.d/{service}")).is_ok();
    let confidence = if known { Confidence::High } else { Confidence::Low };
    Destination::new(&DEFAULTS, file, why, confidence)
        .activation(Activation::InitScript { name: service.to_owned(), openrc: true })
}

/// The file of the init script that started the daemon: the script names the program, and a file that holds its pid.
fn init_script(query: &LocationQuery<'_>) -> Option<Destination> {
    let root = query.root;
    let me = query.process()?;
    let exe = me.exe.as_deref()?;
    let mut fits = Vec::new();
    for (name, _) in root.list("/etc/init.d").unwrap_or_default() {
        let script = format!("/etc/init.d/{name}");
        let Ok(text) = root.read(&script) else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        let pid_files = text.split(['"', '\'', '=', ' ', '\n', '\t']).filter(|word| {
            word.ends_with(".pid") && (word.starts_with("/run/") || word.starts_with("/var/run/"))
        });
        // In most such scripts $NAME is the script's own name.
        let holds = |file: &str| {
            let file = file.replace("${NAME}", &name).replace("$NAME", &name);
            let pid = root.read(&file).ok().and_then(|t| String::from_utf8(t).ok());
            pid.is_some_and(|pid| pid.trim() == me.own_pid.to_string())
        };
        let holds = pid_files.into_iter().any(holds);
        // Whole words: /usr/bin/su is not in /usr/bin/supervisord.
        let part = |c: char| c.is_ascii_alphanumeric() || "/._+-@".contains(c);
        if holds || text.split(|c| !part(c)).any(|word| word == exe) {
            fits.push((name, text, holds));
        }
    }
    fits.sort_by_key(|(.., holds)| !holds);
    let (name, text, holds) = match &fits[..] {
        [one] => one,
        [first, second, ..] if first.2 && !second.2 => first,
        _ => return None,
    };
    let confidence = if *holds { Confidence::High } else { Confidence::Medium };
    for dir in ["/etc/default", "/etc/sysconfig", "/etc/conf.d"] {
        let file = format!("{dir}/{name}");
        let sourced = text.contains(&file) || text.contains(&format!("{dir}/$NAME"));
        if sourced {
            let why = format!(
                "/etc/init.d/{name} starts it and sources this file; what starts the script (service, PID 1) clears \
                 the rest"
            );
            let location = Destination::new(&DEFAULTS, file, why, confidence);
            let name = name.clone();
            return Some(location.activation(Activation::InitScript { name, openrc: false }));
        }
    }
    let why = format!(
        "/etc/init.d/{name} starts it and sources no file: add a line `export VAR=VALUE` there by hand"
    );
    Some(Destination::new(&DEFAULTS, None, why, Confidence::Medium))
}
