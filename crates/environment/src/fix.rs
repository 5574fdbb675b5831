//! A planned change: which files, with which text, checked before anything is written.

use crate::activation::Activation;
use crate::checker::check;
use crate::disk::{Disk, FileAttributes};
use crate::error::EnvironmentError;
use crate::journal::FileChange;
use crate::merge::{ChangeRequest, label};
use crate::place::{Destination, Place};
use crate::place_list::place_of_file;
use crate::places::envdir::restart_by_state;
use crate::places::{self, Edit};
use crate::readers;
use crate::redact::{may_show, may_show_old, secret};
use crate::shown_diff::{HIDDEN_TEXT, Showable, shown_diff};
use needless_model::{Confidence, brief};
use std::path::Path;

/// A change that can be shown and made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What it does, in one line.
    pub what: String,
    /// Whom it reaches: "one unit: web.service", "every session of this machine".
    pub reach: String,
    /// Where, as shown to the user.
    pub place: String,
    /// Why there.
    pub why: String,
    /// What to know before it is made.
    pub caveats: Vec<String>,
    /// The files; empty where nothing is left to do.
    pub files: Vec<FileChange>,
    /// What has the files read again.
    pub reload: Activation,
    /// What brings it into force: shown, or run on request; unknown where `effect` says enough.
    pub activation: Activation,
    /// When it takes effect.
    pub effect: &'static str,
    /// The variable that is changed; empty where it is something else.
    pub variable: String,
    /// What a screen may show of the changed lines: the variable's values, or whole lines where no variable is changed.
    pub showable: Vec<String>,
    /// Whether all may be shown of a file that is made: not where the new value may be a secret.
    pub new_file_is_showable: bool,
}

/// Plans to set `variable` to `value` (or remove it) at `location`.
///
/// # Errors
/// With what to do by hand: the location is not sure enough, the file may not be changed or cannot hold such a value, or
/// its own checker refuses it.
pub fn plan(
    location: &Destination,
    variable: &str,
    value: Option<&str>,
    disk: &Disk,
) -> Result<Plan, EnvironmentError> {
    let place = location.place;
    let sure = location.confidence == Confidence::High || place.is_by_hand();
    let Some(path) = location.file.as_deref().filter(|_| sure) else {
        return Err(format!("not done by a tool: {}", location.why).into());
    };
    if let Some(make) = place.make {
        return make(location, disk);
    }
    let edit = Edit { variable, value, part: location.part.as_deref() };
    let mut files = Vec::new();
    let (changed, elsewhere) = match place.is_by_hand() {
        true => (None, left_to_hand(location, path, &edit, disk)?),
        false => edited(place, path, &edit, disk)?,
    };
    if let (None, Some(elsewhere)) = (&changed, &elsewhere) {
        return Err(format!("{path}: {variable} is not set in it, but {elsewhere}").into());
    }
    files.extend(changed);
    let new = value.filter(|value| may_show(variable, value));
    let showable = new.map(str::to_owned).into_iter().chain(old_values(place, &edit, &files));
    let showable = showable.collect();
    if value.is_some()
        && let Some(companion) = (place.companion)(path, disk)?
    {
        let text = String::from_utf8_lossy(companion.after.as_deref().unwrap_or_default());
        if let Some(place) = place_of_file(&companion.path, &text) {
            check(place, &companion.path, &text)?;
        }
        files.push(companion);
    }
    let open = files.first().and_then(|file| secret_in_the_open(&edit, file, disk));
    let several = location.activation.left_to_user().first().map(|_| {
        "--restart restarts none of them: it restarts one unit, and looks whether its process has the change."
    });
    let known = location.caveat.iter().cloned().chain(several.map(str::to_owned));
    let part = location.part.as_deref().map_or(String::new(), |part| format!(", {part}"));
    let done = match value {
        Some(_) if !place.holds_value => format!("{variable} let through"),
        _ => label(variable, value),
    };
    let what = format!("{done} in {path}{part}");
    Ok(Plan {
        what,
        reach: readers::reach(location),
        place: location.label.clone(),
        why: location.why.clone(),
        caveats: known.chain(elsewhere).chain(open).collect(),
        files,
        reload: place.reload.clone(),
        activation: location.activation.clone(),
        effect: place.effect,
        variable: variable.to_owned(),
        showable,
        new_file_is_showable: value.is_none() || new.is_some(),
    })
}

