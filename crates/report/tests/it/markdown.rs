//! What reports in Markdown look like, read by eye before it was accepted, and as GitHub's own reader renders them.

use crate::samples::{Sample, healthy, tree};
use insta::assert_snapshot;
use needless_report::ReportFormat;

fn markdown(sample: &Sample) -> String {
    sample.rendered(ReportFormat::Markdown)
}

#[test]
fn several_findings() {
    assert_snapshot!(markdown(&tree()), @r#"
    ### needless: `make`

    3.0 s under ptrace; 60,300 calls, 0 failed.

    | | |
    |---|---|
    | needed | 269 calls |
    | needless | 60,031 calls, about 62 ms |
    | not explained | 0 calls |

    | saves | calls | rule | who | fix |
    |---:|---:|---|---|---|
    | \~62 ms | 59,997 | tz-unset | date, python3 | `TZ=Europe/Athens` |

    <details><summary>small</summary>

    * 34 calls: locale-alias of date; fix: LANG=el\_GR

    </details>

    <details><summary>tz-unset: 59,997 of 59,998 needless: asks for the status of /etc/localtime at every conversion</summary>

    * saves: about 62 ms (kernel time only); 59,997 calls, 99.5 % of all calls
    * who: 3 processes: 2 × /usr/bin/date, 1 × /usr/bin/python3; most calls by python3\[100\]
    * why: TZ is unset, so glibc looks at every localtime(), mktime() and tzset() whether /etc/localtime is still the file it has loaded.
    * from: `main+0xc3: call localtime@plt`
    * from: `date+0x0: call localtime@plt`
    * from: `date+0x1: call localtime@plt`
    * from: `2 other places`
    * from: `TZ is unset`
    * strace: `59,998 × newfstatat("/etc/localtime") ok`
    * fix: `TZ=Europe/Athens`
      * Takes effect when the program is restarted; a later change of the zone or of tzdata is seen only at the next restart.
    * stage: explained: the cause was found; the saving was not measured

    </details>

    <details><summary>how it was observed, and what was left out</summary>

    * observed: by ptrace; not known: the time of calls, the kernel time of calls and 5 more
    * lost: 1 call whose end was not seen and 40,000 calls folded into others
    * not checked: locale-spelling, locale-not-installed (need the host's locales); repeated-question (needs the time of calls and the answers of calls)
    * left out: 1 call below the threshold, --min-saving 0 shows them
    * note: A program tried to trace another one.

    </details>
    "#);
}

#[test]
fn a_healthy_program() {
    assert_snapshot!(markdown(&healthy()), @r#"
    ### needless: `true`

    1,234 calls, 0 failed.

    **nothing needless found**

    | | |
    |---|---|
    | needed | 1,234 calls |
    | needless | 0 calls |
    | not explained | 0 calls |

    <details><summary>how it was observed, and what was left out</summary>

    * observed: by ptrace (seccomp-assisted)
    * lost: nothing
    * not checked: nothing

    </details>
    "#);
}

#[test]
fn every_fold_is_closed_and_no_name_opens_one() {
    for sample in Sample::all() {
        let text = markdown(&sample);
        let lines = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
        assert_eq!(lines("<details><summary>"), lines("</details>"), "{text}");
        assert_eq!(text.matches("<details>").count(), lines("</details>"), "{text}");
        assert!(!text.contains("\n\n\n") && !text.chars().any(|c| c.is_control() && c != '\n'));
    }
}
