//! How a process got its environment: from a program that builds its own, else from the nearest launcher, else from
//! the unit of its control group.

use crate::command_words::behind_options;
use crate::container;
use crate::sshd_config::SshSession;
use needless_host::{ProcInfo, Service, ServiceKind, is_container_helper};

/// How a process got its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartedBy {
    /// A unit of the system; `how`: how directly systemd started the process.
    Unit {
        name: String,
        how: Started,
    },
    /// A unit of a user's own systemd.
    UserUnit {
        name: String,
        uid: u32,
    },
    Cron,
    At,
    Ssh {
        /// The configuration named on sshd's command line (`-f`).
        config: Option<String>,
        session: SshSession,
    },
    Sudo {
        login: bool,
    },
    /// su, or `runuser -`. runuser without a new environment is no launcher: it passes on what it has.
    Su {
        login: bool,
        runuser: bool,
    },
    Supervisord,
    /// runsv, s6-supervise, supervise: a directory with a script `run`.
    RunScript {
        dir: Option<String>,
    },
    PhpFpm {
        pool: Option<String>,
    },
    Postgresql {
        version: String,
        cluster: String,
    },
    /// Apache itself, or a program it starts; `cgi`: for a request, with an environment made for it.
    Apache {
        cgi: bool,
    },
    /// A service of OpenRC, recognised by the variables that it sets.
    OpenRc {
        service: String,
    },
    /// In a container.
    Container {
        /// What it is, for people.
        label: String,
        /// Its id, where it is podman's.
        podman: Option<String>,
        /// The unit of the system in which the program that watches over it runs.
        unit: Option<String>,
    },
    /// Started by a shell or another program that still runs.
    Program {
        name: String,
        pid: u32,
    },
    /// Its parent is PID 1, which did not start it as a unit: the process that started it has ended.
    Orphan,
}

impl StartedBy {
    /// What started the process, within a sentence.
    pub(crate) fn label(&self) -> String {
        self.subject().trim_end_matches(',').to_owned()
    }

    /// The same as the subject that begins a sentence.
    pub(crate) fn subject(&self) -> String {
        match self {
            StartedBy::Unit { name, .. } | StartedBy::UserUnit { name, .. } => {
                format!("systemd, as {name},")
            }
            StartedBy::Cron => "cron".into(),
            StartedBy::At => "at".into(),
            StartedBy::Ssh { .. } => "sshd".into(),
            StartedBy::Sudo { login: true } => "sudo -i".into(),
            StartedBy::Sudo { login: false } => "sudo".into(),
            StartedBy::Su { runuser: true, .. } => "runuser -".into(),
            StartedBy::Su { login: true, .. } => "su -".into(),
            StartedBy::Su { login: false, .. } => "su".into(),
            StartedBy::Supervisord => "supervisord".into(),
            StartedBy::RunScript { .. } => "a supervisor of run scripts".into(),
            StartedBy::PhpFpm { .. } => "php-fpm".into(),
            StartedBy::Postgresql { .. } => "PostgreSQL's starter".into(),
            StartedBy::Apache { cgi: false } => "apachectl".into(),
            StartedBy::Apache { cgi: true } => "Apache, as a CGI program,".into(),
            StartedBy::OpenRc { service } => format!("OpenRC, as {service},"),
            StartedBy::Container { label, .. } => label.clone(),
            StartedBy::Program { name, pid } => format!("{name}[{pid}]"),
            StartedBy::Orphan => "a process that has ended".into(),
        }
    }
}

/// How directly systemd started a process, by the variables that it sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// systemd executed this process.
    Directly,
    /// Another program in the unit did.
    ByAnother,
    /// Its environment does not come from systemd.
    Rebuilt,
    /// The block could not be read.
    Unknown,
}

/// Which launcher a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Systemd,
    UserSystemd,
    Cron,
    At,
    Ssh,
    Sudo,
    Su,
    RunUser,
    Supervisord,
    RunScript,
    Container,
    Shell,
    Login,
}

