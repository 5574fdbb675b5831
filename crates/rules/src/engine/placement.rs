//! Moves a remedy about a variable to the program that decides the variable: if a program between
//! the command and the process that made the calls set, changed or removed it, the change has to be
//! made there.
//!
//! The environments at each exec show where a value came from; no backend is asked for more. For what runs already, the
//! crate `environment` reads the environments with which its ancestors were started, up to the first that only passes
//! on its configuration (init, cron, sshd, a login shell): that is the place which `fix` changes. What cannot be read
//! is reported as not known. A script that assigns the value that is there already changes nothing that an exec shows;
//! after a run, `observe/src/assigned.rs` checks whether the scripts and makefiles on the way assign a watched
//! variable, and keeps only its name. For a compiled program this cannot be known: `needless prove` shows it. `env -i`
//! and sudo pass on less than they got (`Profile::cleared_by`).
//!
//! A value that a compiled program sets is shown on demand only (`-vv`): cargo sets LD_LIBRARY_PATH for the
//! compiler, and the reader of that finding can do nothing. A script, `env`, sudo or make sets what its user wrote, so
//! that stays a finding. A log does not say what kind of file was executed: a script is known there by its interpreter,
//! which opens it.
//!
//! This is one judgement for all rules, after them: no rule knows the tree of processes.

use crate::engine::helpers;
use crate::engine::launchers::{LOOKED_UP, is_interpreter, names, program, programs};
use crate::text::number;
use needless_model::{
    Change, Finding, Inheritance, LastChange, Link, ProcId, Profile, Query, Remedy, Row, Runtime,
    Safety, command_of,
};
use std::collections::BTreeSet;

const DOES_NOT_REACH: &str = "A change in front of the command does not reach the program.";
/// Longer values are not written out in a sentence.
const SHOWN: usize = 120;
/// Compiled programs that set a variable because their user says so: in their arguments, in a
/// configuration or in the code that they run.
const SET_ON_REQUEST: &str = "\
    env stdbuf sudo doas su runuser setpriv login sshd cron at systemd systemd-run make \
    gmake cmake gdb strace busybox toybox direnv bwrap firejail chpst envdir envuidgid \
    s6-envdir tmux screen java apache2 nginx uwsgi";

/// Moves the remedies of `finding` that are about a variable to the program that the variable came
/// from, if that is not the first one. If every remedy would be in the source of a compiled
/// program, returns the reason, as the end of a sentence.
pub(crate) fn place(profile: &Profile, finding: &mut Finding) -> Option<String> {
    let Finding { processes, remedies, why, .. } = finding;
    let mut sealed: Option<String> = None;
    let mut open = false;
    for remedy in remedies {
        let only_there = match &remedy.change {
            Change::WithoutEntries { .. } => place_entries(profile, processes, remedy),
            _ => place_value(profile, processes, remedy, why),
        };
        open |= only_there.is_none();
        sealed = only_there.or(sealed);
    }
    sealed.filter(|_| !open)
}

/// Moves a remedy about entries of a list. Returns the reason if only a compiled program can make
/// the change.
fn place_entries(profile: &Profile, processes: &[ProcId], remedy: &mut Remedy) -> Option<String> {
    let Change::WithoutEntries { variable, entries } = &remedy.change else { return None };
    let by = |id: &ProcId| profile.listed_by(*id, variable, entries);
    let links: Vec<Link<'_>> = processes.iter().filter_map(by).collect();
    if links.is_empty() {
        return None;
    }
    let who = names(profile, links.iter().copied());
    let sealed = links.len() == processes.len() && links.iter().all(|by| is_sealed(profile, *by));
    let only_there = sealed.then(|| only_inside(variable, &who));
    *remedy = within_a_program(remedy, variable, &who);
    only_there
}

