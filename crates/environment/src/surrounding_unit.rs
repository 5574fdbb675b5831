//! The variables of a unit in whose control group a process runs although another program started it: that program
//! decides whether they reach the process.

use crate::started_by::StartedBy;
use crate::unit;
use needless_host::{ProcInfo, Root, Service};
use needless_model::{Assignment, Visibility};

/// The settings of the unit around the last process of `chain`, which was started by `channel`.
pub(crate) fn assignments(
    root: &Root,
    variable: &str,
    started_by: &StartedBy,
    chain: &[ProcInfo],
) -> Vec<Assignment> {
    let Some(me) = chain.last() else { return Vec::new() };
    let of_unit = matches!(started_by, StartedBy::Unit { .. } | StartedBy::UserUnit { .. });
    let Some(name) = unit_of(&me.cgroup).filter(|_| !of_unit) else { return Vec::new() };
    let unit = unit::read(root, name, variable, None);
    let holds = unit.effective();
    let found = unit.settings.iter().map(|setting| {
        let says = match &setting.value {
            Some(value) => format!("{variable}={value}"),
            None => format!("{variable} removed or passed on"),
        };
        let reaches = if Some(setting) == holds {
            through(started_by, variable, name)
        } else {
            Visibility::No("a later setting takes its place".into())
        };
        Assignment { file: setting.file.clone(), line: setting.line, says, reaches }
    });
    found.collect()
}

/// The system unit of a control group. cron and at have one too, though their jobs are not services.
fn unit_of(cgroup: &str) -> Option<&str> {
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let mut units = paths.filter_map(|path| {
        let system = path.strip_prefix("/system.slice/")?;
        system.split('/').find(|part| part.ends_with(".service"))
    });
    units.next()
}

/// The name of the unit in the text of /proc/PID/cgroup that is shown as the service `shown`: of a user's unit without the
/// user's, and with what systemd escapes (`\x2d`).
pub(crate) fn named_by_systemd(cgroup: &str, shown: &str) -> String {
    let shown = shown.rsplit(' ').next().unwrap_or(shown);
    let mut parts = cgroup.split(['/', '\n']).rev();
    parts.find(|part| Service::of_path(part, None).name == shown).unwrap_or(shown).to_owned()
}

/// Whether a variable that a unit gives its main process reaches a process started by `channel`.
fn through(started_by: &StartedBy, variable: &str, unit: &str) -> Visibility {
    let no = |who: &str| Visibility::No(format!("{unit} has it, and {who}"));
    match started_by {
        StartedBy::Postgresql { .. } => no("pg_ctlcluster clears the server's environment"),
        StartedBy::PhpFpm { .. } => no("php-fpm clears the environment of its workers (clear_env)"),
        StartedBy::Cron => no("cron builds a new environment for a job"),
        StartedBy::At => no("at gives a job the environment of the user who submitted it"),
        // It lets a safe zone through.
        StartedBy::Sudo { .. } if variable != "TZ" => no("sudo resets the environment"),
        StartedBy::Su { login: true, .. } => no("su - starts a new environment"),
        // sshd passes on its own TZ and nothing else.
        StartedBy::Ssh { .. } if variable != "TZ" => {
            no("sshd builds a new environment for a session")
        }
        StartedBy::OpenRc { .. } | StartedBy::Container { .. } => {
            no("what starts it clears the rest")
        }
        StartedBy::Apache { cgi: true } if variable != "TZ" => {
            Visibility::Perhaps(format!("if PassEnv names {unit}'s variable"))
        }
        _ => Visibility::Perhaps(format!("if no program between {unit} and it changed it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_unit_keeps_what_systemd_escapes() {
        for (path, name) in [
            (r"/system.slice/system-web.slice/web@a\x2db.service", r"web@a\x2db.service"),
            (
                r"/user.slice/user-1.slice/user@1.service/app.slice/a\x2db.service/x",
                r"a\x2db.service",
            ),
            ("/system.slice/web@a-b.service", "web@a-b.service"),
        ] {
            let cgroup = format!("1:name=systemd:/\n0::{path}\n");
            let shown = Service::of_cgroup(&cgroup, Some("web")).name;
            assert_eq!(named_by_systemd(&cgroup, &shown), name, "{shown}");
        }
        // As it is in a container, where the path is not seen.
        assert_eq!(named_by_systemd("0::/\n", "a.service"), "a.service");
    }
}
