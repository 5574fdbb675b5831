//! `agent`: observes the host in one window after the other, for whoever looks at many hosts.
//!
//! It has one thread, because capabilities belong to threads. Scrapes are answered between two looks at the kernel's
//! messages, from sums that are in memory: the agent never waits for a client.

mod clock;
mod governor;
mod http;
mod identity;
mod outage;
mod service;
mod written;

use crate::cli::{AgentArgs, Cli, LogFormat};
use crate::context::Context;
use crate::settings::Settings;
use crate::{exit, output};
use anyhow::{Context as _, Result, anyhow, bail};
use clock::Moment;
use governor::{Governor, Plan};
use http::Server;
use needless_fleet::{AgentWindow, Keep, Metrics, Ring, Rows};
use needless_model::Exit;
use needless_observe::{
    Asked, ObserveOptions, Rights, Who, Windows, return_free_memory, without_capabilities,
};
use needless_rules::{CheckOptions, Declared};
use outage::Outage;
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

pub(crate) fn agent(args: &AgentArgs, cli: &Cli, context: &Context) -> Result<Exit> {
    if args.log_format == LogFormat::Json {
        output::as_json();
    }
    let labels = labels(args)?;
    let host = args.host.clone().map_or_else(identity::host, Ok)?;
    let keep = Keep { bytes: args.keep_bytes, age: args.keep_days };
    // It is written to when capabilities are given up.
    let ring = without_capabilities(|| Ring::open(&args.dir, keep))
        .context("cannot give up capabilities")?
        .map_err(|why| anyhow!("{why}; name a --dir of this agent alone, which this user can write, in a directory that is there"))?;
    let mut server = args.listen.map(Server::open).transpose()?;
    let window =
        AgentWindow { host, labels, version: crate::VERSION.to_owned(), ..AgentWindow::default() };
    let mut agent = Agent::start(args, context, ring, window)?;
    agent.begin()?;
    agent.publish();
    service::watch(args.every);
    service::notify("READY=1");
    loop {
        let readable: Vec<BorrowedFd<'_>> = server.iter().flat_map(Server::readable).collect();
        let asked = agent.windows.wait(&readable)?;
        if let Some(server) = &mut server {
            let own = agent.own();
            if server.serve(|format| agent.metrics.text(&own, format)) {
                agent.metrics.were_read();
            }
        }
        // Before the window is taken: what is looked up then may last.
        let end = Moment::now();
        match asked {
            Some(Asked::End) => {
                service::notify("STOPPING=1");
                agent.end(end)?;
                return Ok(exit::DONE);
            }
            Some(Asked::HangUp) => agent.reload(Settings::load(cli, &context.user)),
            Some(Asked::Stop) => kill_process(getpid(), Signal::STOP).context("cannot stop")?,
            Some(Asked::Resumed) | None => {}
        }
        if agent.step(end)? {
            return_free_memory();
        }
    }
}

/// The labels of the command line, in order, as the files have them.
fn labels(args: &AgentArgs) -> Result<String> {
    let mut keys: Vec<&String> = args.labels.iter().map(|(key, _)| key).collect();
    keys.sort();
    if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("--label {}=… is given twice; give it once", twice[0]);
    }
    let mut labels: Vec<String> = args.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    labels.sort();
    Ok(labels.join(","))
}

struct Agent {
    /// Rules of needless.toml.
    rules: Arc<[Declared]>,
    /// What needless.toml says from the next window on.
    reloaded: Option<Settings>,
    reload: Reload,
    ring: Ring,
    writing: Outage,
    /// Of the oldest windows, where the file system is full.
    giving_way: Outage,
    /// The last window; at first, an empty one that ends when the observation begins.
    window: AgentWindow,
    /// When it ended.
    ended: Moment,
    metrics: Metrics,
    textfile: Option<PathBuf>,
    publishing: Outage,
    windows: Windows,
    /// The length of a window.
    every: Duration,
    governor: Governor,
    /// Of the present window.
    plan: Plan,
    /// When the present period began.
    begun: Instant,
    /// How long the periods of the present window before it were, in which nothing was observed.
    rested: Duration,
    /// What had been spent by then.
    spent: Duration,
    /// The part of the last window that was observed.
    duty: f64,
    /// What was observed in the present window.
    judged: Option<Judged>,
    /// Whether the journal of changes could not be read, and that was said.
    lacks_journal: bool,
    /// Whether it was said that the limit cannot be kept.
    has_warned: bool,
}

/// How reading the configuration went.
struct Reload {
    /// The last time.
    is_good: bool,
    /// When it last was good.
    at: SystemTime,
}

struct Judged {
    rows: Rows,
    observed: Duration,
    /// CPU time that the window had taken when its observation ended.
    observing: Duration,
}