/// Moves a remedy about the value of a variable, and adds to `why` what happened to it. Returns the
/// reason if only a compiled program can make the change.
fn place_value(
    profile: &Profile,
    processes: &[ProcId],
    remedy: &mut Remedy,
    why: &mut String,
) -> Option<String> {
    let variable = variable(&remedy.change)?.to_owned();
    let all: Vec<(ProcId, Inheritance<'_>)> =
        processes.iter().map(|id| (*id, profile.inheritance(*id, &variable))).collect();
    let turns: Vec<LastChange<'_>> = all.iter().filter_map(|(_, from)| from.change()).collect();
    if turns.len() < all.len()
        && let Some(turn) = made_from(profile, processes, &variable)
    {
        let who = programs(profile, &[turn]);
        *remedy = in_front_of_a_maker(remedy, &variable, &who);
    }
    let Some(turn) = turns.first() else {
        unchanged(profile, &all, remedy, &variable);
        return None;
    };
    let who = programs(profile, &turns);
    if turns.len() < all.len() {
        let (some, of) = (number(turns.len() as u64), number(all.len() as u64));
        let did = verb(turn).1;
        let sentence = format!(
            "In {some} of the {of} processes {variable} was {did} by {who}: a change in front of the command does not reach these."
        );
        also(remedy, &sentence);
        return None;
    }
    let sentence = what_happened(&variable, turn, &who);
    if !why.contains(&sentence) {
        *why = format!("{why} {sentence}");
    }
    *remedy = moved(remedy, &variable, turn, &who);
    let sealed = turns.iter().all(|turn| turn.is.is_some()) && are_sealed(profile, &turns);
    sealed.then(|| only_inside(&variable, &who))
}

/// Says what an exec does not show, where none changed the variable: a script that assigns it, a
/// program that does not pass it on, an environment that is not known.
fn unchanged(
    profile: &Profile,
    all: &[(ProcId, Inheritance<'_>)],
    remedy: &mut Remedy,
    variable: &str,
) {
    let looked_up = || all.iter().map(|(id, _)| *id).take(LOOKED_UP);
    let assigned = looked_up().find_map(|id| profile.assigned_by(id, variable));
    let set = |id: ProcId| profile.process(id).env.value(variable).is_some();
    if let Some(by) = assigned.filter(|_| all.iter().any(|(id, _)| set(*id))) {
        *remedy = in_a_script_too(remedy, variable, &program(profile, by));
    } else if let Change::SetEnv { value: Some(value), .. } = &remedy.change
        && let Some((by, certain)) =
            looked_up().filter(|id| !set(*id)).find_map(|id| profile.cleared_by(id))
    {
        let who = program(profile, by);
        if certain && all.len() == 1 {
            *remedy = after(remedy, &format!("{variable}={value}"), &who);
        } else {
            also(remedy, &may_not_pass_on(variable, &who));
        }
    }
    // A plain log does not show the environment of the process itself: nothing is said about its
    // values.
    let seen = |id| profile.process(id).env.get(variable).is_some();
    if all.iter().any(|(id, from)| matches!(from, Inheritance::Unknown) && seen(*id)) {
        also(remedy, &not_known(variable));
    }
}

fn only_inside(variable: &str, who: &str) -> String {
    format!(
        "{variable} is set on the way by {who}, a compiled program, and can be changed only there"
    )
}

/// Whether each of the programs that made these changes is a compiled one that does so by itself.
fn are_sealed(profile: &Profile, turns: &[LastChange<'_>]) -> bool {
    let observed: BTreeSet<Option<ProcId>> = turns.iter().map(|turn| turn.by.id).collect();
    observed.len() <= LOOKED_UP && turns.iter().all(|turn| is_sealed(profile, turn.by))
}

fn is_sealed(profile: &Profile, link: Link<'_>) -> bool {
    let process = link.process;
    let name = process.name();
    let called = process.script().unwrap_or(name);
    let opened = |row: &Row| {
        let is_open = row.query == Query::Open && row.ok();
        is_open && command_of(profile.path(row).as_bytes()) == command_of(called.as_bytes())
    };
    // An interpreter opens its script. This distinguishes a script from a program that runs under
    // another name, as rustup does, and, in a log, which has only the script's name, from any
    // program.
    let runs_a_script = match link.id {
        Some(id) => profile.rows.iter().any(|row| row.process == id && opened(row)),
        None => process.script().is_some(),
    };
    process.exe.is_some()
        && !runs_a_script
        && ![name, called].into_iter().any(|name| {
            is_interpreter(name) || SET_ON_REQUEST.split(' ').any(|known| known == name)
        })
        && process.runtime == Runtime::Native
}

/// The program that adds to the list of one of these processes.
fn made_from<'p>(
    profile: &'p Profile,
    processes: &[ProcId],
    variable: &str,
) -> Option<LastChange<'p>> {
    let value = |id: ProcId| profile.process(id).env.value(variable).filter(|v| !v.is_empty());
    let values: BTreeSet<&str> = processes.iter().filter_map(|id| value(*id)).collect();
    let adds = |is: &str, was: &str| format!(":{is}:").contains(&format!(":{was}:")) && is != was;
    let longer = (0..profile.processes.len() as u32)
        .map(ProcId)
        .filter(|id| value(*id).is_some_and(|is| values.iter().any(|was| adds(is, was))));
    let turns = longer.filter_map(|id| profile.inheritance(id, variable).change());
    let mut made = turns.filter(|turn| match (turn.was, turn.is) {
        (Some(was), Some(is)) => values.contains(was) && adds(is, was),
        _ => false,
    });
    made.next()
}

/// The same change, which is right only together with one in the program that adds to the value.
fn in_front_of_a_maker(remedy: &Remedy, variable: &str, who: &str) -> Remedy {
    let change = match &remedy.change {
        Change::SetEnv { value: Some(value), .. } => format!("{variable}={value}"),
        Change::UnsetEnv { .. } => format!("unset {variable}"),
        _ => format!("set the right value of {variable}"),
    };
    let why = format!(
        "{who} makes its own value of {variable} from it: if there is nothing to add to, an \
         empty entry may remain, and the calls may increase."
    );
    by_hand(remedy, &format!("{change} in front of the command, and look at {who}"), &why)
}

/// The same change, which is right only where a script does not undo it.
fn in_a_script_too(remedy: &Remedy, variable: &str, who: &str) -> Remedy {
    let change = match &remedy.change {
        Change::SetEnv { value: Some(value), .. } => format!("{variable}={value}"),
        _ => format!("unset {variable}"),
    };
    let change =
        format!("{change} in front of the command, and in {who}, which assigns {variable} as well");
    let why = format!(
        "The program gets what {who} assigns: a change in front of the command alone may change \
         nothing."
    );
    by_hand(remedy, &change, &why)
}

/// The same change, after a program that clears the environment.
fn after(remedy: &Remedy, change: &str, who: &str) -> Remedy {
    let change = format!("in {who}, which clears the environment: {change} there");
    let why = "A value that is set in front of the command does not reach the program.";
    by_hand(remedy, &change, why)
}

/// A change for a person to make, for which `why` stands before what is said of the remedy.
fn by_hand(remedy: &Remedy, change: &str, why: &str) -> Remedy {
    helpers::by_hand(change, &format!("{why} {}", remedy.safety.sentence()))
}

fn may_not_pass_on(variable: &str, who: &str) -> String {
    format!(
        "{who} may not pass on {variable}, because it passes on only some variables: if it does not \
         arrive, set it after that program."
    )
}

/// The same change, in the program that makes the list.
fn within_a_program(remedy: &Remedy, variable: &str, who: &str) -> Remedy {
    let change = match &remedy.change {
        Change::WithoutEntries { entries, .. } => format!("take out {}", entries.join(" ")),
        _ => "make the change".to_owned(),
    };
    by_hand(remedy, &format!("in {who}, which sets {variable}: {change}"), DOES_NOT_REACH)
}

fn variable(change: &Change) -> Option<&str> {
    match change {
        Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => Some(variable),
        // Judged by entries, not by values.
        Change::WithoutEntries { .. }
        | Change::Preload
        | Change::Setting(..)
        | Change::Option(_)
        | Change::Manual(_) => None,
    }
}

/// "sets", "set".
fn verb(turn: &LastChange<'_>) -> (&'static str, &'static str) {
    match (turn.was, turn.is) {
        (_, None) => ("removes", "removed"),
        (None, Some(_)) => ("sets", "set"),
        (Some(_), Some(_)) => ("changes", "changed"),
    }
}

fn what_happened(variable: &str, turn: &LastChange<'_>, who: &str) -> String {
    let did = verb(turn).1;
    // A path, a locale, a zone, a number; options of a program may hold a password.
    let plain =
        |value: &&str| value.len() <= SHOWN && !value.is_empty() && !value.contains(['=', ' ']);
    let value = turn.is.or(turn.was).filter(plain);
    match value {
        Some(value) => format!("{variable}={value} was {did} by {who}, on the way to the program."),
        None => format!("{variable} was {did} by {who}, on the way to the program."),
    }
}

/// The same change, in the program that has to make it.
fn moved(remedy: &Remedy, variable: &str, turn: &LastChange<'_>, who: &str) -> Remedy {
    let there = match &remedy.change {
        Change::SetEnv { value: Some(value), .. } => format!("{variable}={value} there"),
        Change::UnsetEnv { .. } => "unset it there".to_owned(),
        _ => "set the right value there".to_owned(),
    };
    let does = verb(turn).0;
    by_hand(remedy, &format!("in {who}, which {does} {variable}: {there}"), DOES_NOT_REACH)
}

fn not_known(variable: &str) -> String {
    format!(
        "It is not known whether a program above it sets or removes {variable}: not all \
         environments there could be read."
    )
}

/// The sentence is to be read before the remedy is applied.
fn also(remedy: &mut Remedy, sentence: &str) {
    let longer = format!("{} {sentence}", remedy.safety.sentence());
    remedy.safety = match remedy.safety {
        Safety::Manual(_) => Safety::Manual(longer),
        Safety::Safe(_) | Safety::Caveat(_) => Safety::Caveat(longer),
    };
}
