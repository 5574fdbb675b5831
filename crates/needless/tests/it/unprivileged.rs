//! Programs that lose the privilege of their file under ptrace.

use crate::common::*;
use std::fs::{Permissions, create_dir, set_permissions};
use std::os::unix::fs::PermissionsExt;

/// CAP_CHOWN of a file, permitted, and with `EFFECTIVE` in force from the start: capabilities(7), as the kernel keeps it
/// (linux/capability.h).
const CAPABILITY: [u32; 5] = [0x0200_0000, 1, 0, 0, 0];
const EFFECTIVE: u32 = 1;

#[test]
fn what_a_program_does_without_its_privilege_is_no_finding() {
    if root().is_none() {
        return;
    }
    let (Some(user), Some(env)) = (as_ordinary_user(), program("env")) else { return };
    // On a file system that honours the bits.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (binary, own) = (path("needless"), path("env"));
    copy(NEEDLESS, binary.as_ref());
    let libraries: Vec<String> = (0..20).map(|n| path(&format!("lib{n}"))).collect();
    libraries.iter().for_each(|dir| create_dir(dir).unwrap());
    let plain: &[&str] = &[];
    for (mode, capable, privileges, judged) in [
        (0o755, None, plain, true),
        (0o4755, None, plain, false),
        (0o2755, None, plain, false),
        (0o755, Some(0), plain, false),
        (0o755, Some(EFFECTIVE), plain, false),
        // It would not get its privilege without needless either.
        (0o4755, None, &["--no-new-privs"], true),
    ] {
        copy(env.to_str().unwrap(), own.as_ref());
        set_permissions(&own, Permissions::from_mode(mode)).unwrap();
        if let Some(effective) = capable {
            let mut value = CAPABILITY;
            value[0] |= effective;
            let value = value.map(u32::to_le_bytes).concat();
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(&own, "security.capability", &value, flags).unwrap();
        }
        let run = [binary.as_str(), "run", "--backend", "ptrace", "--format", "json", "--", &own];
        // What the program executes looks for its libraries there, too.
        let done = command_of(&[user, privileges, &run, &["sh", "-c", "/bin/true; :"]].concat())
            .current_dir("/")
            .env("LD_LIBRARY_PATH", libraries.join(":"))
            .output()
            .unwrap();
        let report = json(&done.stderr);
        let notices = report["notices"].to_string();
        let calls = needless_of(&report, "library-search");
        assert_eq!(calls > 20, judged, "{mode:o}: {report:#}");
        assert_eq!(notices.contains("calls of env and of what it started"), !judged, "{notices}");
        assert_eq!(report["lost"]["setuid_ignored"] == 1, !judged, "{report:#}");
        std::fs::remove_file(&own).unwrap();
    }
}
