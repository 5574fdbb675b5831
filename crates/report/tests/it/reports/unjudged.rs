//! What reports say of calls at which no rule looked, and of calls that nobody counted.

use crate::samples::{Sample, healthy, localtime};
use insta::assert_snapshot;
use needless_model::{Backend, Errno, Fact, Facts, Query};
use needless_report::{ReportFormat, Source};
use needless_rules::{Amount, Busy, Site, Unanswered, Unexplained, Unjudged};

/// A process that polls without a pause, in a run or, with `source`, in a window.
fn spinner(source: Option<Source>) -> Sample {
    let mut sample = healthy();
    let kind = |call: &str, calls, site| Unjudged {
        call: call.to_owned(),
        amount: Amount { calls, kernel_ns: None, user_ns: None },
        program: ("p".to_owned(), calls),
        site,
    };
    let site = Site { place: "p+0x10a8".to_owned(), samples: 3, of: 4 };
    sample.profile.backend = Backend::Ebpf;
    sample.profile.window.length_ns = Some(2_354_000_000);
    sample.profile.totals.calls = 82_402;
    let account = &mut sample.verdict.account;
    account.unjudged = Amount { calls: 82_399, kernel_ns: Some(900_000_000), user_ns: None };
    account.kinds = vec![kind("poll", 41_200, Some(site)), kind("kill", 41_199, None)];
    let (program, pid) = ("p".to_owned(), 7);
    account.busy = Some(Busy { program, pid, cpu_ns: 2_307_000_000, life_ns: 2_354_000_000 });
    sample.source = source.unwrap_or(sample.source);
    sample
}

#[test]
fn issue_42_where_most_calls_are_not_judged_nothing_is_said_to_be_found() {
    assert_snapshot!(spinner(None).rendered(ReportFormat::Full), @"needless: 82,402 calls, most not judged: 41,200 poll (17,502 a second), 41,199 kill; 98 % of a processor (eBPF)");
    let attached = Source::Attach("7".to_owned());
    assert_snapshot!(spinner(Some(attached)).rendered(ReportFormat::Full), @"needless: 82,402 calls in 2.4 s: 1 process, most not judged: 41,200 poll (17,502 a second), 41,199 kill; 98 % of a processor (eBPF)");
    let mut sample = spinner(None);
    sample.details.unexplained = true;
    sample.verdict.account.unexplained =
        Amount { calls: 2_000, kernel_ns: Some(90_000_000), user_ns: None };
    sample.verdict.account.lines = vec![Unexplained {
        program: "p".to_owned(),
        processes: 1,
        call: "fcntl".to_owned(),
        query: Query::NoPath,
        reason: Unanswered::Failed(Errno(9)),
        amount: sample.verdict.account.unexplained,
        place: None,
        site: Some(Site { place: "p+0x9".to_owned(), samples: 7, of: 7 }),
    }];
    let full = sample.rendered(ReportFormat::Full);
    let words = full.split_whitespace().collect::<Vec<_>>().join(" ");
    let kinds = "not judged 82,399 calls, 900 ms: 41,200 poll (50.0 %, 17,502 a second, \
        from p+0x10a8 (3 of 4 samples)); 41,199 kill (50.0 %, 17,501 a second)";
    assert!(words.contains(kinds), "{full}");
    assert!(words.contains("failed fcntl calls (EBADF); 90 ms; from p+0x9 observed"), "{full}");
    for format in [ReportFormat::Markdown, ReportFormat::Html] {
        let text = spinner(None).rendered(format);
        assert!(text.contains("most calls are not judged") && !text.contains("nothing needless"));
    }
}

/// Under ptrace without `--all`, most of the kernel's time is of calls that nobody counted.
#[test]
fn issue_42_a_report_says_that_it_does_not_see_most_calls() {
    let mut sample = healthy();
    sample.profile.facts = Facts::of(&Fact::ALL).without(Fact::AllCalls);
    assert_snapshot!(sample.rendered(ReportFormat::Full), @"needless: nothing needless found in 1,234 calls that name a path (ptrace)");
    sample.profile.totals.cpu_sys_ns = Some(900_000_000);
    assert_snapshot!(sample.rendered(ReportFormat::Full), @"needless: counts only calls that name a path: 1,234, nothing needless among them; --all counts every call (ptrace)");
    sample = localtime();
    sample.profile.totals.cpu_sys_ns = Some(900_000_000);
    let concise = sample.rendered(ReportFormat::Concise);
    assert!(concise.contains("; --all counts every call"), "{concise}");
}