impl Launcher {
    pub(crate) fn of(info: &ProcInfo) -> Option<Launcher> {
        let name = info.name();
        let script =
            |name: &str| info.argv.get(1).is_some_and(|word| word.rsplit('/').next() == Some(name));
        Some(match name {
            "systemd" if info.argv.iter().any(|word| word == "--user") => Launcher::UserSystemd,
            "systemd" => Launcher::Systemd,
            "cron" | "crond" | "fcron" => Launcher::Cron,
            "atd" => Launcher::At,
            _ if name.starts_with("sshd") => Launcher::Ssh,
            "sudo" | "sudo-rs" => Launcher::Sudo,
            "su" => Launcher::Su,
            "runuser" => Launcher::RunUser,
            "runsv" | "s6-supervise" | "supervise" => Launcher::RunScript,
            _ if is_container_helper(name) => Launcher::Container,
            "supervisord" => Launcher::Supervisord,
            _ if name.starts_with("python") && script("supervisord") => Launcher::Supervisord,
            "login" => Launcher::Login,
            "sh" | "dash" | "bash" | "zsh" | "ksh" | "mksh" | "fish" | "ash" | "busybox" => {
                Launcher::Shell
            }
            _ => return None,
        })
    }

    /// Its name in a report.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Launcher::Systemd => "systemd",
            Launcher::UserSystemd => "a user's systemd",
            Launcher::Cron => "cron",
            Launcher::At => "at",
            Launcher::Ssh => "sshd",
            Launcher::Sudo => "sudo",
            Launcher::Su => "su",
            Launcher::RunUser => "runuser",
            Launcher::Supervisord => "supervisord",
            Launcher::RunScript => "a supervisor of run scripts",
            Launcher::Container => "a container's watcher",
            Launcher::Shell => "a shell",
            Launcher::Login => "login",
        }
    }
}

/// Whether the variables that a process gives its children come from a configuration, or from a person at a terminal:
/// a change belongs there, not in the process.
pub(crate) fn passes_on_configuration(info: &ProcInfo) -> bool {
    let words = || info.argv.iter().skip(1);
    match Launcher::of(info) {
        // A shell that runs no script has its variables from the files that it reads at its start.
        Some(Launcher::Shell) => {
            is_login(info) || words().all(|word| word.starts_with('-') && word != "-c")
        }
        Some(_) => true,
        None => {
            info.own_pid == 1
                || info.comm.starts_with("php-fpm")
                || matches!(info.name(), "postgres" | "apache2")
        }
    }
}

/// Whether a shell was started as a login shell, by its arguments.
pub(crate) fn is_login(info: &ProcInfo) -> bool {
    let Some(first) = info.argv.first() else { return false };
    let flags = info.argv.iter().skip(1).take_while(|word| word.starts_with('-'));
    first.starts_with('-')
        || flags.into_iter().any(|word| {
            matches!(word.as_str(), "-" | "--login")
                || (!word.starts_with("--") && word.contains('l'))
        })
}

