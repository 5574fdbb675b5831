//! Programs that lacked their privilege because they were traced.

use super::profile;
use crate::{CheckOptions, check, check_by_service};

/// A process that looks for its libraries in a directory that has none of them.
fn search(pid: u32, program: &str) -> String {
    let mut text = format!(
        "{pid} execve(\"/usr/bin/{program}\", [\"{program}\"], [\"LD_LIBRARY_PATH=/opt/a/lib\"]) = 0\n"
    );
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let failed = "O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)";
        text += &format!("{pid} openat(AT_FDCWD, \"/opt/a/lib/lib{name}.so\", {failed}\n");
    }
    text
}

#[test]
fn what_they_did_is_not_judged_and_is_said() {
    let mut profile = profile(&(search(7, "su") + &search(8, "app")));
    let options = CheckOptions::default();
    let judged = check(&profile, &options);
    assert_eq!(judged.findings.iter().map(|found| found.needless).sum::<u64>(), 16);
    assert!(judged.notices.is_empty(), "{:?}", judged.notices);

    let su = profile.processes.iter_mut().find(|process| process.name() == "su").unwrap();
    su.lacks_privilege = true;
    for verdict in [check(&profile, &options), check_by_service(&profile, &options)] {
        let [finding] = &verdict.findings[..] else { panic!("{verdict:?}") };
        assert_eq!((&*finding.rule, finding.needless), ("library-search", 8));
        assert_eq!(profile.process(finding.processes[0]).name(), "app");
        let [notice] = &verdict.notices[..] else { panic!("{:?}", verdict.notices) };
        let said = "9 calls of su and of what it started are not judged: ";
        assert!(notice.starts_with(said), "{notice}");
        let account = verdict.account;
        assert_eq!((account.calls, account.needed(), account.unexplained.calls), (18, 1, 0));
        assert_eq!(account.unjudged.calls, 9);
    }
}
