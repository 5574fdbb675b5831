//! The answer in one sentence: why a process has a variable, or does not have it.

use crate::last_change::{changed_as_fork, own_change, passed_on};
use crate::sources::AS_WRITTEN;
use crate::sshd_config::ACCEPTED;
use crate::started_by::{Launcher, Started, StartedBy};
use crate::trace_variable::{taker, transition};
use crate::unit_assignments::{NOT_EXPORTED, WayEffect};
use needless_host::{ProcInfo, Root};
use needless_model::{Assignment, Value, Visibility};

/// What is known of the process.
pub(crate) struct Facts<'a> {
    pub root: &'a Root,
    /// The process with its ancestors, itself last.
    pub chain: &'a [ProcInfo],
    pub variable: &'a str,
    pub started_by: &'a StartedBy,
    pub mentions: &'a [Assignment],
    /// What stands between its unit and it, if that explains the value.
    pub way: Option<WayEffect>,
}

impl Facts<'_> {
    /// The answer, and other possible explanations. `unit`: what the files of the unit give, and where.
    pub(crate) fn answer(&self, unit: Option<(Option<String>, String)>) -> (String, Vec<String>) {
        let Facts { root, chain, variable, started_by, mentions, way } = self;
        let Some(me) = chain.last() else { return (String::new(), Vec::new()) };
        let name = format!("{}[{}]", me.name(), me.pid);
        // The value that the program has now counts; the value that it was given explains it.
        if let Some(how) = own_change(me) {
            let is = me.live.text().map_or("is not set".to_owned(), |value| format!("is {value}"));
            // A program may follow its own configuration.
            let written = me.live.text().map(|value| format!("{variable}={value}"));
            let by = mentions.iter().find(|m| reaches(m) && Some(&m.says) == written.as_ref());
            let how = match by {
                Some(by) => format!("{how}, as {}:{} says", by.file, by.line),
                None => match chain.iter().rev().nth(1).and_then(|up| taker(up, me, variable)) {
                    Some(taker) if me.live.is_unset() => format!("{how}: {taker}"),
                    _ => format!("{how} ({})", hint(me)),
                },
            };
            return (format!("{variable} {is} in {name}: {how}"), Vec::new());
        }
        let (value, when) = match (&me.initial, &me.live) {
            (Value::Unknown(_), live) if live.is_known() => (live, ""),
            (initial, Value::Unknown(_)) => (initial, " at its start"),
            (initial, _) => (initial, ""),
        };
        match value {
            Value::Unknown(_) => {
                (format!("it is not known whether {variable} is set in {name}"), Vec::new())
            }
            Value::Set(value) => self.set(&name, when, value),
            Value::Unset => {
                let mut or = Vec::new();
                let lost = chain.windows(2).rev().find_map(|pair| {
                    let had = passed_on(&pair[0]).iter().any(|value| value.text().is_some());
                    let lost = had && pair[1].initial.is_unset();
                    lost.then(|| transition(&pair[0], &pair[1], variable, started_by, root))
                });
                // What the command of a job does is known better than between which processes.
                let of_cron = **started_by == StartedBy::Cron;
                let why = match (lost.flatten().filter(|_| !of_cron || way.is_none()), way, unit) {
                    (Some(lost), ..) => lost,
                    (None, Some(way), _) => {
                        let by = if of_cron { "cron" } else { "systemd" };
                        format!("{} removes it (`{}`), on the way from {by}", way.from, way.what)
                    }
                    (None, None, Some((None, from))) => format!("{from} removes it"),
                    (None, None, _) => self.not_given(&mut or),
                };
                (format!("{variable} is not set in {name}{when}: {why}"), or)
            }
        }
    }

    /// Why a process does not have a variable that nobody is known to have taken away.
    fn not_given(&self, or: &mut Vec<String>) -> String {
        let at = |one: &Assignment| format!("{}:{}", one.file, one.line);
        let started_by = self.started_by;
        if let Some(one) = self.mentions.iter().find(|one| reaches(one) && sets(one)) {
            if let StartedBy::Unit { name, how: Started::Rebuilt } = started_by {
                return format!(
                    "a program in {name} built a new environment (env -i, su, a script), after systemd"
                );
            }
            let removed = "removed it (env -u, a script, or the program itself)";
            return if self.is_younger(&one.file) {
                or.push(format!(
                    "a program between {} and it may have {removed}",
                    started_by.label()
                ));
                format!("{} sets it, and was changed after the process was started", at(one))
            } else {
                format!(
                    "a program between {} and it {removed}: {} sets it, and is older than the process",
                    started_by.label(),
                    at(one)
                )
            };
        }
        let unread = self.mentions.iter().find_map(|one| match &one.reaches {
            Visibility::No(why)
                if one.says.ends_with(NOT_EXPORTED) && !why.starts_with("a shell's") =>
            {
                Some(format!("{} sets it without `export`: {why}", at(one)))
            }
            Visibility::No(why) if one.says.starts_with("export ") => {
                Some(format!("{}: {why}", at(one)))
            }
            _ => None,
        });
        or.extend(self.mentions.iter().filter(|one| sets(one)).filter_map(
            |one| match &one.reaches {
                Visibility::Perhaps(why) => {
                    Some(format!("{} in {} would reach it {why}", one.says, at(one)))
                }
                _ => None,
            },
        ));
        unread.unwrap_or_else(|| format!("{} does not give it that variable", started_by.subject()))
    }

    /// Whether a file was changed after the process was started.
    fn is_younger(&self, file: &str) -> bool {
        let started = self.chain.last().and_then(ProcInfo::started_at);
        matches!((self.root.changed(file), started), (Some(changed), Some(started)) if changed > started + 1)
    }

    fn set(&self, name: &str, when: &str, value: &str) -> (String, Vec<String>) {
        let Facts { chain, variable, mentions, .. } = self;
        // The first of the unbroken line of ancestors with this value.
        let has = |info: &&ProcInfo| passed_on(info).iter().any(|v| v.text() == Some(value));
        // cron and at pass on nothing: the same value above them is a coincidence.
        let passes_on =
            |info: &&ProcInfo| !matches!(Launcher::of(info), Some(Launcher::Cron | Launcher::At));
        let first = chain.iter().rev().take_while(|info| has(info) && passes_on(info)).last();
        let written = format!("{variable}={value}");
        let fits = |mention: &&Assignment| {
            mention.says.strip_suffix(AS_WRITTEN).unwrap_or(&mention.says).ends_with(&written)
        };
        let sure: Vec<_> = mentions.iter().filter(fits).filter(|m| reaches(m)).collect();
        let perhaps: Vec<_> = mentions
            .iter()
            .filter(fits)
            .filter(|mention| matches!(mention.reaches, Visibility::Perhaps(_)))
            .collect();
        let mut all: Vec<String> = Vec::new();
        let at = |m: &Assignment| match &m.reaches {
            Visibility::Yes(why) if m.line == 0 => format!("{} has it, and {why}", m.file),
            Visibility::Yes(why) => format!("{}:{} sets it, and {why}", m.file, m.line),
            Visibility::Perhaps(why) => {
                format!("{}:{} sets it, which reaches it {why}", m.file, m.line)
            }
            Visibility::No(why) => format!("{}:{}: {why}", m.file, m.line),
        };
        // What is sure explains more than who passed it on.
        let behind = sure.len();
        all.extend(sure.into_iter().map(at));
        all.extend(perhaps.into_iter().map(at));
        let me = chain.last().map_or(0, |info| info.pid);
        if let Some(first) =
            first.filter(|first| first.pid != me && Launcher::of(first) != Some(Launcher::Systemd))
        {
            let inherited = format!("inherited: {}[{}] has it already", first.name(), first.pid);
            all.insert(behind, inherited);
        }
        let accepted = mentions.iter().find(|one| {
            one.says.ends_with(ACCEPTED) && matches!(one.reaches, Visibility::Perhaps(_))
        });
        if let Some(one) = accepted.filter(|_| all.is_empty()) {
            all.push(format!(
            "no file here sets it; the client sent it (SendEnv), which {}:{} accepts (AcceptEnv)",
            one.file, one.line
        ));
        }
        if all.is_empty() {
            all.push(self.unknown());
        }
        let first = all.remove(0);
        (format!("{variable} is {value} in {name}{when}: {first}"), all)
    }
}

