//! The laboratory: measurements that others published, made again on this machine and printed beside
//! theirs. One file per experiment.
//!
//! What an experiment measures runs in processes of its own: this very program under a hidden
//! subcommand ([`subject`]), or a program of the machine. Where a file of the machine must be another
//! (`/etc/localtime`, the installed locales), it is so in a private mount namespace only.

mod locale;
mod measure;
mod private;
#[allow(unsafe_code, reason = "the functions that are measured are the C library's")]
mod subject;
mod tz;

pub use locale::{LocaleOptions, locale};
pub use subject::{ETC_LOCALTIME, SUBJECT, subject};
pub use tz::{TzOptions, tz};

use needless_report::Experiment;

/// Every experiment, in the order of their sources' years.
pub const EXPERIMENTS: [Experiment; 2] = [tz::EXPERIMENT, locale::EXPERIMENT];
