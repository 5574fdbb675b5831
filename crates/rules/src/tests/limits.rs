//! What close-storm says about the limit of open files.

use super::profile;
use crate::{CheckOptions, check};

/// The finding about a program that closes 3,840 descriptors that are not open, after these lines.
fn why_and_remedy(lines: &str) -> (String, String) {
    let text = format!("{lines}7 close(4095) = -1 EBADF (Bad file descriptor) x3840\n");
    let verdict = check(&profile(&text), &CheckOptions::default());
    let [finding] = &verdict.findings[..] else { panic!("{verdict:?}") };
    assert_eq!((&*finding.rule, finding.needless), ("close-storm", 3840 - 768));
    (format!("{}; {}", finding.what, finding.why), format!("{:?}", finding.remedies))
}

const EXEC: &str = "7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n";

fn limit(soft: &str) -> String {
    format!("7 prlimit64(0, RLIMIT_NOFILE, NULL, {{rlim_cur={soft}, rlim_max=512*1024}}) = 0\n")
}

#[test]
fn what_is_known_of_the_limit_is_said_and_decides_the_advice() {
    let lowers = |advice: &str| advice.contains("LimitNOFILE");
    let (text, advice) = why_and_remedy(EXEC);
    assert!(!text.contains("4,096") && lowers(&advice), "{text}");
    let (text, advice) = why_and_remedy(&(limit("4*1024") + EXEC));
    assert!(text.contains("up to a limit of 4,096; "), "{text}");
    assert!(text.contains("was 4,096 when it was started") && lowers(&advice), "{text}");
    let (text, advice) = why_and_remedy(&(limit("1024") + EXEC));
    assert!(text.contains("was 1,024 when it was started, which is usual"), "{text}");
    assert!(!lowers(&advice) && advice.contains("close_range()"), "{advice}");
    let (text, advice) = why_and_remedy(&(limit("512*1024") + EXEC));
    assert!(text.contains("does not go up to") && text.contains("524,288"), "{text}");
    assert!(!lowers(&advice), "{advice}");
    // It may have raised its limit itself, before the observation.
    let (text, _) = why_and_remedy(&limit("4*1024"));
    assert!(text.contains("was 4,096 when it was first seen"), "{text}");
}
