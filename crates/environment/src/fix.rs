//! A change planned: which files, with which text, checked before anything is written.

use crate::belongs::{ConfigLocation, SUDO_DROP_IN, SUDO_ENV};
use crate::config_format::{self, ConfigFormat};
use crate::disk::{About, Disk};
use crate::format::{Edit, sudoers};
use crate::journal::FileChange;
use crate::redact::{Lines, veiled_diff};
use needless_model::Confidence;
use std::path::Path;
use std::process::{Command, Stdio};

/// A change that can be shown and made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it does, in one line.
    pub what: String,
    /// Where, for people.
    pub place: String,
    /// Why there.
    pub why: String,
    /// What to know before.
    pub caveats: Vec<String>,
    /// The files; none where nothing is left to do.
    pub files: Vec<FileChange>,
    /// What has to be run for the files to be read; empty where nothing.
    pub reload: Vec<String>,
    /// What makes it take effect, to be shown or, on request, run; empty where that is said by
    /// `effect` only.
    pub restart: Vec<String>,
    /// When it takes effect.
    pub effect: &'static str,
    /// The variable that is changed; empty where it is none.
    pub variable: String,
}

/// Plans to set `variable` to `value` (or remove it) at `spot`.
///
/// # Errors
/// In a sentence, with what to do by hand: the place is not sure enough, the file may not be changed,
/// or cannot say such a value, or its own checker refuses it.
pub fn plan(
    spot: &ConfigLocation,
    variable: &str,
    value: Option<&str>,
    disk: &Disk,
) -> Result<Plan, String> {
    let Some(path) = spot.file.as_deref().filter(|_| spot.confidence == Confidence::High) else {
        return Err(format!("not done by a tool: {}", spot.why));
    };
    let edit = Edit { variable, value, part: spot.part.as_deref() };
    let mut files = Vec::new();
    let theirs = disk.of_owner(spot.owner)?;
    files.extend(edited(spot.place, path, &edit, &theirs)?);
    if spot.place == &config_format::SUDO_ENV_FILE && path == SUDO_ENV && value.is_some() {
        files.extend(sudo_drop_in(disk)?);
    }
    let part = spot.part.as_deref().map_or(String::new(), |part| format!(", {part}"));
    let what = format!("{} in {path}{part}", crate::targets::words(variable, value));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let reload = match () {
        () if spot.place == &config_format::SYSTEMD_UNIT => words(&["systemctl", "daemon-reload"]),
        () if spot.place == &config_format::USER_UNIT => {
            words(&["systemctl", "--user", "daemon-reload"])
        }
        () if spot.place == &config_format::SUPERVISORD => words(&["supervisorctl", "reread"]),
        () => Vec::new(),
    };
    Ok(Plan {
        what,
        place: spot.called.clone(),
        why: spot.why.clone(),
        caveats: spot.caveat.iter().cloned().collect(),
        files,
        reload,
        restart: spot.restart.clone(),
        effect: spot.place.effect,
        variable: variable.to_owned(),
    })
}

/// A place that the user named: a file, and which part of it.
///
/// # Errors
/// Where the file is of no kind that is known.
pub fn spot_of_file(path: &str, part: Option<&str>, disk: &Disk) -> Result<ConfigLocation, String> {
    let before = disk.look(path)?;
    let text = before.map(|before| before.bytes).unwrap_or_default();
    let place = config_format::of_file(path, &String::from_utf8_lossy(&text)).ok_or_else(|| {
        format!("{path}: no place that is known; `needless origin` tells which are")
    })?;
    Ok(ConfigLocation {
        place,
        file: Some(path.to_owned()),
        part: part.map(str::to_owned),
        called: format!("{}, {path}", place.name),
        why: "it was named on the command line".into(),
        confidence: Confidence::High,
        restart: Vec::new(),
        caveat: None,
        owner: None,
    })
}

fn edited(
    place: &ConfigFormat,
    path: &str,
    edit: &Edit<'_>,
    disk: &Disk,
) -> Result<Option<FileChange>, String> {
    let before = disk.look(path)?;
    let text = before.as_ref().map(|before| before.bytes.as_slice()).unwrap_or_default();
    let text = std::str::from_utf8(text)
        .map_err(|_| format!("{path}: not UTF-8; a tool would not keep it as it is"))?;
    let holds = place.find(text, edit.variable, edit.part).pop();
    if let (Some(found), Some(value)) = (&holds, edit.value)
        && found.certain
        && found.value.as_deref() == Some(value)
        && place != &config_format::CRONTAB
    {
        return Ok(None);
    }
    let new = place.change(text, edit).map_err(|why| format!("{path}: {why}"))?;
    if new == text && before.is_some() {
        return Ok(None);
    }
    check(place, path, &new)?;
    let about = before.as_ref().map_or_else(|| About::new(mode(place)), |b| b.about.clone());
    Ok(Some(FileChange {
        path: path.to_owned(),
        before: before.map(|before| before.bytes),
        after: Some(new.into_bytes()),
        about,
    }))
}

