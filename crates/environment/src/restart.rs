//! How a change of a place comes into force: which command has a process take its environment anew, and in which
//! process the change is then seen.
//!
//! A process keeps the environment that it was started with (execve(2)), and systemd reads the files of a unit for its
//! next start (systemd.exec(5)): a change of a unit needs a restart, and a reload is never enough. A reload is enough
//! only where a daemon then starts other processes with a new environment, as php-fpm does with its workers and
//! supervisord with its programs. The format of such a place says so: it finds such a process ([`ConfigFormat::worker`]).
//!
//! [`ConfigFormat::worker`]: crate::config_format::ConfigFormat

/// Finds, among the processes of a unit, one that the daemon started last for this part of the file.
pub(crate) type FindWorker = fn(&[u32], Option<&str>) -> Option<u32>;

/// What has to be restarted or reloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restart<'a> {
    /// A unit of systemd, or the name of another daemon.
    pub(crate) name: &'a str,
    pub(crate) is_unit: bool,
    /// Whether it is a unit of the user's own systemd.
    pub(crate) user: bool,
    /// Whether the daemon goes on, with its environment.
    pub(crate) reload: bool,
}

impl Restart<'_> {
    /// What a command restarts; `None` where no process is known in which to look afterwards.
    pub(crate) fn of(words: &[String]) -> Option<Restart<'_>> {
        let (user, verb, name) = match words {
            [supervisorctl, verb] if supervisorctl == "supervisorctl" && verb == "update" => {
                let name = "supervisord";
                return Some(Restart { name, is_unit: false, user: false, reload: true });
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
        assert_eq!(of("supervisorctl update"), Some(("supervisord".into(), false, true)));
        for other in ["supervisorctl reread", "service a restart", "systemctl daemon-reload"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(restart_verb(&words("supervisorctl update")), "restarted");
    }
}
