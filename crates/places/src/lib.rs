//! Where an environment comes from, and how to change it there and take it back. The only crate that
//! writes to the host: in `disk.rs`, through the journal.

mod above;
mod apache;
mod around;
mod belongs;
mod book;
mod channel;
mod disk;
mod fix;
mod format;
mod ignored;
mod journal;
mod locale;
mod origin;
mod pam;
mod place;
mod run_script;
mod running;
mod shape;
mod sources;
mod sshd;
mod target;
mod targets;
mod traced;
mod trust;
mod unit;
mod veil;

pub use above::look_above;
pub use belongs::Spot;
pub use book::book_page;
pub use disk::{About, Before, Disk};
pub use fix::{Plan, plan, spot_of_file};
pub use format::{Edit, Found};
pub use ignored::ignored;
pub use journal::{Entry, FileChange, Journal, Recovered, State};
pub use locale::{LocaleHow, plan_locale};
pub use origin::{Origin, origin, origin_of_unit, value_of_unit};
pub use place::*;
pub use running::{
    main_process, processes_of_unit, run, sshd_will_set, state_dir, systemd_runs, unit_name,
    will_have,
};
pub use target::check_target;
pub use targets::{Target, merged, words};
pub use traced::origin_of_run;
pub use trust::others_write;
pub use veil::veil;