fn mode(place: &ConfigFormat) -> u32 {
    match () {
        () if place == &config_format::SUDOERS => 0o440,
        () if place == &config_format::WRAPPER => 0o755,
        () => 0o644,
    }
}

fn sudo_drop_in(disk: &Disk) -> Result<Option<FileChange>, String> {
    if let Some(before) = disk.look(SUDO_DROP_IN)? {
        let text = String::from_utf8_lossy(&before.bytes).into_owned();
        let ours = sudoers::Says::File(SUDO_ENV.to_owned());
        if sudoers::says(&text).iter().any(|(_, said)| *said == ours) {
            return Ok(None);
        }
        return Err(format!("{SUDO_DROP_IN} is there, but names no env_file: see there"));
    }
    let text = sudoers::env_file(SUDO_ENV);
    check(&config_format::SUDOERS, SUDO_DROP_IN, &text)?;
    Ok(Some(FileChange {
        path: SUDO_DROP_IN.to_owned(),
        before: None,
        after: Some(text.into_bytes()),
        about: About::new(0o440),
    }))
}

/// Has the file's own checker read the text, from a file of ours; not where it is not installed.
fn check(place: &ConfigFormat, path: &str, text: &str) -> Result<(), String> {
    let [program, arguments @ ..] = place.check else { return Ok(()) };
    let Some(program) = crate::running::program_of_system(program) else { return Ok(()) };
    let said = |error: std::io::Error| format!("cannot have {path} checked: {error}");
    let folder = Scratch::new().map_err(said)?;
    let (file, checked) =
        match place == &config_format::SYSTEMD_UNIT || place == &config_format::USER_UNIT {
            true => {
                let dir = folder.0.join("needless-check.service.d");
                std::fs::create_dir(&dir).map_err(said)?;
                let unit = folder.0.join("needless-check.service");
                std::fs::write(&unit, "[Service]\nExecStart=/bin/true\n").map_err(said)?;
                (dir.join("zz-needless.conf"), unit)
            }
            false => (folder.0.join("checked"), folder.0.join("checked")),
        };
    std::fs::write(&file, text).map_err(said)?;
    // sudo wants its own files closed to others, wherever they are.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o440)).map_err(said)?;
    let mut command = Command::new(&program);
    command.args(arguments).arg(&checked).env("LC_ALL", "C").stdin(Stdio::null());
    let done = command.output().map_err(said)?;
    let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
    let complaint = complaint.replace(&file.to_string_lossy().into_owned(), path);
    // systemd-analyze exits 0 whatever it finds, and tells of other units as well; sshd also fails
    // where it has no host keys yet.
    let names_it = [&config_format::SYSTEMD_UNIT, &config_format::USER_UNIT, &config_format::SSHD]
        .contains(&place);
    let bad = match names_it {
        true => complaint.lines().find(|line| line.starts_with(path)),
        false if done.status.success() => None,
        false => Some(complaint.lines().next().unwrap_or("no reason given")),
    };
    match bad {
        Some(line) => Err(format!("{} refuses the text: {line}", program.display())),
        None => Ok(()),
    }
}

/// A directory of our own, removed when dropped.
pub(crate) struct Scratch(std::path::PathBuf);

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a directory in it, with those on the way.
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
            // Fails where the name is taken, by whomever: then the next is tried.
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
        // Nothing depends on it; a directory in /tmp may stay.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Plan {
    /// The change as a unified diff, for `patch -p1` in the root directory.
    pub fn diff(&self) -> String {
        self.files.iter().map(diff).collect()
    }

    /// Whether the diff says all of it; it does not of links, and of files that are no text.
    pub fn is_text(&self) -> bool {
        self.files.iter().all(is_text)
    }

    /// The same to be looked at: passwords beside the change are left out.
    pub fn diff_to_show(&self) -> String {
        let shown = self.files.iter().map(|file| {
            let text = file.after.as_ref().or(file.before.as_ref()).map(Vec::as_slice);
            let lines = Lines::of(&file.path, &String::from_utf8_lossy(text.unwrap_or_default()));
            veiled_diff(&diff(file), &self.variable, lines)
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

/// What stands for a file that is no text.
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
