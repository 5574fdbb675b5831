//! What reports on windows over many processes look like, read by eye before it was accepted.

mod busy;

use crate::samples::Sample;
use crate::samples::windows::{attached, busy, healthy_host, host, hostile_services, no_time};
use insta::assert_snapshot;
use needless_model::{Fact, Loss, ProcId};
use needless_report::{ReportFormat, Source, Style};
use needless_rules::NotChecked;
use serde_json::Value;

fn json(sample: &Sample) -> Value {
    serde_json::from_str(&sample.rendered(ReportFormat::Json)).unwrap()
}

#[test]
fn full_for_a_host() {
    assert_snapshot!(host().rendered(ReportFormat::Full), @r#"
    host: 30 s, 5 processes in 3 services; 1,051,305 calls, 0 failed
      needed         1,036,004 calls
      needless       15,301 calls, about 150 ms, 0.5 % of a core
      not explained  0 calls

      saves  of a core   calls  rule      who                 fix
    ~150 ms      0.5 %  15,267  tz-unset  dnsmasq and 2 more  TZ=Europe/Athens

    small:
      34 calls: locale-alias of container 3f2a9c1b7d4e (docker); fix: LANG=el_GR

    tz-unset: 14,924 of 14,925 time conversions stat /etc/localtime
      saves   about 149 ms, 0.5 % of a core (kernel time only); 14,924 calls, 497 per second
      who     dnsmasq[812], /usr/sbin/dnsmasq of dnsmasq.service
      why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
              /etc/localtime is still the file it has loaded.
      from    main+0xc3: call localtime@plt
              TZ is unset
      strace  14,925 × newfstatat("/etc/localtime") ok
      fix     TZ=Europe/Athens
      caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
              seen only at the next restart.
      stage   explained: the cause was found; the saving was not measured
      also    app[2001] of container 3f2a9c1b7d4e (docker): tz-unset, about 299 µs, < 0.1 % of a core
              (kernel time only); 299 calls, 9.9 per second
              x[99]: tz-unset, about 44 µs, < 0.1 % of a core (kernel time only); 44 calls, 1.4 per
              second

    observed:     by eBPF; not known: the kernel time of calls
    lost:         nothing
    not checked:  nothing

    more:         needless explain tz-unset; -v shows all details
    "#);
}

#[test]
fn full_for_a_daemon_attached_to() {
    assert_snapshot!(attached().rendered(ReportFormat::Full), @r#"
    dnsmasq.service: 30 s, 1 process in 1 service; 14,925 calls, 0 failed
      needed         1 call
      needless       14,924 calls, about 149 ms, 0.5 % of a core
      not explained  0 calls

      saves  of a core   calls  rule      who      fix
    ~149 ms      0.5 %  14,924  tz-unset  dnsmasq  TZ=Europe/Athens

    tz-unset: 14,924 of 14,925 time conversions stat /etc/localtime
      saves   about 149 ms, 0.5 % of a core (kernel time only); 14,924 calls, 497 per second
      who     dnsmasq[812], /usr/sbin/dnsmasq of dnsmasq.service
      why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
              /etc/localtime is still the file it has loaded.
      from    main+0xc3: call localtime@plt
      strace  14,925 × newfstatat("/etc/localtime") ok
      fix     TZ=Europe/Athens
      caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
              seen only at the next restart.
      stage   explained: the cause was found; the saving was not measured

    observed:     by eBPF; not known: the kernel time of calls
    lost:         nothing
    not checked:  nothing

    more:         needless explain tz-unset
    "#);
}

#[test]
fn without_time_there_are_no_rates_and_without_services_no_names() {
    assert_snapshot!(no_time().rendered(ReportFormat::Full), @r#"
    5 and 6: 2 processes; 90 calls, 0 failed
      needed         46 calls
      needless       44 calls, about 44 µs
      not explained  0 calls

      saves  calls  rule      who  fix
     ~44 µs     44  tz-unset  app  TZ=Europe/Athens

    tz-unset: 44 of 45 time conversions stat /etc/localtime
      saves   about 44 µs (kernel time only); 44 calls, 48.9 % of all calls
      who     app[5], /srv/app
      why     TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether
              /etc/localtime is still the file it has loaded.
      from    main+0xc3: call localtime@plt
      strace  45 × newfstatat("/etc/localtime") ok
      fix     TZ=Europe/Athens
      caveat  Takes effect when the program is restarted; a later change of the zone or of tzdata is
              seen only at the next restart.
      stage   explained: the cause was found; the saving was not measured

    observed:     by eBPF; not known: the kernel time of calls
    lost:         nothing
    not checked:  nothing

    more:         needless explain tz-unset
    "#);
    assert_snapshot!(no_time().rendered(ReportFormat::Concise), @r#"
    about 44 µs: app[5]: tz-unset: 44 of 45 time conversions stat /etc/localtime (explained); fix: TZ=Europe/Athens; caveat: Takes effect when the program is restarted; a later change of the zone or of tzdata is seen only at the next restart
    needless: 1 finding in 2 processes, 44 of 90 calls are needless, about 44 µs (eBPF)
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
    assert_snapshot!(healthy_host().rendered(ReportFormat::Full), @"needless: nothing needless found in 10 s: 214 processes, 51,233 calls; 213 processes started, most of them true (eBPF)");
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
fn concise_has_a_line_for_each_remedy_and_with_v_for_each_finding() {
    assert_snapshot!(host().rendered(ReportFormat::Concise), @r#"
    about 150 ms, 0.5 % of a core: dnsmasq, container 3f2a9c1b7d4e (docker), x: tz-unset: 15,267 calls, 508 per second, in 3 findings; most by dnsmasq[812] of dnsmasq.service: 14,924 of 14,925 time conversions stat /etc/localtime (explained); fix: TZ=Europe/Athens; caveat: Takes effect when the program is restarted; a later change of the zone or of tzdata is seen only at the next restart
    small: app[2002] of container 3f2a9c1b7d4e (docker): locale-alias: 34 failed opens: the locale "greek" is looked for under other names, 1.1 per second (explained); fix: LANG=el_GR; caveat: The encoding stays ISO-8859-7
    needless: 4 findings in 30 s: 5 processes, 15,301 of 1,051,305 calls are needless, about 150 ms, 0.5 % of a core (eBPF)
    "#);
    let mut every = host();
    every.details.full = true;
    let every = every.rendered(ReportFormat::Concise);
    let app = "\nabout 299 µs, < 0.1 % of a core: app[2001] of container 3f2a9c1b7d4e (docker): tz-unset: 299 of 300 ";
    assert!(every.contains(app) && every.lines().count() == 5, "{every}");
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
            assert!(!rendered.contains("per second"), "{rendered}");
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
fn time_is_shown_as_a_part_of_a_core() {
    let cost_with = |ns, estimated, own| {
        let mut sample = attached();
        sample.profile.window.length_ns = Some(1_000_000_000);
        let finding = &mut sample.verdict.findings[0];
        (finding.kernel_ns, finding.estimated) = (Some(ns), estimated);
        finding.user_ns = own;
        let rendered = sample.rendered(ReportFormat::Full);
        let saves = rendered.lines().find_map(|line| line.strip_prefix("  saves   ")).unwrap();
        saves.split_once("; ").unwrap().0.to_owned()
    };
    assert_eq!(
        cost_with(5_000_000, true, Some(2_000_000)),
        "about 7.0 ms, 0.7 % of a core (2.0 ms of it the program's own work, an estimate)"
    );
    let cost = |ns, estimated| {
        let saves = cost_with(ns, estimated, None);
        saves.strip_suffix(" (kernel time only)").unwrap().to_owned()
    };
    assert_eq!(cost(5_000_000, true), "about 5.0 ms, 0.5 % of a core");
    assert_eq!(cost(5_000_000, false), "5.0 ms, 0.5 % of a core");
    assert_eq!(cost(999_400_000, false), "999 ms, 99.9 % of a core");
    assert_eq!(cost(2_460_000_000, true), "about 2.5 s, 246 % of a core");
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
fn a_process_that_execs_is_one_and_nobody_is_none() {
    let sample = host();
    assert_eq!(sample.profile.processes.len(), 7);
    let pids: Vec<u32> = sample.profile.processes.iter().map(|p| p.pid).collect();
    assert_eq!(pids, [812, 2001, 2002, 99, 70, 70, 0]);
    assert!(
        sample.rendered(ReportFormat::Full).contains("host: 30 s, 5 processes in 3 services; ")
    );
    // The same id without an exec is another process, which reused it.
    let mut again = host();
    again.profile.processes[5].parent = Some(ProcId(0));
    assert!(again.rendered(ReportFormat::Full).contains("host: 30 s, 6 processes in 3 services; "));
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
    assert!(coloured.contains("\x1b[1mtz-unset\x1b[0m: 14,924 of"), "{coloured}");
    assert_eq!(stripped, plain);
}
