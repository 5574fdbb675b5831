//! Measures a change: the same command with and without it.
//!
//! Counts come first, since they are exact: each variant is run under the tracer, for its calls only. Then come
//! pairs of untraced runs, one of each variant in random order, each with a variable of random length in its
//! environment ([`PADDING`]). The result is the median of the differences in the pairs, with a 95 % interval. If
//! the program behaves differently with the change, the measurement ends, and nothing is proven.

mod answer;
mod error;
mod experiment;
mod judge;
mod output;
mod predict;
mod random;
mod repeated;
mod run;
mod service;
mod stats;
mod variants;

use answer::answer;
pub use error::ProveError;
pub use experiment::{ProveOptions, ProveStep, prove};
pub use predict::{first_changes, mark_proven, one_for_each_variable};
pub use random::Random;
pub use repeated::Repeated;
pub use service::{ServiceWindow, observe_service};
pub use stats::{interval, median, outliers, spread};
pub use variants::{PADDING, Variant, can_make};
