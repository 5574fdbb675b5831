//! Counts are the counts of strace: of every call with `--all`, else of every call, path and outcome.

use super::common::*;
use needless_fixtures::Expected;
use needless_fixtures::backend::conformance::{Conforms, Testee};
use needless_model::Query;
use std::ffi::OsString;
use std::path::Path;

struct Ptrace;

impl Conforms for Ptrace {
    const BY_CHANCE: &[&str] = &["rt_sigreturn"];
    // What is refused before the kernel looked at the path may be on a page that is not there yet, where only
    // ptrace can read it.
    const MORE: &[Testee] = &[(false, "own_filter", &["kill"])];

    fn all_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        ours(&["--all"], argv, folder).0
    }

    fn path_calls(argv: &[OsString], folder: &Path) -> CallCounts {
        let (mut table, _) = ours(&[], argv, folder);
        // Calls whose path cannot be read have none; the log has the address.
        let every = argv[0].to_string_lossy().contains("every");
        table.retain(|(_, outcome, path), _| !path.is_empty() || every && outcome != "EFAULT");
        table
    }

    fn asked(all: bool, argv: &[OsString], folder: &Path) -> Vec<Expected> {
        let (table, _) = ours(if all { &["--all"] } else { &[] }, argv, folder);
        let rows = table.into_iter().map(|((call, outcome, path), count)| {
            let question = Query::of(&call).verb().to_owned();
            Expected { question, path, outcome, count }
        });
        rows.collect()
    }
}

needless_fixtures::every_backend_conforms!(Ptrace);
