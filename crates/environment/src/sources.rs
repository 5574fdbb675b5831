//! Every file of a machine that may set a variable, and whether it reaches a process that got its
//! environment by a certain way.

use crate::apache;
use crate::channel::Channel;
use crate::config_format::{self, ConfigFormat};
use crate::format::{cron, shell, sudoers, supervisord};
use crate::pam::{LOCALE, pam_reads_file};
use crate::sshd;
use needless_host::Root;
use needless_model::{Assignment, Visibility};

/// Files of one kind that were looked into.
pub(crate) struct Sources<'a> {
    root: &'a Root,
    variable: &'a str,
    channel: &'a Channel,
    /// Home of the process's user.
    home: Option<String>,
    pub(crate) mentions: Vec<Assignment>,
    pub(crate) unread: Vec<String>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(
        root: &'a Root,
        variable: &'a str,
        channel: &'a Channel,
        uid: u32,
    ) -> Sources<'a> {
        let home = home(root, uid);
        Sources { root, variable, channel, home, mentions: Vec::new(), unread: Vec::new() }
    }

    /// Looks into every file but those of units.
    pub(crate) fn look(&mut self) {
        self.file("/etc/environment", &config_format::PAM_ENV, None, self.by_pam());
        self.file(
            "/etc/default/locale",
            &config_format::DEFAULT_LOCALE,
            None,
            self.by_pam_locale(),
        );
        self.file(
            "/etc/locale.conf",
            &config_format::LOCALE_CONF,
            None,
            match self.channel {
                Channel::Unit { .. } => Visibility::Yes("PID 1 reads it for all units".into()),
                _ => Visibility::No("only PID 1 reads it, for units".into()),
            },
        );
        let mut login: Vec<String> = vec!["/etc/profile".into()];
        login.extend(self.in_dir("/etc/profile.d", ".sh"));
        if let Some(home) = self.home.clone() {
            login.extend(
                [".bash_profile", ".bash_login", ".profile"].map(|f| format!("{home}/{f}")),
            );
            self.file(
                &format!("{home}/.bashrc"),
                &config_format::PROFILE_D,
                None,
                self.by_interactive(),
            );
            self.file(
                &format!("{home}/.pam_environment"),
                &config_format::PAM_ENV,
                None,
                Visibility::Perhaps("where pam_env is told to read it (user_readenv=1)".into()),
            );
            let dir = format!("{home}/.config/environment.d");
            self.dir(&dir, ".conf", &config_format::ENVIRONMENT_D, self.by_user_manager());
        }
        for file in login {
            self.file(&file, &config_format::PROFILE_D, None, self.by_login_shell());
        }
        self.file("/etc/bash.bashrc", &config_format::PROFILE_D, None, self.by_interactive());
        self.dir(
            "/etc/environment.d",
            ".conf",
            &config_format::ENVIRONMENT_D,
            self.by_user_manager(),
        );
        self.file(
            "/etc/rc.conf",
            &config_format::DEFAULTS,
            None,
            match self.channel {
                Channel::OpenRc { .. } => {
                    Visibility::Yes("OpenRC reads it for all services, before conf.d".into())
                }
                _ => Visibility::No("only OpenRC reads it".into()),
            },
        );
        self.crontabs();
        self.sudoers();
        self.sshd();
        self.supervisord();
        self.apache();
        self.at_jobs();
    }

    /// Whether pam_env gives it /etc/environment.
    pub(crate) fn by_pam(&self) -> Visibility {
        self.by_pam_file(None)
    }

    /// Whether pam_env gives it /etc/default/locale.
    fn by_pam_locale(&self) -> Visibility {
        self.by_pam_file(Some(LOCALE))
    }

    fn by_pam_file(&self, file: Option<&str>) -> Visibility {
        let service = match self.channel {
            Channel::Cron => "cron",
            // atd opens its session with PAM, and gives the job its submitter's environment only.
            Channel::At => {
                return Visibility::No(
                    "at gives a job what its submitter had when it was submitted".into(),
                );
            }
            Channel::Ssh { config } => {
                if !sshd::read(self.root, config.as_deref()).uses_pam() {
                    return Visibility::No("sshd does not use PAM here (UsePAM)".into());
                }
                "sshd"
            }
            Channel::Su { login: true } => "su-l",
            Channel::Su { login: false } => "su",
            Channel::Sudo { .. } => "sudo",
            Channel::Unit { name, .. } => {
                return Visibility::No(format!("systemd does not read it for {name}"));
            }
            Channel::UserUnit { .. } if self.has_environment_link() => {
                return Visibility::Yes(
                    "environment.d links to it (99-environment.conf): the user's systemd reads it"
                        .into(),
                );
            }
            Channel::Container(what) => {
                return Visibility::No(format!("nothing in {what} reads it"));
            }
            Channel::Program { .. } => {
                return Visibility::Perhaps(
                    "if the session it was started from was opened after".into(),
                );
            }
            Channel::Orphan => {
                return Visibility::Perhaps(
                    "if it was started from a session; who started it has ended".into(),
                );
            }
            other => return Visibility::No(format!("{} does not read it", other.says())),
        };
        match pam_reads_file(self.root, service, file, 0) {
            Some(true) => {
                Visibility::Yes(format!("PAM reads it (pam_env in /etc/pam.d/{service})"))
            }
            Some(false) => Visibility::No(match file {
                None => format!("/etc/pam.d/{service} has no pam_env"),
                Some(file) => format!("/etc/pam.d/{service} has no pam_env with envfile={file}"),
            }),
            None => Visibility::Perhaps(format!("/etc/pam.d/{service} cannot be read")),
        }
    }

    fn has_environment_link(&self) -> bool {
        self.root.read_link("/usr/lib/environment.d/99-environment.conf").is_ok()
    }

    fn by_login_shell(&self) -> Visibility {
        match self.channel {
            Channel::Su { login: true } => Visibility::Yes("su - starts a login shell".into()),
            Channel::Sudo { login: true } => Visibility::Yes("sudo -i starts a login shell".into()),
            Channel::Su { login: false } => Visibility::Perhaps(
                "su without - starts no login shell; if the one that su was called from was".into(),
            ),
            Channel::Ssh { .. } => Visibility::Perhaps("if a login shell was in between".into()),
            Channel::Program { .. } => {
                Visibility::Perhaps("if it was started from a login shell".into())
            }
            Channel::Orphan => Visibility::Perhaps("if a login shell started it".into()),
            other => {
                Visibility::No(format!("only login shells read it; {} starts none", other.says()))
            }
        }
    }

    fn by_interactive(&self) -> Visibility {
        match self.channel {
            Channel::Program { .. } => {
                Visibility::Perhaps("if it was started from an interactive bash".into())
            }
            // bash reads it for what sshd starts as well, if it was built so (Debian's is).
            Channel::Ssh { .. } | Channel::Su { .. } | Channel::Sudo { .. } => {
                Visibility::Perhaps("if an interactive bash was in between, or sshd's own".into())
            }
            _ => Visibility::No("only interactive shells read it".into()),
        }
    }

    fn by_user_manager(&self) -> Visibility {
        match self.channel {
            Channel::UserUnit { .. } => Visibility::Yes("the user's systemd reads it".into()),
            _ => Visibility::No("only systemd of users reads it, for their units".into()),
        }
    }

    fn crontabs(&mut self) {
        let mut tables: Vec<String> = vec!["/etc/crontab".into()];
        tables.extend(self.in_dir("/etc/cron.d", ""));
        tables.extend(self.in_dir("/var/spool/cron/crontabs", ""));
        tables.extend(self.in_dir("/var/spool/cron", ""));
        for table in tables {
            let reaches = match self.channel {
                Channel::Cron => {
                    Visibility::Perhaps("if the job stands below it in that table".into())
                }
                _ => Visibility::No("only cron reads it, for the jobs of that table".into()),
            };
            self.file(&table, &config_format::CRONTAB, None, reaches);
        }
    }

    fn sudoers(&mut self) {
        let mut files: Vec<String> = vec!["/etc/sudoers".into()];
        files.extend(self.in_dir("/etc/sudoers.d", ""));
        for file in files {
            let Some(text) = self.text(&file) else { continue };
            let sudo = matches!(self.channel, Channel::Sudo { .. });
            for found in sudoers::find(&text, self.variable, None) {
                let list = found.value.unwrap_or_else(|| "a list, taken out of it".into());
                let reaches = match sudo {
                    true => Visibility::Perhaps(
                        "if the caller of sudo has it with a value that is safe".into(),
                    ),
                    false => Visibility::No("only for what sudo starts".into()),
                };
                let says = format!("{} in {list}", self.variable);
                self.mentions.push(Assignment {
                    file: file.clone(),
                    line: found.line,
                    says,
                    reaches,
                });
            }
            for (_, said) in sudoers::says(&text) {
                if let sudoers::Says::File(path) = said {
                    let reaches = match sudo {
                        true => Visibility::Yes(
                            "sudo's env_file, where the caller has not set it".into(),
                        ),
                        false => Visibility::No("only for what sudo starts".into()),
                    };
                    self.file(&path, &config_format::SUDO_ENV_FILE, None, reaches);
                }
            }
        }
    }

    fn sshd(&mut self) {
        let (main, ours) = match self.channel {
            Channel::Ssh { config } => (config.as_deref(), true),
            _ => (None, false),
        };
        let config = sshd::read(self.root, main);
        self.mentions.extend(config.mentions(self.variable, ours));
        self.unread.extend(config.unread.iter().cloned());
        let Some(home) = &self.home else { return };
        let file = format!("{home}/.ssh/environment");
        let reaches = match (ours, config.reads_user_file()) {
            (true, true) => Visibility::Perhaps("if PAM and SetEnv do not set it".into()),
            (true, false) => Visibility::No("sshd does not read it (PermitUserEnvironment)".into()),
            (false, _) => Visibility::No("only for sessions of sshd".into()),
        };
        self.file(&file, &config_format::ENVIRONMENT_D, None, reaches);
    }

    fn supervisord(&mut self) {
        for file in supervisor_files(self.root) {
            let Some(text) = self.text(&file) else { continue };
            let parts =
                std::iter::once(None).chain(supervisord::programs(&text).into_iter().map(Some));
            let parts: Vec<Option<String>> = parts.map(|part| part.map(str::to_owned)).collect();
            for part in parts {
                let reaches = match (self.channel, &part) {
                    (Channel::Supervisord, None) => {
                        Visibility::Yes("supervisord gives it to all programs".into())
                    }
                    (Channel::Supervisord, Some(part)) => {
                        Visibility::Perhaps(format!("if it is the program {part}"))
                    }
                    _ => Visibility::No("only for what supervisord starts".into()),
                };
                self.file(&file, &config_format::SUPERVISORD, part.as_deref(), reaches);
            }
        }
    }

    /// A job that runs has an equals sign before its name.
    fn at_jobs(&mut self) {
        if *self.channel != Channel::At {
            return;
        }
        for file in self.in_dir("/var/spool/cron/atjobs", "") {
            if file.contains("/=") {
                let reaches =
                    Visibility::Perhaps("if it is its job: at wrote its submitter's".into());
                self.file(&file, &config_format::DEFAULTS, None, reaches);
            }
        }
    }

    fn apache(&mut self) {
        let reaches = match self.channel {
            Channel::Apache { cgi: true } if !apache::hands_on(self.root, self.variable) => {
                Visibility::No(apache::NOT_HANDED_ON.into())
            }
            Channel::Apache { .. } => Visibility::Yes("apachectl reads it".into()),
            _ => Visibility::No("only apachectl reads it".into()),
        };
        self.file(apache::ENVVARS, &config_format::APACHE, None, reaches);
        self.mentions.extend(apache::mentions(self.root, self.variable, self.channel));
    }

    /// A file of a place, if it is there.
    pub(crate) fn file(
        &mut self,
        file: &str,
        place: &ConfigFormat,
        part: Option<&str>,
        reaches: Visibility,
    ) {
        let Some(text) = self.text(file) else { return };
        for found in (place.find)(&text, self.variable, part) {
            let says = match (&found.value, found.certain) {
                (Some(value), true) => format!("{}={value}", self.variable),
                (Some(value), false) => {
                    format!("{}={value} (as it is written there)", self.variable)
                }
                (None, _) => format!("{} removed", self.variable),
            };
            let reaches = reaches.clone();
            self.mentions.push(Assignment {
                file: file.to_owned(),
                line: found.line,
                says,
                reaches,
            });
        }
        let traps = [config_format::PROFILE_D.name, config_format::DEFAULTS.name];
        if traps.contains(&place.name)
            && let Some(line) = shell::unexported(&text, self.variable)
        {
            let says = format!("{} set, not exported", self.variable);
            let reaches =
                Visibility::No("a shell's variable that is not exported reaches no program".into());
            self.mentions.push(Assignment { file: file.to_owned(), line, says, reaches });
        }
    }

    fn dir(&mut self, dir: &str, ending: &str, place: &ConfigFormat, reaches: Visibility) {
        for file in self.in_dir(dir, ending) {
            self.file(&file, place, None, reaches.clone());
        }
    }

    fn in_dir(&self, dir: &str, ending: &str) -> Vec<String> {
        let all = self.root.list(dir).unwrap_or_default();
        let own = |name: &str| !name.starts_with('.') && name.ends_with(ending);
        all.into_iter().filter(|(name, _)| own(name)).map(|(n, _)| format!("{dir}/{n}")).collect()
    }

    fn text(&mut self, file: &str) -> Option<String> {
        match self.root.read(file) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                self.unread.push(format!("{file}: no right to read it"));
                None
            }
            Err(_) => None,
        }
    }
}

