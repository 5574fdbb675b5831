//! Pushes the numbers to a collector after each window, and says when that begins to fail and when it works again.

use super::outage::Outage;
use anyhow::{Context, Result, anyhow};
use needless_fleet::{AgentWindow, Metrics, Own, Push, Receiver};
use rustix::thread::clear_ambient_capability_set;

pub(super) struct Pushing {
    push: Push,
    /// Since when counters count, microseconds since 1970.
    start_us: i64,
    outage: Outage,
}

impl Pushing {
    /// # Errors
    /// When the headers of the environment cannot be read, or a capability cannot be kept from curl.
    pub(super) fn start(receiver: &Receiver, start_us: i64) -> Result<Pushing> {
        let headers = std::env::var(Receiver::HEADERS).unwrap_or_default();
        let receiver = receiver.clone().with_headers(&headers).map_err(|why| anyhow!(why))?;
        // A service gives its capabilities to what it starts by this set: capabilities(7).
        clear_ambient_capability_set().context("cannot keep capabilities from curl")?;
        Ok(Pushing { push: Push::new(receiver), start_us, outage: Outage::default() })
    }

    /// Sends the numbers, and does not wait for the answer: that is looked at after the next window.
    pub(super) fn send(&mut self, metrics: &Metrics, own: &Own, window: &AgentWindow) {
        if let Some(ended) = self.push.ended() {
            self.say(ended);
        }
        let sent = self.push.send(&metrics.otlp(own, window, self.start_us, window.end_us));
        if sent.is_err() {
            self.say(sent);
        }
    }

    /// Sends them for the last time, and waits for the answer.
    pub(super) fn last(&mut self, metrics: &Metrics, own: &Own, window: &AgentWindow) {
        let sent = self.push.last(&metrics.otlp(own, window, self.start_us, window.end_us));
        self.say(sent);
    }

    fn say(&mut self, ended: Result<(), String>) {
        let url = self.push.receiver().url();
        self.outage.note(
            ended,
            |why| format!("metrics were not pushed to {url}: {why}; each window tries again"),
            |failed| {
                format!(
                    "metrics are pushed again, with all counts so far; {failed} pushes had failed"
                )
            },
        );
    }
}
