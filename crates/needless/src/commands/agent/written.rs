//! What an agent leaves: windows in its ring, and metrics.

use super::clock::{Moment, next};
use super::governor::{Plan, Spent};
use super::{Agent, Judged, cpu_time, identity};
use crate::output;
use needless_environment::Journal;
use needless_fleet::{Exposition, Own, Rows, parquet};
use std::time::{SystemTime, UNIX_EPOCH};

impl Agent {
    /// Writes the present window, and learns what it has cost.
    pub(super) fn write(&mut self, end: Moment) {
        let Some(Judged { mut rows, observed, observing }) = self.judged.take() else { return };
        self.note_applied(&mut rows);
        let lasted = match self.plan {
            Plan::Always => observed,
            Plan::Part { .. } | Plan::Rest(_) => self.begun.elapsed().max(observed),
        };
        let lasted = lasted + std::mem::take(&mut self.rested);
        self.duty = observed.as_secs_f64() / lasted.as_secs_f64().max(1e-9);
        let (window, step) = next(&self.window, self.ended, end);
        (self.window, self.ended) = (window, end);
        if let Some(step) = step {
            output::warn(format_args!("{step}; its length is right, and it ends by the new clock"));
        }
        self.window.sample_scale = 1.0 / self.duty.max(1e-9);
        let lost = self.add_to_ring(&rows);
        self.metrics.add(&rows, &self.window, lost);
        self.publish();
        // What is spent from here on is the next window's.
        let cost = self.cost();
        self.spent += cost;
        let too_much = self.governor.learn(&Spent { lasted, observed, cost, observing });
        if let (Some(part), false) = (too_much, self.has_warned) {
            self.has_warned = true;
            output::warn(format_args!(
                "the last windows took {:.2} % of a processor, more than --cpu-limit: what each window costs by itself \
                 is too much; choose longer windows with --every, or a higher limit",
                part * 100.0
            ));
        }
    }

    /// Writes the window to the ring, and returns how many windows are lost: this one where it cannot be written, older
    /// ones where a full file system has no room for both.
    fn add_to_ring(&mut self, rows: &Rows) -> u64 {
        let before = self.ring.gave_way();
        self.ring.give_name(&mut self.window);
        let bytes = parquet(&self.window, &rows.rows).map_err(anyhow::Error::from);
        let written = bytes.and_then(|bytes| Ok(self.ring.add(&self.window, &bytes)?));
        let gave_way = self.ring.gave_way() - before;
        let lost = gave_way + u64::from(written.is_err());
        let dir = self.ring.path().display();
        // The next window may find room.
        self.writing.note(
            written,
            |why| format!("{why:#}; windows are lost, and counted, until it can be written to"),
            |lost| format!("windows are written to {dir} again; {lost} were lost"),
        );
        self.giving_way.note(
            if gave_way > 0 { Err(()) } else { Ok(()) },
            |()| {
                format!(
                    "there is no room at {dir}: its oldest windows give way, before --keep-bytes says so; make room, or \
                     set --keep-bytes lower"
                )
            },
            |_| format!("there is room at {dir} again"),
        );
        lost
    }

    /// Adds what `needless fix` has changed on this host. Where its journal cannot be read, that is said once.
    fn note_applied(&mut self, rows: &mut Rows) {
        match Journal::applied_to_units() {
            Ok(changes) => rows.note_applied(&changes),
            Err(_) if self.lacks_journal => {}
            Err(why) => {
                output::warn(format_args!("{why}; the rows lack which changes were applied"));
                self.lacks_journal = true;
            }
        }
    }

    pub(super) fn publish(&mut self) {
        let Some(file) = &self.textfile else { return };
        let text = self.metrics.text(&self.own(), Exposition::Text);
        self.publishing.note(
            output::landing::replace(file, text.as_bytes()),
            |why| format!("{why:#}; each window tries again"),
            |_| format!("{} is written again", file.display()),
        );
    }

    pub(super) fn own(&self) -> Own {
        Own {
            cpu_seconds: cpu_time().as_secs_f64(),
            bpf_seconds: self.windows.run_time().as_secs_f64(),
            duty: self.duty,
            is_configured: self.reload.is_good,
            configured_seconds: seconds_since_1970(self.reload.at),
            resident_bytes: identity::resident_bytes(),
            ring_bytes: self.ring.bytes(),
        }
    }
}

fn seconds_since_1970(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
