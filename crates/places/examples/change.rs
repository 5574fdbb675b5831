//! A change of two files below a folder, for the test that kills it at each of its system calls.
//!
//! `change ROOT STATE apply|undo|recover`

use needless_places::{About, FileChange, Journal};
use std::path::Path;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().collect();
    let [_, root, state, action] = &words[..] else { return Err("three words".into()) };
    let (journal, said) = Journal::open(Path::new(state), Path::new(root))?;
    for line in said {
        println!("{line}");
    }
    match action.as_str() {
        "apply" => {
            let old = journal.disk().look("/etc/environment")?.ok_or("no /etc/environment")?;
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
                    about: About::new(0o644),
                },
            ];
            journal.apply("TZ=UTC", &files, Vec::new()).map(|_| ())
        }
        "undo" => journal.undo(journal.last()?).map(|_| ()),
        _ => Ok(()),
    }
}
