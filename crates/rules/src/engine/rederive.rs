//! Derives a remedy of a report again: a report is evidence of what is needless, not an order.
//!
//! Only the rule, the variable and, for a list, the entries to keep are taken from it. The value
//! and its caveat come from the rule, the process as it is and the machine: a list only loses
//! entries, a locale is a spelling that was tried here, a zone is this machine's.

use crate::engine::helpers;
use crate::lists::{Now, fewer_entries, shorter};
use crate::mechanism::locale::{self, Name};
use crate::mechanism::{locale_advice, zone};
use crate::rule::MakeRemedy;
use crate::rule::general::search_list;
use crate::rule::interpreters::{bash_env, java_monitoring_file, python_bytecode};
use crate::rule::loader::preload_missing;
use crate::rule::locale::{
    catalogue_search, converter_path, locale_alias, locale_not_installed, locale_spelling,
    message_path,
};
use crate::rule::names::{host_aliases, name_search_list, resolver_reread};
use crate::rule::resources::{allocator_setting, heap_trim_churn, unbuffered_output};
use crate::rule::servers::kerberos_probing;
use crate::rule::time::{tz_misread, tz_not_found, tz_unset, zone_file_missing};
use crate::rule::tools::terminal_unknown;
use crate::{View, by_name};
use needless_model::{Change, Env, ProcId, Process, Profile, Remedy, Safety, ZoneFile, brief};
use std::collections::BTreeSet;

/// Whether the built-in rule `rule` ever advises a change of this kind, of this variable.
///
/// # Errors
/// A sentence, where it does not.
pub fn can_advise(rule: &str, said: &Change) -> Result<(), String> {
    let (what, advised) = match said {
        Change::WithoutEntries { variable, .. } => {
            let advised = rule == search_list::RULE.name && !search_list::has_own_rule(variable);
            (format!("a change of {variable}"), advised)
        }
        Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => {
            let reads = |known: &crate::Rule| known.variables.contains(&variable.as_str());
            (format!("a change of {}", brief(variable)), by_name(rule).is_some_and(reads))
        }
        Change::Preload => ("a preload library".to_owned(), rule == tz_unset::RULE.name),
        Change::Setting(..) => ("a setting".to_owned(), setting_of(rule).is_some()),
        Change::Option(_) | Change::Manual(_) => {
            ("a change that a tool could make".to_owned(), false)
        }
    };
    if advised { Ok(()) } else { Err(format!("the rule {} does not advise {what}", brief(rule))) }
}

