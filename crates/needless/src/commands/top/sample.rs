//! What one window says, as far as the list needs it.

use needless_model::{Finding, Profile};
use needless_report::{Source, change};
use needless_rules::{Account, CheckOptions, Unexplained, Verdict};
use std::rc::Rc;

/// What a call costs where that is not known, nanoseconds: about as much as a stat.
const CALL_NS: u64 = 1000;

/// One window.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) length_ns: u64,
    /// Processes that did something.
    pub(super) processes: u64,
    /// CPU time of these.
    pub(super) cpu_ns: u64,
    pub(super) calls: u64,
    pub(super) needless: u64,
    pub(super) unexplained: u64,
    pub(super) unjudged: u64,
    /// What was not seen.
    pub(super) lost: u64,
    /// CPU time that needless itself has spent since the window before.
    pub(super) own_ns: u64,
    pub(super) items: Vec<Item>,
}

/// A finding, or what no rule explains of one program.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) service: Option<String>,
    /// Of the process with most of the calls.
    pub(super) program: String,
    /// The processes, that one first; empty where they are not known.
    pub(super) pids: Vec<u32>,
    pub(super) calls: u64,
    pub(super) ns: u64,
    pub(super) cause: Cause,
}

/// Why the calls are listed.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    Finding(Rc<Finding>),
    Unexplained(Box<Unexplained>),
}

impl Cause {
    /// What to do, in a line; for calls that no rule explains, that.
    pub(super) fn words(&self) -> String {
        match self {
            Cause::Unexplained(_) => "not explained".to_owned(),
            Cause::Finding(finding) => match finding.remedies.first() {
                Some(remedy) => change(&remedy.change),
                None => format!("{}: no remedy known", finding.rule),
            },
        }
    }
}

impl Sample {
    /// Judges a window as `host` does. `own_ns`: as the field.
    pub(super) fn of(
        profile: &Profile,
        (verdict, accounts): (&Verdict, Vec<(Option<String>, Account)>),
        own_ns: u64,
    ) -> Sample {
        let scale = Source::Host.scale(profile);
        let found = verdict.findings.iter().map(|finding| {
            let saves = scale.saves(&[finding]);
            let first = profile.process(finding.processes[0]);
            Item {
                service: finding.service.clone(),
                program: first.title(),
                pids: finding.processes.iter().map(|id| profile.process(*id).pid).collect(),
                calls: saves.calls,
                ns: saves.time_ns().unwrap_or(saves.calls.saturating_mul(CALL_NS)),
                cause: Cause::Finding(Rc::new(finding.clone())),
            }
        });
        let unexplained = accounts.into_iter().flat_map(|(service, account)| {
            account.lines.into_iter().map(move |line| Item {
                service: service.clone(),
                program: line.program.clone(),
                pids: Vec::new(),
                calls: line.amount.calls,
                ns: line.amount.time_ns().unwrap_or(line.amount.calls.saturating_mul(CALL_NS)),
                cause: Cause::Unexplained(Box::new(line)),
            })
        });
        let account = &verdict.account;
        Sample {
            length_ns: profile.window.length_ns.unwrap_or(0),
            processes: profile.processes.iter().filter(|process| process.pid != 0).count() as u64,
            cpu_ns: profile.processes.iter().filter_map(|process| process.cpu_ns).sum(),
            calls: account.calls,
            needless: account.needless.calls,
            unexplained: account.unexplained.calls,
            unjudged: account.unjudged.calls,
            lost: profile.lost.values().sum(),
            own_ns,
            items: found.chain(unexplained).collect(),
        }
    }
}

/// The rules as they are checked for a list that nobody asked questions about.
pub(super) fn options(context: &crate::context::Context) -> CheckOptions {
    CheckOptions { declared: context.settings.rules.clone(), ..CheckOptions::default() }
}
