//! Which host this is, and what runs on it: for each row, and for the footer of each file.

use anyhow::{Context, Result, bail};
use needless_fleet::HASH_OF_MACHINE_ID;
use std::fs::read_to_string;
use std::process::Command;

/// A hash of the machine id, by systemd: sd_id128_get_machine_app_specific(3).
///
/// # Errors
/// Where there is no such program, or no machine id.
pub(super) fn host() -> Result<String> {
    let advice = "name the host with --host";
    let [hash, words @ ..] = HASH_OF_MACHINE_ID;
    let asked = Command::new(hash).args(words).output().with_context(|| {
        format!("cannot run systemd-id128, which hashes the machine id; {advice}")
    })?;
    let id = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    if !asked.status.success() || id.len() != 32 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        let why = String::from_utf8_lossy(&asked.stderr);
        bail!("there is no machine id: {}; {advice}", why.trim());
    }
    Ok(id)
}

/// For the footer.
pub(super) fn facts() -> Vec<(&'static str, String)> {
    let kernel = |what: &str| {
        let text = read_to_string(format!("/proc/sys/kernel/{what}")).unwrap_or_default();
        text.trim().to_owned()
    };
    vec![("needless.kernel", kernel("osrelease")), ("needless.boot", kernel("random/boot_id"))]
}

/// Memory that this process uses, bytes: proc_pid_statm(5).
pub(super) fn resident_bytes() -> u64 {
    let text = read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}
