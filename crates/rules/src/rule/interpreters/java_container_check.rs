//! ## What it finds
//!
//! Java programs that read the files of control groups, at their start and again and again while
//! they run. Every Java program does this, and few users would change anything because of it: it is
//! shown only with `-vv`.
//!
//! ## Why it happens
//!
//! Java sizes its heap and its pools by the limits of the container it runs in. It reads from /proc
//! where the control groups are mounted, and from /sys what they allow. A program that asks for the
//! number of processors in a loop has them read again every 20 ms: 346 calls in four seconds.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/java", ["java"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 10
//! openat(AT_FDCWD, "/proc/self/cgroup", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/sys/fs/cgroup/memory/memory.limit_in_bytes", O_RDONLY|O_CLOEXEC) = 3
//! end
//! runtime java
//! ```
//! ```finding
//! java-container-check: 40 of 40
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A monitor of containers:
//!
//! ```trace
//! execve("/usr/bin/cadvisor", ["cadvisor"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/sys/fs/cgroup/memory/memory.limit_in_bytes", O_RDONLY|O_CLOEXEC) = 3 x400
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Outside of containers `-XX:-UseContainerSupport` ends the reading. Do not use it inside one:
//! Java would size itself by the whole machine, and may be killed when memory runs out. In
//! JAVA_TOOL_OPTIONS it makes each Java print a line on standard error. Inside a container
//! `-XX:ActiveProcessorCount=N` avoids the repeated part. A person must decide.
//!
//! ## References
//!
//! * `man 1 java`, UseContainerSupport
//! * <https://bugs.openjdk.org/browse/JDK-8146115>

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Row, Runtime, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "java-container-check",
    summary: "Java reads the limits of its control group, at its start and while it runs",
    pedantic: true,
    ..Rule::PLAIN
};

/// open, fstat, read and close.
const CALLS: u64 = 4;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let java = |id: ProcId| view.process(id).runtime == Runtime::Java;
    let of_groups = |path: &str| {
        path.starts_with("/sys/fs/cgroup/")
            || ["/proc/cgroups", "/proc/self/cgroup", "/proc/self/mountinfo"].contains(&path)
    };
    let class = |row: &Row, path: &str| {
        RowClass::Needless.when(of_groups(path) && row.query == Query::Open)
    };
    let cases = helpers::cases(view, sink, java, class);
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let needless = number(merged.needless);
        let what = format!("{needless} opens of files of control groups");
        let why = format!(
            "{program} reads the limits of the container that it may run in: at its start, and again and \
             again while it runs."
        );
        let remedies = vec![helpers::by_hand(
            "Outside of containers: JAVA_TOOL_OPTIONS=-XX:-UseContainerSupport",
            "Inside a container Java would size itself by the whole machine, and may be killed when \
             memory runs out. Each Java that has the variable prints a line about it on standard error.",
        )];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
