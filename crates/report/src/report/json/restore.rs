//! A saved report as what it was made from, as far as formats for people look at it: they then print what they
//! printed when it was written.

mod finding;

use super::document::{
    PartKind, ReportAccount, ReportAmount, ReportDocument, ReportMost, ReportPart, ReportPlace,
    ReportSelection, ReportUnexplained, ReportWaits, SourceKind, UncheckedRule, WaitedFor,
};
use crate::breakdown::{Cause, Origin, Part};
use crate::json::{nanoseconds, of_micros, print};
use crate::report::{folded, html, pprof, speedscope};
use crate::saved::rule_name;
use crate::stacks::{Stacks, Weight};
use crate::{Details, Report, ReportFormat, Source, Style, window_text};
use finding::{blank, finding, suppressed};
use needless_model::{
    Backend, Errno, Fact, Facts, Finding, Loss, Profile, Proof, Query, Stage, Totals, WaitsOn,
    Window,
};
use needless_rules::{
    Account, Activity, Amount, FilePlace, Many, NotChecked, ProgramCpu, Selection, SlowMount, Unanswered,
    Unexplained, Verdict, WaitKind, Waits,
};
use std::io::{self, Write};

/// More processes or findings than any observation has: a file that says so is no report.
const MOST: u64 = 1 << 22;

/// A saved report, to be written again.
pub struct SavedReport {
    document: ReportDocument,
    profile: Profile,
    verdict: Verdict,
    source: Source,
    proof: Option<Proof>,
}

impl SavedReport {
    /// Writes it as it would have been written when it was made; `top` as [`Report::top`]. Pictures and stacks are made
    /// of its parts: of a large report, those with fewest calls are one part for each program.
    ///
    /// # Errors
    /// When `out` cannot be written to, or the format needs what a report does not keep.
    pub fn write(
        &self,
        out: &mut dyn Write,
        format: ReportFormat,
        (details, top): (Details, Option<usize>),
        style: Style,
    ) -> io::Result<()> {
        let report = &Report {
            profile: &self.profile,
            verdict: &self.verdict,
            source: self.source.clone(),
            top,
            details,
            command: &[],
            proof: self.proof.as_ref(),
            version: &self.document.needless_version,
        };
        match format {
            ReportFormat::Json => print(out, &self.document),
            ReportFormat::Html => html::with_parts(out, report, &self.parts()),
            ReportFormat::Folded => folded::with_stacks(out, self.stacks()?),
            ReportFormat::Speedscope => speedscope::with_stacks(out, report, self.stacks()?),
            ReportFormat::Pprof => pprof::with_stacks(out, report, self.stacks()?),
            ReportFormat::Profile => Err(io::Error::other(
                "a report keeps sums, and a profile is every row: choose --format profile when you observe",
            )),
            _ => crate::write(out, report, format, style),
        }
    }

    fn parts(&self) -> Vec<Part> {
        self.document.breakdown.iter().map(Part::from).collect()
    }

    /// # Errors
    /// When an older version wrote the report.
    fn stacks(&self) -> io::Result<Stacks> {
        if self.document.breakdown.is_empty() && self.document.account.calls > 0 {
            return Err(io::Error::other(
                "the version of needless that wrote the report did not keep where calls come from: observe again",
            ));
        }
        Ok(Stacks::of_parts(&self.parts()))
    }

    /// # Errors
    /// When the document says what no observation can have seen.
    pub(crate) fn of(document: ReportDocument) -> Result<SavedReport, String> {
        let of_suppressed = document.suppressed.iter().map(|one| one.processes);
        let below = document.below_threshold.findings;
        let exes = document.findings.iter().flat_map(|finding| &finding.exes);
        let of_findings = exes.map(|exe| exe.processes);
        if of_findings.chain(of_suppressed).chain([below]).fold(0, u64::saturating_add) > MOST {
            return Err("it counts more processes than there can be".into());
        }
        let mut profile = profile(&document);
        let source = source(&document);
        let verdict = verdict(&document, &mut profile);
        let proof = document.proof.clone().map(Proof::from);
        Ok(SavedReport { document, profile, verdict, source, proof })
    }
}

// For several reports together.
impl SavedReport {
    /// The length of the window in nanoseconds, more than 0; `None`: it is not one of `attach` or `host`.
    pub(crate) fn window_ns(&self) -> Option<u64> {
        let length =
            window_text::is_window(&self.source).then_some(self.profile.window.length_ns)?;
        length.filter(|ns| *ns > 0)
    }

    pub(crate) fn account(&self) -> &Account {
        &self.verdict.account
    }

