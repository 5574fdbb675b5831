//! Where a variable comes from in a command that needless itself runs: every exec is observed, so the program that
//! set, changed or dropped the variable is known.

use needless_model::{Env, Profile, Provenance, Spawn, Step, Value};

/// Where `variable` comes from in the processes of `profile`, which must have watched it.
pub fn trace_run(profile: &Profile, variable: &str) -> Provenance {
    let mut steps = Vec::new();
    let (mut dropped, mut given) = (Vec::new(), Vec::new());
    for process in &profile.processes {
        // A forked process has its parent's image and environment until it executes a program.
        if process.born == Spawn::Fork {
            continue;
        }
        let value = value(&process.env, variable);
        let mut says = Vec::new();
        if let Some(up) = process.parent.map(|up| profile.process(profile.image_of(up))) {
            let who = up.exe.as_deref().unwrap_or("?");
            let had = self::value(&up.env, variable);
            let sentence = match (&had, &value) {
                (Value::Set(_), Value::Unset) => {
                    dropped.push(format!("{who} dropped it before it executed {}", process.name()));
                    Some(format!("lost here: {who} executed this without it"))
                }
                (Value::Unset, Value::Set(_)) => {
                    given.push(format!("{who} set it for {}", process.name()));
                    Some(format!("set here: {who} executed this with it"))
                }
                (Value::Set(was), Value::Set(is)) if was != is => {
                    given.push(format!("{who} changed it for {}", process.name()));
                    Some(format!("changed here: {who} had {was}"))
                }
                _ => None,
            };
            says.extend(sentence);
        }
        steps.push(Step {
            pid: process.pid,
            program: process.exe.clone().unwrap_or_else(|| "?".into()),
            role: None,
            initial: value,
            live: Value::Unknown("it has ended".into()),
            says,
        });
    }
    let answer = answer(variable, steps.last(), dropped.last(), given.last());
    let mut or = dropped;
    or.extend(given);
    or.retain(|other| !answer.ends_with(other.as_str()));
    let unread = profile.lost.iter().filter(|(_, n)| **n > 0);
    let unread = unread.map(|(loss, n)| format!("{loss}: {n}")).collect();
    Provenance { variable: variable.to_owned(), answer, or, steps, unread, ..Provenance::default() }
}

/// Where the value at the end, in the `last` process, is from: the last that `dropped` or has `given` it.
fn answer(
    variable: &str,
    last: Option<&Step>,
    dropped: Option<&String>,
    given: Option<&String>,
) -> String {
    match (last.map(|step| &step.initial), dropped, given) {
        (Some(Value::Set(value)), _, Some(given)) => {
            format!("{variable} is {value} at the end: {given}")
        }
        (Some(Value::Set(value)), ..) => {
            format!("{variable} is {value} to the end, unchanged from the environment of needless")
        }
        (Some(Value::Unset), Some(dropped), _) => {
            format!("{variable} is not set at the end: {dropped}")
        }
        (Some(Value::Unset), ..) => format!(
            "{variable} is not set: needless was started without it, and no program in between set it"
        ),
        _ => format!("it is not known whether {variable} is set"),
    }
}

fn value(env: &Env, variable: &str) -> Value {
    match env.get(variable) {
        Some(Some(value)) => Value::Set(value.to_owned()),
        Some(None) => Value::Unset,
        None => Value::Unknown("its environment was not seen".into()),
    }
}