/// What the built-in rule `rule` advises instead of the change `said` of a report, for the first
/// process of `here`: a profile, without calls, of that process and its machine as they are now.
///
/// # Errors
/// In a sentence: the rule gives no such advice, or its conditions do not hold here.
pub fn rederive(rule: &str, said: &Change, here: &Profile) -> Result<Remedy, String> {
    can_advise(rule, said)?;
    let view = View::new(here);
    let process = view.process(ProcId(0));
    if let (Change::Setting(..), Some(remedy)) = (said, setting_of(rule)) {
        return remedy(process);
    }
    if let Change::WithoutEntries { variable, entries } = said {
        return fewer_entries(variable, entries, process.env.get(variable));
    }
    let Some((variable, value)) = assignment(said) else {
        return tz_unset::preload(&view, &[ProcId(0)], false).ok_or_else(|| {
            "a static or set-user-ID program does not load a preload library".into()
        });
    };
    let never = || format!("the rule {rule} does not advise this change of {variable}");
    let now = match &process.env {
        Env::Unknown => None,
        env => Some(env.value(variable).filter(|value| !value.is_empty())),
    };
    let was_set = |remedy: Remedy| match now {
        Some(None) => Err(format!("{variable} is not set there")),
        _ => Ok(remedy),
    };
    let lists = by_name(rule).map_or(&[][..], |rule| rule.lists);
    if let Some(search) = lists.iter().find(|search| search.variable == variable) {
        return shorter(search, process, value, now);
    }
    match rule {
        "tz-unset" | "zone-scan" | "zone-file-missing" | "tz-not-found" | "tz-misread" => {
            another_zone(rule, said, &view, now).ok_or_else(never)?
        }
        "allocator-setting" => allocator_setting::remedy_of(variable, process),
        "heap-trim-churn" => allocator(variable, process).ok_or_else(never)?,
        "kerberos-probing" => Ok(kerberos_probing::remedy()),
        "resolver-reread" => more(resolver_reread::remedy(process), now),
        "name-search-list" => more(name_search_list::remedy(process), now),
        "java-monitoring-file" => more(java_monitoring_file::remedy(process), now),
        "terminal-unknown" => match now {
            Some(Some(name)) if name.starts_with("xterm") => Ok(terminal_unknown::remedy()),
            _ => Err("TERM does not name a relative of xterm there".into()),
        },
        "python-bytecode" => was_set(python_bytecode::remedy()),
        "unbuffered-output" => was_set(unbuffered_output::remedy(variable)),
        "bash-env" if value.is_none() => was_set(bash_env::remedy()),
        "converter-path" => was_set(converter_path::remedy()),
        "message-path" => was_set(message_path::remedy()),
        // An empty name is opened, too.
        "host-aliases" if process.env.value(variable).is_some() => Ok(host_aliases::remedy()),
        "host-aliases" => was_set(host_aliases::remedy()),
        // Whatever remained in it would be code that is loaded because a file names it.
        "preload-missing" if value.is_none() => was_set(preload_missing::remedy(&[])),
        "preload-missing" => {
            Err(format!("{variable} makes programs load code: it is not set from a report"))
        }
        "locale-spelling" | "locale-alias" | "locale-not-installed" => {
            another_locale(rule, said, &view, now).ok_or_else(never)?
        }
        "catalogue-search" => catalogues(variable, value, process).ok_or_else(never)?,
        _ => Err(never()),
    }
}

/// How the rule works out what it advises that is no variable.
fn setting_of(rule: &str) -> Option<MakeRemedy> {
    by_name(rule)?.setting
}

/// The variable that a change sets or, without a value, unsets.
fn assignment(change: &Change) -> Option<(&str, Option<&str>)> {
    match change {
        Change::SetEnv { variable, value } => Some((variable, value.as_deref())),
        Change::UnsetEnv { variable } => Some((variable, None)),
        _ => None,
    }
}

/// A zone that this machine has, or none; `None` where the rule advises no such thing.
fn another_zone(
    rule: &str,
    said: &Change,
    view: &View<'_>,
    now: Now<'_>,
) -> Option<Result<Remedy, String>> {
    let (variable, value) = assignment(said)?;
    let set = now.flatten().ok_or_else(|| format!("{variable} is not set there"));
    match rule {
        "tz-unset" | "zone-scan" => Some(Ok(zone::set_tz(view, ProcId(0)))),
        "zone-file-missing" => {
            let zone = zone::zone_of(view, ProcId(0));
            Some(match zone.map(|zone| &zone.file) {
                Some(ZoneFile::Missing | ZoneFile::NotAZone(_)) => {
                    Ok(zone_file_missing::remedies(zone).swap_remove(0))
                }
                _ => Err("/etc/localtime is not missing there now".into()),
            })
        }
        "tz-not-found" if variable == "TZDIR" && value.is_none() => {
            Some(set.map(tz_not_found::without_tzdir))
        }
        "tz-misread" if variable == "TZ" || set.is_err() => {
            Some(set.map(|value| tz_misread::remedy(view, ProcId(0), value)))
        }
        _ => None,
    }
}

/// A setting of malloc, where none that the process has overrides it; `None` where the rule does not
/// advise this one.
fn allocator(variable: &str, process: &Process) -> Option<Result<Remedy, String>> {
    if let Some(set) = heap_trim_churn::tunable(process) {
        return Some(Err(format!("{set} in GLIBC_TUNABLES overrides it there")));
    }
    if variable == "GLIBC_TUNABLES" {
        return Some(Ok(heap_trim_churn::block_remedy(process)));
    }
    let sets =
        |remedy: &Remedy| assignment(&remedy.change).is_some_and(|(name, _)| name == variable);
    heap_trim_churn::remedies().into_iter().find(sets).map(Ok)
}