    /// The calls of each finding of such a stage and what goes with them, with its rule.
    pub(crate) fn needless_by_rule(
        &self,
        is_wanted: impl Fn(Stage) -> bool,
    ) -> impl Iterator<Item = (String, u64)> {
        let wanted = move |finding: &&Finding| is_wanted(finding.stage);
        self.verdict.findings.iter().filter(wanted).map(|finding| {
            let besides = u64::try_from(finding.besides).unwrap_or(0);
            (finding.rule.to_string(), finding.needless + besides)
        })
    }

    /// Whether it is of the whole machine.
    pub(crate) fn is_of_host(&self) -> bool {
        matches!(self.source, Source::Host)
    }

    /// Whether every call was counted, and nothing was lost.
    pub(crate) fn is_complete(&self) -> bool {
        self.document.complete && self.document.lost.values().all(|lost| *lost == 0)
    }

    /// The version of needless that made it.
    pub(crate) fn version(&self) -> &str {
        &self.document.needless_version
    }
}

fn source(document: &ReportDocument) -> Source {
    let name = document.source.name.clone();
    match document.source.kind {
        SourceKind::Run => Source::Run(name),
        SourceKind::Read => Source::Log(name),
        SourceKind::Attach => Source::Attach(name),
        SourceKind::Host => Source::Host,
    }
}

fn profile(document: &ReportDocument) -> Profile {
    let unknown: Vec<Fact> = document.not_known.iter().filter_map(Option::from).collect();
    let known: Vec<Fact> = Fact::ALL.into_iter().filter(|fact| !unknown.contains(fact)).collect();
    let facts = Facts::of(&known);
    let totals = &document.totals;
    let loss = |name: &String| Loss::ALL.into_iter().find(|loss| loss.name() == name);
    Profile {
        backend: Backend::parse(&document.backend),
        facts: if document.complete { facts } else { facts.without(Fact::AllCalls) },
        window: Window { length_ns: document.window_s.map(nanoseconds) },
        totals: Totals {
            calls: totals.calls,
            path_calls: totals.path_calls,
            cpu_user_ns: totals.cpu_user_s.map(nanoseconds),
            cpu_sys_ns: totals.cpu_sys_s.map(nanoseconds),
            tracing_ns: totals.tracing_ns,
        },
        lost: document.lost.iter().filter_map(|(name, n)| Some((loss(name)?, *n))).collect(),
        notes: document.notes.clone(),
        ..Profile::default()
    }
}

fn verdict(document: &ReportDocument, profile: &mut Profile) -> Verdict {
    let sum = |findings: u64, calls: u64| -> Vec<Finding> {
        // Only their number and the sum of their calls are shown.
        let calls = std::iter::once(calls).chain(std::iter::repeat(0));
        calls.take(findings as usize).map(|needless| Finding { needless, ..blank() }).collect()
    };
    let below = &document.below_threshold;
    let mut verdict = Verdict {
        account: Account::from(&document.account),
        activity: activity(document),
        findings: document.findings.iter().map(|one| finding(one, profile)).collect(),
        below: sum(below.findings, below.calls),
        not_checked: document.not_checked.iter().map(NotChecked::from).collect(),
        selection: document
            .checked
            .as_ref()
            .map(|chosen| selection(chosen, document.not_checked.len())),
        suppressed: document.suppressed.iter().map(|one| suppressed(one, profile)).collect(),
        ..Verdict::default()
    };
    verdict.notices.clone_from(&document.notices);
    for (from, finding) in document.findings.iter().zip(&verdict.findings) {
        if let (Some(variable), Some(id)) = (finding.variable(), finding.processes.first())
            && let Some(ReportPlace { file, line, by_hand }) = from.place.clone()
        {
            let place = FilePlace { file, line, by_hand };
            verdict.places.insert((variable.to_owned(), *id), place);
        }
    }
    verdict
}

fn selection(chosen: &ReportSelection, not_checked: usize) -> Selection {
    Selection {
        only: chosen.only.clone(),
        ignored: chosen.ignored.clone(),
        wanted: (chosen.rules as usize).saturating_add(not_checked),
        all: chosen.of as usize,
    }
}

impl From<&ReportAccount> for Account {
    fn from(from: &ReportAccount) -> Account {
        let needless = Amount::from(&from.needless);
        let uncertain = Amount::from(&from.uncertain);
        Account {
            calls: from.calls,
            failed: from.failed,
            needless,
            uncertain: Amount { calls: uncertain.calls.min(needless.calls), ..uncertain },
            unexplained: (&from.unexplained).into(),
            estimated: from.estimated,
            lines: from.lines.iter().map(Unexplained::from).collect(),
            // The breakdown has them.
            shares: Vec::new(),
            claims: Vec::new(),
        }
    }
}

