//! How far a window of observation or an experiment is, for somebody at a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use needless_observe::Who;
use needless_prove::{Arm, Step};
use std::time::Duration;

/// A line on standard error; nothing where that is no terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(who: &Who, length: Duration) -> Progress {
        let milliseconds = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        // Hides itself where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(Some(milliseconds), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("needless: {msg} [{bar:30}] {prefix}");
        // The template is a constant.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        let who = who.to_string();
        // What a person typed; not to be shown raw nonetheless.
        bar.set_message(format!("observing {}", who.escape_debug()));
        bar.set_prefix("Ctrl-C: report now");
        Progress(bar)
    }

    /// For what has steps, and no length known before.
    pub(crate) fn of_steps() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("needless: {msg} …");
        Progress(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    pub(crate) fn step(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.tick();
    }

    pub(crate) fn show(&self, so_far: Duration) {
        self.0.set_position(u64::try_from(so_far.as_millis()).unwrap_or(u64::MAX));
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// How far an experiment is.
pub(crate) struct Pairs {
    bar: ProgressBar,
    runs: Option<usize>,
    budget: Option<Duration>,
}

/// Of a bar that is full.
const FULL: u64 = 1000;

impl Pairs {
    pub(crate) fn new(runs: Option<usize>, budget: Option<Duration>) -> Pairs {
        let bar = ProgressBar::with_draw_target(Some(FULL), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("needless: {msg} [{bar:30}] {prefix}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Pairs { bar, runs, budget }
    }

    pub(crate) fn show(&self, step: Step) {
        match step {
            Step::Counting(Arm::Before) => self.bar.set_message("counting calls as it is"),
            Step::Counting(Arm::After) => self.bar.set_message("counting calls with the change"),
            Step::Warming => self.bar.set_message("warming up"),
            Step::Pairs(done, spent) => {
                let of = self.runs.map(|runs| done as f64 / runs.max(1) as f64);
                let budget = self.budget.map(|all| spent.as_secs_f64() / all.as_secs_f64());
                let part = of.unwrap_or(0.0).max(budget.unwrap_or(0.0)).min(1.0);
                self.bar.set_prefix("Ctrl-C: report now");
                self.bar.set_message(format!("{done} pairs measured"));
                self.bar.set_position((part * FULL as f64) as u64);
            }
        }
        self.bar.tick();
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
