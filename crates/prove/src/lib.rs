//! Measures a change: the same command with and without it.
//!
//! Counts first, since they are exact: each arm is run under the tracer, for its calls only. Then
//! pairs of untraced runs, one of each arm in random order, each with a variable of random length in
//! its environment ([`PADDING`]). What is told of them is the median of the differences in the pairs,
//! with a 95 % interval. A program that behaves otherwise with the change ends everything: nothing is
//! proven of it.

mod arms;
mod ask;
mod experiment;
mod judge;
mod output;
mod random;
mod run;
mod stats;

pub use arms::{Arm, PADDING, can_make};
pub use ask::ask;
pub use experiment::{Experiment, ProveOptions, Step, prove};
pub use random::Random;
pub use stats::{interval, median, outliers, spread};
