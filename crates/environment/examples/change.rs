//! Changes of files below a folder, for the test that kills them at each of their system calls.
//!
//! `change ROOT STATE apply|formats|foreign|undo|undo-two|undo-merged|recover`

use needless_environment::{Edit, EnvironmentError, FileAttributes, FileChange, Journal, PLACES};
use std::path::Path;

fn main() -> Result<(), EnvironmentError> {
    let words: Vec<String> = std::env::args().collect();
    let [_, root, state, action] = &words[..] else { return Err("three words".into()) };
    let (journal, said) = Journal::open(Path::new(state), Path::new(root))?;
    for line in said {
        println!("{line}");
    }
    match action.as_str() {
        "apply" => {
            let old =
                journal.disk().read_for_change("/etc/environment")?.ok_or("no /etc/environment")?;
            let mut text = old.bytes.clone();
            text.extend_from_slice(b"TZ=UTC\n");
            let files = [
                FileChange {
                    path: "/etc/environment".into(),
                    before: Some(old.bytes),
                    after: Some(text),
                    about: old.about,
                },
                FileChange {
                    path: "/etc/systemd/system/x.service.d/zz-needless.conf".into(),
                    before: None,
                    after: Some(b"[Service]\nEnvironment=\"TZ=UTC\"\n".to_vec()),
                    about: FileAttributes::new(0o644),
                },
            ];
            journal.apply("TZ=UTC", &files, Vec::new()).map(|_| ())
        }
        "formats" => {
            let mut files = vec![
                edited(&journal, "/etc/crontab", "crontab", None)?,
                edited(&journal, "/etc/ssh/sshd_config", "sshd", None)?,
                edited(&journal, "/srv/compose.yaml", "compose", Some("web"))?,
            ];
            files.push(FileChange {
                path: "/usr/lib/locale/C.UTF-8".into(),
                before: None,
                after: Some(b"C.utf8".to_vec()),
                about: FileAttributes::link(),
            });
            journal.apply("TZ=UTC in several", &files, Vec::new()).map(|_| ())
        }
        // Others write, too, without a journal.
        "foreign" => {
            let path = Path::new(root).join("etc/environment");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::write(&path, format!("B=2\n{text}C=3\n")).map_err(|why| why.to_string().into())
        }
        "undo-merged" => {
            let id = journal.last()?;
            let plan = journal.merge(id)?.ok_or("nothing to merge")?;
            journal.undo_merged(id, &plan.files, false).map(|_| ())
        }
        "undo" => journal.undo(journal.last()?).map(|_| ()),
        "undo-two" => {
            journal.undo(journal.last()?)?;
            journal.undo(journal.last()?).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// A file with TZ=UTC set in the format of the place `name`.
fn edited(
    journal: &Journal,
    path: &str,
    name: &str,
    part: Option<&str>,
) -> Result<FileChange, EnvironmentError> {
    let place = PLACES.iter().find(|place| place.name == name).ok_or("no such place")?;
    let old = journal.disk().read_for_change(path)?.ok_or("no such file")?;
    let text = String::from_utf8_lossy(&old.bytes).into_owned();
    let new = place.change(&text, &Edit { variable: "TZ", value: Some("UTC"), part })?;
    let (before, after) = (Some(old.bytes), Some(new.into_bytes()));
    Ok(FileChange { path: path.into(), before, after, about: old.about })
}
