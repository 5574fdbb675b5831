//! Relative paths: resolved where the directory is known, else counted in a note, with each backend.

use needless_launch::{Launch, Stdio};
use needless_model::Target;
use needless_observe::{BackendChoice, ObserveOptions, count};
use std::fs;

fn launch(program: &str, argv: &[&str]) -> Launch {
    Launch {
        program: program.into(),
        argv: argv.iter().map(Into::into).collect(),
        env: Some(Vec::new()),
        stdio: Stdio::Null,
        caller: None,
    }
}

/// One test: with eBPF, the next process that this one forks is the command.
#[test]
fn what_is_relative_to_a_descriptor_is_counted_in_a_note() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "a/file", "a/other"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let folder = folder.path().to_str().unwrap();
    let ebpf = needless_fixtures::needed(needless_ebpf::usable().map_err(|e| e.to_string()));
    let backends = [Some(BackendChoice::Ptrace), ebpf.map(|()| BackendChoice::Ebpf)];
    for backend in backends.into_iter().flatten() {
        let options = ObserveOptions { backend, ..ObserveOptions::default() };
        let profile = count(launch("/usr/bin/find", &["find", folder]), &options).unwrap().profile;
        let relative = profile.rows.iter().filter(|row| matches!(row.target, Target::Dir(_)));
        let calls: u64 = relative.map(|row| row.count).sum();
        assert!(calls > 0, "{backend:?}: {:?}", profile.notes);
        let note = format!("{calls} calls name a path relative to the descriptor of a directory");
        assert!(profile.notes.iter().any(|said| said.starts_with(&note)), "{:?}", profile.notes);

        let script = format!("cd {folder}; [ -e missing ]; cd a; [ -e missing ]");
        let launch = launch("/bin/sh", &["sh", "-c", &script]);
        let profile = count(launch, &options).unwrap().profile;
        for path in [format!("{folder}/missing"), format!("{folder}/a/missing")] {
            let asked = profile.rows.iter().filter(|row| profile.path(row) == path);
            assert_eq!(asked.map(|row| row.count).sum::<u64>(), 1, "{backend:?}: {path}");
        }
        assert!(!profile.notes.iter().any(|said| said.contains("relative")), "{:?}", profile.notes);
    }
}
