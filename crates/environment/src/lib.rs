//! Where an environment comes from, and how to change it there and take it back. The only crate that writes to the host:
//! in `disk.rs`, through the journal.

mod book;
mod change_request;
mod channel;
mod config_format;
mod disk;
mod error;
mod fix;
mod format;
mod format_list;
mod ignored;
mod journal;
mod launchers_above;
mod locale;
mod merge;
mod others_write;
mod pam;
mod redact;
mod request;
mod running;
mod shape;
mod sources;
mod sshd_config;
mod surrounding_unit;
mod trace_run;
mod trace_variable;
mod unit;

pub use book::book_page;
pub use config_format::{ConfigFormat, ConfigLocation};
pub use disk::{Disk, ExistingFile, FileAttributes};
pub use error::EnvironmentError;
pub use fix::{Plan, overruled, plan};
pub use format::{Edit, FoundValue};
pub use format_list::*;
pub use journal::{ChangeState, FileChange, Journal, JournalEntry, Recovered};
pub use launchers_above::look_above;
pub use locale::{LocaleHow, plan_locale};
pub use merge::{ChangeRequest, label, merged, shown};
pub use others_write::others_write;
pub use redact::redact;
pub use request::{
    Request, Subject, check_variable, origin_of_process, origin_of_stopped_unit, resolve,
    take_effect,
};
pub use running::{main_process, run, state_dir, unit_name};
pub use trace_run::trace_run;
pub use trace_variable::{VariableTrace, value_of_unit};
