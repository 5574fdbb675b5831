//! Which name of a locale to advise: the one that the host finds with the fewest failed opens.

use crate::engine::helpers::by_hand;
use crate::engine::{Case, Merged, PathPattern, merge_by};
use crate::mechanism::locale::{self, Cause, LocaleSearch, Name, is_c, normal_codeset};
use crate::mechanism::zone::{positions, sum};
use crate::text::{count, number};
use crate::{Sink, View};
use needless_model::{
    Change, Finding, LocaleProbe, ProcId, Query, Remedy, Row, Safety, Spelling, Stage,
};
use std::collections::BTreeMap;

/// Searches of many processes with the same cause and the same end: one finding.
#[derive(Debug)]
pub(crate) struct LocaleGroup<'p> {
    pub(crate) cause: Cause<'p>,
    pub(crate) first: &'p str,
    pub(crate) found: Option<&'p str>,
    pub(crate) merged: Merged,
}

/// What distinguishes one group from another.
type GroupKey<'p> = (Cause<'p>, &'p str, Option<&'p str>);

/// The searches of a profile that a rule is about.
pub(crate) fn groups<'p>(
    view: &View<'p>,
    wanted: impl Fn(&LocaleSearch<'p>, &Cause<'p>) -> bool,
) -> Vec<LocaleGroup<'p>> {
    let mut cases: BTreeMap<GroupKey<'p>, Vec<Case>> = BTreeMap::new();
    for search in locale::searches(view) {
        let cause = locale::cause(view.process(search.process), &search);
        if search.missed().is_empty() || !wanted(&search, &cause) {
            continue;
        }
        let key = (cause, search.first, search.found);
        cases.entry(key).or_default().push(case(&search, &search.missed()));
    }
    let group = |((cause, first, found), cases)| LocaleGroup {
        cause,
        first,
        found,
        merged: merge_by(view.profile, cases, pattern),
    };
    cases.into_iter().map(group).collect()
}

/// The failed opens `rows` of a search.
fn case(search: &LocaleSearch<'_>, rows: &[(usize, &Row)]) -> Case {
    Case { process: search.process, needless: sum(rows), of: search.opens(), rows: positions(rows) }
}

/// Reports, for the rule `rule`, the failed opens in directories of LOCPATH that lack a locale;
/// `wanted` says of which searches, and `caveat` when to leave LOCPATH set.
pub(crate) fn find_by_locpath(
    view: &View<'_>,
    sink: &mut Sink,
    rule: &'static str,
    wanted: impl Fn(&LocaleSearch<'_>) -> bool,
    caveat: impl Fn(&str) -> String,
) {
    let mut groups: BTreeMap<(&str, &str, bool), Vec<Case>> = BTreeMap::new();
    for search in locale::searches(view) {
        let Some(directory) = search.locpath.filter(|_| wanted(&search)) else { continue };
        let cases = groups.entry((directory, search.first, search.keeps_locpath)).or_default();
        cases.push(case(&search, &search.by_locpath));
    }
    for ((directory, first, keeps), cases) in groups {
        let merged = merge_by(view.profile, cases, pattern);
        let known = !view.env_unknown(merged.processes[0]);
        let (remedy, besides) = if keeps {
            let caveat = "Right if no locale should come from it; other directories of LOCPATH hold locales.";
            (by_hand(&format!("Take {directory} out of LOCPATH"), caveat), 0)
        } else {
            // Without LOCPATH each process opens the archive, or tries to.
            (unset_locpath(&caveat(directory)), -(merged.processes.len() as i64))
        };
        let finding = Finding {
            stage: if known { Stage::Explained } else { Stage::Seen },
            what: format!("{}: LOCPATH names {directory}, which lacks {first}", per_start(&merged)),
            why: format!(
                "LOCPATH makes glibc search {directory} before the system's locales, in each category, \
                 and never look into the locale archive."
            ),
            remedies: vec![remedy],
            besides,
            ..merged.finding(rule)
        };
        sink.find(finding);
    }
}

/// Calls with which these processes read the aliases of locales, as they do for each name but C.
pub(crate) fn alias_reads(view: &View<'_>, processes: &[ProcId]) -> i64 {
    /// open, fstat, two reads and close.
    const EACH: u64 = 5;
    let reads = |row: &Row| {
        row.query == Query::Open && row.ok() && view.profile.path(row).ends_with("/locale.alias")
    };
    let rows = processes.iter().flat_map(|id| view.rows_of(*id)).filter(|(_, row)| reads(row));
    (EACH * rows.map(|(_, row)| row.count).sum::<u64>()) as i64
}

/// `12 failed opens`, or `12 failed opens at each of 20 program starts`.
fn per_start(merged: &Merged) -> String {
    let (starts, needless) = (merged.processes.len() as u64, merged.needless);
    let opens = |n| count(n, "failed open", "failed opens");
    match starts {
        1 => opens(needless),
        n if needless.is_multiple_of(n) => {
            format!("{} at each of {} program starts", opens(needless / n), number(n))
        }
        n => format!("{} in {} program starts", opens(needless), number(n)),
    }
}

/// One line of evidence per name, not per category.
fn pattern(path: &str) -> PathPattern<'_> {
    match locale::locale_file(path) {
        Some((directory, name, _)) => {
            PathPattern(&path[..directory.len() + 1 + name.len()], "/LC_*", "")
        }
        None => PathPattern::path(path),
    }
}

