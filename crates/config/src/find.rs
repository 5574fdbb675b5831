//! Finds the configuration files.

use crate::ConfigError;
use std::fmt::Display;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The name of the file that is looked for.
const FILE: &str = "needless.toml";
/// The folder beside it; each `.toml` file in it counts.
const FOLDER: &str = "needless.d";

/// What was found from a directory upwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFiles {
    /// The files, in the order in which they count.
    pub files: Vec<PathBuf>,
    /// Files that exist but are not read, with the reason in a sentence.
    pub refused: Vec<String>,
}

/// The configuration for a user who works in `from`: `needless.toml` and the files of `needless.d`
/// in the first directory, from there upwards, that has one of them. The search ends below a shared
/// directory like /tmp: what lies there belongs to no project. `doubt` says why a file must not be
/// read ("it belongs to user 1000"): another user's file may hide what an administrator looks for.
///
/// # Errors
/// When a folder cannot be read.
pub fn find(
    from: &Path,
    doubt: impl Fn(&Path) -> Option<String>,
) -> Result<ConfigFiles, ConfigError> {
    for dir in from.ancestors().take_while(|dir| *dir == from || !is_shared(dir)) {
        let (mut files, mut found) = (Vec::new(), ConfigFiles::default());
        let (file, folder) = (dir.join(FILE), dir.join(FOLDER));
        match is_there(&file) {
            // A directory of this name is something else.
            Ok(Some(about)) if !about.is_dir() => files.push(file),
            Ok(_) => {}
            Err(error) => found.refused.push(unread(&file, error)),
        }
        match is_there(&folder) {
            Ok(Some(about)) if about.is_dir() => files.extend(in_folder(&folder)?),
            Ok(None) => {}
            Ok(Some(_)) => found.refused.push(unread(&folder, "it is not a directory")),
            Err(error) => found.refused.push(unread(&folder, error)),
        }
        if files.is_empty() && found.refused.is_empty() {
            continue;
        }
        for file in files {
            match doubt(&file) {
                Some(why) => found
                    .refused
                    .push(unread(&file, format_args!("{why}; --config reads it all the same"))),
                None if is_other(&file) => {
                    found.refused.push(unread(&file, "it is not a regular file"));
                }
                None => found.files.push(file),
            }
        }
        return Ok(found);
    }
    Ok(ConfigFiles::default())
}

/// What is known of the file or directory of that name, or what its name leads to. `None` where there is none.
///
/// # Errors
/// When the name is a link that cannot be followed.
fn is_there(path: &Path) -> std::io::Result<Option<Metadata>> {
    match path.metadata() {
        Ok(about) => Ok(Some(about)),
        Err(error) if path.is_symlink() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether it is there and no file: reading a pipe or a device would wait.
fn is_other(path: &Path) -> bool {
    path.exists() && !path.is_file()
}

fn unread(path: &Path, why: impl Display) -> String {
    format!("{} is not read: {why}", path.display())
}

/// Whether everybody may write to a directory, and to nobody else's files in it: the sticky bit.
fn is_shared(dir: &Path) -> bool {
    dir.metadata().is_ok_and(|about| about.permissions().mode() & 0o1002 == 0o1002)
}

/// The files for a path that the user named: the file itself, or those of a folder.
///
/// # Errors
/// When it is not there or cannot be read, or a folder without any such file.
pub(crate) fn named(path: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    match in_folder(path)? {
        files if files.is_empty() => {
            Err(ConfigError::of_file(&path.display().to_string(), "no file in it ends in .toml"))
        }
        files => match files.iter().find(|file| is_other(file)) {
            Some(file) => {
                let name = file.display().to_string();
                Err(ConfigError::of_file(&name, "cannot be read: it is not a regular file"))
            }
            None => Ok(files),
        },
    }
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let wrong =
        |why| ConfigError::of_file(&folder.display().to_string(), format!("cannot be read: {why}"));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        // What is missing gives an error when it is read.
        if path.extension().is_some_and(|end| end == "toml") && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
