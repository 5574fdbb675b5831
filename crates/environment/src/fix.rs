//! A planned change: which files, with which text, checked before anything is written.

use crate::config_format::{CheckStyle, ConfigFormat, ConfigLocation};
use crate::disk::{Disk, FileAttributes};
use crate::error::EnvironmentError;
use crate::format::Edit;
use crate::format_list::format_of_file;
use crate::journal::FileChange;
use crate::merge::{ChangeRequest, label};
use crate::redact::{line_kind, redacted_diff};
use crate::running::program_of_system;
use needless_model::Confidence;
use std::path::Path;
use std::process::{Command, Stdio};

/// A change that can be shown and made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it does, in one line.
    pub what: String,
    /// Where, as shown to the user.
    pub place: String,
    /// Why there.
    pub why: String,
    /// What to know before it is made.
    pub caveats: Vec<String>,
    /// The files; empty where nothing is left to do.
    pub files: Vec<FileChange>,
    /// The command after which the files are read again; empty where none is needed.
    pub reload: Vec<String>,
    /// The command that makes it take effect: shown, or run on request; empty where `effect` says enough.
    pub restart: Vec<String>,
    /// When it takes effect.
    pub effect: &'static str,
    /// The variable that is changed; empty where it is something else.
    pub variable: String,
}

/// Plans to set `variable` to `value` (or remove it) at `location`.
///
/// # Errors
/// With what to do by hand: the location is not sure enough, the file may not be changed or cannot hold such a value, or
/// its own checker refuses it.
pub fn plan(
    location: &ConfigLocation,
    variable: &str,
    value: Option<&str>,
    disk: &Disk,
) -> Result<Plan, EnvironmentError> {
    let format = location.format;
    let sure = location.confidence == Confidence::High;
    let Some(path) = location.file.as_deref().filter(|_| sure) else {
        return Err(format!("not done by a tool: {}", location.why).into());
    };
    let edit = Edit { variable, value, part: location.part.as_deref() };
    let mut files = Vec::new();
    files.extend(edited(format, path, &edit, &disk.of_owner(location.owner)?)?);
    if value.is_some()
        && let Some(companion) = (format.companion)(path, disk)?
    {
        let text = String::from_utf8_lossy(companion.after.as_deref().unwrap_or_default());
        if let Some(format) = format_of_file(&companion.path, &text) {
            check(format, &companion.path, &text)?;
        }
        files.push(companion);
    }
    let part = location.part.as_deref().map_or(String::new(), |part| format!(", {part}"));
    let what = format!("{} in {path}{part}", label(variable, value));
    Ok(Plan {
        what,
        place: location.label.clone(),
        why: location.why.clone(),
        caveats: location.caveat.iter().cloned().collect(),
        files,
        reload: format.reload.iter().map(|word| (*word).to_owned()).collect(),
        restart: location.restart.clone(),
        effect: format.effect,
        variable: variable.to_owned(),
    })
}

/// Why a change that was made and reloaded has no effect, as the reader of the file itself says; `None` where it has
/// one, or where the reader cannot be asked.
pub fn overruled(change: &ChangeRequest, plan: &Plan) -> Option<String> {
    let verify = change.location.format.verify.as_ref()?;
    let (uses, who) = (verify.uses)(&plan.restart, &change.variable, change.value.as_deref())?;
    let rival = verify.rival;
    (!uses).then(|| format!("{who} still uses another {}: {rival}", change.variable))
}

/// The location that the user named: a file, and which part of it.
///
/// # Errors
/// When the file's format is not known.
pub(crate) fn location_of_file(
    path: &str,
    part: Option<&str>,
    disk: &Disk,
) -> Result<ConfigLocation, EnvironmentError> {
    let before = disk.read_for_change(path)?;
    let text = before.map(|before| before.bytes).unwrap_or_default();
    let format = format_of_file(path, &String::from_utf8_lossy(&text)).ok_or_else(|| {
        format!(
            "{path}: its format is not known; `needless origin` lists the files that it can change"
        )
    })?;
    let why = "it was named on the command line";
    let location = ConfigLocation::new(format, path.to_owned(), why, Confidence::High);
    Ok(ConfigLocation { part: part.map(str::to_owned), ..location })
}

