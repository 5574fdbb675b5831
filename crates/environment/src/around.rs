//! What a unit says that a process merely runs in: something in between decides whether that
//! reaches it.

use crate::channel::Channel;
use crate::unit;
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Visibility};

/// The settings of the unit around the last process of `chain`, which was started by `channel`.
pub(crate) fn mentions(
    root: &Root,
    variable: &str,
    channel: &Channel,
    chain: &[ProcInfo],
) -> Vec<Assignment> {
    let Some(me) = chain.last() else { return Vec::new() };
    let of_unit = matches!(channel, Channel::Unit { .. } | Channel::UserUnit { .. });
    let Some(name) = unit_of(&me.cgroup).filter(|_| !of_unit) else { return Vec::new() };
    let unit = unit::read(root, name, variable, None);
    let holds = unit.holds();
    let told = unit.settings.iter().map(|setting| {
        let says = match &setting.value {
            Some(value) => format!("{variable}={value}"),
            None => format!("{variable} removed or passed on"),
        };
        let reaches = match Some(setting) == holds {
            true => through(channel, variable, name),
            false => Visibility::No("a later setting takes its place".into()),
        };
        Assignment { file: setting.file.clone(), line: setting.line, says, reaches }
    });
    told.collect()
}

/// The unit of the system whose control group it is (also cron's and at's, which are no service of
/// their jobs).
fn unit_of(cgroup: &str) -> Option<&str> {
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let mut units = paths.filter_map(|path| {
        let system = path.strip_prefix("/system.slice/")?;
        system.split('/').find(|part| part.ends_with(".service"))
    });
    units.next()
}

/// Whether what a unit gives its main process gets from there to what `channel` starts.
fn through(channel: &Channel, variable: &str, unit: &str) -> Visibility {
    let no = |who: &str| Visibility::No(format!("{unit} has it, and {who}"));
    match channel {
        Channel::Postgresql { .. } => no("pg_ctlcluster clears the server's environment"),
        Channel::PhpFpm { .. } => no("php-fpm clears the environment of its workers (clear_env)"),
        Channel::Cron => no("cron builds a job's environment anew"),
        Channel::At => no("at gives a job what its submitter had"),
        Channel::Sudo { .. } => no("sudo resets the environment"),
        Channel::Su { login: true } => no("su - starts a new environment"),
        // sshd hands on its own TZ and nothing else.
        Channel::Ssh { .. } if variable != "TZ" => no("sshd builds a session's environment anew"),
        Channel::OpenRc { .. } | Channel::Container(_) => no("what starts it clears all else"),
        Channel::Apache { cgi: true } if variable != "TZ" => {
            Visibility::Perhaps(format!("if {unit}'s variable is named by PassEnv"))
        }
        _ => Visibility::Perhaps(format!("if it came down from {unit} unchanged")),
    }
}
