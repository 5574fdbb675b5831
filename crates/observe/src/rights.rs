//! Which of root's capabilities needless keeps (capabilities(7)): at each step only those that it still needs, because
//! it then reads files that others made: environments, programs, libraries, zone files.

use rustix::io::Result;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Which capabilities this process keeps during and after an observation. The default is all of them, for a caller that
/// still needs them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rights {
    /// Those that writing the report needs, if all others are to be given up step by step.
    report: Option<CapabilitySet>,
}

impl Rights {
    /// For a process that ends with a report. It must have one thread, because each thread has its own capabilities.
    ///
    /// `as_caller`: the report is written as the user who ran sudo. `anywhere`: it is written to a directory where root
    /// needs capabilities to write.
    pub fn for_report(as_caller: bool, anywhere: bool) -> Rights {
        let mut report = CapabilitySet::empty();
        if as_caller {
            report |= CapabilitySet::SETUID | CapabilitySet::SETGID;
        }
        if anywhere {
            report |= CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER;
        }
        Rights { report: Some(report) }
    }

    /// The programs are in the kernel, and the command has been forked: it keeps all that it is to have.
    pub(crate) fn observe(self) -> Result<()> {
        // Before Linux 5.19 each read of a map needs CAP_BPF or CAP_SYS_ADMIN. The others are for /proc and files of
        // other users' processes, and for signals that are passed on to a command of another user.
        let bpf = if capabilities(None)?.permitted.contains(CapabilitySet::BPF) {
            CapabilitySet::BPF
        } else {
            CapabilitySet::SYS_ADMIN
        };
        let others = CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
        self.keep(bpf | others | CapabilitySet::KILL)
    }

    /// For the time after observing: programs, libraries and zone files are read.
    pub(crate) fn read(self) -> Result<()> {
        self.keep(CapabilitySet::DAC_READ_SEARCH)
    }

    /// For writing the report: everything else was read.
    pub(crate) fn write(self) -> Result<()> {
        self.keep(CapabilitySet::empty())
    }

    fn keep(self, these: CapabilitySet) -> Result<()> {
        self.report.map_or(Ok(()), |report| keep(report | these))
    }
}

/// Gives up all but these, also for programs that this process starts (`locale`).
fn keep(these: CapabilitySet) -> Result<()> {
    let now = capabilities(None)?;
    if these.contains(now.permitted) {
        return Ok(());
    }
    let permitted = now.permitted & these;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for one in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
            // An error means that the kernel has no such capability.
            if !these.contains(one) && capability_is_in_bounding_set(one).unwrap_or(false) {
                remove_capability_from_bounding_set(one)?;
            }
        }
    }
    let effective = now.effective & permitted;
    let inheritable = now.inheritable & permitted;
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable })
}

/// Calls `act` without capabilities, which are also missing when the report is written. To be called while
/// this process has one thread.
///
/// # Errors
/// When the capabilities cannot be changed (capset(2)).
pub fn without_capabilities<T>(act: impl FnOnce() -> T) -> std::io::Result<T> {
    let now = capabilities(None)?;
    set_capabilities(None, CapabilitySets { effective: CapabilitySet::empty(), ..now })?;
    let done = act();
    set_capabilities(None, now)?;
    Ok(done)
}

/// Notes in the report that capabilities could not be given up.
pub(crate) fn note(done: Result<()>, notes: &mut Vec<String>) {
    if let Err(error) = done {
        notes.push(format!(
            "The capabilities of needless could not be given up ({error}): the report was made with all of them."
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `test` in a thread, whose capabilities are its own, as root.
    fn as_root(test: impl FnOnce() + Send + 'static) {
        if !rustix::process::geteuid().is_root() {
            return needless_fixtures::skipped("not root");
        }
        std::thread::spawn(test).join().unwrap();
    }

    fn held() -> CapabilitySet {
        let now = capabilities(None).unwrap();
        assert_eq!((now.effective, now.inheritable.is_empty()), (now.permitted, true));
        now.permitted
    }

    #[test]
    fn each_step_keeps_what_it_needs_and_no_more() {
        as_root(|| {
            let plain = Rights::for_report(false, false);
            let all = held();
            Rights::default().write().unwrap();
            assert_eq!(held(), all);
            plain.observe().unwrap();
            let observing = CapabilitySet::BPF
                | CapabilitySet::SYS_PTRACE
                | CapabilitySet::DAC_READ_SEARCH
                | CapabilitySet::KILL;
            assert_eq!(held(), observing & all);
            for bit in 0..40 {
                let one = CapabilitySet::from_bits_retain(1 << bit);
                let in_bounding_set = capability_is_in_bounding_set(one).unwrap();
                assert!(!in_bounding_set || observing.contains(one), "{one:?}");
            }
            plain.read().unwrap();
            assert_eq!(held(), CapabilitySet::DAC_READ_SEARCH);
            plain.write().unwrap();
            assert_eq!(held(), CapabilitySet::empty());
            // Nothing comes back.
            plain.observe().unwrap();
            assert_eq!(held(), CapabilitySet::empty());
        });
    }

    #[test]
    fn what_writing_the_report_takes_is_kept_to_the_end() {
        as_root(|| {
            Rights::for_report(true, true).write().unwrap();
            let both = [
                [CapabilitySet::SETUID, CapabilitySet::SETGID],
                [CapabilitySet::DAC_OVERRIDE, CapabilitySet::FOWNER],
            ];
            assert_eq!(held(), both.into_iter().flatten().collect());
        });
    }

    #[test]
    fn without_capabilities_root_is_bound_by_permissions() {
        as_root(|| {
            use std::os::unix::fs::PermissionsExt;
            let folder = tempfile::tempdir().unwrap();
            let closed = PermissionsExt::from_mode(0o500);
            std::fs::set_permissions(folder.path(), closed).unwrap();
            let file = folder.path().join("x");
            assert!(!without_capabilities(|| std::fs::write(&file, "").is_ok()).unwrap());
            assert!(std::fs::write(&file, "").is_ok());
        });
    }
}
