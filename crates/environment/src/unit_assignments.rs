//! What a unit's files, its command line and its scripts say of a variable, as lines of the report.

use crate::pam::{ENVIRONMENT, pam_reads_file};
use crate::sources::{User, says};
use crate::start_path::{How, StartPath};
use crate::started_by::StartedBy;
use crate::unit::{self, SettingKind, Unit};
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Visibility};

/// The unit whose variables systemd gives the process, with its name.
pub(crate) fn unit_of(
    root: &Root,
    variable: &str,
    started_by: &StartedBy,
    uid: u32,
) -> Option<(String, Unit)> {
    let (name, user) = match started_by {
        StartedBy::Unit { name, .. } => (name, None),
        StartedBy::UserUnit { name, .. } => (name, User::of(root, uid)),
        _ => return None,
    };
    Some((name.clone(), unit::read(root, name, variable, user.as_ref())))
}

/// What a unit's command line and its scripts do after systemd.
pub(crate) struct WayEffect {
    pub value: Option<String>,
    /// File and line.
    pub from: String,
    /// The words that do it.
    pub what: String,
    pub sure: bool,
}

/// Adds what stands between the unit and its program. Returns the last of it, if the process `me` fits it.
pub(crate) fn way_assignments(
    variable: &str,
    unit: &str,
    way: &StartPath<'_>,
    me: Option<&ProcInfo>,
    mentions: &mut Vec<Assignment>,
) -> Option<WayEffect> {
    let last = way.last();
    let fits = last.filter(|last| {
        me.is_none_or(|me| me.initial.is_known() && me.initial.text() == last.value.as_deref())
    });
    let effect = fits.map(|last| WayEffect {
        value: last.value.clone(),
        from: format!("{}:{}", last.file, last.line),
        what: match (last.how, &last.value) {
            (How::Words(words), _) => words.to_owned(),
            (_, None) => format!("unset {variable}"),
            (_, Some(_)) => format!("{variable}=…"),
        },
        sure: last.sure,
    });
    if let Some(effect) = &effect {
        for mention in mentions.iter_mut().filter(|one| matches!(one.reaches, Visibility::Yes(_))) {
            mention.reaches = Visibility::No(format!("{} changes it afterwards", effect.from));
        }
    }
    for step in &way.steps {
        let who = match step.how {
            How::Words(words) => format!("{unit} starts its program with `{words}`"),
            How::Script => format!("{unit} starts this script"),
            How::Sourced => format!("the script that {unit} starts sources it"),
            How::EnvFile => format!("{unit} starts its container with it (--env-file)"),
            How::Quadlet => format!("{unit} is made of it, and starts its container with it"),
        };
        let reaches = if Some(step) != last {
            Visibility::No("a later line takes its place".into())
        } else if fits.is_some() && step.sure {
            Visibility::Yes(who)
        } else {
            Visibility::Perhaps(format!("if that line was reached: {who}"))
        };
        let says = says(variable, step.value.as_deref());
        mentions.push(Assignment { file: step.file.clone(), line: step.line, says, reaches });
    }
    for (file, line) in &way.unexported {
        mentions.retain(|other| (&other.file, other.line) != (file, *line));
        let says = format!("{variable}{NOT_EXPORTED}");
        let why = "a script reads it for the service, and a variable that is not exported reaches no program";
        mentions.push(Assignment {
            file: file.clone(),
            line: *line,
            says,
            reaches: Visibility::No(why.into()),
        });
    }
    effect
}

/// What a mention says of a variable that a shell does not pass on.
pub(crate) const NOT_EXPORTED: &str = " set, not exported";

/// Adds the assignments in the files of the unit. Returns the one that counts: its value, and the file with its line.
pub(crate) fn unit_assignments(
    root: &Root,
    variable: &str,
    name: &str,
    unit: &Unit,
    mentions: &mut Vec<Assignment>,
) -> Option<(Option<String>, String)> {
    let effective = unit.effective().cloned();
    for setting in &unit.settings {
        let says = match (&setting.value, setting.kind) {
            (Some(value), SettingKind::Default) => {
                format!("DefaultEnvironment: {variable}={value}")
            }
            (Some(value), SettingKind::Manager) => {
                format!("systemd's own environment: {variable}={value}")
            }
            (None, SettingKind::Pass) => {
                format!("{variable} passed on from the environment of PID 1")
            }
            (value, _) => says(variable, value.as_deref()),
        };
        let reaches = if effective.as_ref() == Some(setting) {
            Visibility::Yes(match setting.kind {
                SettingKind::Manager if setting.line == 0 => format!(
                    "systemd gives it to {name} and to all its other units (systemctl set-environment, a generator, or its own defaults for PATH and the locale)"
                ),
                SettingKind::Manager => {
                    format!("this generator gives it to {name} and all other units of systemd")
                }
                _ => format!("{name} is started with it"),
            })
        } else {
            Visibility::No("a later setting takes its place".into())
        };
        // The file of an EnvironmentFile= may have been read for itself already.
        mentions.retain(|other| (&other.file, other.line) != (&setting.file, setting.line));
        let (file, line) = (setting.file.clone(), setting.line);
        mentions.push(Assignment { file, line, says, reaches });
    }
    for (file, line, why) in &unit.dropped {
        mentions.retain(|other| (&other.file, other.line) != (file, *line));
        let says = format!("export {variable}=…");
        let reaches = Visibility::No((*why).to_owned());
        mentions.push(Assignment { file: file.clone(), line: *line, says, reaches });
    }
    if let Some(service) = &unit.pam {
        let reads = pam_reads_file(root, service, ENVIRONMENT) == Some(true);
        let pam = mentions.iter_mut().filter(|mention| mention.file == ENVIRONMENT);
        pam.filter(|_| reads).for_each(|mention| {
            mention.reaches =
                Visibility::Yes(format!("{name} has PAMName={service}, which reads it"));
        });
    }
    let effective = effective?;
    let at = if effective.line == 0 { String::new() } else { format!(":{}", effective.line) };
    Some((effective.value, effective.file + &at))
}
