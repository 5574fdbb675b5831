//! What observed the calls of a profile, or what a profile was read from.

use std::fmt;

/// What observed. [`Display`](fmt::Display) gives the words of reports, [`Backend::parse`] reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// BPF programs, in the kernel.
    Ebpf,
    /// ptrace.
    Ptrace {
        /// Which calls stop the program.
        stops: Stops,
        /// Why eBPF was not used, where it was tried.
        instead: Option<NoEbpf>,
    },
    /// A log that strace wrote.
    StraceLog,
    /// The table of counts that `strace -c` wrote.
    StraceTable,
    /// In the words of a report that another version of needless wrote.
    Other(String),
}

/// Which calls of a traced program stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// Those that a seccomp filter selects.
    Seccomp,
    /// Those that a seccomp filter selects, until their call sites are patched and count themselves.
    Patched,
    /// Every call.
    All,
}

/// Why eBPF was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEbpf {
    /// This user has no rights for it.
    Rights,
}

impl Default for Backend {
    fn default() -> Backend {
        Backend::Other(String::new())
    }
}

impl Backend {
    /// ptrace, with these stops.
    pub fn ptrace(stops: Stops) -> Backend {
        Backend::Ptrace { stops, instead: None }
    }

    /// One word: `eBPF`, `ptrace`.
    pub fn name(&self) -> &str {
        match self {
            Backend::Ebpf => "eBPF",
            Backend::Ptrace { .. } => "ptrace",
            Backend::StraceLog => "strace log",
            Backend::StraceTable => "strace -c table",
            Backend::Other(text) => text,
        }
    }

    /// How it observed, where there are several ways: `seccomp-assisted, no rights for eBPF`.
    pub fn variant(&self) -> Option<String> {
        let Backend::Ptrace { stops, instead } = self else { return None };
        let stops = match stops {
            Stops::Seccomp => "seccomp-assisted",
            Stops::Patched => "patched call sites",
            Stops::All => "every call",
        };
        let instead = match instead {
            Some(NoEbpf::Rights) => ", no rights for eBPF",
            None => "",
        };
        Some(format!("{stops}{instead}"))
    }

    /// Whether the kernel time of the program includes what the observation cost: the stops of a tracer.
    pub fn distorts_cpu_time(&self) -> bool {
        match self {
            Backend::Ebpf => false,
            Backend::Ptrace { .. } | Backend::StraceLog | Backend::StraceTable => true,
            // Not known.
            Backend::Other(_) => true,
        }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Backend {
        let ptrace = [Stops::Seccomp, Stops::Patched, Stops::All].into_iter().flat_map(|stops| {
            [None, Some(NoEbpf::Rights)].map(|instead| Backend::Ptrace { stops, instead })
        });
        let all =
            [Backend::Ebpf, Backend::StraceLog, Backend::StraceTable].into_iter().chain(ptrace);
        let known = all.into_iter().find(|backend| backend.to_string() == text);
        known.unwrap_or_else(|| Backend::Other(text.to_owned()))
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.variant() {
            Some(variant) => write!(f, " ({variant})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "eBPF",
            "ptrace (seccomp-assisted)",
            "ptrace (every call)",
            "ptrace (patched call sites)",
            "ptrace (seccomp-assisted, no rights for eBPF)",
            "ptrace (every call, no rights for eBPF)",
            "strace log",
            "strace -c table",
        ] {
            let backend = Backend::parse(text);
            assert!(!matches!(backend, Backend::Other(_)), "{text}");
            assert_eq!(backend.to_string(), text);
            assert_eq!(backend.distorts_cpu_time(), text != "eBPF");
        }
        let other = Backend::parse("uprobes (fast)");
        assert_eq!(other, Backend::Other("uprobes (fast)".into()));
        assert!(other.distorts_cpu_time() && other.to_string() == "uprobes (fast)");
    }
}
