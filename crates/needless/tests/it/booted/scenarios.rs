//! Ways to start a program, with real daemons in a systemd that the tests boot. Each is one entry of a list, whose type is
//! in `scenario.rs`; what takes several steps is a test of its own in the other files of this folder.

mod caveats;
mod containers;
mod daemons;
mod files;
mod local_times;
mod own_environments;
mod readers;
mod servers;
mod sessions;
mod supervisors;
mod units;
mod workers;
mod wrappers;