fn edited(
    format: &ConfigFormat,
    path: &str,
    edit: &Edit<'_>,
    disk: &Disk,
) -> Result<Option<FileChange>, EnvironmentError> {
    let before = disk.read_for_change(path)?;
    let text = before.as_ref().map(|before| before.bytes.as_slice()).unwrap_or_default();
    let text = std::str::from_utf8(text)
        .map_err(|_| format!("{path}: not UTF-8; a tool would not keep it as it is"))?;
    let last = format.find(text, edit.variable, edit.part).pop();
    if let (Some(found), Some(value)) = (&last, edit.value)
        && found.certain
        && found.value.as_deref() == Some(value)
        && !format.order_matters
    {
        return Ok(None);
    }
    let new = format.change(text, edit).map_err(|why| format!("{path}: {why}"))?;
    if new == text && before.is_some() {
        return Ok(None);
    }
    check(format, path, &new)?;
    let about = before
        .as_ref()
        .map_or_else(|| FileAttributes::new(format.mode), |before| before.about.clone());
    Ok(Some(FileChange {
        path: path.to_owned(),
        before: before.map(|before| before.bytes),
        after: Some(new.into_bytes()),
        about,
    }))
}

/// Has the file's own checker read the text, from a temporary file; does nothing where the checker is not installed.
fn check(format: &ConfigFormat, path: &str, text: &str) -> Result<(), EnvironmentError> {
    let [program, arguments @ ..] = format.check else { return Ok(()) };
    let Some(program) = program_of_system(program) else { return Ok(()) };
    let failed = |error: std::io::Error| format!("cannot have {path} checked: {error}");
    let folder = Scratch::new().map_err(failed)?;
    let (file, checked) = if format.check_style == CheckStyle::UnitDropIn {
        let dir = folder.0.join("needless-check.service.d");
        std::fs::create_dir(&dir).map_err(failed)?;
        let unit = folder.0.join("needless-check.service");
        std::fs::write(&unit, "[Service]\nExecStart=/bin/true\n").map_err(failed)?;
        (dir.join("zz-needless.conf"), unit)
    } else {
        (folder.0.join("checked"), folder.0.join("checked"))
    };
    std::fs::write(&file, text).map_err(failed)?;
    // visudo refuses files that others can read.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o440)).map_err(failed)?;
    let mut command = Command::new(&program);
    command.args(arguments).arg(&checked).env("LC_ALL", "C").stdin(Stdio::null());
    let done = command.output().map_err(failed)?;
    let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
    let complaint = complaint.replace(&file.to_string_lossy().into_owned(), path);
    // systemd-analyze exits 0 whatever it finds, and also complains about other units.
    let bad = if format.check_style != CheckStyle::ExitStatus {
        complaint.lines().find(|line| line.starts_with(path))
    } else if done.status.success() {
        None
    } else {
        Some(complaint.lines().next().unwrap_or("no reason given"))
    };
    match bad {
        Some(line) => Err(format!("{} refuses the text: {line}", program.display()).into()),
        None => Ok(()),
    }
}

/// A temporary directory, removed when dropped.
pub(crate) struct Scratch(std::path::PathBuf);

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a directory in it, with its parents.
    pub(crate) fn make(&self, path: &str) -> std::io::Result<std::path::PathBuf> {
        let dir = self.0.join(path);
        std::fs::create_dir_all(&dir).map(|()| dir)
    }

    /// Writes a file in it.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        std::fs::write(self.0.join(path), bytes)
    }

    pub(crate) fn new() -> std::io::Result<Scratch> {
        use std::os::unix::fs::DirBuilderExt;
        let mut error = None;
        for n in 0..64 {
            let dir = std::env::temp_dir().join(format!("needless-{}-{n}", std::process::id()));
            // Fails where the name is taken, by anybody: then the next name is tried.
            match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok(Scratch(dir)),
                Err(why) => error = Some(why),
            }
        }
        Err(error.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it; a directory may stay in /tmp.
        let _ = std::fs::remove_dir_all(&self.0);
    }
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

    /// The same to show on a screen: passwords beside the change are hidden.
    pub fn diff_to_show(&self) -> String {
        let shown = self.files.iter().map(|file| {
            let text = file.after.as_ref().or(file.before.as_ref()).map(Vec::as_slice);
            let lines = line_kind(&file.path, &String::from_utf8_lossy(text.unwrap_or_default()));
            redacted_diff(&diff(file), &self.variable, lines)
        });
        shown.collect()
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
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let (before, after) = (text(&file.before), text(&file.after));
    let name = |side: &str, bytes: &Option<Vec<u8>>| match bytes {
        Some(_) => format!("{side}{}", Path::new("/").join(&file.path).display()),
        None => "/dev/null".to_owned(),
    };
    let diff = similar::TextDiff::from_lines(&before, &after);
    let mut unified = diff.unified_diff();
    unified.context_radius(3).header(&name("a", &file.before), &name("b", &file.after));
    unified.to_string()
}
