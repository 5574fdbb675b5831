//! sshd's configuration as a whole: its files in the order in which sshd reads them.

use crate::belongs::ConfigLocation;
use crate::config_format;
use crate::format::sshd::{Says, accepts, says};
use crate::pam::pam_spot;
use needless_host::Root;
use needless_model::{Assignment, Confidence, Visibility};

/// Where it begins.
const MAIN: &str = "/etc/ssh/sshd_config";
/// The drop-in that we make.
const DROP_IN: &str = "/etc/ssh/sshd_config.d/zz-needless.conf";
/// How deep files may include others (readconf.h of OpenSSH).
const DEEPEST: u32 = 16;

/// What the files say, in sshd's order.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// File, line from 0, whether below a `Match`, and what it says.
    lines: Vec<(String, usize, bool, Says)>,
    /// What could not be read.
    pub unread: Vec<String>,
}

/// Reads it from its beginning, or from the file that sshd was started with (`-f`).
pub(crate) fn read(root: &Root, main: Option<&str>) -> Config {
    let mut config = Config::default();
    config.file(root, main.unwrap_or(MAIN), &mut false, 0);
    config
}

impl Config {
    fn file(&mut self, root: &Root, file: &str, below_match: &mut bool, depth: u32) {
        let text = match root.read(file) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.unread.push(format!("{file}: {error}")),
        };
        for (at, said) in says(&text) {
            match said {
                Says::Match => *below_match = true,
                Says::Include(patterns) if depth < DEEPEST => {
                    for pattern in patterns {
                        // A Match in an included file ends with that file.
                        for file in self.files(root, &pattern) {
                            self.file(root, &file, &mut below_match.clone(), depth + 1);
                        }
                    }
                    self.lines.push((file.to_owned(), at, *below_match, Says::Include(Vec::new())));
                }
                said => self.lines.push((file.to_owned(), at, *below_match, said)),
            }
        }
    }

    /// The files of a pattern, sorted by name; only a `*` in the last part is known.
    fn files(&mut self, root: &Root, pattern: &str) -> Vec<String> {
        let pattern = match pattern.starts_with('/') {
            true => pattern.to_owned(),
            false => format!("/etc/ssh/{pattern}"),
        };
        let (dir, name) = pattern.rsplit_once('/').unwrap_or(("", &pattern));
        if dir.contains(['*', '?', '[']) || name.contains(['?', '[']) {
            self.unread.push(format!("Include {pattern}: a pattern that is not expanded"));
            return Vec::new();
        }
        if !name.contains('*') {
            return vec![pattern];
        }
        let all = root.list(dir).unwrap_or_default().into_iter().map(|(name, _)| name);
        let mut names: Vec<_> =
            all.filter(|one| !one.starts_with('.') && accepts(name, one)).collect();
        names.sort();
        names.into_iter().map(|name| format!("{dir}/{name}")).collect()
    }

    /// Whether sessions go through PAM; sshd's own default is no.
    pub(crate) fn uses_pam(&self) -> bool {
        let mut pam = self.lines.iter().filter_map(|(.., said)| match said {
            Says::Pam(yes) => Some(*yes),
            _ => None,
        });
        pam.next().unwrap_or(false)
    }

    /// The `SetEnv` that counts for every session: its file, and whether it sets the variable.
    fn counts(&self, variable: &str) -> Option<(&str, usize, bool)> {
        self.lines.iter().find_map(|(file, at, below_match, said)| match said {
            Says::Set(pairs) if !below_match => {
                Some((file.as_str(), *at, pairs.iter().any(|(name, _)| name == variable)))
            }
            _ => None,
        })
    }

    /// Whether sshd itself sets the variable for every session.
    pub(crate) fn sets(&self, variable: &str) -> bool {
        self.counts(variable).is_some_and(|(.., sets)| sets)
    }

    /// The file that a `SetEnv` belongs in: the one whose `SetEnv` counts now, since there is only one
    /// that does; else a drop-in where they are included, else the main file.
    pub(crate) fn file_for(&self, variable: &str) -> &str {
        let included = |(file, _, below_match, said): &(String, usize, bool, Says)| {
            file == MAIN && !below_match && matches!(said, Says::Include(_))
        };
        match self.counts(variable) {
            Some((file, ..)) => file,
            None if self.lines.iter().any(included) => DROP_IN,
            None => MAIN,
        }
    }

    /// Every line that may give a session the variable; `ours`: the process is of such a session.
    pub(crate) fn mentions(&self, variable: &str, ours: bool) -> Vec<Assignment> {
        let counts = self.counts(variable).map(|(file, at, _)| (file.to_owned(), at));
        let mut mentions = Vec::new();
        for (file, at, below_match, said) in &self.lines {
            let (says, reaches) = match said {
                Says::Set(pairs) => {
                    let Some((_, value)) = pairs.iter().find(|(name, _)| name == variable) else {
                        continue;
                    };
                    let reaches = match () {
                        () if *below_match => Visibility::Perhaps("if its Match fits".into()),
                        () if counts == Some((file.clone(), *at)) => Visibility::Yes(
                            "sshd sets it for every session (SetEnv), over all else".into(),
                        ),
                        () => Visibility::No("sshd takes the first SetEnv line only".into()),
                    };
                    (format!("{variable}={value}"), reaches)
                }
                Says::Accept(patterns) if patterns.iter().any(|p| accepts(p, variable)) => {
                    let reaches = "if the client sends it (SendEnv), and nothing else sets it";
                    (format!("{variable} in AcceptEnv"), Visibility::Perhaps(reaches.into()))
                }
                _ => continue,
            };
            let reaches = match ours {
                true => reaches,
                false => Visibility::No("only for sessions of sshd".into()),
            };
            let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
            mentions.push(Assignment { file: file.clone(), line, says, reaches });
        }
        mentions
    }

    /// Whether a user's ~/.ssh/environment is read.
    pub(crate) fn reads_user_file(&self) -> bool {
        let mut said = self.lines.iter().filter_map(|(.., said)| match said {
            Says::UserFile(yes) => Some(*yes),
            _ => None,
        });
        said.next().unwrap_or(false)
    }
}

/// Where sshd itself sets the variable, or asks no PAM, only its own configuration helps; else PAM's
/// file reaches su, cron and login as well.
pub(crate) fn ssh_spots(root: &Root, variable: &str, config: Option<&str>) -> Vec<ConfigLocation> {
    use Confidence::{High, Medium};
    let sshd = read(root, config);
    let why = match sshd.sets(variable) {
        true => "sshd's own SetEnv sets it, over all else",
        false => "sshd sets it for its sessions, over all else (SetEnv)",
    };
    let unit = ["ssh.service", "sshd.service"].into_iter().find(|unit| {
        let dirs = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
        dirs.iter().any(|dir| root.read(&format!("{dir}/{unit}")).is_ok())
    });
    // A configuration of its own: what it includes, and who reloads it, is not known so well.
    let confidence = if config.is_none() && sshd.unread.is_empty() { High } else { Medium };
    let own = ConfigLocation::new(
        &config_format::SSHD,
        sshd.file_for(variable).to_owned(),
        why,
        confidence,
    )
    .restart(&["systemctl", "reload", unit.unwrap_or("sshd.service")])
    .caveat("It reaches every session of sshd, whoever logs in.");
    let pam = pam_spot(root, "sshd", variable, "sshd");
    match sshd.uses_pam() && !sshd.sets(variable) && pam.confidence == High {
        true => vec![pam, own],
        false => vec![own],
    }
}
