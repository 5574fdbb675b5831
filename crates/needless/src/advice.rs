//! Saved reports as a source of changes. Somebody else may have written one, so its owner is checked before it is
//! read, and the rule itself decides again, here, what it advises.

use crate::context::Context;
use crate::output;
use anyhow::{Context as _, Result, anyhow, bail};
use needless_environment::{open_regular, others_write};
use needless_model::{Change, Profile, Remedy, Safety, brief, shorten};
use needless_prove::can_make;
use needless_report::{ReportFinding, Saved, escape};
use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::path::Path;

/// Reads a report that no other user can have written.
///
/// # Errors
/// When it belongs to another user, others may write it, or it is not a report.
pub(crate) fn report(context: &Context, path: &Path) -> Result<Saved> {
    context.user.act(|| trusted(context, path))?
}

fn trusted(context: &Context, path: &Path) -> Result<Saved> {
    let assigns = path.to_str().is_some_and(|name| name.contains('=') && !path.exists());
    let tip = if assigns { "; to set a variable, put --set before it" } else { "" };
    let named = || format!("cannot read {}{tip}", path.display());
    // It may be another file by the time it is opened: that one must be regular, too.
    if !path.metadata().with_context(named)?.is_file() {
        bail!("{}: not a regular file: save the report to one first", path.display());
    }
    let mut file = open_regular(path).with_context(named)?;
    if let Some(others) =
        others_write(path, &file, &context.user.trusted_owners()?).with_context(named)?
    {
        bail!(
            "{0}: not trusted: {others}. needless would change your environment, or root's, as this report says: check it, then copy it into a directory of yours: cp {0} FILE",
            path.display()
        );
    }
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(named)?;
    needless_report::read_saved(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
}

/// The first change of a finding that a tool could make; `can` says which ones it makes.
pub(crate) fn first(finding: &ReportFinding, can: fn(&Change) -> bool) -> Option<Change> {
    let made = finding.changes().find(|(change, manual)| !manual && can(change));
    made.map(|(change, _)| change)
}

/// The findings that are not worth a restart, in words: those that the report calls small, and no option names;
/// `can`: as of [`first`].
pub(crate) fn small(
    findings: &[ReportFinding],
    rules: &[String],
    can: fn(&Change) -> bool,
) -> Option<String> {
    let is_it = |one: &&ReportFinding| one.small && rules.is_empty() && first(one, can).is_some();
    let small = findings.iter().filter(is_it);
    let name = |finding: &ReportFinding| match &finding.service {
        Some(service) => format!("{} of {}", named(&finding.rule), named(service)),
        None => named(&finding.rule),
    };
    let names: BTreeSet<String> = small.map(name).collect();
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("small, not applied: {}; --rule RULE applies one", names.join(", ")))
}

/// What a report leaves to a person, as the end of a sentence: the first remedy of each finding.
pub(crate) fn by_hand(findings: &[ReportFinding], rules: &[String]) -> String {
    let wanted = |finding: &&ReportFinding| rules.is_empty() || rules.contains(&finding.rule);
    let texts =
        findings.iter().filter(wanted).filter_map(|finding| match finding.changes().next()? {
            (Change::Manual(text), _) => {
                Some(format!("{}: {}", named(&finding.rule), escape(&shorten(&text, 300, 100))))
            }
            _ => None,
        });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        // The text is from the file, and is quoted as such.
        format!(" (the report says: {})", texts.join("; "))
    }
}

/// What `rule` advises here, where a report says `reported`. `here` looks at the process, with the named variable. The
/// sentence, if there is one, is for the user: the report says something else.
///
/// # Errors
/// When the rule does not advise such a change, or not here, or leaves it to a person.
pub(crate) fn remedy(
    context: &Context,
    rule: &str,
    reported: &Change,
    here: impl FnOnce(&str) -> Result<Profile>,
) -> Result<(Remedy, Option<String>)> {
    let by_hand = || match reported {
        Change::Preload => "run it as `needless preload -- COMMAND`".to_owned(),
        Change::UnsetEnv { variable } => format!("--unset {}", named(variable)),
        // The text is from the file.
        Change::Setting(_, text) => escape(&shorten(text, 300, 100)).into_owned(),
        Change::WithoutEntries { variable, .. } => {
            format!("--set {} to the list without these entries", named(variable))
        }
        _ => format!("--set {}=VALUE", named(variable(reported))),
    };
    let refused = |why: &str| {
        let (rule, why) = (named(rule), escape(why));
        anyhow!(
            "{rule}: {why}: needless does not take it from a report; if it is right, do it by hand: {}",
            by_hand()
        )
    };
    let made = match context.settings.rule(rule) {
        // needless.toml is trusted.
        Some(declared) => declared.remedy.clone(),
        None => {
            needless_rules::can_advise(rule, reported).map_err(|why| refused(&why))?;
            let here = here(variable(reported)).with_context(|| named(rule))?;
            needless_rules::rederive(rule, reported, &here).map_err(|why| refused(&why))?
        }
    };
    match &made.change {
        _ if matches!(made.safety, Safety::Manual(_)) => {
            return Err(refused("a person has to decide that"));
        }
        change if !can_make(change) && !matches!(change, Change::Setting(..)) => {
            return Err(refused("the right value is not known here"));
        }
        _ => {}
    }
    let is_other = made.change != *reported && !matches!(reported, Change::Setting(..));
    let other = is_other.then(|| {
        let (reported, made) = (label(reported), label(&made.change));
        format!("{}: the report says {reported}; what the rule advises here is {made}", named(rule))
    });
    Ok((made, other))
}

fn variable(change: &Change) -> &str {
    // Our library has time functions.
    change.variable().unwrap_or("TZ")
}

/// A change as a text that is safe on a terminal, without a value that may be a secret.
fn label(change: &Change) -> String {
    match change {
        Change::SetEnv { variable, value } => {
            let value = value.as_deref().unwrap_or("?");
            named(&needless_environment::label(variable, Some(value)))
        }
        Change::UnsetEnv { variable } => format!("{} removed", named(variable)),
        Change::WithoutEntries { variable, .. } => {
            format!("{} without some entries", named(variable))
        }
        _ => "another library".to_owned(),
    }
}

/// A word of the report, as one line on a terminal.
fn named(word: &str) -> String {
    escape(&brief(word)).into_owned()
}

/// Shows each sentence once.
pub(crate) fn warn_once(shown: &mut HashSet<String>, sentence: Option<String>) {
    if let Some(sentence) = sentence.filter(|sentence| !shown.contains(sentence)) {
        output::warn(&sentence);
        shown.insert(sentence);
    }
}
