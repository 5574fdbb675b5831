//! Observing what runs already, for a while.

use crate::run::{Failure, ObserveOptions};
use needless_model::Profile;
use std::fmt;
use std::time::Duration;

/// Whom to observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// These processes.
    Processes(Vec<u32>),
    /// A systemd unit.
    Unit(String),
    /// A container, by name or id.
    Container(String),
    /// A control group: a directory, or a path below where they are mounted.
    Cgroup(String),
    /// Every process of the machine.
    Everyone,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Processes(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let noun = if pids.len() == 1 { "process" } else { "processes" };
                write!(f, "{noun} {}", pids.join(", "))
            }
            Who::Unit(name) => write!(f, "unit {name}"),
            Who::Container(name) => write!(f, "container {name}"),
            Who::Cgroup(path) => write!(f, "cgroup {path}"),
            Who::Everyone => f.write_str("host"),
        }
    }
}

/// Observes for `length`, or until Ctrl-C or, for chosen processes, until the last of them has ended.
/// `tick` is told ten times a second how long it has been.
///
/// # Errors
/// When there is nobody to observe, or observing is not allowed.
pub fn window(
    who: &Who,
    length: Duration,
    options: &ObserveOptions,
    tick: &mut dyn FnMut(Duration),
) -> Result<Profile, Failure> {
    #[cfg(feature = "ebpf")]
    return observe::window(who, length, options, tick);
    #[cfg(not(feature = "ebpf"))]
    {
        let _ = (who, length, options, tick);
        Err(Failure::new(Failure::BAD, "this needless was built without eBPF"))
    }
}

#[cfg(feature = "ebpf")]
mod observe;
