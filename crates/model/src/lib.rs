//! The nouns of needless, as plain data: no I/O, no clock, no environment, no terminal.
//!
//! One direction: a backend fills a [`Profile`] through a [`Builder`], rules read the profile and
//! return [`Finding`]s, reports print both. A profile is *aggregated*: never a list of events.
//!
//! A million equal calls are one row. What rules need of the order of events (was the same asked before, with the same
//! answer, with nothing in between) the builder decides while it happens. A tracer that keeps the log needs memory for
//! it, and time for writing: strace's log has about a hundred bytes a call.

#[macro_use]
mod words;

mod arg_class;
mod backend;
mod builder;
mod errno;
mod fact;
mod finding;
mod host;
mod inheritance;
mod intern;
mod libc;
mod loss;
mod process;
mod profile;
mod proof;
mod provenance;
mod query;
mod quote;
mod search_list;
mod sequence;
mod snapshot;
pub mod status;
mod wait;
mod watch_list;

pub use arg_class::{
    ANSWER, Answers, ArgClass, HIGH_DESCRIPTOR, LARGE_BLOCK, QUESTION, SMALL_OUTPUT, TINY_INPUT,
    VDSO_CLOCKS,
};
pub use backend::{Backend, NoEbpf, Stops};
pub use builder::{Answer, Builder, Limits, Question, QuestionId, Tally};
pub use errno::Errno;
pub use fact::{Fact, Facts};
pub use finding::{Change, Evidence, Finding, Remedy, RuleName, Safety, Setting, Stage};
pub use host::{Costs, Directory, Host, LocaleProbe, Mount, Spelling, SystemZone, ZoneFile};
pub use inheritance::{Above, Inheritance, LastChange, Link};
pub use intern::{Interner, StrId};
pub use libc::Libc;
pub use loss::Loss;
pub use process::{COMMAND_BYTES, Env, Exit, ProcId, Process, Runtime, Spawn, command_of};
pub use profile::{CallSite, Profile, Row, Target, Totals, Window};
pub use proof::{Counted, Measure, Outcome, Prediction, Proof, Quantity, Usage};
pub use provenance::{Assignment, Confidence, Location, Provenance, Step, Value, Visibility};
pub use query::{CallId, Query};
pub use quote::{brief, parser_message, quote, shorten};
pub use search_list::{EntryIndex, ListEntry, ListsInEnvironments, SearchList, without_entries};
pub use sequence::{AT_ONCE_NS, Descriptor, LARGEST_RESULT, Passed, Sequence};
pub use snapshot::{Compared, PROVEN_FALL, RowChange, Snapshot, changed_rows, compare};
pub use wait::{Wait, WaitsOn};
pub use watch_list::WatchList;
