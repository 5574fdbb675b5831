//! A few numbers for Prometheus and other collectors, never more than [`SERIES`] series, whatever runs on the host.

use crate::file::AgentWindow;
use crate::rows::{Fate, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// So many series an agent shows at most.
pub const SERIES: usize = 60;
/// Series that are always there.
const FIXED: usize = 16;
/// So many units and workloads have a name; what the others do is counted for [`OTHER`].
const UNITS: usize = 20;
/// The label of what has no name of its own.
const OTHER: &str = "other";

/// What the agent knows of itself at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Own {
    /// CPU time that it has used, seconds.
    pub cpu_seconds: f64,
    /// CPU time that its programs in the kernel have used, seconds.
    pub bpf_seconds: f64,
    /// The part of the last window that was observed.
    pub duty: f64,
    /// Whether the configuration was right when it was last read.
    pub is_configured: bool,
    /// When it was last read and right, seconds since 1970.
    pub configured_seconds: f64,
    /// Memory that it uses, bytes.
    pub resident_bytes: u64,
    /// The size of all files in its ring, bytes.
    pub ring_bytes: u64,
}

/// Measures over all windows since the agent was started.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    version: String,
    /// Needless calls by cause, and unit or workload.
    needless: BTreeMap<(String, Labels), Needless>,
    /// Whether the series were read since the last window was added.
    was_read: bool,
    units: BTreeSet<Labels>,
    observed: u64,
    unexplained: u64,
    saves_ns: u64,
    folded: u64,
    lost: u64,
    windows: u64,
    windows_lost: u64,
    last_end_us: i64,
}

/// The needless calls of one cause in one unit or workload.
///
/// A series begins at zero, and has its first calls once the zero was read: `rate()` and `increase()` of Prometheus see
/// nothing of the value with which a counter appears, and an agent meets a rare cause once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Needless {
    calls: u64,
    /// Calls that were counted while the series is zero.
    held_back: u64,
    /// When the window began in which the series was first seen, microseconds since 1970.
    since_us: i64,
}

/// Who reads a file of metrics is not known: what is held back for so long, microseconds, was read.
const READ_WITHIN_US: i64 = 60_000_000;

impl Metrics {
    /// Nothing yet. `version`: of needless.
    pub fn new(version: &str) -> Metrics {
        Metrics { version: version.to_owned(), ..Metrics::default() }
    }

    /// Adds a window. `lost`: how many windows are lost with it, itself or older ones.
    pub fn add(&mut self, rows: &Rows, window: &AgentWindow, lost: u64) {
        let sum =
            |of: fn(&crate::Measures) -> i64| rows.rows.iter().map(|(_, sums)| of(sums)).sum();
        let whole = |part: i64| (part.max(0) as f64 * window.sample_scale).round() as u64;
        self.observed += whole(sum(|sums| sums.calls));
        self.saves_ns += whole(sum(|sums| sums.saves_ns));
        self.lost += whole(sum(|sums| sums.lost));
        self.folded += rows.folded;
        self.windows += 1;
        self.windows_lost += lost;
        self.last_end_us = window.end_us;
        let mut needless: BTreeMap<(&str, Labels), i64> = BTreeMap::new();
        for (row, sums) in &rows.rows {
            if row.fate == Fate::NotExplained {
                self.unexplained += whole(sums.calls);
            }
            let Some(cause) = row.cause.as_deref() else { continue };
            *needless.entry((cause, labels(row.service.as_deref()))).or_default() += sums.needless;
        }
        // Those with most calls get a name first.
        let mut needless: Vec<_> = needless.into_iter().filter(|(_, calls)| *calls > 0).collect();
        needless.sort_by(|(one, calls), (other, more)| more.cmp(calls).then(one.cmp(other)));
        let was_read = std::mem::take(&mut self.was_read);
        for known in self.needless.values_mut() {
            if was_read || window.end_us - known.since_us >= READ_WITHIN_US {
                known.calls += std::mem::take(&mut known.held_back);
            }
        }
        for ((cause, unit), calls) in needless {
            let key = self.key(cause, unit);
            let new = Needless { since_us: window.start_us, ..Needless::default() };
            let known = self.needless.entry(key).or_insert(new);
            if known.calls == 0 {
                known.held_back += whole(calls);
            } else {
                known.calls += whole(calls);
            }
        }
    }

    /// A collector has read all series.
    pub fn were_read(&mut self) {
        self.was_read = true;
    }

    /// The labels under which calls are counted: from then on always these.
    fn key(&mut self, cause: &str, unit: Labels) -> (String, Labels) {
        let own = unit == other() || self.units.contains(&unit) || self.units.len() < UNITS;
        self.folded += u64::from(!own);
        let key = (cause.to_owned(), if own { unit } else { other() });
        // One is kept free for what finds no room.
        if !self.needless.contains_key(&key) && self.needless.len() + 1 >= SERIES - FIXED {
            self.folded += 1;
            return (OTHER.to_owned(), other());
        }
        if key.1 != other() {
            self.units.insert(key.1.clone());
        }
        key
    }

