//! `AllowOverride None` in the `<Directory>` sections of Apache's configuration below whose directories there is no
//! .htaccess. <https://httpd.apache.org/docs/2.4/mod/core.html#allowoverride>

use super::{ChangedUnit, newest, sees_ours, title};
use crate::activation::{Activation, WorkerQuery};
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::journal::FileChange;
use crate::merge::{ChangeRequest, listed};
use crate::place::{DEFAULT, Destination, Place};
use crate::places::{lines, splice};
use crate::running::{main_process, run};
use needless_host::command;
use needless_model::Confidence;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "AllowOverride";
const NONE: &str = "None";
const HTACCESS: &str = ".htaccess";
/// So many files are looked at for one of that name.
const FILES: usize = 200_000;

pub(super) static OVERRIDES: Place = Place {
    name: "Apache configuration",
    files: "the files of the <Directory> sections",
    effect: "a reload of Apache, which starts its workers anew",
    make: Some(make),
    worker: Some(|of: &WorkerQuery<'_>| newest(of, |_| true)),
    // A worker that is the same was there before.
    look: Some(|_, _| Some(Err("the configuration from before".to_owned()))),
    // Asked before the reload.
    refuses: |_, _, _| {
        let tested = run(&["apachectl", "configtest"]);
        tested.err().map(|why| format!("Apache refuses it: {why}"))
    },
    ..DEFAULT
};

/// A `<Directory>` section that lets files have a say.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    directory: String,
    /// Its line with the directive, from 0.
    line: usize,
}

/// The sections of a text that allow overrides, or why none of all may be changed.
fn sections(text: &str) -> Result<Vec<Section>, String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = rest.trim().trim_end_matches('>').trim().trim_matches('"');
        let is = |word: &str| name.eq_ignore_ascii_case(word);
        if is("<Directory") {
            open.push(value.to_owned());
        } else if line.eq_ignore_ascii_case("</Directory>") {
            open.pop();
        } else if is("AccessFileName") && value != HTACCESS {
            return Err(format!("AccessFileName {value}: the files have another name"));
        } else if is("AllowOverrideList") && !value.eq_ignore_ascii_case(NONE) {
            return Err("AllowOverrideList lets files have a say, too".to_owned());
        } else if is(NAME) && !value.eq_ignore_ascii_case(NONE) {
            let directory = open.last().cloned().unwrap_or_default();
            found.push(Section { directory, line: at });
        }
    }
    Ok(found)
}

/// Why overrides may not be forbidden in a directory.
fn needs_them(directory: &str) -> Option<String> {
    let is_path = directory.starts_with('/') && directory != "/";
    if !is_path || directory.contains(['*', '?', '[', '~', '$', '\\']) {
        return Some(format!("<Directory {directory}> is about many directories"));
    }
    match htaccess_below(Path::new(directory)) {
        Ok(None) => None,
        Ok(Some(file)) => Some(format!("there is a {}", file.display())),
        Err(why) => Some(format!("{directory} cannot be searched for {HTACCESS}: {why}")),
    }
}

/// The first .htaccess in a directory and below it, also behind links.
fn htaccess_below(top: &Path) -> Result<Option<PathBuf>, String> {
    let (mut next, mut known, mut seen) = (vec![top.to_owned()], BTreeSet::new(), 0);
    while let Some(dir) = next.pop() {
        let about = dir.metadata().map_err(|error| error.to_string())?;
        if !known.insert((about.dev(), about.ino())) {
            continue;
        }
        for entry in std::fs::read_dir(&dir).map_err(|error| error.to_string())? {
            let entry = entry.map_err(|error| error.to_string())?;
            seen += 1;
            if seen > FILES {
                return Err(format!("it has more than {FILES} files"));
            }
            if entry.file_name() == HTACCESS {
                return Ok(Some(entry.path()));
            }
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            if kind.is_dir() || kind.is_symlink() && entry.path().is_dir() {
                next.push(entry.path());
            }
        }
    }
    Ok(None)
}

