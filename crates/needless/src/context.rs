//! What all commands share.

use crate::caller::User;
use crate::cli::{Cli, ColorMode};
use crate::settings::{self, Settings};
use anyhow::Result;

/// Decided once, before a command of needless starts.
pub(crate) struct Context {
    /// Whose commands and files these are.
    pub(crate) user: User,
    /// What needless.toml says.
    pub(crate) settings: Settings,
    /// Whether output is colored.
    pub(crate) color: ColorMode,
}

impl Context {
    /// # Errors
    /// When the user of a command is not known, or needless.toml is wrong.
    pub(crate) fn of(cli: &Cli) -> Result<Context> {
        let user = User::of(&cli.action)?;
        let settings = Settings::load(cli, &user)?;
        settings::check_names(cli, &settings);
        Ok(Context { user, settings, color: cli.color })
    }
}