    /// All series. They are the same in each format.
    pub(crate) fn families(&self, own: &Own) -> Vec<Family> {
        let calls = self.needless.iter().map(|((cause, unit), needless)| {
            let mut labels = vec![("needless_cause", cause.clone())];
            labels.extend(unit.iter().cloned());
            let since = Some(needless.since_us as f64 / 1e6);
            Point { labels, value: needless.calls as f64, since }
        });
        let mut families = vec![
            Family {
                name: "needless_syscalls",
                kind: Kind::Counter,
                help: "System calls that rules name as not needed, some of them with a cause that is not certain.",
                points: calls.collect(),
            },
            counter(
                "needless_syscalls_observed",
                "System calls: those that were counted, and an estimate for the time that was not observed.",
                self.observed as f64,
            ),
            counter(
                "needless_syscalls_unexplained",
                "System calls that failed or got no new answer, and that no rule explains.",
                self.unexplained as f64,
            ),
            counter(
                "needless_syscall_time_seconds",
                "What these system calls took, an estimate.",
                self.saves_ns as f64 / 1e9,
            ),
            counter("needless_agent_windows", "Windows that were observed.", self.windows as f64),
            counter(
                "needless_agent_windows_lost",
                "Windows that could not be written, or gave way because the file system was full.",
                self.windows_lost as f64,
            ),
            counter(
                "needless_agent_lost_events",
                "What was not seen: calls, paths, processes.",
                self.lost as f64,
            ),
            counter(
                "needless_agent_overflow",
                "Rows and series that found no room and are part of others.",
                self.folded as f64,
            ),
            gauge(
                "needless_agent_window_end_timestamp_seconds",
                "When the last window ended.",
                self.last_end_us as f64 / 1e6,
            ),
        ];
        families.extend(own.families());
        let mut build = gauge("needless_build_info", "The version of needless.", 1.0);
        build.points[0].labels.push(("version", self.version.clone()));
        families.push(build);
        families
    }
}

impl Own {
    fn families(&self) -> [Family; 7] {
        [
            gauge(
                "needless_agent_ring_size_bytes",
                "Size of all files in the ring.",
                self.ring_bytes as f64,
            ),
            gauge(
                "needless_agent_duty_ratio",
                "The part of the last window that was observed.",
                self.duty,
            ),
            counter(
                "needless_agent_bpf_run_time_seconds",
                "CPU time that the agent's programs in the kernel have used.",
                self.bpf_seconds,
            ),
            gauge(
                "needless_config_last_reload_successful",
                "Whether the configuration was right when it was last read.",
                f64::from(u8::from(self.is_configured)),
            ),
            gauge(
                "needless_config_last_reload_success_timestamp_seconds",
                "When it was last read and right.",
                self.configured_seconds,
            ),
            counter("process_cpu_seconds", "CPU time that the agent has used.", self.cpu_seconds),
            gauge(
                "process_resident_memory_bytes",
                "Memory that the agent uses.",
                self.resident_bytes as f64,
            ),
        ]
    }
}

/// How a number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows, from the start of the agent on.
    Counter,
    /// It is what it is at the moment.
    Gauge,
}

/// The series of one name.
pub(crate) struct Family {
    /// Without `_total`, which Prometheus adds to counters.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) points: Vec<Point>,
}

/// One series.
pub(crate) struct Point {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: f64,
    /// Since when a counter counts, seconds since 1970, where it is not the start of the agent.
    pub(crate) since: Option<f64>,
}

fn counter(name: &'static str, help: &'static str, value: f64) -> Family {
    let points = vec![Point { labels: Vec::new(), value, since: None }];
    Family { name, kind: Kind::Counter, help, points }
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    Family { kind: Kind::Gauge, ..counter(name, help, value) }
}

/// What calls were made by: names and values.
type Labels = Vec<(&'static str, String)>;

fn other() -> Labels {
    vec![("systemd_unit", OTHER.to_owned())]
}

/// The unit of the host that a service is, or the workload and container that a pod with a name is (the labels that
/// OpenTelemetry gives them, but for the workload, which is derived from the pod's name), without what changes with each
/// instance; [`OTHER`] for all else: names of containers, sessions and programs come and go without end.
fn labels(service: Option<&str>) -> Labels {
    let Some(name) = service else { return other() };
    if let Some(pod) = name.strip_prefix("pod ") {
        let path = pod.split(": ").next().unwrap_or(pod);
        let names = ["k8s_namespace_name", "k8s_workload_name", "k8s_container_name"];
        let labels: Labels = names.into_iter().zip(path.split('/').map(str::to_owned)).collect();
        // Only the UID is known.
        let is_named = labels.len() > 1 && !path.contains("/container ");
        return if is_named { labels } else { other() };
    }
    // Units that systemd-run makes, of users, and of machines.
    let is_of_host = name.ends_with(".service") && !name.contains([' ', '@', ':', '/']);
    if is_of_host && !name.starts_with("run-") {
        vec![("systemd_unit", name.to_owned())]
    } else {
        other()
    }
}

#[cfg(test)]
mod tests;
