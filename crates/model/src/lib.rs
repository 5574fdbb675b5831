//! The nouns of needless, as plain data: no I/O, no clock, no environment, no terminal.
//!
//! One direction: a backend fills a [`Profile`] through a [`Builder`], rules read the profile and
//! return [`Finding`]s, reports print both. A profile is *aggregated*: never a list of events.

mod arg_class;
mod builder;
mod errno;
mod fact;
mod finding;
mod host;
mod intern;
mod posix_tz;
mod process;
mod profile;
mod proof;
mod provenance;
mod query;
mod snapshot;
mod sub_profile;
mod whence;

pub use arg_class::{ArgClass, HIGH_DESCRIPTOR, SMALL_OUTPUT, TINY_INPUT, VDSO_CLOCKS};
pub use builder::{Answer, Builder, Limits, Question, QuestionId, Tally};
pub use errno::Errno;
pub use fact::{Fact, Facts};
pub use finding::{Change, Evidence, Finding, Remedy, Safety, Stage};
pub use host::{Costs, Host, LocaleProbe, Spelling, Zone, ZoneFile};
pub use intern::{Interner, StrId};
pub use posix_tz::{PosixTz, posix_tz};
pub use process::{COMMAND_BYTES, Env, Exit, Libc, ProcId, Process, Runtime, Spawn, command_of};
pub use profile::{CallSite, Loss, Profile, Row, Target, Totals, Window};
pub use proof::{Counted, Measure, Outcome, Prediction, Proof, Quantity, Usage};
pub use provenance::{Assignment, Confidence, Location, Provenance, Step, Value, Visibility};
pub use query::{CallId, Query};
pub use snapshot::{Compared, PROVEN_FALL, RowChange, Snapshot, changed_rows, compare};
pub use sub_profile::SubProfile;
pub use whence::{Above, Link, Turn, Whence};