impl<'p> LocaleGroup<'p> {
    /// The value that was asked for, as written where that is known.
    pub(crate) fn value(&self) -> &'p str {
        match self.cause {
            Cause::Variable(_, value) | Cause::Alias(_, value) => value,
            Cause::Program | Cause::Unknown => self.first,
        }
    }

    /// The name it was found under; the one asked for, if none.
    pub(crate) fn installed(&self) -> &'p str {
        self.found.unwrap_or(self.first)
    }

    /// The name that this host finds with the fewest failed opens, with the same encoding, and a
    /// sentence with the figures; else the name it was found under, and no sentence.
    pub(crate) fn better(&self, view: &View<'_>) -> (String, String) {
        let by_host = better(view, self.value());
        by_host.unwrap_or_else(|| (self.installed().to_owned(), String::new()))
    }

    /// `LANG=greek`, or the name alone where the variable is not known.
    pub(crate) fn request(&self) -> String {
        match self.cause {
            Cause::Variable(variable, value) | Cause::Alias(variable, value) => {
                format!("{variable}={value}")
            }
            Cause::Program | Cause::Unknown => self.first.to_owned(),
        }
    }

    /// `12 failed opens`, or `12 failed opens at each of 20 program starts`.
    pub(crate) fn per_start(&self) -> String {
        per_start(&self.merged)
    }

    /// Sets the variable that causes the search to `value`; `sentence` is the caveat.
    pub(crate) fn set(&self, value: Option<&str>, sentence: &str) -> Remedy {
        let set = |variable: &str| Change::SetEnv {
            variable: variable.to_owned(),
            value: value.map(str::to_owned),
        };
        match self.cause {
            Cause::Variable(variable, _) | Cause::Alias(variable, _) => {
                Remedy { change: set(variable), safety: Safety::Caveat(sentence.to_owned()) }
            }
            Cause::Unknown => Remedy {
                change: set("LANG"),
                safety: Safety::Caveat(format!(
                    "Or LC_ALL or LC_*, whichever has the value now: the environment is not known. \
                     {sentence}"
                )),
            },
            Cause::Program => Remedy {
                change: Change::Manual(match value {
                    Some(value) => format!("Let the program call setlocale() with {value}"),
                    None => "Let the program call setlocale() with an installed locale".to_owned(),
                }),
                safety: Safety::Manual(format!(
                    "No variable asks for {}: the program does. {sentence}",
                    self.first
                )),
            },
        }
    }
}

/// The name that this host finds with the fewest failed opens, with the same encoding as `value`, and a
/// sentence with the figures; `None` where none is better.
pub(crate) fn better(view: &View<'_>, value: &str) -> Option<(String, String)> {
    let probe = probe(view, value)?;
    let now = measured(probe, value).filter(|now| now.accepted)?;
    let best = best(probe, &now.charmap)?;
    (best.failed_opens < now.failed_opens)
        .then(|| (best.name.clone(), format!(" {}", figures(best, now))))
}

/// Ends the search in the directories that LOCPATH names; `sentence` is the caveat.
pub(crate) fn unset_locpath(sentence: &str) -> Remedy {
    Remedy {
        change: Change::UnsetEnv { variable: "LOCPATH".to_owned() },
        safety: Safety::Caveat(sentence.to_owned()),
    }
}

/// What the host does with the value that was asked for.
pub(crate) fn probe<'v>(view: &View<'v>, value: &str) -> Option<&'v LocaleProbe> {
    view.profile.host.locales.iter().find(|probe| probe.requested == value)
}

/// The measured cost of one name of a probe.
pub(crate) fn measured<'v>(probe: &'v LocaleProbe, name: &str) -> Option<&'v Spelling> {
    probe.spellings.iter().find(|spelling| spelling.name == name)
}

/// The accepted name with the fewest failed opens among those of this encoding, without the
/// built-in locale, which is another locale and not another spelling.
pub(crate) fn best<'v>(probe: &'v LocaleProbe, charmap: &str) -> Option<&'v Spelling> {
    let wanted = normal_codeset(charmap);
    probe
        .spellings
        .iter()
        .filter(|s| s.accepted && !is_c(&s.name) && normal_codeset(&s.charmap) == wanted)
        .min_by_key(|s| (s.failed_opens, s.total_calls))
}

/// Both figures of two names, so that a higher total is never presented as a saving.
pub(crate) fn figures(new: &Spelling, old: &Spelling) -> String {
    let more = if new.total_calls > old.total_calls { ", so more calls in all" } else { "" };
    format!(
        "Measured here with `locale charmap`: {} and {} in all, instead of {} and {}{more}.",
        count(new.failed_opens, "failed open", "failed opens"),
        count(new.total_calls, "call", "calls"),
        number(old.failed_opens),
        number(old.total_calls),
    )
}

/// The encoding that a locale's name asks for, "" if it names none.
pub(crate) fn encoding(name: &str) -> &str {
    if locale::is_encoding(name) { name } else { Name::parse(name).codeset.unwrap_or("") }
}
