//! The commands of needless, a file for each or for a few small ones.

mod agent;
mod check;
mod completions;
mod diff;
mod doctor;
mod explain;
mod fix;
mod manual;
mod origin;
mod preload;
pub(crate) mod prove;
mod read;
mod run;
mod ship;
mod show;
mod top;
mod undo;
mod window;

pub(crate) use agent::agent;
pub(crate) use check::check;
pub(crate) use completions::completions;
pub(crate) use diff::diff;
pub(crate) use doctor::doctor;
pub(crate) use explain::explain;
pub(crate) use fix::fix;
pub(crate) use manual::manual;
pub(crate) use origin::origin;
pub(crate) use preload::preload;
pub(crate) use prove::prove;
pub(crate) use read::read;
pub(crate) use run::run;
pub(crate) use ship::ship;
pub(crate) use show::show;
pub(crate) use top::top;
pub(crate) use undo::undo;
pub(crate) use window::{attach, host};
