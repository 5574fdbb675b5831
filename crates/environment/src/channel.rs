//! By what way a process got its environment: a program's own adapter before the nearest launcher,
//! that before the unit of its control group.

use needless_host::{ProcInfo, Service, ServiceKind};

/// The way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// A unit of the system; by what its marks say of how directly systemd started it.
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
        /// The configuration that sshd was started with (`-f`), where it was.
        config: Option<String>,
    },
    Sudo {
        login: bool,
    },
    Su {
        login: bool,
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
    /// Apache itself, or what it starts; `cgi`: for a request, with an environment made for it.
    Apache {
        cgi: bool,
    },
    /// A service of OpenRC, by the marks it leaves.
    OpenRc {
        service: String,
    },
    Container(String),
    /// Started from a shell or another program that is still there.
    Program {
        name: String,
        pid: u32,
    },
    /// Its parent is PID 1, which did not start it as a unit: who did has ended.
    Orphan,
}

/// What the marks of systemd say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// systemd executed this very process.
    Directly,
    /// Something in the unit did.
    ByAnother,
    /// Its environment does not come from systemd.
    Rebuilt,
    /// The block could not be read.
    Unknown,
}

/// The launcher that a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Systemd,
    UserSystemd,
    Cron,
    At,
    Ssh,
    Sudo,
    Su,
    Supervisord,
    RunScript,
    Container,
    Shell,
    Login,
}

impl Launcher {
    pub(crate) fn of(kin: &ProcInfo) -> Option<Launcher> {
        let name = kin.name();
        let script =
            |name: &str| kin.argv.get(1).is_some_and(|word| word.rsplit('/').next() == Some(name));
        Some(match name {
            "systemd" if kin.argv.iter().any(|word| word == "--user") => Launcher::UserSystemd,
            "systemd" => Launcher::Systemd,
            "cron" | "crond" | "fcron" => Launcher::Cron,
            "atd" => Launcher::At,
            _ if name.starts_with("sshd") => Launcher::Ssh,
            "sudo" | "sudo-rs" => Launcher::Sudo,
            "su" | "runuser" => Launcher::Su,
            "runsv" | "s6-supervise" | "supervise" => Launcher::RunScript,
            "conmon" | "tini" | "docker-init" => Launcher::Container,
            _ if name.starts_with("containerd-shim") => Launcher::Container,
            "supervisord" => Launcher::Supervisord,
            _ if name.starts_with("python") && script("supervisord") => Launcher::Supervisord,
            "login" => Launcher::Login,
            "sh" | "dash" | "bash" | "zsh" | "ksh" | "mksh" | "fish" | "ash" | "busybox" => {
                Launcher::Shell
            }
            _ => return None,
        })
    }

    /// What a report calls it.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Launcher::Systemd => "systemd",
            Launcher::UserSystemd => "a user's systemd",
            Launcher::Cron => "cron",
            Launcher::At => "at",
            Launcher::Ssh => "sshd",
            Launcher::Sudo => "sudo",
            Launcher::Su => "su",
            Launcher::Supervisord => "supervisord",
            Launcher::RunScript => "a supervisor of run scripts",
            Launcher::Container => "a container's watcher",
            Launcher::Shell => "a shell",
            Launcher::Login => "login",
        }
    }
}

/// Whether what a process gives to those it executes comes from a configuration, or from a person at a
/// terminal: a change belongs there, and the process is not to be blamed for it.
pub(crate) fn gives_what_it_is_told(kin: &ProcInfo) -> bool {
    let words = || kin.argv.iter().skip(1);
    match Launcher::of(kin) {
        // A shell that runs no script has its variables from the files that it reads as it starts.
        Some(Launcher::Shell) => {
            is_login(kin) || words().all(|word| word.starts_with('-') && word != "-c")
        }
        Some(_) => true,
        None => {
            kin.own_pid == 1
                || kin.comm.starts_with("php-fpm")
                || matches!(kin.name(), "postgres" | "apache2")
        }
    }
}

/// Whether a shell was started as a login shell, as its words say.
pub(crate) fn is_login(kin: &ProcInfo) -> bool {
    let Some(first) = kin.argv.first() else { return false };
    let flags = kin.argv.iter().skip(1).take_while(|word| word.starts_with('-'));
    first.starts_with('-')
        || flags.into_iter().any(|word| {
            matches!(word.as_str(), "-" | "--login")
                || (!word.starts_with("--") && word.contains('l'))
        })
}

