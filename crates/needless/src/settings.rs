//! What `needless.toml` says, read once for the run.

use crate::cli::{self, Action, Cli};
use crate::output;
use crate::whose::{self, as_them};
use anyhow::{Context, Result, anyhow};
use clap::CommandFactory;
use clap::error::ErrorKind;
use needless_config::{Config, find};
use needless_environment::others_write;
use needless_rules::{Declared, Ignore};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What was configured.
#[derive(Default)]
pub(crate) struct Settings {
    /// Rules of the user.
    pub(crate) rules: &'static [Declared],
    /// Suppressions.
    pub(crate) ignores: Vec<Ignore>,
    /// Variables that rules read, the built-in ones' too.
    pub(crate) watched: &'static [&'static str],
    config: Config,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// The settings; those of no file before [`load`].
pub(crate) fn get() -> &'static Settings {
    SETTINGS.get_or_init(|| of(Config::default()))
}

fn of(config: Config) -> Settings {
    Settings {
        rules: Vec::leak(config.rules.clone()),
        ignores: config.ignores.clone(),
        watched: config.watched(),
        config,
    }
}

impl Settings {
    /// What the files say.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// A declared rule.
    pub(crate) fn rule(&self, name: &str) -> Option<&'static Declared> {
        self.rules.iter().find(|rule| rule.name == name)
    }
}

/// Reads the files that are meant, where the command line asks for something that they are about.
pub(crate) fn load(cli: &Cli) -> Result<()> {
    if named(&cli.action).is_none() {
        return Ok(());
    }
    let files = files(cli)?;
    let config = as_them(|| needless_config::read(files.iter().map(PathBuf::as_path)))??;
    // Nobody asked for them before.
    let _ = SETTINGS.set(of(config));
    Ok(())
}

/// Looks that there are rules of the names that the command line mentions, and that some rule is left to
/// check; a usage error where not.
pub(crate) fn check_names(cli: &Cli) {
    let config = get().config();
    let wrong = |what: String| Cli::command().error(ErrorKind::InvalidValue, what).exit();
    let mut names = named(&cli.action).unwrap_or_default().into_iter();
    if let Some(unknown) = names.find(|name| !config.knows(name)) {
        let declared = get().rules.iter().map(|rule| rule.name);
        let all: Vec<&str> =
            needless_rules::RULES.iter().map(|rule| rule.name).chain(declared).collect();
        wrong(format!("{unknown}: {}", cli::no_such_rule(unknown, &all)));
    }
    let selection = report(&cli.action).and_then(|asked| crate::rules(asked).selection());
    if selection.is_some_and(|selection| selection.wanted == 0) {
        wrong("no rule is left to check: each --rule is in --ignore, too".to_owned());
    }
}

/// The options of a report, where an action has them.
fn report(action: &Action) -> Option<&cli::Report> {
    match action {
        Action::Run(run) => Some(&run.report),
        Action::Attach(attach) => Some(&attach.report),
        Action::Host(host) => Some(&host.report),
        Action::Read(read) => Some(&read.report),
        _ => None,
    }
}

/// The rules that an action names; `None`: it has nothing to do with rules.
fn named(action: &Action) -> Option<Vec<&String>> {
    if let Some(report) = report(action) {
        return Some(report.rules.iter().chain(&report.ignored).collect());
    }
    Some(match action {
        Action::Fix(fix) => fix.rules.iter().collect(),
        Action::Prove(prove) => prove.rules.iter().collect(),
        Action::Explain(explain) => explain.rule.iter().collect(),
        Action::Rules(_) => Vec::new(),
        _ => return None,
    })
}

fn files(cli: &Cli) -> Result<Vec<PathBuf>> {
    if cli.no_config {
        return Ok(Vec::new());
    }
    if !cli.config.is_empty() {
        return Ok(cli.config.clone());
    }
    // Who works in a directory that is gone has no file there.
    let Ok(here) = std::env::current_dir() else { return Ok(Vec::new()) };
    let owners = owners()?;
    // One that cannot be opened is no danger, and its reader says so.
    let doubt = |file: &Path| {
        File::open(file).and_then(|open| others_write(file, &open, &owners)).ok().flatten()
    };
    let found = find(&here, doubt).map_err(|why| anyhow!("{why}"))?;
    found.refused.iter().for_each(output::say);
    Ok(found.files)
}

/// Whose files are believed: root's, our own, and those of the user who ran sudo.
pub(crate) fn owners() -> Result<Vec<u32>> {
    // Of /proc/self the owner is the effective user.
    let own = Path::new("/proc/self").metadata().context("cannot look at /proc/self")?.uid();
    let behind_sudo = whose::caller().map(|caller| caller.uid());
    Ok([0, own].into_iter().chain(behind_sudo).collect())
}
