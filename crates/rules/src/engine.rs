//! What judges: a profile as rules read it ([`View`]), where they leave what they find ([`Sink`]), and from that the
//! verdict. No file here is about one kind of needless work, but for `rederive.rs`, which asks the rule of a report again.

mod account;
mod activity;
mod amount;
mod by_service;
mod declared;
pub(crate) mod details;
mod glob;
pub(crate) mod helpers;
mod known;
pub(crate) mod launchers;
mod merged;
mod placement;
mod rederive;
mod sink;
mod size;
mod spent;
mod unexplained;
mod unjudged;
mod unprivileged;
mod verdict;
mod view;
mod waiting;

pub use account::{Account, Claim, Fate, Share};
pub use activity::Activity;
pub use amount::Amount;
pub use by_service::{check_by_service, check_with_accounts};
pub use declared::{CallPattern, Declared, Example, Needless, OutcomePattern, VariablePattern};
pub use glob::Glob;
pub(crate) use merged::{Case, Merged, PathPattern, merge, merge_by, merge_shared};
pub use rederive::{can_advise, rederive};
pub use sink::Sink;
pub(crate) use sink::Threshold;
pub use size::{Priced, Scale, by_remedy};
pub use spent::{Many, ProgramCpu, connections, cpu_by_program, started};
pub(crate) use unexplained::is_an_answer;
pub use unexplained::{Site, Unanswered, Unexplained};
pub use unjudged::{Busy, Unjudged};
pub use verdict::{CheckOptions, FilePlace, NotChecked, Selection, Suppressed, Verdict, check};
pub(crate) use verdict::{kernel_time, scale};
pub use view::View;
pub(crate) use waiting::is_made_to_wait;
pub use waiting::{SlowMount, WaitKind, Waits, slow_mount, waits};
