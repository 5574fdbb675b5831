//! The options of `origin`, `fix` and `undo`.

use super::UserArgs;
use super::values::{assignment, duration, number, pid, rule_name, variable};
use clap::Args;
use needless_environment::{SnippetFormat, snippet_format};
use needless_model::Change;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Headings of the help.
const PLACE: &str = "Where";
const CHANGE: &str = "The change";
const LOCALE: &str = "Locales";

#[derive(Args)]
pub(crate) struct OriginArgs {
    /// Name of the variable.
    #[arg(value_name = "VAR")]
    pub(crate) variable: String,
    /// Process id.
    #[arg(value_name = "PID", value_parser = pid, required_unless_present_any = ["unit", "user_unit", "command"], conflicts_with_all = ["unit", "user_unit", "command"])]
    pub(crate) pid: Option<u32>,
    /// A systemd unit: its main process, or its files if it does not run.
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["user_unit", "command"])]
    pub(crate) unit: Option<String>,
    /// The same for a unit of your own systemd (systemctl --user).
    #[arg(long, value_name = "UNIT", conflicts_with = "command")]
    pub(crate) user_unit: Option<String>,
    /// Print JSON (needless.origin/1), for other tools.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also show the files that set the variable and do not reach the process, each with the reason.
    #[arg(long)]
    pub(crate) all: bool,
    /// Show any value. By default only paths, locales, zones, numbers and switches are shown.
    #[arg(long)]
    pub(crate) show_value: bool,
    /// Write the report to FILE; the ending .json selects JSON.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) user: UserArgs,
    /// A command to run, after `--`.
    #[arg(last = true, value_name = "CMD", help_heading = None::<&str>)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").args(["report", "set", "unset"]).multiple(true))]
#[command(group = clap::ArgGroup::new("where").args(["unit", "user_unit", "pid", "place"]).multiple(true))]
pub(crate) struct FixArgs {
    /// A report in JSON, written with -o.
    #[arg(value_name = "REPORT", required_unless_present_any = ["unit", "user_unit", "pid", "place", "change", "locale", "check"])]
    pub(crate) report: Option<PathBuf>,
    /// A systemd unit; without REPORT, --set and --unset it is observed for 10 seconds first.
    #[arg(long, help_heading = PLACE, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// A unit of your own systemd (systemctl --user).
    #[arg(long, help_heading = PLACE, value_name = "UNIT", requires = "what", conflicts_with = "unit")]
    pub(crate) user_unit: Option<String>,
    /// A process id.
    #[arg(long, help_heading = PLACE, value_name = "PID", value_parser = pid, conflicts_with_all = ["unit", "user_unit"])]
    pub(crate) pid: Option<u32>,
    /// Change this file, for every program that reads it: a Dockerfile, a manifest, a crontab …
    #[arg(long = "in", help_heading = PLACE, value_name = "FILE", requires = "what", conflicts_with_all = ["unit", "user_unit", "pid"])]
    pub(crate) place: Option<PathBuf>,
    /// Section of FILE, such as the name of a service, or `job 2` of a crontab.
    #[arg(long, help_heading = PLACE, value_name = "PART", requires = "place")]
    pub(crate) part: Option<String>,
    /// The change: set a variable.
    #[arg(long, help_heading = CHANGE, value_name = "VAR=VALUE", value_parser = assignment, conflicts_with = "report", requires = "where", group = "change")]
    pub(crate) set: Option<Change>,
    /// The change: remove a variable.
    #[arg(long, help_heading = CHANGE, value_name = "VAR", value_parser = variable, conflicts_with = "report", requires = "where", group = "change")]
    pub(crate) unset: Option<Change>,
    /// Build this locale (el_GR.UTF-8), or link its name to the spelling it is installed under.
    #[arg(long, help_heading = LOCALE, value_name = "NAME", conflicts_with_all = ["report", "unit", "user_unit", "pid", "place", "change"])]
    pub(crate) locale: Option<String>,
    /// Build it as a directory, not in the archive of locales.
    #[arg(long, help_heading = LOCALE, requires = "locale")]
    pub(crate) directory: bool,
    /// Also link the name of its directory of messages (el_GR.UTF-8 to el).
    #[arg(long, help_heading = LOCALE, requires = "locale")]
    pub(crate) messages: bool,
    /// Only findings of this rule (repeatable).
    #[arg(long = "rule", help_heading = CHANGE, value_name = "RULE", value_parser = rule_name)]
    pub(crate) rules: Vec<String>,
    /// Only print the diff, for `patch -p1` in the root directory: with the file's own lines, whatever they hold.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) diff: bool,
    /// Write nothing, and print what belongs into the source of the file: ansible (a play), dockerfile (a line),
    /// kustomize (a patch of the manifest that --in names).
    #[arg(long, value_name = "FORMAT", value_parser = snippet_format, conflicts_with_all = ["locale", "diff", "yes"])]
    pub(crate) format: Option<&'static SnippetFormat>,
    /// With --format: print any value. By default only paths, locales, zones, numbers and switches are printed.
    #[arg(long, requires = "format")]
    pub(crate) show_value: bool,
    /// Write without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// With --yes: also write a change of TZ that changes local times.
    #[arg(long, requires = "yes")]
    pub(crate) times_change: bool,
    /// Restart the service afterwards, if it runs, and look at its new process: a change that it did not get is taken
    /// back. Its needless calls are counted before and after.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Write also where a file of the unit was edited and systemd has not read that yet: it comes into force, too.
    #[arg(long)]
    pub(crate) with_pending: bool,
    /// How long its calls are counted, each time; needs CAP_BPF and CAP_PERFMON (sudo).
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) length: Duration,
    /// Check whether change ID has taken effect: exit status 1 if not.
    #[arg(long, value_name = "ID", value_parser = number::<u32>, conflicts_with_all = ["report", "unit", "user_unit", "pid", "place", "change", "locale", "diff", "yes", "restart", "with_pending", "rules", "format"])]
    pub(crate) check: Option<u32>,
}

#[derive(Args)]
pub(crate) struct UndoArgs {
    /// The number of the change; by default the last one.
    #[arg(value_name = "ID", value_parser = number::<u32>, conflicts_with = "last")]
    pub(crate) id: Option<u32>,
    /// The last change that is in effect.
    #[arg(long)]
    pub(crate) last: bool,
    /// Where others have changed a file since: take out the change and keep their lines, without asking.
    #[arg(long, conflicts_with_all = ["list", "forget"])]
    pub(crate) yes: bool,
    /// List the changes.
    #[arg(long, conflicts_with_all = ["id", "last"])]
    pub(crate) list: bool,
    /// Leave the files of this change as they are: no undo of it is needed any more, for instance because its file is gone.
    #[arg(long, value_name = "ID", value_parser = number::<u32>, conflicts_with_all = ["id", "last", "list"])]
    pub(crate) forget: Option<u32>,
}
