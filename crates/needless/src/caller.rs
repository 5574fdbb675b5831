//! The user that root works for: the one who ran sudo, or the one named by an option. Commands run as that user, and
//! files are opened with that user's rights.

use crate::cli::{Action, UserArgs};
use crate::output;
use anyhow::{Context as _, Result, anyhow, bail};
use needless_observe::{Behind, Caller};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whose the command and the files are; `None`: our own user's.
pub(crate) struct User(Option<Caller>);

impl User {
    /// Decides it.
    ///
    /// # Errors
    /// When a command would run as root and it is not known whether the user wants that.
    pub(crate) fn of(action: &Action) -> Result<User> {
        Ok(User(match (options(action), needless_observe::behind()) {
            (Some(UserArgs { user: Some(name), .. }), _) => {
                needs_root("--as")?;
                Some(Caller::named(name).map_err(|why| anyhow!("--as: {why}"))?)
            }
            (Some(UserArgs { as_root: true, .. }), _) => {
                needs_root("--as-root")?;
                None
            }
            (_, Behind::User(caller)) => Some(caller),
            (Some(_), Behind::RootShell) => {
                output::warn(
                    "this is a root shell that another user started: the command runs as root (--as USER: as \
                     another user; --as-root: without this line)",
                );
                None
            }
            (Some(_), Behind::Unknown(why)) => {
                bail!("{why}: name the command's user with --as USER or --as-root")
            }
            (None, Behind::CurrentUser | Behind::RootShell | Behind::Unknown(_))
            | (Some(_), Behind::CurrentUser) => None,
        }))
    }

    /// That user, for what runs the command.
    pub(crate) fn caller(&self) -> Option<Caller> {
        self.0.clone()
    }

    /// Whether it is another user than ours.
    pub(crate) fn is_other(&self) -> bool {
        self.0.is_some()
    }

    /// Calls `act` with that user's rights to files. With root's own rights, a user could read and write files
    /// through us that are closed to that user.
    ///
    /// # Errors
    /// When the rights cannot be changed; then `act` was not called.
    pub(crate) fn act<T>(&self, act: impl FnOnce() -> T) -> Result<T> {
        match &self.0 {
            Some(caller) => caller.as_them(act).context("cannot act as the command's user"),
            None => Ok(act()),
        }
    }

    /// The text of a file that the command line names.
    ///
    /// # Errors
    /// When that user may not read it, or it is not UTF-8.
    pub(crate) fn text_of(&self, path: &Path) -> Result<String> {
        let text = self.act(|| std::fs::read_to_string(path))?;
        text.with_context(|| format!("cannot read {}", path.display()))
    }

    /// Whose files are trusted: root's, our own, and the ones of the user who ran sudo.
    pub(crate) fn trusted_owners(&self) -> Result<Vec<u32>> {
        let caller = self.0.as_ref().map(|caller| caller.uid());
        Ok([0, effective_uid()?].into_iter().chain(caller).collect())
    }
}

/// The effective user owns /proc/self.
fn effective_uid() -> Result<u32> {
    Ok(Path::new("/proc/self").metadata().context("cannot look at /proc/self")?.uid())
}

fn needs_root(option: &str) -> Result<()> {
    if effective_uid().is_ok_and(|uid| uid == 0) {
        Ok(())
    } else {
        bail!("{option} needs root's rights: run it with sudo")
    }
}

/// The options of an action that runs a command.
fn options(action: &Action) -> Option<&UserArgs> {
    match action {
        Action::Run(run) => Some(&run.user),
        Action::Check(check) => Some(&check.user),
        Action::Preload(preload) => Some(&preload.user).filter(|_| !preload.print),
        Action::Origin(origin) => Some(&origin.user).filter(|_| !origin.command.is_empty()),
        Action::Prove(prove) => {
            let runs = !prove.command.is_empty() || prove.service.per.is_some();
            Some(&prove.user).filter(|_| runs)
        }
        _ => None,
    }
}
