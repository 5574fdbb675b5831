//! How a change of a place comes into force: which command has a process take its environment anew, and in which
//! process the change is then seen.
//!
//! A process keeps the environment that it was started with (execve(2)), and systemd reads the files of a unit for its
//! next start (systemd.exec(5)): a change of a unit needs a restart, and a reload is never enough. A reload is enough
//! only where a daemon then starts other processes with a new environment, as php-fpm does with its workers and
//! supervisord with its programs. The format of such a place says so: it finds such a process ([`ConfigFormat::worker`]).
//!
//! [`ConfigFormat::worker`]: crate::config_format::ConfigFormat

use needless_host::start_time;

/// Finds the process that the daemon started last for a part of the file.
pub(crate) type FindWorker = fn(&WorkerQuery<'_>) -> Option<u32>;

/// Which process is looked for.
#[derive(Debug)]
pub(crate) struct WorkerQuery<'a> {
    /// The processes of the daemon's unit, where it is one.
    pub(crate) processes: &'a [u32],
    /// The file, and the part of it.
    pub(crate) file: &'a str,
    pub(crate) part: Option<&'a str>,
}

/// The process of all that `is_its` which was started last.
pub(crate) fn newest(is_its: impl Fn(u32) -> bool) -> Option<u32> {
    let all = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_its(*pid)).max_by_key(|pid| start_time(*pid))
}

/// What has to be restarted or reloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restart<'a> {
    /// A unit of systemd, the name of another daemon, or the directory of a run script.
    pub(crate) name: &'a str,
    pub(crate) is_unit: bool,
    /// Whether it is a unit of the user's own systemd.
    pub(crate) user: bool,
    /// Whether the daemon goes on, with its environment.
    pub(crate) reload: bool,
}

/// Programs that no systemd unit starts.
const OTHER: Restart<'_> = Restart { name: "", is_unit: false, user: false, reload: false };

/// The process that a supervisor of run scripts has in `dir`, from its file of state: that of runit and daemontools has
/// the id in the bytes 12 to 15, the lowest first; that of s6, which is longer, in 24 to 31, the highest first.
pub(crate) fn supervised(dir: &str) -> Option<u32> {
    let bytes = std::fs::read(format!("{dir}/supervise/status")).ok()?;
    let pid = match bytes.len() {
        18..=20 => u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?),
        35.. => u64::from_be_bytes(bytes.get(24..32)?.try_into().ok()?).try_into().ok()?,
        _ => return None,
    };
    (pid > 0).then_some(pid)
}

impl Restart<'_> {
    /// What a command restarts; `None` where no process is known in which to look afterwards.
    pub(crate) fn of(words: &[String]) -> Option<Restart<'_>> {
        let (user, verb, name) = match words {
            [supervisorctl, verb, _group]
                if supervisorctl == "supervisorctl" && verb == "update" =>
            {
                return Some(Restart { name: "supervisord", reload: true, ..OTHER });
            }
            [program, how, dir]
                if matches!(
                    (&**program, &**how),
                    ("sv", "restart") | ("s6-svc", "-r") | ("svc", "-t")
                ) =>
            {
                return Some(Restart { name: dir, ..OTHER });
            }
            [systemctl, verb, unit] if systemctl == "systemctl" => (false, verb, unit),
            [systemctl, user, verb, unit] if systemctl == "systemctl" && user == "--user" => {
                (true, verb, unit)
            }
            _ => return None,
        };
        let reload = match verb.as_str() {
            "restart" => false,
            "reload" | "try-reload-or-restart" => true,
            _ => return None,
        };
        Some(Restart { name, is_unit: true, user, reload })
    }
}

/// What was done by this command: "restarted", or "reloaded".
pub fn restart_verb(words: &[String]) -> &'static str {
    let reloads = words.iter().any(|word| word.contains("reload"));
    if reloads { "reloaded" } else { "restarted" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_commands() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |text: &str| {
            let words = words(text);
            let found = Restart::of(&words)?;
            Some((found.name.to_owned(), found.user, found.reload))
        };
        assert_eq!(of("systemctl restart a.service"), Some(("a.service".into(), false, false)));
        assert_eq!(
            of("systemctl --user restart a.service"),
            Some(("a.service".into(), true, false))
        );
        assert_eq!(of("systemctl reload a.service"), Some(("a.service".into(), false, true)));
        assert_eq!(of("supervisorctl update web"), Some(("supervisord".into(), false, true)));
        assert_eq!(of("sv restart /etc/sv/a"), Some(("/etc/sv/a".into(), false, false)));
        for other in [
            "supervisorctl update",
            "sv stop /etc/sv/a",
            "supervisorctl reread",
            "service a restart",
            "systemctl daemon-reload",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(restart_verb(&words("supervisorctl update web")), "restarted");
    }
}
