//! What an observation missed.

use std::fmt;

words! {
    /// Something that was not seen, was dropped or was folded. Always reported, in the order of these names.
    pub enum Loss {
        /// Calls that were not counted: the BPF program interrupted itself, or found no room.
        Uncounted = "calls_uncounted",
        /// Calls whose start was seen and whose end was not.
        Unfinished = "calls_unfinished",
        /// Calls that were counted but not timed, because there was no room.
        Untimed = "calls_untimed",
        /// Starts of processes that a filter of the program may have refused because we changed their flags.
        Clone = "clone_refused",
        /// Lines of a log that could not be read.
        Unparsed = "lines_unparsed",
        /// Calls that strace left out of the log, by its own filter: not counted anywhere.
        Filtered = "log_filtered",
        /// Calls whose path could not be read from the process, or found no room.
        NoPath = "paths_unreadable",
        /// Processes beyond the limit: their calls are in the totals, and in no finding.
        FoldedProcesses = "processes_folded",
        /// Processes whose start or exec was not seen, because there was no room.
        UnseenProcesses = "processes_unseen",
        /// Attempts of the program to trace another, refused because it is traced itself.
        Ptrace = "ptrace_refused",
        /// Rows beyond the limit, folded: still in the totals.
        FoldedRows = "rows_folded",
        /// Set-user-ID programs that ran without their privilege because they were traced.
        Setuid = "setuid_ignored",
        /// Snapshots of stacks that found no room.
        Stacks = "stacks_dropped",
        /// Requests of the program for seccomp's strict mode, refused because it has our filter.
        StrictMode = "strict_mode_refused",
    }
    /// The name in JSON.
    pub fn name(self);
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Loss;

    #[test]
    fn the_order_is_that_of_the_names() {
        assert!(Loss::ALL.is_sorted_by_key(|loss| loss.name()));
    }
}