impl Agent {
    /// Begins to observe. `window` says of which host the windows are.
    fn start(
        args: &AgentArgs,
        context: &Context,
        ring: Ring,
        window: AgentWindow,
    ) -> Result<Agent> {
        let options = ObserveOptions {
            watch: context.settings.watched.clone(),
            // needless.toml is read again as the user who ran sudo.
            rights: Rights::for_report(context.user.is_other(), false),
            above: Some(needless_environment::look_above),
            ..ObserveOptions::default()
        };
        let windows = Windows::start(&Who::Everyone, args.every, options)?;
        let start = Moment::now();
        let window = AgentWindow { facts: identity::facts(), end_us: start.us, ..window };
        // What the start has taken is paid back by the first windows.
        let spent = cpu_time() + windows.run_time();
        Ok(Agent {
            rules: context.settings.rules.clone(),
            reloaded: None,
            reload: Reload { is_good: true, at: SystemTime::now() },
            ring,
            writing: Outage::default(),
            giving_way: Outage::patient(),
            window,
            ended: start,
            metrics: Metrics::new(crate::VERSION),
            textfile: args.textfile.clone(),
            publishing: Outage::patient(),
            windows,
            every: args.every,
            governor: Governor::new(args.cpu_limit.0, args.every, spent),
            plan: Plan::Always,
            begun: Instant::now(),
            rested: Duration::ZERO,
            spent,
            duty: 0.0,
            judged: None,
            lacks_journal: false,
            has_warned: false,
        })
    }

    /// Takes a new configuration from the next window on; keeps the old one if the new one is wrong.
    fn reload(&mut self, settings: Result<Settings>) {
        service::notify("RELOADING=1");
        match settings {
            Ok(settings) => {
                output::inform(
                    "the configuration was read again, and holds from the next window on",
                );
                self.reloaded = Some(settings);
                self.reload = Reload { is_good: true, at: SystemTime::now() };
            }
            Err(why) => {
                output::warn(format_args!("{why:#}; the configuration stays as it was"));
                self.reload.is_good = false;
            }
        }
        self.publish();
        service::notify("READY=1");
    }

    /// Begins a period, which is a window or the next part of one.
    fn begin(&mut self) -> Result<()> {
        if let Some(settings) = self.reloaded.take() {
            // Each process is then looked up again, with the variables of the new rules.
            if !self.windows.is_paused() {
                self.windows.pause()?;
            }
            self.windows.watch(settings.watched);
            self.rules = settings.rules;
        }
        // Where the observation is in it has to do with nothing that programs do.
        let random = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
        self.plan = self.governor.plan(random);
        match self.plan {
            Plan::Always => {
                if self.windows.is_paused() {
                    self.windows.resume()?;
                }
                self.windows.go_on_for(self.every);
            }
            Plan::Part { after: until, .. } | Plan::Rest(until) => {
                if !self.windows.is_paused() {
                    self.windows.pause()?;
                }
                self.windows.go_on_for(until);
            }
        }
        self.begun = Instant::now();
        service::notify("WATCHDOG=1");
        Ok(())
    }

    /// Does what is due, and returns whether a window has ended.
    fn step(&mut self, end: Moment) -> Result<bool> {
        let due = self.windows.is_due();
        match self.plan {
            Plan::Rest(_) => {
                if due {
                    self.rested += self.begun.elapsed();
                    self.begin()?;
                }
                return Ok(false);
            }
            Plan::Always if due => self.judge(false)?,
            // What runs has changed: a break follows.
            Plan::Always if self.is_too_much() => {
                self.plan = Plan::Part { after: Duration::ZERO, length: self.every };
                return self.step(end);
            }
            Plan::Always => return Ok(false),
            Plan::Part { length, .. } if self.windows.is_paused() => {
                if !due || self.judged.is_none() {
                    if due {
                        self.windows.resume()?;
                        self.windows.go_on_for(length);
                    }
                    return Ok(false);
                }
            }
            Plan::Part { .. } => {
                if due || self.is_too_much() {
                    self.judge(false)?;
                    self.windows.go_on_for(self.every.saturating_sub(self.begun.elapsed()));
                }
                return Ok(false);
            }
        }
        self.write(end);
        self.begin()?;
        Ok(true)
    }

    /// Ends the present window early. One in which nothing was observed leaves no file.
    fn end(&mut self, end: Moment) -> Result<()> {
        if self.judged.is_none() && !self.windows.is_paused() {
            self.judge(true)?;
        }
        self.write(end);
        Ok(())
    }

    fn is_too_much(&self) -> bool {
        self.governor.is_too_much(self.cost(), self.windows.lasted())
    }

    /// CPU time that the present window has taken.
    fn cost(&self) -> Duration {
        self.spent_so_far().saturating_sub(self.spent)
    }

    /// Judges what was observed. What is counted while the `last` window is read would be in none.
    fn judge(&mut self, last: bool) -> Result<()> {
        let observing = self.cost();
        let profile = match self.plan {
            Plan::Always if !last => self.windows.cut()?,
            _ => self.windows.pause()?,
        };
        let options = CheckOptions { declared: self.rules.clone(), ..CheckOptions::default() };
        let (_, accounts) = needless_rules::check_with_accounts(&profile, &options);
        let observed = Duration::from_nanos(profile.window.length_ns.unwrap_or(0));
        self.judged = Some(Judged { rows: Rows::of(&profile, &accounts), observed, observing });
        Ok(())
    }

    /// CPU time that the agent and its programs in the kernel have taken since the start.
    fn spent_so_far(&self) -> Duration {
        cpu_time() + self.windows.run_time()
    }
}

/// CPU time of this process, in user mode and in the kernel.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