impl From<&ReportPart> for Part {
    fn from(from: &ReportPart) -> Part {
        let ReportPart { service, program, site, call, kind, rule, calls, kernel_us } = from;
        let cause = match kind {
            PartKind::Needed => Cause::Needed,
            PartKind::Needless => Cause::Needless(rule.clone().unwrap_or_default()),
            PartKind::Unexplained => Cause::Unexplained,
        };
        let [service, program, site, call] = [service, program, site, call].map(Clone::clone);
        let weight = Weight { calls: *calls, kernel_ns: kernel_us.map_or(0, of_micros) };
        Part { origin: Origin { service, program, site, call }, cause, weight }
    }
}

impl From<&ReportAmount> for Amount {
    fn from(from: &ReportAmount) -> Amount {
        let (kernel_ns, user_ns) = (from.kernel_us.map(of_micros), from.user_us.map(of_micros));
        Amount { calls: from.calls, kernel_ns, user_ns }
    }
}

impl From<&ReportUnexplained> for Unexplained {
    fn from(from: &ReportUnexplained) -> Unexplained {
        let query: Option<Query> = (&from.question).into();
        Unexplained {
            program: from.program.clone(),
            processes: from.processes,
            call: from.call.clone(),
            query: query.unwrap_or_else(|| Query::of(&from.call)),
            reason: match &from.error {
                Some(name) => Unanswered::Failed(Errno::of_name(name)),
                None if from.call == "sched_yield" => Unanswered::Spinning,
                None => Unanswered::Again,
            },
            amount: Amount {
                calls: from.calls,
                kernel_ns: from.kernel_us.map(of_micros),
                user_ns: None,
            },
            place: from.place.clone().zip(from.place_calls),
            site: from.site.clone(),
        }
    }
}

fn activity(document: &ReportDocument) -> Activity {
    let many = |number: u64, most: &Option<ReportMost>| {
        let ReportMost { program, number: of_program } = most.as_ref()?;
        Some(Many { number, program: program.clone(), of_program: *of_program })
    };
    Activity {
        processes: document.pids,
        services: document.services,
        waits: document.waiting.iter().map(Waits::from).collect(),
        slow_mount: document.slow_file_system.as_ref().map(|slow| SlowMount {
            at: slow.at.clone(),
            kind: slow.kind.clone(),
            calls: slow.calls,
            mean_ns: of_micros(slow.mean_us),
        }),
        programs: document
            .programs
            .iter()
            .map(|one| ProgramCpu {
                program: one.program.clone(),
                processes: one.processes,
                ns: nanoseconds(one.cpu_s),
                user_ns: one.cpu_user_s.map(nanoseconds),
            })
            .collect(),
        started: many(document.started, &document.most_started),
        connections: many(document.connections, &document.most_connections),
    }
}

impl From<&ReportWaits> for Waits {
    fn from(from: &ReportWaits) -> Waits {
        Waits {
            program: from.program.clone(),
            kind: WaitKind::from(&from.kind),
            call: from.call.clone(),
            error: from.error.as_deref().map(Errno::of_name),
            calls: from.calls,
            ns: of_micros(from.wait_us),
        }
    }
}

impl From<&WaitedFor> for WaitKind {
    fn from(from: &WaitedFor) -> WaitKind {
        match from {
            WaitedFor::Flush => WaitKind::Flush,
            WaitedFor::Connect => WaitKind::Connect,
            WaitedFor::Sleep => WaitKind::Sleep,
            WaitedFor::Events => WaitKind::Events,
            WaitedFor::Names => WaitKind::Names,
            WaitedFor::Threads => WaitKind::Threads,
            WaitedFor::Lock => WaitKind::Lock,
            WaitedFor::Children => WaitKind::Children,
            WaitedFor::ReadPipe => WaitKind::Read(WaitsOn::Pipe),
            WaitedFor::ReadTerminal => WaitKind::Read(WaitsOn::Terminal),
            WaitedFor::ReadSocket => WaitKind::Read(WaitsOn::Socket),
            WaitedFor::ReadFile => WaitKind::Read(WaitsOn::File),
            WaitedFor::Read => WaitKind::Read(WaitsOn::Unknown),
            WaitedFor::WritePipe => WaitKind::Write(WaitsOn::Pipe),
            WaitedFor::WriteTerminal => WaitKind::Write(WaitsOn::Terminal),
            WaitedFor::WriteSocket => WaitKind::Write(WaitsOn::Socket),
            WaitedFor::WriteFile => WaitKind::Write(WaitsOn::File),
            WaitedFor::Write => WaitKind::Write(WaitsOn::Unknown),
            WaitedFor::Path => WaitKind::Path,
            WaitedFor::Other => WaitKind::Other,
        }
    }
}

impl From<&UncheckedRule> for NotChecked {
    fn from(from: &UncheckedRule) -> NotChecked {
        let missing = from.needs.iter().filter_map(Option::from).collect();
        NotChecked { rule: rule_name(&from.rule), missing }
    }
}