/// A remedy that adds an option to those of the process, which have to be known.
fn more(remedy: Remedy, now: Now<'_>) -> Result<Remedy, String> {
    let Change::SetEnv { variable, value: Some(value) } = &remedy.change else { return Ok(remedy) };
    let now =
        now.ok_or_else(|| format!("the value of {variable} there is not known"))?.unwrap_or("");
    let added = value.rsplit(' ').next().unwrap_or(value);
    if now.split_ascii_whitespace().any(|word| word == added) {
        Err(format!("{variable} has {added} there already"))
    } else {
        Ok(remedy)
    }
}

/// A spelling that was tried here; `None` where the rule advises no such thing.
fn another_locale(
    rule: &str,
    said: &Change,
    view: &View<'_>,
    now: Now<'_>,
) -> Option<Result<Remedy, String>> {
    let (variable, value) = assignment(said)?;
    let now = match now {
        None => return Some(Err(format!("the value of {variable} there is not known"))),
        Some(None) => return Some(Err(format!("{variable} is not set there"))),
        Some(Some(now)) => now,
    };
    let not_installed = rule == locale_not_installed::RULE.name;
    if variable == "LOCPATH" {
        let caveat = match rule {
            "locale-spelling" => &locale_spelling::without_locpath(now),
            _ => locale_not_installed::WITHOUT_LOCPATH,
        };
        let remedy = locale_advice::unset_locpath(caveat);
        return (value.is_none() && rule != locale_alias::RULE.name).then_some(Ok(remedy));
    }
    if variable == "LANGUAGE" || value.is_none() {
        return None;
    }
    if not_installed && let Some((other, _)) = locale::besides(view.process(ProcId(0)), variable) {
        return Some(Err(format!(
            "{other} asks for a locale, too: a change of {variable} saves nothing"
        )));
    }
    let found = match rule {
        _ if not_installed && value == Some("C") => {
            Some(("C".to_owned(), locale_not_installed::FEWEST.to_owned()))
        }
        _ if not_installed && !locale::has_encoding(variable) => None,
        _ if not_installed => locale_not_installed::encoded(view, now, now)
            .filter(|found| !found.costs_more)
            .map(|found| (found.name, found.caveat)),
        "locale-alias" => locale_advice::better(view, now)
            .map(|(name, figures)| (name, locale_alias::caveat(&figures))),
        _ => locale_advice::better(view, now)
            .map(|(name, figures)| (name, locale_spelling::caveat(&figures))),
    };
    Some(match found {
        Some((name, caveat)) => Ok(helpers::set(variable, &name, Safety::Caveat(caveat))),
        None => {
            Err(format!("no spelling of {variable}={now} that is installed here saves anything"))
        }
    })
}

/// Fewer catalogues: none, or one of those that the process asks for; `None` where the rule advises no such
/// thing.
fn catalogues(
    variable: &str,
    value: Option<&str>,
    process: &Process,
) -> Option<Result<Remedy, String>> {
    let value = value?;
    let lc_all = process.env.value("LC_ALL").is_some_and(|value| !value.is_empty());
    let known = process.env != Env::Unknown;
    let none = BTreeSet::new();
    match (variable, value) {
        ("LC_MESSAGES" | "LANGUAGE", "C") => {
            return Some(Ok(catalogue_search::remedy(&none, lc_all, known)));
        }
        ("LANGUAGE", _) => {}
        _ => return None,
    }
    let languages = process.env.value("LANGUAGE").filter(|value| !value.is_empty());
    let locale = locale::requested(process, "LC_MESSAGES").map(|(_, value)| value);
    let asked = languages.or(locale)?;
    // The name becomes a part of a path.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    let wanted = Name::parse(value);
    let one_of = asked.split(':').any(|entry| Name::parse(entry).tries(&wanted));
    Some(if one_of && value.chars().all(plain) && !value.contains("..") {
        Ok(catalogue_search::remedy(&BTreeSet::from([value]), lc_all, known))
    } else {
        Err(format!("{asked} asks for no catalogue {value}"))
    })
}
