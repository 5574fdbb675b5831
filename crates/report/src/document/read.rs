//! What formats and commands ask a report, whether it was made here or read from a file.

use super::*;
use crate::text::escape;
use needless_model::{Backend, Change, Errno, Fact, Process, Query, Setting, Spawn, Stage};
use needless_rules::{Amount, Priced, Scale};

/// More processes or findings than any observation has: a file that says so is no report.
const MOST: u64 = 1 << 22;

/// Fewer calls that no rule looked at take no noticeable time.
const MANY: u64 = 1000;

impl ReportDocument {
    /// # Errors
    /// When the document says what no observation can have seen.
    pub(crate) fn check(&self) -> Result<(), String> {
        let suppressed = self.suppressed.iter().map(|one| one.processes);
        let exes = self.findings.iter().flat_map(|finding| &finding.exes);
        let all = exes.map(|exe| exe.processes).chain(suppressed);
        match all.chain([self.below_threshold.findings]).fold(0, u64::saturating_add) {
            0..=MOST => Ok(()),
            _ => Err("it counts more processes than there can be".into()),
        }
    }

    /// What observed.
    pub(crate) fn backend(&self) -> Backend {
        Backend::parse(&self.backend)
    }

    /// What was observed, in a word or two.
    pub(crate) fn name(&self) -> &str {
        match self.source.kind {
            SourceKind::Host => "host",
            _ => &self.source.name,
        }
    }

    /// Whether it is about a window of time over processes that run before and after it.
    pub(crate) fn is_window(&self) -> bool {
        matches!(self.source.kind, SourceKind::Attach | SourceKind::Host)
    }

    /// Length of the window in nanoseconds; `None` if there are no rates: it is not about a window, or the length is not
    /// known or zero.
    pub(crate) fn window_ns(&self) -> Option<u64> {
        self.length_ns().filter(|ns| *ns > 0 && self.is_window())
    }

    /// Length of the observation in nanoseconds, where known.
    pub(crate) fn length_ns(&self) -> Option<u64> {
        self.window_s.map(|length| length.0)
    }

    /// CPU time in user mode and in the kernel, nanoseconds, where both are known and no tracer distorts them.
    pub(crate) fn cpu_ns(&self) -> Option<(u64, u64)> {
        let ReportTotals { cpu_user_s, cpu_sys_s, .. } = self.totals;
        let known = cpu_user_s.zip(cpu_sys_s).filter(|_| !self.backend().distorts_cpu_time());
        known.map(|(user, system)| (user.0, system.0))
    }

    /// What times are compared with.
    pub(crate) fn scale(&self) -> Scale {
        let cpu = self.cpu_ns().map(|(user, system)| user.saturating_add(system));
        let cpu = cpu.map(|ns| ns.saturating_sub(self.totals.tracing_ns));
        let scale = Scale::new(cpu, self.totals.path_calls, self.complete);
        if self.is_window() { scale.in_window(self.length_ns()) } else { scale }
    }

    /// The facts that the observation lacks.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = Fact> {
        self.not_known.iter().filter_map(Option::<Fact>::from)
    }

    /// Whether only calls of a command were counted that rules ask about: those that name a path, and few others.
    pub(crate) fn is_of_paths(&self) -> bool {
        !self.complete && self.source.kind == SourceKind::Run
    }

    /// Whether every call was counted, and nothing was lost.
    pub(crate) fn is_whole(&self) -> bool {
        self.complete && self.lost.values().all(|lost| *lost == 0)
    }
}

impl From<ReportAmount> for Amount {
    fn from(from: ReportAmount) -> Amount {
        let [kernel_ns, user_ns] = [from.kernel_us, from.user_us].map(|time| time.map(|us| us.0));
        Amount { calls: from.calls, kernel_ns, user_ns }
    }
}

impl ReportAccount {
    /// The needless calls whose cause is not known.
    pub(crate) fn uncertain(&self) -> Amount {
        let uncertain = Amount::from(self.uncertain);
        Amount { calls: uncertain.calls.min(self.needless.calls), ..uncertain }
    }

    /// The calls that are known to be needed; what the document says may not add up.
    pub(crate) fn needed(&self) -> u64 {
        let others = [self.needless, self.unexplained, self.unjudged].map(|part| part.calls);
        others.into_iter().fold(self.calls, u64::saturating_sub)
    }

    /// Whether rules looked at fewer than half of the calls, of so many that they may matter.
    pub(crate) fn is_mostly_unjudged(&self) -> bool {
        self.unjudged.calls > self.calls / 2 && self.unjudged.calls >= MANY
    }

    /// The needless calls whose cause is known.
    pub(crate) fn certain(&self) -> Amount {
        let (all, part) = (Amount::from(self.needless), self.uncertain());
        let less = |all: Option<u64>, part: Option<u64>| {
            all.map(|all| all.saturating_sub(part.unwrap_or(0)))
        };
        Amount {
            calls: all.calls - part.calls,
            kernel_ns: less(all.kernel_ns, part.kernel_ns),
            user_ns: less(all.user_ns, part.user_ns),
        }
    }
}