/// How the last process of `chain` got its environment.
pub(crate) fn of(chain: &[ProcInfo]) -> StartedBy {
    let Some((me, above)) = chain.split_last() else { return StartedBy::Orphan };
    if let Some(adapter) = adapter(me, above, me) {
        return adapter;
    }
    let service = Service::of_cgroup(&me.cgroup, me.exe.as_deref());
    let watcher = above.iter().rev().find(|info| !shares_pids(info, me));
    let watcher = watcher.filter(|info| Launcher::of(info) == Some(Launcher::Container));
    if service.kind.is_container() || watcher.is_some() {
        return container::started_by(me, &service, watcher);
    }
    if Launcher::of(me) == Some(Launcher::RunScript) {
        return StartedBy::Program { name: "its parent".into(), pid: me.parent };
    }
    // Only within its pid namespace: launchers outside started something else.
    let inside = above.iter().enumerate().rev();
    for (at, info) in inside.take_while(|(_, info)| shares_pids(info, me)) {
        if let Some(adapter) = adapter(info, &above[..at], me) {
            return adapter;
        }
        match Launcher::of(info) {
            Some(Launcher::Cron) => return StartedBy::Cron,
            Some(Launcher::At) => return StartedBy::At,
            Some(Launcher::Ssh) => {
                let connection = me.marks.get("SSH_CONNECTION").cloned();
                let session = SshSession { uid: me.uid, connection };
                return StartedBy::Ssh { config: config_of(above), session };
            }
            Some(Launcher::Sudo) => {
                let command = behind_options(info.argv.get(1..).unwrap_or_default(), SUDO_OPTIONS);
                let options = info.argv.len() - command.len();
                let mut options = info.argv[..options].iter().skip(1);
                return StartedBy::Sudo { login: options.any(|f| f == "--login" || short(f, 'i')) };
            }
            Some(Launcher::Su) => {
                return StartedBy::Su { login: starts_anew(info), runuser: false };
            }
            Some(Launcher::RunUser) if starts_anew(info) => {
                return StartedBy::Su { login: true, runuser: true };
            }
            Some(Launcher::Supervisord) => return StartedBy::Supervisord,
            Some(Launcher::RunScript) => return StartedBy::RunScript { dir: info.cwd.clone() },
            Some(Launcher::Container) => return container::started_by(me, &service, Some(info)),
            Some(Launcher::Systemd | Launcher::UserSystemd) => break,
            Some(Launcher::RunUser | Launcher::Shell | Launcher::Login) | None => {}
        }
    }
    unit(me, above, &service).or_else(|| by_invocation(me)).unwrap_or_else(|| match above.last() {
        _ if me.marks.contains_key("RC_SVCNAME") => {
            StartedBy::OpenRc { service: me.marks["RC_SVCNAME"].clone() }
        }
        Some(parent) if parent.own_pid != 1 => {
            StartedBy::Program { name: parent.name().to_owned(), pid: parent.pid }
        }
        _ => StartedBy::Orphan,
    })
}

/// The file that the listening sshd was started with: its title holds its arguments, `sshd: /usr/sbin/sshd -f FILE
/// [listener] …`.
fn config_of(above: &[ProcInfo]) -> Option<String> {
    let listener = above.iter().rev().find(|info| {
        Launcher::of(info) == Some(Launcher::Ssh)
            && info.argv.iter().any(|word| word.contains("[listener]"))
    })?;
    let words = listener.argv.join(" ");
    let mut words = words.split_ascii_whitespace().skip_while(|word| *word != "-f");
    words.nth(1).filter(|file| file.starts_with('/')).map(str::to_owned)
}

/// Whether an ancestor is in the same pid namespace. The namespaces of other users' processes are closed to an ordinary
/// user; whether a process has another id in its own is not.
pub(crate) fn shares_pids(info: &ProcInfo, me: &ProcInfo) -> bool {
    match info.pid_namespace {
        0 => (info.own_pid == info.pid) == (me.own_pid == me.pid),
        known => known == me.pid_namespace,
    }
}

/// The unit of a process that PAM has moved to the scope of a session, such as su as a unit's command: by the id that
/// systemd gave the start of the unit.
fn by_invocation(me: &ProcInfo) -> Option<StartedBy> {
    let id = me.marks.get("INVOCATION_ID").filter(|_| me.shares_root)?;
    let units = std::fs::read_dir("/run/systemd/units").ok()?;
    let name = units.flatten().find_map(|unit| {
        let link = std::fs::read_link(unit.path()).ok()?;
        let name = unit.file_name().to_str()?.strip_prefix("invocation:")?.to_owned();
        (link.to_str() == Some(id)).then_some(name)
    })?;
    let direct = me.marks.get("SYSTEMD_EXEC_PID") == Some(&me.own_pid.to_string());
    let how = if direct { Started::Directly } else { Started::ByAnother };
    name.ends_with(".service").then_some(StartedBy::Unit { name, how })
}

/// The letters of sudo's options whose argument is the next word.
const SUDO_OPTIONS: &str = "ughpCrtTUDR";

