//! The one gate to reports of others: a report is evidence, not an order. Whose it is is looked at before it
//! is read; what it advises is worked out here, by the rule.

use crate::{output, settings, whose};
use anyhow::{Context, Result, anyhow, bail};
use needless_environment::others_write;
use needless_model::{Change, Profile, Remedy, Safety};
use needless_prove::can_make;
use needless_report::{Advice, Saved, clean};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A report that nobody else can have written.
///
/// # Errors
/// In one line, with the way out: it is somebody else's, others may write it, or it is no report.
pub(crate) fn report(path: &Path) -> Result<Saved> {
    whose::as_them(|| trusted(path))?
}

fn trusted(path: &Path) -> Result<Saved> {
    let named = || format!("cannot read {}", path.display());
    // Before it is opened: a pipe with nobody at its other end would hold us up.
    if !path.metadata().with_context(named)?.is_file() {
        bail!("{}: no regular file: save the report to one first", path.display());
    }
    let mut file = File::open(path).with_context(named)?;
    if let Some(others) = others_write(path, &file, &settings::owners()?).with_context(named)? {
        bail!(
            "{0}: not believed: {others}. A report says what root or you are to run with: look into it, then make it yours: cp {0} FILE, in a directory of yours",
            path.display()
        );
    }
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(named)?;
    needless_report::read_saved(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
}

/// The first change of a finding that a tool could make.
pub(crate) fn first(advice: &Advice) -> Option<&Change> {
    let mut changes = advice.changes.iter();
    changes.find(|(change, manual)| !manual && can_make(change)).map(|(change, _)| change)
}

/// What a report leaves to a person, for the end of a sentence: the first remedy of each finding.
pub(crate) fn by_hand(findings: &[Advice], rules: &[String]) -> String {
    let wanted = |advice: &&Advice| rules.is_empty() || rules.contains(&advice.rule);
    let said =
        findings.iter().filter(wanted).filter_map(|advice| match advice.changes.first()? {
            (Change::Manual(text), _) => Some(format!("{}: {}", clean(&advice.rule), clean(text))),
            _ => None,
        });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => String::new(),
        // A sentence of the file, and so it is named as one.
        false => format!(" (the report says: {})", said.join("; ")),
    }
}

/// Works out what `rule` advises where a report says `said`. `here` looks at the process, asked for a
/// variable. The sentence, if there is one, says that the report has something else.
///
/// # Errors
/// In a sentence, with what to do: the rule advises no such thing, or not here, or leaves it to a person.
pub(crate) fn remedy(
    rule: &str,
    said: &Change,
    here: impl FnOnce(&str) -> Result<Profile>,
) -> Result<(Remedy, Option<String>)> {
    let by_hand = || match said {
        Change::Preload => "run it as `needless preload -- COMMAND`".to_owned(),
        Change::UnsetEnv { variable } => format!("--unset {}", clean(variable)),
        _ => format!("--set {}=VALUE", clean(variable(said))),
    };
    let refused = |why: &str| {
        let (rule, why) = (clean(rule), clean(why));
        anyhow!(
            "{rule}: {why}: not taken from a report; if it is right, do it by hand: {}",
            by_hand()
        )
    };
    let made = match settings::get().rule(rule) {
        // As trusted as the needless.toml that is in force here.
        Some(declared) => declared.remedy.clone(),
        None => {
            needless_rules::can_advise(rule, said).map_err(|why| refused(&why))?;
            let here = here(variable(said)).with_context(|| clean(rule).into_owned())?;
            needless_rules::rederive(rule, said, &here).map_err(|why| refused(&why))?
        }
    };
    match &made.change {
        _ if matches!(made.safety, Safety::Manual(_)) => {
            return Err(refused("that is for a person to decide"));
        }
        change if !can_make(change) => {
            return Err(refused("the right value cannot be told from here"));
        }
        _ => {}
    }
    let other = (made.change != *said).then(|| {
        let (said, made) = (words(said), words(&made.change));
        format!("{}: the report says {said}; what the rule advises here is {made}", clean(rule))
    });
    Ok((made, other))
}

fn variable(change: &Change) -> &str {
    match change {
        Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => variable,
        // Ours are time functions.
        _ => "TZ",
    }
}

/// A change in words that a terminal may see.
fn words(change: &Change) -> String {
    match change {
        Change::SetEnv { variable, value } => {
            clean(&format!("{variable}={}", value.as_deref().unwrap_or("?"))).into_owned()
        }
        Change::UnsetEnv { variable } => format!("{} removed", clean(variable)),
        _ => "another library".to_owned(),
    }
}

/// Says each sentence once.
pub(crate) fn say_once(said: &mut HashSet<String>, sentence: Option<String>) {
    if let Some(sentence) = sentence.filter(|sentence| !said.contains(sentence)) {
        output::say(&sentence);
        said.insert(sentence);
    }
}
