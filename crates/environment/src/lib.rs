//! Where an environment comes from, and how to change it there and take it back. The only crate that writes to the host:
//! in `disk.rs` and through crontab(1), both through the journal.

mod activation;
mod answer;
mod book;
mod change_request;
mod checker;
mod command_words;
mod container;
mod coverage;
mod crontab;
mod disk;
mod error;
mod fix;
mod hand_line;
mod ignored;
mod in_force;
mod journal;
mod launchers_above;
mod locale;
mod manager;
mod merge;
mod others_write;
mod pam;
mod place;
mod place_list;
mod places;
mod redact;
mod repository;
mod request;
mod running;
mod scratch;
mod settings;
mod shape;
mod shown_diff;
mod snippet;
mod sources;
mod sshd_config;
mod start_path;
mod started_by;
mod surrounding_unit;
mod trace_run;
mod trace_variable;
mod unit;
mod unit_assignments;

pub use activation::{Activation, Supervisor};
pub use book::book_page;
pub use disk::{Disk, ExistingFile, FileAttributes};
pub use error::EnvironmentError;
pub use fix::{Plan, overruled, plan};
pub use hand_line::{HandLine, VALUE};
pub use in_force::{Calls, Expected, Seen};
pub use journal::{ChangeState, Entries, FileChange, Journal, JournalEntry, Recovered};
pub use launchers_above::look_above;
pub use locale::{LocaleHow, plan_locale};
pub use merge::{ChangeRequest, label, merged, shown};
pub use others_write::{open_regular, others_write};
pub use place::{Destination, Place};
pub use place_list::*;
pub use places::{Edit, FoundValue, Reach};
pub use redact::redact;
pub use repository::{RepositoryPlace, WrongVariable, place_in_repository, repository_of};
pub use request::{
    Request, Subject, check_variable, origin_of_process, origin_of_stopped_unit, resolve,
    resolve_for_image,
};
pub use running::{main_process, main_process_of, service_name, state_dir};
pub use snippet::{SNIPPETS, SnippetFormat, snippet, snippet_format};
pub use trace_run::trace_run;
pub use trace_variable::{VariableTrace, value_of_unit};