/// The values that the variable has in `files` before the change, as far as a screen may show them.
fn old_values(place: &Place, edit: &Edit<'_>, files: &[FileChange]) -> Vec<String> {
    let texts = files.iter().filter_map(|file| file.before.as_deref());
    let found =
        texts.flat_map(|text| place.find(&String::from_utf8_lossy(text), edit.variable, edit.part));
    let values = found.filter_map(|found| found.value);
    values.filter(|old| may_show_old(edit.variable, old)).collect()
}

/// The warning that a value which may be a secret gets into a file that every user can read.
fn secret_in_the_open(edit: &Edit<'_>, file: &FileChange, disk: &Disk) -> Option<String> {
    let path = &file.path;
    let is_secret = edit.value.is_some_and(|value| secret(edit.variable, value));
    let open = is_secret && file.about.mode & 0o004 != 0 && !disk.is_hidden(path);
    open.then(|| {
        format!("Every user can read {path}: a secret belongs into a file that only its program may read.")
    })
}

/// Why a change that was made and reloaded has no effect, as the reader of the file itself says; `None` where it has
/// one, or where the reader cannot be asked.
pub fn overruled(change: &ChangeRequest) -> Option<String> {
    let location = &change.location;
    (location.place.refuses)(location, &change.variable, change.value.as_deref())
}

/// The location that the user named: a file, and which part of it.
///
/// # Errors
/// When there is no such file and its name says no format, its format is not known, or has no parts and one is named.
pub(crate) fn location_of_file(
    path: &str,
    part: Option<&str>,
    disk: &Disk,
) -> Result<Destination, EnvironmentError> {
    let before = disk.read_for_change(path)?;
    let exists = before.is_some();
    let text = before.map(|before| before.bytes).unwrap_or_default();
    let by_text = || place_of_file(path, &String::from_utf8_lossy(&text));
    let place = by_text().or_else(|| readers::place_of(path, disk)).ok_or_else(|| {
        let unit = path.rsplit('/').next().filter(|name| name.ends_with(".service"));
        let why = match unit {
            _ if !exists => "there is no such file".to_owned(),
            Some(unit) => format!("a unit is changed by a drop-in: --unit {}", brief(unit)),
            None => {
                "its format is not known: fix changes Dockerfiles, compose files, Kubernetes manifests, crontabs, configuration of daemons, and more (the page Places of the book)"
                    .to_owned()
            }
        };
        format!("{path}: {why}")
    })?;
    if part.is_some() && !place.has_parts {
        return Err(format!(
            "{path}: --part names nothing in a file of this kind ({}): leave it out",
            place.name
        )
        .into());
    }
    let why = "it was named on the command line";
    let location = Destination::new(place, path.to_owned(), why, Confidence::High);
    let activation = if disk.is_host() { restart_by_state(path) } else { Activation::Unknown };
    Ok(Destination { part: part.map(str::to_owned), activation, ..location })
}

/// Refuses a file into which no tool writes, with the line to write by hand, if something is left to do. Returns what else
/// may set a variable that is removed.
fn left_to_hand(
    location: &Destination,
    path: &str,
    edit: &Edit<'_>,
    disk: &Disk,
) -> Result<Option<String>, EnvironmentError> {
    let place = location.place;
    let bytes = disk.bytes(path, false).map_err(|error| format!("{path}: {error}"))?;
    if bytes.is_none() && place.of_image {
        return Err(format!("{path}: there is no such file").into());
    }
    let bytes = bytes.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    places::check(edit.variable, edit.value)?;
    let by_hand = place.by_hand(&text, edit).map_err(|why| format!("{path}: {why}"))?;
    let Some(by_hand) = by_hand else {
        place.change(&text, edit).map_err(|why| format!("{path}: {why}"))?;
        return Ok(elsewhere(place, &text, edit));
    };
    let effect = match &location.activation {
        Activation::Unknown => place.effect.to_owned(),
        known => format!("`{known}`"),
    };
    let doubt = match location.confidence {
        Confidence::High => String::new(),
        _ => format!("; not certain: {}", location.why),
    };
    Err(format!("{path}: {by_hand}; no tool writes such a file; effect: {effect}{doubt}").into())
}

/// What else may set a variable that is removed.
fn elsewhere(place: &Place, text: &str, edit: &Edit<'_>) -> Option<String> {
    let elsewhere = (place.elsewhere)(text, edit.part).filter(|_| edit.value.is_none());
    elsewhere.map(|(line, word)| {
        format!("what line {line} ({word}) refers to may set it, and was not looked at")
    })
}