/// supervisord's files, as Debian has them; `-c FILE` of a running one is not looked for.
pub(crate) fn supervisor_files(root: &Root) -> Vec<String> {
    let mut files =
        vec!["/etc/supervisor/supervisord.conf".to_owned(), "/etc/supervisord.conf".into()];
    let below = root.list("/etc/supervisor/conf.d").unwrap_or_default();
    let conf = below.into_iter().filter(|(name, _)| name.ends_with(".conf"));
    files.extend(conf.map(|(name, _)| format!("/etc/supervisor/conf.d/{name}")));
    files
}

/// The crontab that holds the job `command` (the words after `-c` of cron's shell), and the job's
/// line, from 0; only if it is in one table alone.
pub(crate) fn crontab_of(root: &Root, command: &str) -> Option<(String, usize)> {
    let mut found = Vec::new();
    for dir in ["/etc/cron.d", "/var/spool/cron/crontabs", "/var/spool/cron"] {
        let all = root.list(dir).unwrap_or_default();
        found.extend(all.into_iter().map(|(name, _)| format!("{dir}/{name}")));
    }
    found.push("/etc/crontab".into());
    let mut fits = Vec::new();
    for file in found {
        let Ok(text) = root.read(&file) else { continue };
        let text = String::from_utf8_lossy(&text);
        for (at, job) in cron::jobs(&text) {
            // A word of its own: `run a` is not the job `rerun a`.
            let before = job.strip_suffix(command.trim()).filter(|_| command.trim().len() > 1);
            if before.is_some_and(|before| before.ends_with([' ', '\t'])) {
                fits.push((file.clone(), at));
            }
        }
    }
    match &fits[..] {
        [one] => Some(one.clone()),
        [first, rest @ ..] if rest.iter().all(|(file, _)| *file == first.0) => Some(first.clone()),
        _ => None,
    }
}

