//! A change as the text that belongs where a file is made: a play of Ansible, a line of a Dockerfile, a patch of
//! kustomize. Nothing is written; each kind is one file and one entry in the list.

mod ansible;
mod dockerfile;
mod kustomize;

use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::fix::{Plan, plan};
use crate::merge::{ChangeRequest, label};
use crate::redact::may_show;

/// Every kind of snippet, in the order in which they are listed.
pub static SNIPPETS: &[&SnippetFormat] =
    &[&ansible::ANSIBLE, &dockerfile::DOCKERFILE, &kustomize::KUSTOMIZE];

/// A kind of snippet.
pub struct SnippetFormat {
    /// Its name, as an option names it.
    pub name: &'static str,
    /// What is between two of them in one file.
    pub between: &'static str,
    /// Whether it is about what starts with an image: then no place of this machine is looked for.
    pub of_image: bool,
    write: fn(&SnippetQuery<'_>) -> Result<String, EnvironmentError>,
}

impl std::fmt::Debug for SnippetFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for SnippetFormat {
    fn eq(&self, other: &SnippetFormat) -> bool {
        self.name == other.name
    }
}

/// What a snippet is made of.
struct SnippetQuery<'a> {
    change: &'a ChangeRequest,
    disk: &'a Disk,
    /// Whether it also restarts what has to be restarted.
    restart: bool,
    /// Whether texts may be printed that may be secrets.
    show_values: bool,
}

impl SnippetQuery<'_> {
    fn plan(&self) -> Result<Plan, EnvironmentError> {
        let ChangeRequest { location, variable, value, .. } = self.change;
        plan(location, variable, value.as_deref(), self.disk)
    }

    /// "TZ=UTC for web.service", in one line of a comment.
    fn headline(&self) -> String {
        let ChangeRequest { variable, value, targets, .. } = self.change;
        let what = label(variable, value.as_deref());
        let who = targets.join(", ");
        one_line(&if who.is_empty() { what } else { format!("{what} for {who}") })
    }
}

/// The snippet of a change; empty where nothing is left to change. `disk` may be one that only reads. `restart`:
/// whether it also restarts what has to be restarted. `show_values`: whether it may hold what may be a secret.
///
/// # Errors
/// In a sentence: this kind cannot express the change, its value may be a secret, or as of [`plan`].
pub fn snippet(
    format: &SnippetFormat,
    change: &ChangeRequest,
    disk: &Disk,
    (restart, show_values): (bool, bool),
) -> Result<String, EnvironmentError> {
    let secret = |value: &String| !may_show(&change.variable, value);
    if !show_values && change.value.as_ref().is_some_and(secret) {
        return Err("its value may be a secret, and such a text is kept by others: set it from their store of secrets, \
                    or pass --show-value to print it"
            .into());
    }
    (format.write)(&SnippetQuery { change, disk, restart, show_values })
}

/// The kind of this name.
///
/// # Errors
/// When there is none; the message lists the names.
pub fn snippet_format(name: &str) -> Result<&'static SnippetFormat, String> {
    let found = SNIPPETS.iter().find(|format| format.name == name);
    let names = || SNIPPETS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    found.copied().ok_or_else(|| format!("expected one of: {}", names()))
}

/// A text as a part of a comment, which ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
