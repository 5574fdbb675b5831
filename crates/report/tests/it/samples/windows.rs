//! Windows over many processes, as `attach` and `host` see them.

use super::{EVIL, Sample, ask, environment, process, seen, set, tz_unset};
use needless_model::{
    Answer, Backend, Builder, Change, Env, Fact, Facts, Finding, Limits, ProcId, Process, Profile,
    Query, Question, Remedy, Safety, Window,
};
use needless_report::{Details, Source};
use needless_rules::{Amount, Site, Unanswered, Unexplained, Verdict};

const BACKEND: &str = "eBPF";
const THIRTY_SECONDS: u64 = 30_000_000_000;

fn of(service: &str, process: Process) -> Process {
    Process { service: Some(service.to_owned()), ..process }
}

/// The end of a window of `length` nanoseconds in which everything was seen.
fn finish(builder: Builder, length: Option<u64>) -> Profile {
    let facts = Facts::of(&Fact::ALL).without(Fact::KernelTime);
    builder.finish(Backend::parse(BACKEND), facts, Window { length_ns: length })
}

fn sample(profile: Profile, findings: Vec<Finding>, source: Source) -> Sample {
    let verdict = Verdict { findings, ..Verdict::default() };
    Sample { profile, verdict, source, top: None, details: Details::default(), command: Vec::new() }
}

/// `times` looks at /etc/localtime by process `n`, found in row `n`.
fn clock(n: u32, service: Option<&str>, times: u64, kernel_ns: Option<u64>) -> Finding {
    let number = |n: u64| match n / 1000 {
        0 => n.to_string(),
        thousands => format!("{thousands},{:03}", n % 1000),
    };
    let (needless, of) = (number(times - 1), number(times));
    Finding {
        processes: vec![ProcId(n)],
        service: service.map(str::to_owned),
        needless: times - 1,
        of: times,
        kernel_ns,
        what: format!("{needless} of {of} time conversions stat /etc/localtime"),
        evidence: vec![seen("newfstatat", "/etc/localtime", "ok", times)],
        rows: vec![n as usize],
        ..tz_unset(1, 9)
    }
}

/// A daemon under load, a container with two findings, a program without a service, a shell
/// that becomes a healthy program.
pub(crate) fn host() -> Sample {
    let mut builder = Builder::new(Limits::default());
    let container = "container 3f2a9c1b7d4e (docker)";
    let env = environment(&[("LANG", "greek")]);
    for (service, pid, exe, path, times) in [
        (Some("dnsmasq.service"), 812, "/usr/sbin/dnsmasq", "/etc/localtime", 14_925),
        (Some(container), 2001, "/srv/app", "/etc/localtime", 300),
        (Some(container), 2002, "/srv/app", "/usr/lib/locale/greek/LC_TIME", 34),
        (None, 99, "/opt/x", "/etc/localtime", 45),
        (Some("web.service"), 70, "/bin/sh", "/srv/www/index.html", 36_000),
    ] {
        let process = process(pid, exe, env.clone());
        let process = Process { service: service.map(str::to_owned), ..process };
        ask(&mut builder, process, "newfstatat", path, times);
    }
    let web = Process { parent: Some(ProcId(4)), ..process(70, "/usr/bin/httpd", Env::Unknown) };
    let web = builder.process(of("web.service", web));
    let read = builder.call("read");
    builder.count(web, read, 1_000_000, Answer::outcome(Ok(())));
    // Folded calls belong to no process.
    let call = builder.call("newfstatat");
    let folded = builder.without_path(None, call, Query::Stat);
    builder.answer(folded, Answer::outcome(Ok(())));
    let locale = Finding {
        rule: "locale-alias".into(),
        processes: vec![ProcId(2)],
        service: Some(container.to_owned()),
        needless: 34,
        of: 34,
        kernel_ns: None,
        what: "34 failed opens: the locale \"greek\" is looked for under other names".to_owned(),
        why: "LANG=greek is an alias.".to_owned(),
        sites: Vec::new(),
        evidence: vec![
            seen("openat", "/usr/share/locale/*/*.mo", "ENOENT", 10),
            seen("openat", "/usr/lib/locale/el_GR.*/LC_*", "ENOENT", 24),
        ],
        remedies: vec![set("LANG", "el_GR", "The encoding stays ISO-8859-7.")],
        rows: vec![2],
        ..tz_unset(1, 9)
    };
    let findings = vec![
        clock(0, Some("dnsmasq.service"), 14_925, Some(149_240_000)),
        clock(1, Some(container), 300, Some(299_000)),
        clock(3, None, 45, Some(44_000)),
        locale,
    ];
    sample(finish(builder, Some(THIRTY_SECONDS)), findings, Source::Host)
}