/// The home directory of a user, by /etc/passwd.
pub(crate) fn home(root: &Root, uid: u32) -> Option<String> {
    let text = root.read("/etc/passwd").ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| line.split(':').nth(2) == Some(&uid.to_string()))?;
    line.split(':').nth(5).map(str::to_owned)
}

impl Channel {
    /// Who started it, within a sentence.
    pub(crate) fn who(&self) -> String {
        self.says().trim_end_matches(',').to_owned()
    }

    /// Who started it, to begin a sentence with.
    pub(crate) fn says(&self) -> String {
        match self {
            Channel::Unit { name, .. } | Channel::UserUnit { name, .. } => {
                format!("systemd, as {name},")
            }
            Channel::Cron => "cron".into(),
            Channel::At => "at".into(),
            Channel::Ssh { .. } => "sshd".into(),
            Channel::Sudo { login: true } => "sudo -i".into(),
            Channel::Sudo { login: false } => "sudo".into(),
            Channel::Su { login: true } => "su -".into(),
            Channel::Su { login: false } => "su".into(),
            Channel::Supervisord => "supervisord".into(),
            Channel::RunScript { .. } => "a supervisor of run scripts".into(),
            Channel::PhpFpm { .. } => "php-fpm".into(),
            Channel::Postgresql { .. } => "PostgreSQL's starter".into(),
            Channel::Apache { cgi: false } => "apachectl".into(),
            Channel::Apache { cgi: true } => "Apache, as a CGI program,".into(),
            Channel::OpenRc { service } => format!("OpenRC, as {service},"),
            Channel::Container(what) => what.clone(),
            Channel::Program { name, pid } => format!("{name}[{pid}]"),
            Channel::Orphan => "somebody who has ended".into(),
        }
    }
}
