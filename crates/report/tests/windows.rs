//! What reports on windows over many processes look like, read by eye before it was accepted.

mod samples;

use insta::assert_snapshot;
use needless_model::{Evidence, Fact, Loss, ProcId};
use needless_report::{ReportFormat, Source, Style};
use needless_rules::NotChecked;
use samples::Sample;
use samples::windows::{attached, healthy_host, host, hostile_services, no_time};
use serde_json::Value;

fn json(sample: &Sample) -> Value {
    serde_json::from_str(&sample.rendered(ReportFormat::Json)).unwrap()
}

#[test]
fn full_for_a_host() {
    assert_snapshot!(host().rendered(ReportFormat::Full), @r#"
    needless: eBPF; not known: the kernel time of calls
    host: 30 s, 5 processes in 3 services, 51,305 calls that name a path (1,710 per second), 4 findings

    dnsmasq.service: 14,924 needless calls, 497 per second, about 0.5 % of a core
      tz-unset: 14,924 of 14,925 time conversions stat /etc/localtime
        rate    14,925 stats of /etc/localtime in 30 s, 497 per second
        share   > 99.9 % of this service's calls that name a path, about 149 ms in the kernel
        who     dnsmasq[812], /usr/sbin/dnsmasq
        why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
                /etc/localtime is still the file it has loaded.
        from    main+0xc3: call localtime@plt
                TZ is unset
        strace  14,925 × newfstatat("/etc/localtime") ok
        fix     TZ=Europe/Athens
        caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
                seen only at the next restart.
        stage   explained: the cause was found too; the saving was not measured
        more    needless explain tz-unset

    container 3f2a9c1b7d4e (docker): 333 needless calls, 11 per second, less than 0.1 % of a core as
        far as known
      tz-unset: 299 of 300 time conversions stat /etc/localtime
        rate    300 stats of /etc/localtime in 30 s, 10 per second
        share   89.5 % of this service's calls that name a path, about 299 µs in the kernel
        who     app[2001], /srv/app
        why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
                /etc/localtime is still the file it has loaded.
        from    main+0xc3: call localtime@plt
                TZ is unset
        strace  300 × newfstatat("/etc/localtime") ok
        fix     TZ=Europe/Athens
        caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
                seen only at the next restart.
        stage   explained: the cause was found too; the saving was not measured
        more    needless explain tz-unset

      locale-alias: 34 failed opens: the locale "greek" is looked for under other names
        rate    24 failed opens of /usr/lib/locale/el_GR.*/LC_* in 30 s, 0.8 per second
        share   10.2 % of this service's calls that name a path
        who     app[2002], /srv/app
        why     LANG=greek is an alias.
        from    LANG=greek
        strace  10 × openat("/usr/share/locale/*/*.mo") ENOENT
                24 × openat("/usr/lib/locale/el_GR.*/LC_*") ENOENT
        fix     LANG=el_GR
        caveat  The encoding stays ISO-8859-7.
        stage   explained: the cause was found too; the saving was not measured
        more    needless explain locale-alias

    processes of no known service: 44 needless calls, 1.4 per second, less than 0.1 % of a core
      tz-unset: 44 of 45 time conversions stat /etc/localtime
        rate    45 stats of /etc/localtime in 30 s, 1.5 per second
        share   95.7 % of these processes' calls that name a path, about 44 µs in the kernel
        who     x[99], /opt/x
        why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
                /etc/localtime is still the file it has loaded.
        from    main+0xc3: call localtime@plt
                TZ is unset
        strace  45 × newfstatat("/etc/localtime") ok
        fix     TZ=Europe/Athens
        caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
                seen only at the next restart.
        stage   explained: the cause was found too; the saving was not measured
        more    needless explain tz-unset

    lost:         nothing
    not checked:  nothing
    "#);
}

#[test]
fn full_for_a_daemon_attached_to() {
    assert_snapshot!(attached().rendered(ReportFormat::Full), @r#"
    needless: eBPF; not known: the kernel time of calls
    dnsmasq.service: 30 s, 1 process in 1 service, 14,925 calls that name a path (497 per second), 1
    finding

    dnsmasq.service: 14,924 needless calls, 497 per second, about 0.5 % of a core
      tz-unset: 14,924 of 14,925 time conversions stat /etc/localtime
        rate    14,925 stats of /etc/localtime in 30 s, 497 per second
        share   > 99.9 % of this service's calls that name a path, about 149 ms in the kernel
        who     dnsmasq[812], /usr/sbin/dnsmasq
        why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
                /etc/localtime is still the file it has loaded.
        from    main+0xc3: call localtime@plt
        strace  14,925 × newfstatat("/etc/localtime") ok
        fix     TZ=Europe/Athens
        caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
                seen only at the next restart.
        stage   explained: the cause was found too; the saving was not measured
        more    needless explain tz-unset

    lost:         nothing
    not checked:  nothing
    "#);
}

#[test]
fn without_time_there_are_no_rates_and_without_services_no_names() {
    assert_snapshot!(no_time().rendered(ReportFormat::Full), @r#"
    needless: eBPF; not known: the kernel time of calls
    5 and 6: 2 processes, 90 calls that name a path, 1 finding

    all processes: 44 needless calls, about 44 µs in the kernel
      tz-unset: 44 of 45 time conversions stat /etc/localtime
        share   48.9 % of these processes' calls that name a path, about 44 µs in the kernel
        who     app[5], /srv/app
        why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
                /etc/localtime is still the file it has loaded.
        from    main+0xc3: call localtime@plt
        strace  45 × newfstatat("/etc/localtime") ok
        fix     TZ=Europe/Athens
        caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
                seen only at the next restart.
        stage   explained: the cause was found too; the saving was not measured
        more    needless explain tz-unset

    lost:         nothing
    not checked:  nothing
    "#);
    assert_snapshot!(no_time().rendered(ReportFormat::Concise), @r#"
    app[5]: tz-unset: 44 of 45 time conversions stat /etc/localtime (explained); fix: TZ=Europe/Athens
    needless: 1 finding in 2 processes, 90 calls that name a path, 44 needless (eBPF; lost: nothing)
    "#);
    let mut unknown = no_time();
    unknown.profile.window.length_ns = None;
    for format in [ReportFormat::Full, ReportFormat::Concise] {
        assert_eq!(unknown.rendered(format), no_time().rendered(format));
    }
    for sample in [unknown, no_time()] {
        assert_eq!(json(&sample)["findings"][0]["per_second"], Value::Null);
        assert_eq!(json(&sample)["findings"][0]["service"], Value::Null);
    }
}

#[test]
fn a_healthy_host_is_one_line() {
    assert_snapshot!(healthy_host().rendered(ReportFormat::Full), @"needless: nothing needless found in 10 s: 214 processes, 51,233 calls that name a path (eBPF; lost: nothing)");
    assert_eq!(healthy_host().rendered(ReportFormat::Full).lines().count(), 1);
    assert_eq!(
        healthy_host().rendered(ReportFormat::Concise),
        healthy_host().rendered(ReportFormat::Full)
    );
}

#[test]
fn what_was_lost_and_not_checked_is_said_of_a_healthy_host_too() {
    let mut sample = healthy_host();
    let lost = [(Loss::Uncounted, 1), (Loss::UnseenProcesses, 2), (Loss::Stacks, 1)];
    sample.profile.lost = lost.map(|(what, n)| (what, n)).into();
    let missing = vec![Fact::KernelTime];
    sample.verdict.not_checked = vec![NotChecked { rule: "tz-unset".into(), missing }];
    let rendered = sample.rendered(ReportFormat::Full);
    let end = "(eBPF; lost: 1 call counted nowhere, 2 processes unseen and 1 stack dropped; \
               not checked: tz-unset (needs the kernel time of calls))\n";
    assert!(rendered.ends_with(end), "{rendered}");
}

#[test]
fn concise_has_the_service_in_front_and_the_rate() {
    assert_snapshot!(host().rendered(ReportFormat::Concise), @r#"
    dnsmasq.service: dnsmasq[812]: tz-unset: 14,924 of 14,925 time conversions stat /etc/localtime, 497 per second (explained); fix: TZ=Europe/Athens
    container 3f2a9c1b7d4e (docker): app[2001]: tz-unset: 299 of 300 time conversions stat /etc/localtime, 9.9 per second (explained); fix: TZ=Europe/Athens
    container 3f2a9c1b7d4e (docker): app[2002]: locale-alias: 34 failed opens: the locale "greek" is looked for under other names, 1.1 per second (explained); fix: LANG=el_GR
    x[99]: tz-unset: 44 of 45 time conversions stat /etc/localtime, 1.4 per second (explained); fix: TZ=Europe/Athens
    needless: 4 findings in 30 s: 5 processes, 51,305 calls that name a path, 15,301 needless (eBPF; lost: nothing)
    "#);
}

#[test]
fn json_has_services_and_rates() {
    let report = json(&host());
    let is = |at: &str, value: Value| assert_eq!(report.pointer(at), Some(&value), "{at}");
    is("/source", serde_json::json!({"kind": "host", "name": "host"}));
    is("/window_s", 30.0.into());
    is("/findings/0/service", "dnsmasq.service".into());
    is("/findings/0/per_second", (14_924.0 / 30.0).into());
    is("/findings/2/service", Value::Null);
    is("/findings/2/per_second", (44.0 / 30.0).into());
    let attached = json(&attached());
    let source = serde_json::json!({"kind": "attach", "name": "dnsmasq.service"});
    assert_eq!(attached["source"], source);
}

#[test]
fn what_is_no_window_has_no_rates() {
    let others = Sample::all().into_iter().filter(|sample| match sample.source {
        Source::Run(_) | Source::Log(_) => true,
        Source::Attach(_) | Source::Host => false,
    });
    for mut sample in others {
        // A log of a long run has a length too.
        sample.profile.window.length_ns = Some(30_000_000_000);
        for format in [ReportFormat::Full, ReportFormat::Concise] {
            let rendered = sample.rendered(format);
            assert!(
                !rendered.contains("per second") && !rendered.contains("\n  rate "),
                "{rendered}"
            );
        }
        for finding in json(&sample)["findings"].as_array().unwrap() {
            assert_eq!(finding["per_second"], Value::Null);
        }
    }
}

#[test]
fn no_command_is_advised_that_would_run_it_again() {
    for sample in Sample::all() {
        let run = matches!(sample.source, Source::Run(_));
        let rendered = sample.rendered(ReportFormat::Full);
        assert!(
            run || !(rendered.contains("needless run") || rendered.contains("try:")),
            "{rendered}"
        );
    }
}

#[test]
fn the_most_expensive_services_are_shown_and_the_others_counted() {
    let mut sample = host();
    sample.top = Some(1);
    let full = sample.rendered(ReportFormat::Full);
    assert!(full.contains("\n\n2 more services with findings: --top 0 shows all\n\n"), "{full}");
    assert!(full.contains("dnsmasq.service: ") && !full.contains("docker"), "{full}");
    assert!(full.contains(", 4 findings\n"), "what is not shown is counted: {full}");
    let concise = sample.rendered(ReportFormat::Concise);
    assert_eq!(concise.lines().count(), 2);
    assert!(concise.contains("; 2 more services with findings: --top 0 shows all)"), "{concise}");
    assert_eq!(json(&sample), json(&host()));
    sample.top = Some(2);
    let rendered = sample.rendered(ReportFormat::Full);
    assert!(rendered.contains("\n1 more service with findings: --top 0 shows all\n"), "{rendered}");
    for all in [Some(0), Some(3), Some(usize::MAX)] {
        sample.top = all;
        assert_eq!(sample.rendered(ReportFormat::Full), host().rendered(ReportFormat::Full));
        assert_eq!(sample.rendered(ReportFormat::Concise), host().rendered(ReportFormat::Concise));
    }
    // One command is one program.
    let mut run = samples::tree();
    run.top = Some(1);
    assert_eq!(run.rendered(ReportFormat::Full), samples::tree().rendered(ReportFormat::Full));
    assert_eq!(
        run.rendered(ReportFormat::Concise),
        samples::tree().rendered(ReportFormat::Concise)
    );
}

#[test]
fn services_are_ranked_by_the_time_their_needless_calls_cost() {
    let names = |sample: &Sample| -> Vec<String> {
        let rendered = sample.rendered(ReportFormat::Full);
        let headings = rendered.lines().filter(|line| line.contains(" needless calls, "));
        headings.map(|line| line.split(':').next().unwrap().to_owned()).collect()
    };
    let docker = "container 3f2a9c1b7d4e (docker)";
    assert_eq!(names(&host()), ["dnsmasq.service", docker, "processes of no known service"]);
    let mut sample = host();
    // Two findings of one service cost more than one of another.
    sample.verdict.findings[0].kernel_ns = Some(1_000);
    sample.verdict.findings[1].kernel_ns = Some(600);
    sample.verdict.findings[3].kernel_ns = Some(600);
    assert_eq!(names(&sample), ["processes of no known service", docker, "dnsmasq.service"]);
    // If no time is known, the one with most calls is first.
    sample.verdict.findings.iter_mut().for_each(|finding| finding.kernel_ns = None);
    assert_eq!(names(&sample), ["dnsmasq.service", docker, "processes of no known service"]);
}

/// The heading of the one service in a window of a second.
fn heading(needless: u64, kernel_ns: Option<u64>, estimated: bool) -> String {
    let mut sample = attached();
    sample.profile.window.length_ns = Some(1_000_000_000);
    let finding = &mut sample.verdict.findings[0];
    (finding.needless, finding.kernel_ns, finding.estimated) = (needless, kernel_ns, estimated);
    let rendered = sample.rendered(ReportFormat::Full);
    let mut headings = rendered.lines().filter(|line| line.starts_with("dnsmasq.service: "));
    headings.nth(1).unwrap()["dnsmasq.service: ".len()..].to_owned()
}

#[test]
fn time_is_shown_as_a_part_of_a_core_or_in_cores() {
    let cost = |ns, estimated| heading(1, Some(ns), estimated);
    assert_eq!(cost(999_999, true), "1 needless call, 1.0 per second, less than 0.1 % of a core");
    assert!(cost(5_000_000, true).ends_with(", about 0.5 % of a core"));
    assert!(cost(5_000_000, false).ends_with("second, 0.5 % of a core"));
    assert!(cost(999_400_000, false).ends_with(", 99.9 % of a core"));
    assert!(cost(1_000_000_000, false).ends_with(", 1 core"));
    assert!(cost(2_460_000_000, true).ends_with(", about 2.5 cores"));
    assert!(heading(7, None, true).ends_with("7 needless calls, 7.0 per second"));
}

#[test]
fn rates_are_at_least_what_they_say() {
    let rate = |needless, length| {
        let mut sample = attached();
        sample.profile.window.length_ns = Some(length);
        sample.verdict.findings[0].needless = needless;
        let rendered = sample.rendered(ReportFormat::Concise);
        let (rate, _) = rendered.split_once(" (explained)").unwrap();
        rate.rsplit(", ").find(|part| part.contains("per second")).unwrap().to_owned()
    };
    let second = 1_000_000_000;
    assert_eq!(rate(14_925, 30 * second), "497 per second");
    assert_eq!(rate(99, 10 * second), "9.9 per second");
    assert_eq!(rate(199, 20 * second), "9.9 per second");
    assert_eq!(rate(10, second), "10 per second");
    assert_eq!(rate(1, 10 * second), "0.1 per second");
    assert_eq!(rate(1, 11 * second), "less than 0.1 per second");
    assert_eq!(rate(0, second), "0.0 per second");
    assert!(rate(u64::MAX, 1).ends_with(" per second"));
}

#[test]
fn the_most_frequent_call_is_shown_in_words() {
    let sentence = |evidence: &[(&str, &str, &str, u64)]| {
        let mut sample = attached();
        let seen = |&(call, path, outcome, count): &(&str, &str, &str, u64)| Evidence {
            call: call.to_owned(),
            path: path.to_owned(),
            outcome: outcome.to_owned(),
            count,
        };
        sample.verdict.findings[0].evidence = evidence.iter().map(seen).collect();
        let rendered = sample.rendered(ReportFormat::Full);
        rendered.lines().find_map(|line| line.strip_prefix("    rate    ")).map(str::to_owned)
    };
    let one = |call, path, outcome, count| sentence(&[(call, path, outcome, count)]).unwrap();
    let stats = one("newfstatat", "/etc/localtime", "ok", 14_925);
    assert_eq!(stats, "14,925 stats of /etc/localtime in 30 s, 497 per second");
    assert_eq!(one("statx", "/x", "ok", 1), "1 stat of /x in 30 s, less than 0.1 per second");
    assert_eq!(one("openat", "/x", "ENOENT", 60), "60 failed opens of /x in 30 s, 2.0 per second");
    assert_eq!(one("creat", "/x", "ok", 60), "60 opens of /x in 30 s, 2.0 per second");
    assert_eq!(one("readlink", "/x", "ok", 60), "60 readlinks of /x in 30 s, 2.0 per second");
    assert_eq!(one("access", "/x", "not seen", 60), "60 accesses of /x in 30 s, 2.0 per second");
    assert_eq!(one("lstat", "/x", "ok", 60), "60 lstats of /x in 30 s, 2.0 per second");
    assert_eq!(one("execve", "/x", "ok", 60), "60 execs of /x in 30 s, 2.0 per second");
    assert_eq!(one("fstat", "", "ok", 60), "60 fstat calls in 30 s, 2.0 per second");
    assert_eq!(one("chdir", "/x", "ok", 60), "60 chdir calls of /x in 30 s, 2.0 per second");
    let two = sentence(&[("stat", "/a", "ok", 60), ("stat", "/b", "ok", 90)]).unwrap();
    assert_eq!(two, "90 stats of /b in 30 s, 3.0 per second");
    let same = sentence(&[("stat", "/a", "ok", 60), ("stat", "/b", "ok", 60)]).unwrap();
    assert_eq!(same, "60 stats of /a in 30 s, 2.0 per second");
    assert_eq!(sentence(&[]), None);
}

#[test]
fn a_process_that_execs_is_one_and_nobody_is_none() {
    let sample = host();
    assert_eq!(sample.profile.processes.len(), 7);
    let pids: Vec<u32> = sample.profile.processes.iter().map(|p| p.pid).collect();
    assert_eq!(pids, [812, 2001, 2002, 99, 70, 70, 0]);
    assert!(
        sample.rendered(ReportFormat::Full).contains("host: 30 s, 5 processes in 3 services, ")
    );
    // The same id without an exec is another process, which reused it.
    let mut again = host();
    again.profile.processes[5].parent = Some(ProcId(0));
    assert!(again.rendered(ReportFormat::Full).contains("host: 30 s, 6 processes in 3 services, "));
}

#[test]
fn no_name_of_a_service_commands_the_terminal() {
    for format in [ReportFormat::Full, ReportFormat::Concise, ReportFormat::Json] {
        let rendered = hostile_services().rendered(format);
        let bad = |c: &char| c.is_control() && *c != '\n' || *c == '\u{202e}';
        assert_eq!(rendered.chars().find(bad), None, "{rendered}");
        assert!(rendered.contains("owned"), "{rendered}");
    }
    // An escaped newline does not start a line.
    assert_eq!(hostile_services().rendered(ReportFormat::Concise).lines().count(), 2);
}

#[test]
fn full_is_no_wider_than_asked_where_words_are_short() {
    for width in [70, 80, 100] {
        let rendered = host().styled(ReportFormat::Full, Style { colour: false, width });
        for line in rendered.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colour_adds_escape_sequences_and_nothing_else() {
    let plain = host().styled(ReportFormat::Full, Style { colour: false, width: 80 });
    let coloured = host().styled(ReportFormat::Full, Style { colour: true, width: 80 });
    let mut parts = coloured.split('\x1b');
    let mut stripped = parts.next().unwrap().to_owned();
    for part in parts {
        stripped.push_str(part.split_once('m').expect("a colour ends with m").1);
    }
    assert!(coloured.contains("\x1b[1mdnsmasq.service\x1b[0m: 14,924 needless calls"));
    assert_eq!(stripped, plain);
}
