//! The rules, which say what is needless: one file per rule, pure functions from a profile to
//! findings.
//!
//! A rule's file is its page, its tests and its code: the `//!` comment at its head is what
//! `needless explain` prints, and each `trace` block there with the `finding` block after it runs
//! as a test (the notation is described in `notation.rs` of `strace-log`).
//!
//! Users declare rules of their own as data ([`Declared`]); these are checked first.
//!
//! # When a finding is shown
//!
//! A finding counts only if its change is worth making. It is shown if all of this holds; otherwise
//! it is listed among those below the threshold:
//!
//! * at least 6 calls could go;
//! * they are at least [`CheckOptions::min_saving_percent`] percent (1 by default) of the calls that
//!   name a path; not of all calls, so that every backend judges alike. Where CPU time is known,
//!   calls that take 1 ms and 0.5 % of it need no such share;
//! * where CPU time is known and the time of the calls is measured or calibrated: that time
//!   is at least a hundredth of this percentage of the CPU time (0.01 % by default). A program
//!   that computes for an hour is not made faster by saving ten calls.
//!
//! If each service is judged by itself ([`check_by_service`]), the calls and the CPU time are those
//! of the service.
//!
//! A cost worth fixing in a loop is not worth reporting once at start-up. For what each start of a healthy program does
//! in an ordinary environment (a spelling of its locale), the threshold is higher: 100 calls, and a tenth of a percent
//! of the CPU time or, if that is not known, two percent of the calls.
//!
//! If a compiled program between the command and the process set the variable, and neither an
//! argument nor a configuration known here makes it do so, the remedy would be in that program's
//! source. Such a finding is shown only on demand ([`CheckOptions::pedantic`], or the rule by its
//! name); otherwise a notice says how many calls it is, and why.
//!
//! A percentage of 0 shows everything. Rules that warn of wrong results (times in the wrong zone)
//! are shown however few calls they are about.
//!
//! # What is small
//!
//! The threshold above is about calls, so that the same findings come from every backend and every
//! run: other tools, baselines and gates rely on that. Whether a person needs to read about a
//! finding is a question of time, and is answered afterwards, in one place ([`Scale`]): a remedy
//! is small if all that it saves ([`by_remedy`]) is less than 1 ms and less than 0.5 % of the CPU
//! time of a command, or less than 0.1 % of a core in a window. It has to be below both limits: a
//! short run has little CPU time, so that a few calls can be a part of it; a long one hides a millisecond.
//! Where CPU time is not known (ptrace distorts it, a log has none), one tenth of the calls that name a path stands for
//! 0.5 % of it. Small findings stay findings; a report gives them a line each at its end. A remedy against wrong
//! results is never small. Unexplained calls are measured on the same scale.

mod engine;
mod lists;
mod mechanism;
mod pages;
mod policy;
mod rule;
pub mod text;

#[cfg(test)]
mod tests;

pub use engine::*;
pub use pages::*;
pub use policy::*;
pub use rule::{RULES, Rule, by_name, watched_variables};
