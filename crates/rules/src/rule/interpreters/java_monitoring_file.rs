//! ## What it finds
//!
//! Java programs that run for a short time and make a file below `/tmp/hsperfdata_USER` at each
//! start. Every Java program does this: it is shown only with `-vv`.
//!
//! ## Why it happens
//!
//! The virtual machine keeps its counters in a file that `jps`, `jstat` and others can map. Before
//! it makes the file, it looks through the directory for files of processes that are gone. The
//! calls are few; but if /tmp is slow, writing the mapped pages can stop all threads for a moment
//! at any time.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! mkdir("/tmp/hsperfdata_root", 0755) = -1 EEXIST (File exists)
//! openat(AT_FDCWD, "/tmp/hsperfdata_root", O_RDONLY|O_NOFOLLOW) = 4
//! unlink("/tmp/hsperfdata_root/60") = 0
//! end
//! runtime java
//! ```
//! ```finding
//! java-monitoring-file: 9 of 9
//! set JAVA_TOOL_OPTIONS=-XX:-UsePerfData
//! ```
//!
//! ## Not a finding
//!
//! Another program that cleans /tmp:
//!
//! ```trace
//! execve("/usr/bin/cleaner", ["cleaner"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! unlink("/tmp/hsperfdata_root/60") = 0 x20
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Use `-XX:-UsePerfData`, in JAVA_TOOL_OPTIONS for all programs that are started below. Do not do
//! this if somebody monitors the program: `jps`, `jstat` and agents that find processes by these
//! files no longer see it. Each Java that has the variable prints a line on standard error
//! (`Picked up JAVA_TOOL_OPTIONS: …`), which a script that reads it may not expect: an option of the
//! command itself prints nothing.
//!
//! ## References
//!
//! * `man 1 java`, UsePerfData
//! * <https://www.evanjones.ca/jvm-mmap-pause.html>

use crate::engine::helpers::{self, RowClass};
use crate::text::{count, number};
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Process, Remedy, Row, Runtime, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "java-monitoring-file",
    summary: "Each start of Java makes, maps and removes a file for monitoring",
    variables: &["JAVA_TOOL_OPTIONS"],
    pedantic: true,
    mentions: &["/hsperfdata_"],
    ..Rule::PLAIN
};

/// For each open of the directory: Java checks it in several ways and reads it; then it makes its
/// file there, locks it, extends it and fills it with zeros, page by page.
const CALLS: u64 = 15;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let java = |id: ProcId| view.process(id).runtime == Runtime::Java;
    let class = |_: &Row, path: &str| RowClass::Needless.when(path.contains("/hsperfdata_"));
    let cases = helpers::cases(view, sink, java, class);
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let first = view.process(cases[0].process);
        let merged = helpers::merged(view, cases);
        let starts =
            count(merged.processes.len() as u64, "start of Java makes", "starts of Java make");
        let what = format!("{starts} a file for monitoring: {} calls", number(merged.needless));
        let why =
            format!("{program} keeps counters in a file below /tmp for jps and jstat to read.");
        let remedies = vec![remedy(first)];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// Adds an option to those that the process has.
pub(crate) fn remedy(process: &Process) -> Remedy {
    let price = "jps, jstat and agents that find Java by these files no longer see the program. Each Java that \
                 has JAVA_TOOL_OPTIONS prints a line about it on standard error.";
    helpers::add(process, "JAVA_TOOL_OPTIONS", "-XX:-UsePerfData", price)
}
