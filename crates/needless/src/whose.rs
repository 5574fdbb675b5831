//! The user that commands run as and files are written as, decided once: the one who ran sudo, or the one named.

use crate::cli::{Action, Whose};
use crate::output;
use anyhow::{Result, anyhow, bail};
use needless_capture::{Behind, Caller};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

static CALLER: OnceLock<Option<Caller>> = OnceLock::new();

/// The user that root works for; `None`: ourselves.
pub(crate) fn caller() -> Option<&'static Caller> {
    CALLER.get_or_init(|| None).as_ref()
}

/// Decides it.
///
/// # Errors
/// When a command would be root's and it cannot be known whether that is meant.
pub(crate) fn decide(action: &Action) -> Result<()> {
    let asked = of(action);
    let found = match (asked, needless_capture::behind()) {
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