/// The file with the change, if there is something to change; and what else may set a variable that is removed.
fn edited(
    place: &Place,
    path: &str,
    edit: &Edit<'_>,
    disk: &Disk,
) -> Result<(Option<FileChange>, Option<String>), EnvironmentError> {
    let before = disk.read_for_change(path)?;
    if before.is_none() && (place.of_image || place.needs_file) {
        return Err(format!("{path}: there is no such file").into());
    }
    let text = before.as_ref().map(|before| before.bytes.as_slice()).unwrap_or_default();
    let text = std::str::from_utf8(text)
        .map_err(|_| format!("{path}: not UTF-8; a tool would not keep it as it is"))?;
    let elsewhere = elsewhere(place, text, edit);
    let last = place.find(text, edit.variable, edit.part).pop();
    if let (Some(found), Some(value)) = (&last, edit.value)
        && found.is_sure()
        && found.value.as_deref() == Some(value)
        && !place.order_matters
    {
        return Ok((None, None));
    }
    let new = place.change(text, edit).map_err(|why| format!("{path}: {why}"))?;
    if new == text {
        return Ok((None, elsewhere));
    }
    check(place, path, &new)?;
    let elsewhere = elsewhere.or_else(|| (place.caveat)(text, edit));
    let about = before
        .as_ref()
        .map_or_else(|| FileAttributes::new(place.mode), |before| before.about.clone());
    let changed = FileChange {
        path: path.to_owned(),
        before: before.map(|before| before.bytes),
        after: Some(new.into_bytes()),
        about,
    };
    Ok((Some(changed), elsewhere))
}

impl Plan {
    /// The change as a unified diff, for `patch -p1` in the root directory.
    pub fn diff(&self) -> String {
        self.files.iter().map(diff).collect()
    }

    /// Whether the diff shows all of it; it does not for links and for files that are not text.
    pub fn is_text(&self) -> bool {
        self.files.iter().all(is_text)
    }

    /// The same to show on a screen: only the changed lines, and of these only what cannot be a secret.
    pub fn diff_to_show(&self) -> String {
        let showable = Showable {
            variable: &self.variable,
            values: &self.showable,
            new_file: self.new_file_is_showable,
        };
        let shown = self.files.iter().map(|file| {
            if !is_text(file) {
                return summary(file);
            }
            let ((before, after), (old, new)) = (texts(file), names(file));
            shown_diff(file, (&before, &after), (&old, &new), &showable)
        });
        shown.collect()
    }

    /// Whether that diff leaves something out.
    pub fn hides_text(&self) -> bool {
        self.diff_to_show().contains(HIDDEN_TEXT)
    }
}

fn is_text(file: &FileChange) -> bool {
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0))
    };
    !file.about.link && text(&file.before) && text(&file.after)
}

/// A line instead of the diff of a file that is not text.
fn summary(file: &FileChange) -> String {
    let after = file.after.as_deref().unwrap_or_default();
    if file.about.link {
        return format!("new link {} -> {}\n", file.path, String::from_utf8_lossy(after));
    }
    match &file.before {
        None => format!("new file {}, {} bytes\n", file.path, after.len()),
        Some(before) => {
            format!("{}: {} bytes, now {}\n", file.path, before.len(), after.len())
        }
    }
}

fn diff(file: &FileChange) -> String {
    if !is_text(file) {
        return summary(file);
    }
    let ((before, after), (old, new)) = (texts(file), names(file));
    let diff = similar::TextDiff::from_lines(&before, &after);
    let mut unified = diff.unified_diff();
    unified.context_radius(3).header(&old, &new);
    unified.to_string()
}

fn texts(file: &FileChange) -> (String, String) {
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    (text(&file.before), text(&file.after))
}

/// In quotes as in C, which GNU patch and git read.
fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The names of the file in a diff. As GNU patch and git have it: a name with a space ends with a tab, one with other odd
/// characters is in quotes.
fn names(file: &FileChange) -> (String, String) {
    let name = |side: &str, bytes: &Option<Vec<u8>>| match bytes {
        Some(_) => {
            let name = format!("{side}{}", Path::new("/").join(&file.path).display());
            if name.contains(|c: char| c.is_ascii_control() || c == '"' || c == '\\') {
                quoted(&name)
            } else if name.contains(' ') {
                name + "\t"
            } else {
                name
            }
        }
        None => "/dev/null".to_owned(),
    };
    (name("a", &file.before), name("b", &file.after))
}
