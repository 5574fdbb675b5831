//! Profiles and verdicts to report, made by hand.

pub(crate) mod windows;

use needless_model::{
    Answer, Backend, Builder, Change, Env, Evidence, Fact, Facts, Finding, Limits, Loss, Process,
    Profile, Query, Question, Remedy, Safety, Setting, Spawn, Stage, Stops, Window,
};
use needless_report::{Details, Report, ReportDocument, ReportFormat, Source, Style};
use needless_rules::{Account, Activity, Amount, LastDay, NotChecked, Suppressed, Verdict};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// A profile, a verdict on it and where it came from.
pub(crate) struct Sample {
    pub(crate) profile: Profile,
    pub(crate) verdict: Verdict,
    pub(crate) source: Source,
    /// How many remedies to show.
    pub(crate) top: Option<usize>,
    /// How much to show.
    pub(crate) details: Details,
    /// The words of the command that was run.
    pub(crate) command: Vec<OsString>,
}

impl Sample {
    /// The report at a width of 100 columns without colour.
    pub(crate) fn rendered(&self, format: ReportFormat) -> String {
        self.styled(format, Style { colour: false, width: 100 })
    }

    pub(crate) fn styled(&self, format: ReportFormat, style: Style) -> String {
        let verdict = Verdict {
            account: self.account(),
            activity: Activity::of(&self.profile),
            ..self.verdict.clone()
        };
        let document = ReportDocument::of(&self.profile, &verdict, &self.source, None, "0.1.0");
        let report = Report {
            document: &document,
            rows: Some((&self.profile, &verdict)),
            top: self.top,
            details: self.details,
            command: &self.command,
        };
        let mut out = Vec::new();
        needless_report::write(&mut out, &report, format, style).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Every call of the sample: what no finding names is needed, but for what the sample says.
    fn account(&self) -> Account {
        let sum = |amount: fn(&Finding) -> Option<u64>| {
            self.verdict.findings.iter().filter_map(amount).reduce(|a, b| a + b)
        };
        let needless = sum(|finding| Some(finding.needless)).unwrap_or(0);
        Account {
            calls: self.profile.totals.calls.max(needless),
            needless: Amount {
                user_ns: None,
                calls: needless,
                kernel_ns: sum(|finding| finding.kernel_ns),
            },
            estimated: self.verdict.findings.iter().any(|finding| finding.estimated),
            ..self.verdict.account.clone()
        }
    }

    /// Every sample, for what must be true of all reports.
    pub(crate) fn all() -> Vec<Sample> {
        let mut all = vec![localtime(), healthy(), tree(), reopened(), log(), hostile(), script()];
        all.extend([windows::host(), windows::busy(), windows::attached(), windows::no_time()]);
        all.extend([windows::healthy_host(), windows::hostile_services()]);
        all
    }
}

fn verdict(findings: Vec<Finding>) -> Verdict {
    Verdict { findings, ..Verdict::default() }
}

fn environment(variables: &[(&str, &str)]) -> Env {
    Env::Known(variables.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
}

fn process(pid: u32, exe: &str, env: Env) -> Process {
    Process { exe: Some(exe.to_owned()), env, ..Process::new(pid, None, Spawn::Exec) }
}

/// Counts `n` calls of process `p`.
fn ask(builder: &mut Builder, process: Process, name: &str, path: &str, n: u64) {
    let id = builder.process(process);
    let call = builder.call(name);
    let question = Question { call, query: Query::of(name), path, from_dir_fd: false };
    let question = builder.question(id, question);
    for _ in 0..n {
        builder.answer(question, Answer::outcome(Ok(())));
    }
}

fn set(variable: &str, value: &str, caveat: &str) -> Remedy {
    Remedy {
        change: Change::SetEnv { variable: variable.to_owned(), value: Some(value.to_owned()) },
        safety: Safety::Caveat(caveat.to_owned()),
    }
}

fn seen(call: &str, path: &str, outcome: &str, count: u64) -> Evidence {
    Evidence { call: call.to_owned(), path: path.to_owned(), outcome: outcome.to_owned(), count }
}

fn tz_unset(processes: usize, needless: u64) -> Finding {
    Finding {
        rule: "tz-unset".into(),
        stage: Stage::Explained,
        processes: (0..processes as u32).map(needless_model::ProcId).collect(),
        service: None,
        needless,
        of: needless + 1,
        kernel_ns: Some(needless * 1_030),
        besides: 0,
        estimated: true,
        user_ns: None,
        what: "9 of 10 time conversions stat /etc/localtime".to_owned(),
        why: "TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether \
              /etc/localtime is still the file it has loaded."
            .to_owned(),
        sites: vec!["main+0xc3: call localtime@plt".to_owned()],
        evidence: vec![seen("newfstatat", "/etc/localtime", "ok", needless + 1)],
        remedies: vec![set(
            "TZ",
            "Europe/Athens",
            "Takes effect when the program is restarted; a later change of the zone or of tzdata \
             is seen only at the next restart.",
        )],
        rows: vec![0],
    }
}

/// The sample program of an article: ten calls of localtime(), TZ unset.
pub(crate) fn localtime() -> Sample {
    let mut builder = Builder::new(Limits::default());
    let env = environment(&[("LANG", "C.UTF-8")]);
    ask(
        &mut builder,
        process(4711, "/tmp/sample", env.clone()),
        "newfstatat",
        "/etc/localtime",
        10,
    );
    ask(&mut builder, process(4712, "/bin/true", env), "openat", "/etc/ld.so.cache", 5);
    let facts = Facts::of(&Fact::ALL).without(Fact::AllCalls).without(Fact::KernelTime);
    let backend = Backend::ptrace(Stops::Seccomp);
    let profile = builder.finish(backend, facts, Window { length_ns: Some(12_500_000) });
    let source = Source::Run("./sample".to_owned());
    Sample {
        profile,
        verdict: verdict(vec![tz_unset(1, 9)]),
        source,
        top: None,
        details: Details::default(),
        command: Vec::new(),
    }
}

/// A script in a container; everything is known about its process.
pub(crate) fn script() -> Sample {
    let mut sample = localtime();
    let process = &mut sample.profile.processes[0];
    process.exe = Some("/usr/bin/perl".to_owned());
    process.command = Some("ts".to_owned());
    process.open_files = Some(1_048_576);
    process.shares_root = false;
    sample
}

/// Nothing to find, everything known.
pub(crate) fn healthy() -> Sample {
    let mut builder = Builder::new(Limits::default());
    ask(&mut builder, process(1, "/bin/true", Env::Unknown), "openat", "/etc/passwd", 1234);
    let backend = Backend::ptrace(Stops::Seccomp);
    let profile = builder.finish(backend, Facts::of(&Fact::ALL), Window::default());
    Sample {
        profile,
        verdict: verdict(Vec::new()),
        source: Source::Run("true".to_owned()),
        top: None,
        details: Details::default(),
        command: Vec::new(),
    }
}

fn locale_alias() -> Finding {
    Finding {
        rule: "locale-alias".into(),
        stage: Stage::Seen,
        processes: vec![needless_model::ProcId(1), needless_model::ProcId(2)],
        service: None,
        needless: 34,
        of: 34,
        kernel_ns: None,
        besides: 0,
        estimated: true,
        user_ns: None,
        what: "34 failed opens: the locale \"greek\" is looked for under other names".to_owned(),
        why: "LANG=greek is an alias.".to_owned(),
        sites: Vec::new(),
        evidence: vec![
            seen("openat", "/usr/lib/locale/el_GR.*/LC_*", "ENOENT", 24),
            seen("openat", "/usr/share/locale/*/*.mo", "ENOENT", 10),
        ],
        remedies: vec![
            set("LANG", "el_GR", "The encoding stays ISO-8859-7."),
            Remedy {
                change: Change::UnsetEnv { variable: "LANG".to_owned() },
                safety: Safety::Manual("Messages are then in English.".to_owned()),
            },
        ],
        rows: vec![1],
    }
}

/// Several processes and findings, with losses and a finding below the threshold.
pub(crate) fn tree() -> Sample {
    let mut builder = Builder::new(Limits::default());
    for (pid, exe) in [(100, "/usr/bin/python3"), (101, "/usr/bin/date"), (102, "/usr/bin/date")] {
        let env = environment(&[("LANG", "greek"), ("PASSWORD", "hunter2")]);
        ask(&mut builder, process(pid, exe, env), "newfstatat", "/etc/localtime", 20_100);
    }
    builder.lost(Loss::Unfinished, 1);
    builder.lost(Loss::FoldedRows, 40_000);
    builder.note("A program tried to trace another one.");
    let profile = builder.finish(
        Backend::parse("ptrace"),
        Facts::of(&[Fact::Paths, Fact::Outcomes, Fact::AllCalls, Fact::Environment]),
        Window { length_ns: Some(3_000_000_000) },
    );
    let mut zone = tz_unset(3, 59_997);
    zone.rows = vec![0, 1, 2];
    zone.what = "asks for the status of /etc/localtime at every conversion.".to_owned();
    zone.sites.extend((0..4).map(|n| format!("date+{n:#x}: call localtime@plt")));
    let mut left_out = tz_unset(1, 1);
    left_out.rule = "repeated-question".into();
    let verdict = Verdict {
        findings: vec![zone, locale_alias()],
        below: vec![left_out],
        not_checked: vec![
            NotChecked { rule: "locale-spelling".into(), missing: vec![Fact::HostLocales] },
            NotChecked { rule: "locale-not-installed".into(), missing: vec![Fact::HostLocales] },
            NotChecked {
                rule: "repeated-question".into(),
                missing: vec![Fact::Clock, Fact::Answers],
            },
        ],
        ..Verdict::default()
    };
    Sample {
        profile,
        verdict,
        source: Source::Run("make".to_owned()),
        top: None,
        details: Details::default(),
        command: Vec::new(),
    }
}

/// A zone file is opened, checked, read and closed for each conversion; only the opens
/// are counted.
pub(crate) fn reopened() -> Sample {
    let mut builder = Builder::new(Limits::default());
    ask(&mut builder, process(9, "/srv/app", Env::Unknown), "openat", "/etc/localtime", 1_000);
    let facts = Facts::of(&[Fact::Paths, Fact::Outcomes, Fact::KernelTime]);
    let profile = builder.finish(Backend::parse("ptrace"), facts, Window::default());
    let mut finding = tz_unset(1, 4_995);
    finding.rule = "zone-file-missing".into();
    finding.what = "opens and reads a zone file that is empty".to_owned();
    finding.estimated = false;
    finding.kernel_ns = Some(5_144_850);
    finding.evidence =
        vec![seen("openat", "/etc/localtime", "ok", 1_000), seen("fstat", "", "ok", 2_000)];
    finding.remedies[0].change = Change::SetEnv { variable: "TZ".to_owned(), value: None };
    Sample {
        profile,
        verdict: verdict(vec![finding]),
        source: Source::Log("app.log".to_owned()),
        top: None,
        details: Details::default(),
        command: Vec::new(),
    }
}

/// A log with few facts and without findings.
pub(crate) fn log() -> Sample {
    let mut builder = Builder::new(Limits::default());
    ask(&mut builder, Process::new(7, None, Spawn::Seen), "openat", "x", 1);
    builder.lost(Loss::Unparsed, 2);
    builder.lost(Loss::Filtered, 1);
    builder.note("The log has no times.");
    let facts = Facts::of(&[Fact::Paths, Fact::Outcomes]);
    let profile = builder.finish(Backend::StraceLog, facts, Window::default());
    let mut below = tz_unset(1, 2);
    below.processes = vec![needless_model::ProcId(0)];
    let not_checked =
        vec![NotChecked { rule: "tz-unset".into(), missing: vec![Fact::Environment] }];
    let verdict = Verdict { below: vec![below], not_checked, ..Verdict::default() };
    Sample {
        profile,
        verdict,
        source: Source::Log("trace.log".to_owned()),
        top: None,
        details: Details::default(),
        command: Vec::new(),
    }
}

/// Text that a terminal would obey.
const EVIL: &str = "\x1b]0;owned\x07\u{9b}31m\u{202e}\r\nx";

/// Everything the observed program chose tries to command the terminal.
pub(crate) fn hostile() -> Sample {
    let mut builder = Builder::new(Limits::default());
    let env = Env::Known(BTreeMap::from([("TZ".to_owned(), EVIL.to_owned())]));
    ask(&mut builder, process(1, &format!("/tmp/{EVIL}"), env), "newfstatat", EVIL, 10);
    builder.note(EVIL);
    let profile = builder.finish(Backend::parse(EVIL), Facts::of(&Fact::ALL), Window::default());
    let mut finding = tz_unset(1, 9);
    finding.what = EVIL.to_owned();
    finding.why = EVIL.to_owned();
    finding.sites = vec![EVIL.to_owned()];
    finding.evidence = vec![seen(EVIL, EVIL, EVIL, 9)];
    let change = |change| Remedy { change, safety: Safety::Safe(EVIL.to_owned()) };
    finding.remedies = vec![
        set("TZ", EVIL, EVIL),
        set(EVIL, EVIL, EVIL),
        change(Change::UnsetEnv { variable: EVIL.to_owned() }),
        change(Change::Setting(Setting::OpenFiles, EVIL.to_owned())),
        change(Change::Option(EVIL.to_owned())),
        change(Change::Manual(EVIL.to_owned())),
    ];
    let suppressed = Suppressed {
        finding: finding.clone(),
        reason: EVIL.to_owned(),
        until: Some(LastDay { year: 2027, month: 6, day: 30 }),
        place: EVIL.to_owned(),
    };
    let notices = vec![EVIL.to_owned()];
    let suppressed = vec![suppressed];
    Sample {
        profile,
        verdict: Verdict { suppressed, notices, ..verdict(vec![finding]) },
        source: Source::Run(EVIL.to_owned()),
        top: None,
        details: Details::default(),
        command: Vec::new(),
    }
}
