//! Tests that boot a machine of their own: the real systemd, in namespaces, on an overlay of `/`.

mod agent_unit;
mod changes;
mod crontab;
mod in_force;
pub(crate) mod machine;
mod one_restart;
mod places;
pub(crate) mod probe;
mod restart_killed;
mod restart_trials;
mod scenario;
mod scenarios;
mod settings;
mod settings_of_servers;
mod snippets;
mod sshd;
mod unit_reports;
mod user_profiles;
mod user_units;