/// Nine services of one program that need the same change, ten others that each need another, and three small ones.
pub(crate) fn busy() -> Sample {
    let mut builder = Builder::new(Limits::default());
    let services = (1..=9).map(|n| format!("a{n}.service"));
    let services: Vec<String> =
        services.chain((1..=13).map(|n| format!("other{n}.service"))).collect();
    for (n, service) in services.iter().enumerate() {
        let process = process(100 + n as u32, "/usr/bin/clockd", environment(&[]));
        ask(&mut builder, of(service, process), "newfstatat", "/etc/localtime", 15_000);
    }
    let find = process(99, "/usr/bin/find", Env::Unknown);
    ask(&mut builder, find, "newfstatat", "/usr/share/doc", 60_484);
    let finding = |(n, service): (usize, &String)| {
        let cost = if n < 19 { 150_000_000 + n as u64 * 1_000_000 } else { 1_000_000 };
        let mut finding = clock(n as u32, Some(service), 15_000, Some(cost));
        if n >= 9 {
            finding.rule = "python-path".into();
            let dirs = format!("/srv/other{n}/lib/python3:/opt/other{n}/site-packages");
            finding.remedies = vec![set("PYTHONPATH", &dirs, "Others may need them.")];
        }
        finding
    };
    let findings = services.iter().enumerate().map(finding).collect();
    let mut sample = sample(finish(builder, Some(THIRTY_SECONDS)), findings, Source::Host);
    sample.verdict.notices = (0..7).map(|n| format!("notice {n}")).collect();
    sample.verdict.account.unexplained =
        Amount { user_ns: None, calls: 30_484, kernel_ns: Some(210_000_000) };
    sample.verdict.account.lines = vec![Unexplained {
        program: "find".to_owned(),
        processes: 2,
        call: "newfstatat".to_owned(),
        query: Query::Lstat,
        reason: Unanswered::Again,
        amount: Amount { user_ns: None, calls: 30_484, kernel_ns: Some(210_000_000) },
        place: Some(("/usr/share/doc/".to_owned(), 20_000)),
        site: Some(Site {
            place: "find+0x17baa: call fstatat@plt".to_owned(),
            samples: 300,
            of: 400,
        }),
    }];
    sample
}

/// One daemon, attached to.
pub(crate) fn attached() -> Sample {
    let mut builder = Builder::new(Limits::default());
    let daemon = process(812, "/usr/sbin/dnsmasq", Env::Unknown);
    ask(&mut builder, of("dnsmasq.service", daemon), "newfstatat", "/etc/localtime", 14_925);
    let profile = finish(builder, Some(THIRTY_SECONDS));
    let finding = clock(0, Some("dnsmasq.service"), 14_925, Some(149_240_000));
    sample(profile, vec![finding], Source::Attach("dnsmasq.service".to_owned()))
}

/// Ended before it began, by processes whose services are not known.
pub(crate) fn no_time() -> Sample {
    let mut builder = Builder::new(Limits::default());
    for pid in [5, 6] {
        let app = process(pid, "/srv/app", Env::Unknown);
        ask(&mut builder, app, "newfstatat", "/etc/localtime", 45);
    }
    let finding = clock(0, None, 45, Some(44_000));
    sample(finish(builder, Some(0)), vec![finding], Source::Attach("5 and 6".to_owned()))
}

/// Nothing to find on a host.
pub(crate) fn healthy_host() -> Sample {
    let mut builder = Builder::new(Limits::default());
    for pid in 1..=214 {
        let idle = of("x.service", process(pid, "/bin/true", Env::Unknown));
        ask(&mut builder, idle, "openat", "/etc/passwd", 239);
    }
    let call = builder.call("access");
    let question = Question { call, query: Query::Access, path: "/", from_dir_fd: false };
    let question = builder.question(ProcId(0), question);
    for _ in 0..87 {
        builder.answer(question, Answer::outcome(Ok(())));
    }
    sample(finish(builder, Some(10_000_000_000)), Vec::new(), Source::Host)
}

/// Services and what was attached to try to command the terminal.
pub(crate) fn hostile_services() -> Sample {
    let mut builder = Builder::new(Limits::default());
    ask(&mut builder, of(EVIL, process(1, EVIL, Env::Unknown)), EVIL, EVIL, 20);
    let mut finding = clock(0, Some(EVIL), 20, None);
    finding.evidence = vec![seen(EVIL, EVIL, EVIL, 20)];
    finding.remedies = vec![Remedy {
        change: Change::UnsetEnv { variable: EVIL.to_owned() },
        safety: Safety::Safe(EVIL.to_owned()),
    }];
    let profile = finish(builder, Some(1_000_000_000));
    sample(profile, vec![finding], Source::Attach(EVIL.to_owned()))
}
