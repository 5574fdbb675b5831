//! What is said in one line, and what does not fit into it.

use crate::samples::{healthy, localtime, tree};
use needless_model::{Change, Finding, ProcId, Process, Spawn};
use needless_report::{ReportFormat, Style};

#[test]
fn many_programs_that_were_started_are_said_also_in_one_line() {
    let mut sample = healthy();
    let sh = |pid| Process {
        exe: Some("/usr/bin/dash".into()),
        command: Some("sh".into()),
        ..Process::new(pid, Some(ProcId(0)), Spawn::Exec)
    };
    sample.profile.processes.extend((2..101).map(sh));
    assert!(!sample.rendered(ReportFormat::Concise).contains("started"));
    sample.profile.processes.push(sh(101));
    for format in [ReportFormat::Concise, ReportFormat::Full] {
        let text = sample.rendered(format);
        let said = "; 100 processes started, most of them sh (dash) (";
        assert!(text.contains(said), "{text}");
    }
}

/// The page counts the same calls among those that no rule of the report has.
#[test]
fn what_goes_with_calls_below_the_threshold_is_left_out_too() {
    let mut sample = healthy();
    let finding = localtime().verdict.findings.remove(0);
    sample.verdict.below = vec![Finding { needless: 2, besides: 3, ..finding }];
    let text = sample.rendered(ReportFormat::Concise);
    assert!(text.contains("5 calls below the threshold"), "{text}");
}

/// Also where there is nothing else to say, in each format that people get without asking.
#[test]
fn a_note_is_shown_where_its_count_says() {
    let mut sample = healthy();
    sample.profile.notes.push("A sentence.".into());
    for format in [ReportFormat::Concise, ReportFormat::Full] {
        sample.details.full = false;
        assert!(sample.rendered(format).contains("1 note: -v shows it)"));
        sample.details.full = true;
        let text = sample.rendered(format);
        assert!(text.contains("A sentence.") && !text.contains("-v shows"), "{text}");
    }
}

#[test]
fn a_fix_that_does_not_fit_has_lines_of_its_own() {
    let mut sample = localtime();
    let there = "in /srv/www/home/wrap.sh, a script, which sets LD_LIBRARY_PATH: unset it there";
    sample.verdict.findings[0].remedies[0].change = Change::Manual(there.into());
    let narrow = Style { colour: false, width: 80 };
    let text = sample.styled(ReportFormat::Full, narrow);
    let fix = "  sample\n     fix  in /srv/www/home/wrap.sh, a script, which sets LD_LIBRARY_PATH: unset\n          it there\n";
    assert!(text.contains(fix), "{text}");
    let mut small = tree();
    small.verdict.findings[1].remedies[0].change = Change::Manual(there.into());
    let text = small.styled(ReportFormat::Full, narrow);
    assert!(text.contains("\n    which sets LD_LIBRARY_PATH: unset it there\n"), "{text}");
}