/// # Errors
/// When no section can be changed, and why.
fn make(location: &Destination, disk: &Disk) -> Result<Plan, EnvironmentError> {
    let dump = run(&["apachectl", "-t", "-D", "DUMP_INCLUDES"])?;
    let files = dump.lines().filter_map(|line| line.trim().strip_prefix('(')?.split_once(") "));
    let real = files.filter_map(|(_, path)| std::fs::canonicalize(path).ok());
    let files: BTreeSet<String> = real.map(|path| path.to_string_lossy().into_owned()).collect();
    let mut plan = Plan::default();
    let (mut changed, mut left) = (Vec::new(), Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let all = sections(&text).map_err(|why| format!("{path}: {why}"))?;
        let (not, ours): (Vec<_>, Vec<_>) = all
            .into_iter()
            .map(|one| (needs_them(&one.directory), one))
            .partition(|(why, _)| why.is_some());
        left.extend(not.into_iter().filter_map(|(why, _)| why));
        if ours.is_empty() {
            continue;
        }
        let before = disk.read_for_change(&path)?.ok_or_else(|| format!("{path} is gone"))?;
        let mut new = text.clone();
        for (_, Section { directory, line }) in ours {
            let old = lines(&text)[line].trim_end();
            let indent = &old[..old.len() - old.trim_start().len()];
            let line_of = format!("{indent}{NAME} {NONE}");
            plan.showable.extend([old.trim().to_owned(), line_of.trim().to_owned()]);
            new = splice(&new, line, line + 1, &[line_of]);
            changed.push(directory);
        }
        let (before, about) = (Some(before.bytes), before.about);
        plan.files.push(FileChange { path, before, after: Some(new.into_bytes()), about });
    }
    if changed.is_empty() {
        let none = "no <Directory> of Apache's configuration allows overrides".to_owned();
        return Err(left.into_iter().next().unwrap_or(none).into());
    }
    plan.caveats.push(format!(
        "A {HTACCESS} below {} is then ignored, also one that is made later, with its access rules: there is none now.",
        listed(&changed)
    ));
    plan.caveats.extend(left.into_iter().map(|why| format!("Not everywhere: {why}.")));
    Ok(Plan {
        what: format!("{NAME} {NONE} for {}", listed(&changed)),
        reach: "every site of this Apache with files below these directories".to_owned(),
        place: location.label.clone(),
        why: location.why.clone(),
        activation: location.activation.clone(),
        effect: location.place.effect,
        ..plan
    })
}

/// The change of the configuration, for the Apache of the subject.
pub(super) fn change(of: &ChangedUnit) -> Result<ChangeRequest, EnvironmentError> {
    let (unit, user) = (&*of.name, of.user);
    let main = main_process(unit).filter(|_| !user);
    let is_apache =
        |pid: &u32| command(*pid).is_some_and(|name| ["apache2", "httpd"].contains(&name.as_str()));
    let main = main.filter(is_apache).ok_or_else(|| format!("{unit} does not run Apache now"))?;
    if [" -f ", " -d "].iter().any(|option| title(main).contains(option)) {
        return Err("Apache was started with another configuration: set it there".into());
    }
    if !sees_ours(main, "/etc")? {
        return Err("Apache runs in a container or another root: set it in its image".into());
    }
    run(&["apachectl", "configtest"])
        .map_err(|why| format!("its configuration is wrong now: {why}"))?;
    let why = "that section lets each directory have a .htaccess, and no directory has one";
    let reload = Activation::Reload { unit: unit.to_owned(), try_or_restart: false };
    let location = Destination::new(&OVERRIDES, unit.to_owned(), why, Confidence::High);
    Ok(ChangeRequest {
        location: Destination { label: OVERRIDES.name.to_owned(), ..location.activation(reload) },
        variable: NAME.to_owned(),
        value: Some(NONE.to_owned()),
        rules: Vec::new(),
        times: Vec::new(),
        caveats: Vec::new(),
        targets: vec![unit.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_allow_overrides() {
        let text = "<VirtualHost *:80>\n <Directory \"/srv/a\">\n  allowoverride All\n </Directory>\n</VirtualHost>\n\
                    <Directory />\nAllowOverride None\n</Directory>\n# AllowOverride All\n<Directory /srv/b/>\n\
                    AllowOverride FileInfo AuthConfig\n</Directory>\n";
        let section = |directory: &str, line| Section { directory: directory.to_owned(), line };
        assert_eq!(sections(text).unwrap(), [section("/srv/a", 2), section("/srv/b/", 10)]);
        for other in ["AccessFileName .acl", "AllowOverrideList Redirect"] {
            assert!(sections(&format!("{text}{other}\n")).is_err(), "{other}");
        }
        assert_eq!(sections("AllowOverrideList none\nAccessFileName .htaccess\n").unwrap(), []);
    }

    #[test]
    fn where_a_file_has_a_say_it_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let (top, far) = (folder.path().join("top"), folder.path().join("far"));
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::create_dir(&far).unwrap();
        // A loop, and a link to elsewhere.
        std::os::unix::fs::symlink(&top, top.join("a/b/up")).unwrap();
        std::os::unix::fs::symlink(&far, top.join("a/far")).unwrap();
        let name = top.to_str().unwrap();
        assert_eq!(needs_them(name), None);
        std::fs::write(far.join(HTACCESS), "").unwrap();
        assert!(needs_them(name).unwrap().contains("a/far/.htaccess"));
        for many in ["/", "", "/srv/*/www", "/home/${USER}"] {
            assert!(needs_them(many).unwrap().contains("many directories"), "{many}");
        }
        assert!(needs_them("/nonexistent/dir").unwrap().contains("cannot be searched"));
    }
}
