//! `agent`: observes the host in one window after the other, for whoever looks at many hosts.

mod http;
mod identity;
mod service;

use crate::cli::AgentArgs;
use crate::context::Context;
use crate::{exit, output};
use anyhow::{Context as _, Result, anyhow};
use http::Server;
use needless_fleet::{AgentWindow, Exposition, Keep, Metrics, Own, Ring, Rows, parquet};
use needless_model::{Exit, Profile};
use needless_observe::{Asked, ObserveOptions, Rights, Who, Windows, without_capabilities};
use needless_rules::CheckOptions;
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn agent(args: &AgentArgs, context: &Context) -> Result<Exit> {
    let host = args.host.clone().map_or_else(identity::host, Ok)?;
    let mut labels: Vec<String> = args.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    labels.sort();
    let keep = Keep { bytes: args.keep_bytes, age: args.keep_days };
    // It is written to when capabilities are given up.
    let ring = without_capabilities(|| Ring::open(&args.dir, keep))
        .context("cannot give up capabilities")?
        .map_err(|why| anyhow!("{why}; choose another --dir, or make it this user's"))?;
    let mut server = args.listen.map(Server::open).transpose()?;
    let options = ObserveOptions {
        watch: context.settings.watched.clone(),
        rights: Rights::for_report(false, false),
        above: Some(needless_environment::look_above),
        ..ObserveOptions::default()
    };
    let mut windows = Windows::start(&Who::Everyone, args.every, options)?;
    let window = AgentWindow {
        host,
        labels: labels.join(","),
        sample_scale: 1.0,
        version: crate::VERSION.to_owned(),
        facts: identity::facts(),
        ..AgentWindow::default()
    };
    let mut agent = Agent {
        context,
        ring,
        window: AgentWindow { end_us: now_us(), ..window },
        metrics: Metrics::new(crate::VERSION),
        textfile: args.textfile.clone(),
    };
    agent.publish();
    service::notify("READY=1");
    loop {
        let readable: Vec<BorrowedFd<'_>> = server.iter().flat_map(Server::readable).collect();
        let asked = windows.wait(&readable)?;
        if let Some(server) = &mut server {
            let own = agent.own();
            server.serve(|format| agent.metrics.text(&own, format));
        }
        // Before the window is taken: what is looked up then may last.
        let end_us = now_us();
        match asked {
            Some(Asked::End) => {
                service::notify("STOPPING=1");
                agent.take(&windows.cut()?, end_us);
                return Ok(exit::DONE);
            }
            Some(Asked::Stop) => kill_process(getpid(), Signal::STOP).context("cannot stop")?,
            Some(Asked::Resumed) | None => {}
        }
        if let Some(profile) = windows.take()? {
            agent.take(&profile, end_us);
            service::notify("WATCHDOG=1");
        }
    }
}

struct Agent<'a> {
    context: &'a Context,
    ring: Ring,
    /// The last window; at first, an empty one that ends when the observation begins.
    window: AgentWindow,
    metrics: Metrics,
    textfile: Option<PathBuf>,
}

impl Agent<'_> {
    /// Judges a window and writes it. What cannot be written is lost, and counted: the next window may find room.
    fn take(&mut self, profile: &Profile, end_us: i64) {
        let options = CheckOptions {
            declared: self.context.settings.rules.clone(),
            ..CheckOptions::default()
        };
        let (_, accounts) = needless_rules::check_with_accounts(profile, &options);
        let rows = Rows::of(profile, &accounts);
        self.window = next(&self.window, profile.window.length_ns.unwrap_or(0), end_us);
        let bytes = parquet(&self.window, &rows.rows).map_err(anyhow::Error::from);
        let written = bytes.and_then(|bytes| Ok(self.ring.add(&self.window, &bytes)?));
        if let Err(why) = &written {
            output::warn(format_args!("{why:#}; this window is lost"));
        }
        self.metrics.add(&rows, self.window.end_us, written.is_ok());
        self.publish();
    }

    fn publish(&self) {
        let Some(file) = &self.textfile else { return };
        let text = self.metrics.text(&self.own(), Exposition::Text);
        if let Err(why) = output::landing::replace(file, text.as_bytes()) {
            output::warn(format_args!("{why:#}; the next window tries again"));
        }
    }

    fn own(&self) -> Own {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Own {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            resident_bytes: identity::resident_bytes(),
            ring_bytes: self.ring.bytes(),
        }
    }
}

/// The window after `last`. It begins where that ended, unless the clock was set in between: then the length decides.
fn next(last: &AgentWindow, length_ns: u64, end_us: i64) -> AgentWindow {
    const STEP_US: i64 = 1_000_000;
    let start_us = end_us - i64::try_from(length_ns / 1000).unwrap_or(i64::MAX);
    let follows = (start_us - last.end_us).abs() < STEP_US && last.end_us < end_us;
    let start_us = if follows { last.end_us } else { start_us };
    AgentWindow { start_us, end_us, ..last.clone() }
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_each_other_unless_the_clock_was_set() {
        let second = 1_000_000;
        let last = AgentWindow { start_us: 0, end_us: 10 * second, ..AgentWindow::default() };
        let bounds = |now| {
            let next = next(&last, 5_000_000_000, now);
            (next.start_us, next.end_us)
        };
        assert_eq!(bounds(15 * second + 300), (10 * second, 15 * second + 300));
        assert_eq!(bounds(3615 * second), (3610 * second, 3615 * second));
        assert_eq!(bounds(-3585 * second), (-3590 * second, -3585 * second));
    }
}