/// Whether su or runuser was asked for a new environment: `-`, `-l`, `--login`.
pub(crate) fn starts_anew(info: &ProcInfo) -> bool {
    let mut words = info.argv.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-" | "--login" => return true,
            "--" => return false,
            "-w" | "-c" | "-s" | "-g" | "-G" | "-u" | "-T" => drop(words.next()),
            word if short(word, 'l') => return true,
            _ => {}
        }
    }
    false
}

/// Whether su keeps the variable although it starts a new environment (`-w`).
pub(crate) fn whitelists(info: &ProcInfo, variable: &str) -> bool {
    let words = info.argv.windows(2);
    let named = words.filter(|pair| pair[0] == "-w" || pair[0] == "--whitelist-environment");
    let long = info.argv.iter().filter_map(|word| word.strip_prefix("--whitelist-environment="));
    let mut lists = named.map(|pair| pair[1].as_str()).chain(long);
    lists.any(|list| list.split(',').any(|name| name == variable))
}

fn short(flag: &str, letter: char) -> bool {
    flag.starts_with('-') && !flag.starts_with("--") && flag.contains(letter)
}

fn unit(me: &ProcInfo, above: &[ProcInfo], service: &Service) -> Option<StartedBy> {
    let name = crate::surrounding_unit::named_by_systemd(&me.cgroup, &service.name);
    match service.kind {
        ServiceKind::Unit if name.ends_with(".service") => {
            let how = if me.marks.get("SYSTEMD_EXEC_PID") == Some(&me.own_pid.to_string())
                || is_worker(me, above)
            {
                Started::Directly
            } else if me.marks.contains_key("INVOCATION_ID") {
                Started::ByAnother
            } else if !me.initial.is_known() {
                Started::Unknown
            } else {
                Started::Rebuilt
            };
            Some(StartedBy::Unit { name, how })
        }
        ServiceKind::UserUnit => {
            name.ends_with(".service").then_some(StartedBy::UserUnit { name, uid: me.uid })
        }
        _ => None,
    }
}

/// Whether it is a fork, without an exec, of the process that systemd executed: a worker has its master's
/// environment.
fn is_worker(me: &ProcInfo, above: &[ProcInfo]) -> bool {
    let Some(executed) = me.marks.get("SYSTEMD_EXEC_PID") else { return false };
    let alike = |info: &&ProcInfo| {
        info.exe.is_some() && (&info.exe, &info.initial) == (&me.exe, &me.initial)
    };
    let mut family = above.iter().rev().take_while(alike);
    family.any(|info| info.own_pid.to_string() == *executed)
}

/// The program that built the environment, if `info` is one that does. What it starts (`whose`: a job of PostgreSQL,
/// a CGI program) gets its environment from it.
fn adapter(info: &ProcInfo, above: &[ProcInfo], whose: &ProcInfo) -> Option<StartedBy> {
    let name = info.name();
    if name.starts_with("php-fpm") || info.comm.starts_with("php-fpm") {
        let title = info.argv.first().map_or("", String::as_str);
        // The master has its unit's environment.
        let pool = title.strip_prefix("php-fpm: pool ").map(|pool| pool.trim().to_owned());
        return pool.map(|pool| StartedBy::PhpFpm { pool: Some(pool) });
    }
    if name == "postgres" {
        let mut family = std::iter::once(info).chain(above.iter().rev());
        let (version, cluster) = family.find_map(|info| cluster(&info.argv))?;
        return Some(StartedBy::Postgresql { version, cluster });
    }
    let cgi = whose.marks.contains_key("GATEWAY_INTERFACE");
    (name == "apache2").then_some(StartedBy::Apache { cgi })
}

/// Version and cluster of a Debian server, from the file it was started with.
fn cluster(argv: &[String]) -> Option<(String, String)> {
    let file = argv.iter().find_map(|word| word.strip_prefix("config_file="))?;
    let mut parts = file.strip_prefix("/etc/postgresql/")?.split('/');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}