impl Facts<'_> {
    /// Who may have set a value that no file has: what was seen, and then what is possible.
    fn unknown(&self) -> String {
        let (chain, started_by) = (self.chain, self.started_by);
        let own = chain.last().map_or_else(String::new, hint);
        match (started_by, chain) {
            (_, [.., up, _]) if changed_as_fork(chain) => format!(
                "{}[{}], which forked it, has another value: the program changed it after its start ({own})",
                up.called(),
                up.pid
            ),
            (StartedBy::Unit { name, .. } | StartedBy::UserUnit { name, .. }, _) => format!(
                "no file that was read sets it, of {name} neither: perhaps the program set it and started itself \
                 anew ({own}), or a program in between did"
            ),
            _ => format!(
                "no file that was read sets it: {} set it, or a program in between",
                started_by.label()
            ),
        }
    }
}

fn reaches(mention: &Assignment) -> bool {
    matches!(mention.reaches, Visibility::Yes(_))
}

fn sets(mention: &Assignment) -> bool {
    mention.says.contains('=')
}

/// Where programs set variables for themselves.
const OWN: [(&str, &str); 5] = [
    ("nginx", "`env` in nginx.conf"),
    ("haproxy", "`setenv` in haproxy.cfg"),
    ("master", "`import_environment` in main.cf"),
    ("gunicorn", "`raw_env` of gunicorn"),
    ("uwsgi", "`env` of uwsgi"),
];

/// Where a program perhaps sets a variable for itself.
pub(crate) fn hint(info: &ProcInfo) -> String {
    let words = info.argv.iter().take(3).filter_map(|word| word.rsplit('/').next());
    let mut names = words.chain([info.called()]);
    let known = names.find_map(|name| OWN.iter().find(|(program, _)| name.starts_with(program)));
    match known {
        Some((_, setting)) => format!("perhaps in its own configuration: {setting}"),
        None => "perhaps in its own configuration".to_owned(),
    }
}
