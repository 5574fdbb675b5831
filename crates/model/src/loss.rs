//! What an observation missed.

use std::cmp::Ordering;
use std::fmt;

/// Something that was not seen, was dropped or was folded. Always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Rows beyond the limit, folded: still in the totals.
    FoldedRows,
    /// Processes beyond the limit: their calls are in the totals, and in no finding.
    FoldedProcesses,
    /// Lines of a log that could not be read.
    Unparsed,
    /// Calls whose start was seen and whose end was not.
    Unfinished,
    /// Calls whose path could not be read from the process, or found no room.
    NoPath,
    /// Calls that strace left out of the log, by its own filter: not counted anywhere.
    Filtered,
    /// Set-user-ID programs that ran without their privilege because they were traced.
    Setuid,
    /// Calls that were not counted: the BPF program interrupted itself, or found no room.
    Uncounted,
    /// Processes whose start or exec was not seen, because there was no room.
    UnseenProcesses,
    /// Calls that were counted but not timed, because there was no room.
    Untimed,
    /// Snapshots of stacks that found no room.
    Stacks,
    /// Attempts of the program to trace another, refused because it is traced itself.
    Ptrace,
    /// Requests of the program for seccomp's strict mode, refused because it has our filter.
    StrictMode,
    /// Starts of processes that a filter of the program may have refused because we changed their flags.
    Clone,
}

impl Loss {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Loss::FoldedRows => "rows_folded",
            Loss::FoldedProcesses => "processes_folded",
            Loss::Unparsed => "lines_unparsed",
            Loss::Unfinished => "calls_unfinished",
            Loss::NoPath => "paths_unreadable",
            Loss::Filtered => "log_filtered",
            Loss::Setuid => "setuid_ignored",
            Loss::Uncounted => "calls_uncounted",
            Loss::UnseenProcesses => "processes_unseen",
            Loss::Untimed => "calls_untimed",
            Loss::Stacks => "stacks_dropped",
            Loss::Ptrace => "ptrace_refused",
            Loss::StrictMode => "strict_mode_refused",
            Loss::Clone => "clone_refused",
        }
    }
}

/// By name: the order of reports.
impl Ord for Loss {
    fn cmp(&self, other: &Loss) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for Loss {
    fn partial_cmp(&self, other: &Loss) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
