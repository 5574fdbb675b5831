//! What `needless.toml` says, read once for the run.
//!
//! A file of another user is not read, as git does not read it: a `needless.toml` found in a shared directory could
//! hide findings, or make `fix` set a variable. One that another user owns or may write to, by its mode, an access
//! control list or a directory above it, is left out, and that is reported. `--config` names one all the same.

use crate::caller::User;
use crate::cli::{self, Action, Cli, ReportArgs};
use crate::{exit, output};
use anyhow::Result;
use needless_config::{Config, find};
use needless_environment::{open_regular, others_write};
use needless_localtime::date;
use needless_model::{Profile, WatchList};
use needless_rules::{CheckOptions, Declared, LastDay, Verdict};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What was configured.
pub(crate) struct Settings {
    /// The files' content.
    pub(crate) config: Config,
    /// Rules of the user.
    pub(crate) rules: Arc<[Declared]>,
    /// The files and folders that were read.
    pub(crate) files: Vec<PathBuf>,
    /// Variables that rules read, built-in ones and these: no other is kept of an environment.
    pub(crate) watched: WatchList,
}

impl Settings {
    /// Reads the files, if the command has to do with rules.
    ///
    /// # Errors
    /// When one cannot be read or is wrong.
    pub(crate) fn load(cli: &Cli, user: &User) -> Result<Settings> {
        let files = if named(&cli.action).is_some() { files(cli, user)? } else { Vec::new() };
        let config = user.act(|| needless_config::read(files.iter().map(PathBuf::as_path)))??;
        let (rules, watched) = (config.rules.clone().into(), config.watched());
        Ok(Settings { rules, watched, files, config })
    }

    /// A declared rule.
    pub(crate) fn rule(&self, name: &str) -> Option<&Declared> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// The options for the rules, as the command line has them.
    pub(crate) fn check_options(&self, args: &ReportArgs) -> CheckOptions {
        // Each name once: every finding is compared with all of them.
        let once = |names: &[String]| {
            let mut seen = BTreeSet::new();
            names.iter().filter(|name| seen.insert(*name)).cloned().collect()
        };
        CheckOptions {
            min_saving_percent: args.min_saving(),
            only: once(&args.rules),
            ignore: once(&args.ignored),
            pedantic: args.pedantic(),
            declared: self.rules.clone(),
        }
    }

    /// Takes out of the verdict what needless.toml suppresses.
    pub(crate) fn suppress(
        &self,
        verdict: &mut Verdict,
        profile: &Profile,
        options: &CheckOptions,
    ) {
        needless_rules::suppress(verdict, profile, &self.config.ignores, options, today());
    }
}

/// The day in UTC.
fn today() -> LastDay {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = date((since.as_secs() / 86_400) as i64);
    LastDay { year: i32::try_from(year).unwrap_or(i32::MAX), month, day }
}

/// Checks that the rules that the command line names exist, and that some rule is left to check; ends needless with
/// a usage error where not.
pub(crate) fn check_names(cli: &Cli, settings: &Settings) {
    let wrong = |what: String| exit::wrong(&what);
    let mut names = named(&cli.action).unwrap_or_default().into_iter();
    if let Some(unknown) = names.find(|name| !settings.config.knows(name)) {
        let declared = settings.rules.iter().map(|rule| &*rule.name);
        let all: Vec<&str> =
            needless_rules::RULES.iter().map(|rule| rule.name).chain(declared).collect();
        wrong(format!("{unknown}: {}", cli::no_such_rule(unknown, &all)));
    }
    let selection = report(&cli.action).and_then(|args| settings.check_options(args).selection());
    if selection.is_some_and(|selection| selection.wanted == 0) {
        wrong("no rule is left to check: --ignore names each --rule".to_owned());
    }
}

/// The options of a report, where an action has them.
fn report(action: &Action) -> Option<&ReportArgs> {
    match action {
        Action::Run(run) => Some(&run.report),
        Action::Attach(attach) => Some(&attach.report),
        Action::Host(host) => Some(&host.report),
        Action::Read(read) => Some(&read.report),
        _ => None,
    }
}

/// The rules that an action names; `None` where it has nothing to do with rules.
fn named(action: &Action) -> Option<Vec<&String>> {
    if let Some(report) = report(action) {
        return Some(report.rules.iter().chain(&report.ignored).collect());
    }
    Some(match action {
        Action::Fix(fix) => fix.rules.iter().collect(),
        Action::Prove(prove) => prove.rules.iter().collect(),
        Action::Check(_) | Action::Agent(_) | Action::Top(_) => Vec::new(),
        Action::Explain(explain) => explain.rule.iter().collect(),
        _ => return None,
    })
}

fn files(cli: &Cli, user: &User) -> Result<Vec<PathBuf>> {
    if cli.no_config {
        return Ok(Vec::new());
    }
    if !cli.config.is_empty() {
        return Ok(cli.config.clone());
    }
    // A working directory that was removed has no file.
    let Ok(here) = std::env::current_dir() else { return Ok(Vec::new()) };
    let owners = user.trusted_owners()?;
    // A stranger's file that the caller may not read must not stop the caller's command. For what else is wrong
    // with a file, reading it gives the error.
    let doubt = |file: &Path| match user.act(|| open_regular(file)) {
        Ok(Ok(open)) => others_write(file, &open, &owners).ok().flatten(),
        Ok(Err(why)) if why.kind() == ErrorKind::PermissionDenied => Some(why.to_string()),
        _ => None,
    };
    let found = find(&here, doubt)?;
    found.refused.iter().for_each(output::warn);
    Ok(found.files)
}