impl ReportUnexplained {
    /// How many, and what they took.
    pub(crate) fn amount(&self) -> Amount {
        let kernel_ns = self.kernel_us.map(|us| us.0);
        Amount { calls: self.calls, kernel_ns, user_ns: None }
    }

    /// The question; of one that this version does not know, that of its call.
    pub(crate) fn query(&self) -> Query {
        let known: Option<Query> = (&self.question).into();
        known.unwrap_or_else(|| Query::of(&self.call))
    }
}

impl ReportWaits {
    /// The sum over all threads.
    pub(crate) fn ns(&self) -> u64 {
        self.wait_us.0
    }

    /// How they failed.
    pub(crate) fn error(&self) -> Option<&'static str> {
        self.error.as_deref().map(|name| Errno::of_name(name).name())
    }
}

impl Priced for ReportFinding {
    fn rule(&self) -> &str {
        &self.rule
    }

    fn change(&self) -> Option<Change> {
        self.remedies.first().map(ReportRemedy::change)
    }

    fn amount(&self) -> Amount {
        let [kernel_ns, user_ns] = [self.kernel_us, self.user_us].map(|time| time.map(|us| us.0));
        Amount { calls: self.needless, kernel_ns, user_ns }
    }

    fn besides(&self) -> i64 {
        self.besides
    }
}

impl ReportFinding {
    /// The rule as a text for a terminal. The names of built-in rules need no escapes; a file may have any other.
    pub(crate) fn rule_name(&self) -> String {
        escape(&self.rule).into_owned()
    }

    /// The processes that it concerns, the one with most of the calls first; of many the first ones.
    pub fn processes(&self) -> &[ReportProcess] {
        match &self.affected[..] {
            [] => std::slice::from_ref(&self.process),
            listed => listed,
        }
    }

    /// The paths of its evidence; one that ends in `/…` is a directory.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.evidence.iter().map(|row| row.path.as_str())
    }

    /// The changes that it advises, best first, each with whether a person has to decide it. The sentences of the file
    /// are not among them, but for those changes that are sentences: what is said of a change comes from the rule.
    pub fn changes(&self) -> impl Iterator<Item = (Change, bool)> {
        self.remedies
            .iter()
            .map(|remedy| (remedy.change(), matches!(remedy.safety, SafetyLevel::Manual)))
    }

    /// How far it has come.
    pub(crate) fn stage(&self) -> Stage {
        let known: Option<Stage> = (&self.stage).into();
        known.unwrap_or(Stage::Seen)
    }
}

impl ReportRemedy {
    /// The change.
    pub(crate) fn change(&self) -> Change {
        match (&self.kind, &self.variable) {
            (ChangeKind::SetEnv, Some(variable)) => {
                Change::SetEnv { variable: variable.clone(), value: self.value.clone() }
            }
            (ChangeKind::UnsetEnv, Some(variable)) => {
                Change::UnsetEnv { variable: variable.clone() }
            }
            (ChangeKind::WithoutEntries, Some(variable)) => {
                Change::WithoutEntries { variable: variable.clone(), entries: self.entries.clone() }
            }
            (ChangeKind::Preload, _) => Change::Preload,
            (ChangeKind::Setting, _) => self.named_setting(),
            (ChangeKind::Option, _) => Change::Option(self.text.clone()),
            _ => Change::Manual(self.text.clone()),
        }
    }

    /// The setting by its name; one that this version does not know is for a person.
    fn named_setting(&self) -> Change {
        let text = self.text.clone();
        let named = |setting: &Setting| Some(setting.word()) == self.setting.as_deref();
        match Setting::ALL.into_iter().find(named) {
            Some(setting) => Change::Setting(setting, text),
            None => Change::Manual(text),
        }
    }

    /// What one types: a variable with its value, or one to unset.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self.change(), Change::SetEnv { value: Some(_), .. } | Change::UnsetEnv { .. })
    }
}

impl SafetyLevel {
    /// The label of the sentence that says how safe a change is.
    pub(crate) fn word(self) -> &'static str {
        match self {
            SafetyLevel::Safe => "safe",
            SafetyLevel::Caveat => "caveat",
            SafetyLevel::Manual => "manual",
        }
    }
}

impl ReportProcess {
    /// As [`Process::title`].
    pub(crate) fn title(&self) -> String {
        title(&self.exe, &self.command)
    }
}

impl ReportProgram {
    /// As [`Process::title`].
    pub(crate) fn title(&self) -> String {
        title(&self.exe, &self.script)
    }

    /// `/usr/bin/perl`, `ts (/usr/bin/perl)`.
    pub(crate) fn label(&self) -> String {
        let exe = escape(self.exe.as_deref().unwrap_or("an unknown program"));
        match &self.script {
            Some(script) => format!("{} ({exe})", escape(script)),
            None => exe.into_owned(),
        }
    }
}

fn title(exe: &Option<String>, command: &Option<String>) -> String {
    let (exe, command) = (exe.clone(), command.clone());
    Process { exe, command, ..Process::new(0, None, Spawn::Seen) }.title()
}
