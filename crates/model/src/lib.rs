//! The nouns of needless, as plain data: no I/O, no clock, no environment, no terminal.
//!
//! One direction: a backend fills a [`Profile`] through a [`Builder`], rules read the profile and
//! return [`Finding`]s, reports print both. A profile is *aggregated*: never a list of events.

mod builder;
mod call;
mod detail;
mod errno;
mod fact;
mod finding;
mod host;
mod intern;
mod origin;
mod part;
mod posix_tz;
mod process;
mod profile;
mod proof;
mod snapshot;
mod whence;

pub use builder::{Answer, Builder, Limits, Question, QuestionId, Tally};
pub use call::{Ask, CallId};
pub use detail::{Detail, HIGH_DESCRIPTOR, SMALL_OUTPUT, TINY_INPUT, VDSO_CLOCKS};
pub use errno::Errno;
pub use fact::{Fact, Facts};
pub use finding::{Change, Evidence, Finding, Remedy, Safety, Stage};
pub use host::{Costs, Host, LocaleProbe, Spelling, Zone, ZoneFile};
pub use intern::{Interner, StrId};
pub use origin::{Belongs, Confidence, Mention, Reaches, Step, Story, Value};
pub use part::Part;
pub use posix_tz::{PosixTz, posix_tz};
pub use process::{Born, COMMAND_BYTES, Env, Exit, Libc, ProcId, Process, Runtime, command_of};
pub use profile::{CallSite, Loss, Profile, Row, Target, Totals, Window};
pub use proof::{Counted, Measure, Outcome, Prediction, Proof, Quantity, Usage};
pub use snapshot::{Compared, PROVEN_FALL, RowChange, Snapshot, changed_rows, compare};
pub use whence::{Above, Link, Turn, Whence};