/// The way of the last process of `chain`.
pub(crate) fn of(chain: &[ProcInfo]) -> Channel {
    let Some((me, above)) = chain.split_last() else { return Channel::Orphan };
    if let Some(adapter) = adapter(me, above, me) {
        return adapter;
    }
    let service = Service::of_cgroup(&me.cgroup, me.exe.as_deref());
    if matches!(service.kind, ServiceKind::Container | ServiceKind::Pod) {
        return Channel::Container(service.to_string());
    }
    if Launcher::of(me) == Some(Launcher::RunScript) {
        return Channel::Program { name: "its parent".into(), pid: me.parent };
    }
    // Up to where another pid namespace begins, whose launchers are not this one's.
    let inside = above.iter().enumerate().rev();
    for (at, kin) in inside.take_while(|(_, kin)| kin.pid_namespace == me.pid_namespace) {
        if let Some(adapter) = adapter(kin, &above[..at], me) {
            return adapter;
        }
        match Launcher::of(kin) {
            Some(Launcher::Cron) => return Channel::Cron,
            Some(Launcher::At) => return Channel::At,
            Some(Launcher::Ssh) => return Channel::Ssh { config: config_of(above) },
            Some(Launcher::Sudo) => {
                let login = flags(kin).any(|f| f == "--login" || short(f, 'i'));
                return Channel::Sudo { login };
            }
            Some(Launcher::Su) => {
                let login = flags(kin).any(|f| f == "-" || f == "--login" || short(f, 'l'));
                return Channel::Su { login };
            }
            Some(Launcher::Supervisord) => return Channel::Supervisord,
            Some(Launcher::RunScript) => return Channel::RunScript { dir: kin.cwd.clone() },
            Some(Launcher::Container) => return Channel::Container("a container".into()),
            Some(Launcher::Systemd | Launcher::UserSystemd) => break,
            Some(Launcher::Shell | Launcher::Login) | None => {}
        }
    }
    unit(me, above, &service).unwrap_or_else(|| match above.last() {
        _ if me.marks.contains_key("RC_SVCNAME") => {
            Channel::OpenRc { service: me.marks["RC_SVCNAME"].clone() }
        }
        Some(parent) if parent.own_pid != 1 => {
            Channel::Program { name: parent.name().to_owned(), pid: parent.pid }
        }
        _ => Channel::Orphan,
    })
}

/// The file that the listening sshd was started with: it keeps its words in its title,
/// `sshd: /usr/sbin/sshd -f FILE [listener] …`.
fn config_of(above: &[ProcInfo]) -> Option<String> {
    let listener = above.iter().rev().find(|kin| {
        Launcher::of(kin) == Some(Launcher::Ssh)
            && kin.argv.iter().any(|word| word.contains("[listener]"))
    })?;
    let words = listener.argv.join(" ");
    let mut words = words.split_ascii_whitespace().skip_while(|word| *word != "-f");
    words.nth(1).filter(|file| file.starts_with('/')).map(str::to_owned)
}

fn flags(kin: &ProcInfo) -> impl Iterator<Item = &str> {
    kin.argv.iter().skip(1).take_while(|word| word.starts_with('-')).map(String::as_str)
}

fn short(flag: &str, letter: char) -> bool {
    !flag.starts_with("--") && flag.contains(letter)
}

fn unit(me: &ProcInfo, above: &[ProcInfo], service: &Service) -> Option<Channel> {
    match service.kind {
        ServiceKind::Unit if service.name.ends_with(".service") => {
            let how = match () {
                () if !me.initial.is_known() => Started::Unknown,
                () if me.marks.get("SYSTEMD_EXEC_PID") == Some(&me.own_pid.to_string()) => {
                    Started::Directly
                }
                () if is_worker(me, above) => Started::Directly,
                () if me.marks.contains_key("INVOCATION_ID") => Started::ByAnother,
                () => Started::Rebuilt,
            };
            Some(Channel::Unit { name: service.name.clone(), how })
        }
        ServiceKind::UserUnit => {
            let name = service.name.split(' ').next_back()?.to_owned();
            name.ends_with(".service").then_some(Channel::UserUnit { name, uid: me.uid })
        }
        _ => None,
    }
}

/// Whether it is a fork, without an exec, of the process that systemd executed: a worker has its
/// master's environment.
fn is_worker(me: &ProcInfo, above: &[ProcInfo]) -> bool {
    let Some(executed) = me.marks.get("SYSTEMD_EXEC_PID") else { return false };
    let alike =
        |kin: &&ProcInfo| kin.exe.is_some() && (&kin.exe, &kin.initial) == (&me.exe, &me.initial);
    let mut family = above.iter().rev().take_while(alike);
    family.any(|kin| kin.own_pid.to_string() == *executed)
}

/// Programs that make their own environment, and what they start (`whose`: a job of PostgreSQL, a CGI
/// program) has it from them.
fn adapter(kin: &ProcInfo, above: &[ProcInfo], whose: &ProcInfo) -> Option<Channel> {
    let name = kin.name();
    if name.starts_with("php-fpm") || kin.comm.starts_with("php-fpm") {
        let title = kin.argv.first().map_or("", String::as_str);
        // The master has what its unit gave it.
        let pool = title.strip_prefix("php-fpm: pool ").map(|pool| pool.trim().to_owned());
        return pool.map(|pool| Channel::PhpFpm { pool: Some(pool) });
    }
    if name == "postgres" {
        let mut family = std::iter::once(kin).chain(above.iter().rev());
        let (version, cluster) = family.find_map(|kin| cluster(&kin.argv))?;
        return Some(Channel::Postgresql { version, cluster });
    }
    let cgi = whose.marks.contains_key("GATEWAY_INTERFACE");
    (name == "apache2").then_some(Channel::Apache { cgi })
}

/// Version and cluster of a Debian server, by the file it was started with.
fn cluster(argv: &[String]) -> Option<(String, String)> {
    let file = argv.iter().find_map(|word| word.strip_prefix("config_file="))?;
    let mut parts = file.strip_prefix("/etc/postgresql/")?.split('/');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}
