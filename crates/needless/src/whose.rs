//! The user that commands run as and files are written as, decided once: the one who ran sudo, or the one named.

use crate::cli::{Action, Whose};
use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use needless_observe::{Behind, Caller};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

static CALLER: OnceLock<Option<Caller>> = OnceLock::new();

/// The user that root works for; `None`: ourselves.
pub(crate) fn caller() -> Option<&'static Caller> {
    CALLER.get_or_init(|| None).as_ref()
}

/// Does `act` with the rights to files of the user that root works for: what they name is opened so,
/// or root would read and write for them what they may not.
///
/// # Errors
/// When the rights cannot be changed; nothing was done then.
pub(crate) fn as_them<T>(act: impl FnOnce() -> T) -> Result<T> {
    match caller() {
        Some(caller) => caller.as_them(act).context("cannot act as the user it belongs to"),
        None => Ok(act()),
    }
}

/// The text of a file that the command line names.
///
/// # Errors
/// When that user may not read it, or it is no text.
pub(crate) fn text_of(path: &Path) -> Result<String> {
    let text = as_them(|| std::fs::read_to_string(path))?;
    text.with_context(|| format!("cannot read {}", path.display()))
}

/// Decides it.
///
/// # Errors
/// When a command would be root's and it cannot be known whether that is meant.
pub(crate) fn decide(action: &Action) -> Result<()> {
    let asked = of(action);
    let found = match (asked, needless_observe::behind()) {
        (Some(Whose { user: Some(name), .. }), _) => {
            needs_root("--as")?;
            Some(Caller::named(name).map_err(|why| anyhow!("--as: {why}"))?)
        }
        (Some(Whose { as_root: true, .. }), _) => {
            needs_root("--as-root")?;
            None
        }
        (_, Behind::User(caller)) => Some(caller),
        (Some(_), Behind::RootShell) => {
            output::say(
                "this is a root shell that another user started: the command is run as root (--as USER: as \
                 another user; --as-root: without this line)",
            );
            None
        }
        (Some(_), Behind::Unknown(why)) => {
            bail!("{why}: say whose the command is, with --as USER or --as-root")
        }
        (_, Behind::Nobody | Behind::RootShell | Behind::Unknown(_)) => None,
    };
    // Nobody asked before.
    let _ = CALLER.set(found);
    Ok(())
}

fn needs_root(option: &str) -> Result<()> {
    // Of /proc/self the owner is the effective user.
    let about = std::fs::metadata("/proc/self");
    match about.is_ok_and(|about| about.uid() == 0) {
        true => Ok(()),
        false => bail!("{option} takes root's rights: run it with sudo"),
    }
}

/// The options of an action that runs a command.
fn of(action: &Action) -> Option<&Whose> {
    match action {
        Action::Run(run) => Some(&run.whose),
        Action::Preload(preload) => Some(&preload.whose).filter(|_| !preload.print),
        Action::Origin(origin) => Some(&origin.whose).filter(|_| !origin.command.is_empty()),
        Action::Prove(prove) => {
            let runs = !prove.command.is_empty() || prove.service.per.is_some();
            Some(&prove.whose).filter(|_| runs)
        }
        _ => None,
    }
}
