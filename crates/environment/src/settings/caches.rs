//! Caches that a tool of the system makes: built in a temporary directory, and put in their places through the journal.

use crate::disk::{Disk, FileAttributes};
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::journal::FileChange;
use crate::place::{DEFAULT, Destination, Place};
use crate::request::own_root;
use crate::running::{program_of_system, run};
use crate::scratch::Scratch;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whom a file reaches that all programs of the machine share.
pub(super) const OF_MACHINE: &str = "every program of this machine that reads it";
const STARTS: &str = "programs that are started from now on";

/// The loader's cache, ld.so(8).
pub(super) static LOADER: Place = Place {
    name: "cache of libraries",
    files: "/etc/ld.so.cache",
    effect: STARTS,
    make: Some(loader),
    ..DEFAULT
};

/// fontconfig's cache, fc-cache(1).
pub(super) static FONTS: Place = Place {
    name: "cache of fonts",
    files: "/var/cache/fontconfig",
    effect: STARTS,
    make: Some(fonts),
    ..DEFAULT
};

fn plan(location: &Destination, by: &str, caveats: &[&str], files: Vec<FileChange>) -> Plan {
    Plan {
        what: location.label.clone(),
        place: format!("{}, made by `{by}`", location.place.files),
        why: location.why.clone(),
        reach: OF_MACHINE.to_owned(),
        caveats: caveats.iter().map(|caveat| (*caveat).to_owned()).collect(),
        files,
        effect: location.place.effect,
        new_file_is_showable: true,
        ..Plan::default()
    }
}

/// # Errors
/// When ldconfig is not installed or fails.
fn loader(location: &Destination, disk: &Disk) -> Result<Plan, EnvironmentError> {
    const FILE: &str = "/etc/ld.so.cache";
    let mut files = Vec::new();
    if disk.read_for_change(FILE)?.is_none() {
        let failed = |error: std::io::Error| format!("{FILE} cannot be built: {error}");
        let folder = Scratch::new().map_err(failed)?;
        let made = folder.path().join("cache");
        // -X: no links of libraries are changed.
        run(&["ldconfig", "-X", "-C", &made.to_string_lossy()])?;
        files.push(new_file(FILE, &made).map_err(failed)?);
    }
    let caveats = [
        "A library that is added later, in a directory that is not one of the loader's own, is found only after `ldconfig` has run again.",
        "ldconfig renews its own notes, too (/var/cache/ldconfig/aux-cache); no other program reads them, and `undo` leaves them.",
    ];
    Ok(plan(location, "ldconfig", &caveats, files))
}

/// # Errors
/// When fc-cache is not installed or fails.
fn fonts(location: &Destination, disk: &Disk) -> Result<Plan, EnvironmentError> {
    const CONFIG: &str = "/etc/fonts/fonts.conf";
    let failed = |error: std::io::Error| format!("the cache of fonts cannot be built: {error}");
    let config = own_root()?.read(CONFIG).map_err(failed)?;
    let config = String::from_utf8_lossy(&config);
    let place = elements(&config, "cachedir").into_iter().next();
    let place = place.ok_or_else(|| format!("{CONFIG} names no directory for caches"))?;
    let folder = Scratch::new().map_err(failed)?;
    let made = folder.make("made").map_err(failed)?;
    // Only ours is a directory of caches: fc-cache also cleans up in all that it knows.
    let dirs = elements(&config, "dir").into_iter().map(|dir| format!("<dir>{dir}</dir>"));
    let text = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"urn:fontconfig:fonts.dtd\"><fontconfig>{}<cachedir>{}</cachedir><include ignore_missing=\"yes\">/etc/fonts/conf.d</include></fontconfig>",
        dirs.collect::<String>(),
        made.display()
    );
    let own = folder.path().join("fonts.conf");
    folder.put(&own, text.as_bytes()).map_err(failed)?;
    let program = program_of_system("fc-cache").ok_or("fc-cache is not installed (fontconfig)")?;
    let mut command = Command::new(program);
    command.args(["-f", "-s"]).env("FONTCONFIG_FILE", &own).env("LC_ALL", "C").stdin(Stdio::null());
    let done = command.output().map_err(failed)?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(format!("fc-cache: {}", said.lines().next().unwrap_or("failed")).into());
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&made).map_err(failed)?.flatten() {
        let path = format!("{place}/{}", entry.file_name().to_string_lossy());
        let mut new = new_file(&path, &entry.path()).map_err(failed)?;
        if let Some(old) = disk.read_for_change(&path)? {
            (new.before, new.about) = (Some(old.bytes), old.about);
        }
        // A directory is the same until a font is added.
        files.extend(Some(new).filter(|new| new.before != new.after));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let caveats =
        ["When fonts are added, it has to be built again: fontconfig then takes no notice of it."];
    Ok(plan(location, "fc-cache -f", &caveats, files))
}

/// The texts of the elements of a configuration of fontconfig which are absolute paths.
fn elements(config: &str, name: &str) -> Vec<String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let texts = config.split(&*begin).skip(1).filter_map(|rest| rest.split_once(&*end));
    let paths = texts.map(|(text, _)| text.trim()).filter(|text| text.starts_with('/'));
    paths.map(str::to_owned).collect()
}

pub(super) fn new_file(path: &str, made: &Path) -> std::io::Result<FileChange> {
    Ok(FileChange {
        path: path.to_owned(),
        before: None,
        after: Some(std::fs::read(made)?),
        about: FileAttributes::new(0o644),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_are_taken() {
        let config = "<dir>/usr/share/fonts</dir><dir prefix=\"xdg\">fonts</dir><dir>~/.fonts</dir>
            <cachedir> /var/cache/fontconfig </cachedir><cachedir prefix=\"xdg\">fontconfig</cachedir>";
        assert_eq!(elements(config, "dir"), ["/usr/share/fonts"]);
        assert_eq!(elements(config, "cachedir"), ["/var/cache/fontconfig"]);
    }
}
