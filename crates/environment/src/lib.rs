//! Where an environment comes from, and how to change it there and take it back. The only crate that
//! writes to the host: in `disk.rs`, through the journal.

mod above;
mod apache;
mod around;
mod belongs;
mod book;
mod change_request;
mod channel;
mod config_format;
mod disk;
mod fix;
mod format;
mod ignored;
mod journal;
mod locale;
mod origin;
mod pam;
mod redact;
mod run_script;
mod running;
mod shape;
mod sources;
mod sshd;
mod targets;
mod traced;
mod trust;
mod unit;

pub use above::look_above;
pub use belongs::ConfigLocation;
pub use book::book_page;
pub use change_request::check_target;
pub use config_format::*;
pub use disk::{About, Before, Disk};
pub use fix::{Plan, plan, spot_of_file};
pub use format::{Edit, Found};
pub use ignored::ignored;
pub use journal::{Entry, FileChange, Journal, Recovered, State};
pub use locale::{LocaleHow, plan_locale};
pub use origin::{Origin, origin, origin_of_unit, value_of_unit};
pub use redact::redact;
pub use running::{
    main_process, processes_of_unit, run, sshd_will_set, state_dir, systemd_runs, unit_name,
    will_have,
};
pub use targets::{ChangeRequest, merged, words};
pub use traced::origin_of_run;
pub use trust::others_write;
