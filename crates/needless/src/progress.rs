//! The progress of an observation or a proof, on one line of the terminal.

use needless_observe::Who;
use needless_prove::{ProveStep, Variant};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Columns of the bar.
const BAR: usize = 30;
/// The least time from one version of the line to the next.
const PAUSE: Duration = Duration::from_millis(50);

/// A line on standard error; nothing where that is not a terminal.
struct Line {
    terminal: bool,
    shown: Option<Instant>,
}

impl Line {
    fn new() -> Line {
        let plain = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Line { terminal: std::io::stderr().is_terminal() && !plain, shown: None }
    }

    /// Replaces the line. `done`: which part of the whole is done; `None` where that is not known yet.
    fn show(&mut self, what: &str, done: Option<f64>) {
        let early = self.shown.is_some_and(|shown| shown.elapsed() < PAUSE);
        if !self.terminal || (early && done.is_some()) {
            return;
        }
        self.shown = Some(Instant::now());
        let bar = "=".repeat((done.unwrap_or(0.0).clamp(0.0, 1.0) * BAR as f64) as usize) + ">";
        let hint = done.map_or("", |_| " Ctrl-C: report now");
        let text = format!("needless: {what} [{bar:BAR$.BAR$}]{hint}");
        // A line that the terminal wraps cannot be erased.
        let columns = terminal_size::terminal_size().map_or(80, |(width, _)| width.0.max(1));
        let text: String = text.chars().take(usize::from(columns) - 1).collect();
        self.write(&text);
    }

    /// A terminal that is gone is no reason to stop.
    fn write(&self, text: &str) {
        // Back to the first column, and erase to the end of the line (ECMA-48).
        let _ = std::io::stderr().write_all(format!("\r\x1b[K{text}").as_bytes());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown.is_some() {
            self.write("");
        }
    }
}

/// The progress of an observation. Dropped, it disappears.
pub(crate) struct Progress {
    line: Line,
    what: String,
    length: Duration,
}

impl Progress {
    pub(crate) fn new(who: &Who, length: Duration) -> Progress {
        // Escaped, though the user typed it.
        let what = format!("observing {}", who.to_string().escape_debug());
        Progress { line: Line::new(), what, length }
    }

    pub(crate) fn show(&mut self, so_far: Duration) {
        self.line.show(&self.what, Some(so_far.as_secs_f64() / self.length.as_secs_f64()));
    }
}

/// The progress of a proof. Dropped, it disappears.
pub(crate) struct Pairs {
    line: Line,
    runs: Option<usize>,
    budget: Option<Duration>,
}

impl Pairs {
    pub(crate) fn new(runs: Option<usize>, budget: Option<Duration>) -> Pairs {
        Pairs { line: Line::new(), runs, budget }
    }

    pub(crate) fn show(&mut self, step: ProveStep) {
        match step {
            ProveStep::Counting(Variant::Before) => {
                self.line.show("counting calls without the change", None)
            }
            ProveStep::Counting(Variant::After) => {
                self.line.show("counting calls with the change", None)
            }
            ProveStep::Warming => self.line.show("warming up", None),
            ProveStep::Pairs(done, spent) => {
                let of = self.runs.map(|runs| done as f64 / runs.max(1) as f64);
                let budget = self.budget.map(|all| spent.as_secs_f64() / all.as_secs_f64());
                let part = of.unwrap_or(0.0).max(budget.unwrap_or(0.0));
                self.line.show(&format!("{done} pairs measured"), Some(part));
            }
        }
    }
}
