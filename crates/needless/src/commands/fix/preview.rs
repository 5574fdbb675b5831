//! A change as `fix` would show it, without the question: for `top`.

use super::requests::{here, request, with_value};
use super::{disk, show};
use crate::context::Context;
use anyhow::{Result, anyhow};
use needless_environment::{self as environment, Subject};
use needless_model::{Change, Remedy, Safety};
use needless_observe::LiveFacts;

/// What `fix` would show for this change of a process, or of its unit where there is no process. Writes nothing, and
/// shows no text of a file that may be secret.
///
/// # Errors
/// Why `fix` would refuse it.
pub(in crate::commands) fn preview(
    change: &Change,
    pid: Option<u32>,
    unit: Option<&str>,
    context: &Context,
) -> Result<String> {
    let subject = match (pid, unit) {
        (Some(pid), _) if here_is(pid) => Subject::Process(pid),
        (_, Some(unit)) => Subject::Unit(unit.to_owned()),
        (Some(pid), None) => return Err(anyhow!("process {pid} has ended")),
        (None, None) => return Err(anyhow!("its process is not known")),
    };
    let mut now = LiveFacts::new(context.settings.watched.clone());
    let remedy = Remedy { change: change.clone(), safety: Safety::Caveat(String::new()) };
    let remedy = with_value(&remedy, |variable| here(&mut now, &subject, variable))?;
    let request = request("", &remedy, subject);
    let mut request = request.ok_or_else(|| anyhow!("not a change of a variable"))?;
    (request.rule, request.caveat) = (None, None);
    let disk = disk()?.that_only_reads()?;
    let change = environment::resolve(&request, &disk)?;
    let plan =
        environment::plan(&change.location, &change.variable, change.value.as_deref(), &disk)?;
    if plan.files.is_empty() {
        return Ok(format!("already so: {}", plan.what));
    }
    let mut text = Vec::new();
    show(&mut text, Some(&change), &plan, "")?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn here_is(pid: u32) -> bool {
    needless_host::start_time(pid).is_some()
}
