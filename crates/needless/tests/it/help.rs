//! What `--help` says, what is advised after a mistake, and what shells complete.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The commands whose help ends with examples.
const COMMANDS: [&str; 18] = [
    "run",
    "attach",
    "host",
    "read",
    "preload",
    "origin",
    "fix",
    "undo",
    "prove",
    "diff",
    "explain",
    "doctor",
    "completions",
    "man",
    "show",
    "check",
    "agent",
    "ship",
];

/// The lines after "Examples" of the help of a command.
fn examples(of: &str) -> String {
    let help = stdout(&needless(&[of, "--help"]));
    let (_, examples) = help.split_once("\nExamples").unwrap_or_else(|| panic!("{of}: {help}"));
    let (_, lines) = examples.split_once(":\n").unwrap();
    lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned() + "\n").collect()
}

/// A folder with what the examples are about.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(NEEDLESS, folder.path().join("bin/needless")).unwrap();
    std::fs::write(folder.path().join("Dockerfile"), "FROM debian:12\nCMD [\"date\"]\n").unwrap();
    copy("/bin/sleep", &folder.path().join("bin/myapp"));
    folder
}

#[test]
fn the_examples_of_each_command_work() {
    let (Some(_), Some(_)) = (program("strace"), program("bash")) else { return };
    let observes = observes_others();
    for of in COMMANDS {
        if matches!(of, "attach" | "host" | "agent") && !observes {
            continue;
        }
        if of == "preload" {
            library();
        }
        let folder = folder();
        let mut app = command(folder.path().join("bin/myapp")).arg("600").spawn().unwrap();
        let lines = examples(of);
        assert!(lines.contains(&format!("needless {of} ")) || of == "host" || of == "doctor");
        // A measured time may end with "not proven", on a machine that has much else to do.
        let is_timed = |line: &str| line.starts_with("needless prove") && line.contains("--runs");
        let lines = lines.lines().map(|line| match is_timed(line) {
            true => format!("not_an_error {line}\n"),
            false => format!("{line}\n"),
        });
        let script = format!("set -e\n{}", lines.collect::<String>());
        let script = format!("not_an_error() {{ \"$@\" || [ $? = 1 ]; }}\n{script}");
        let path = format!("{}/bin:/usr/bin:/bin:/usr/sbin:/sbin", folder.path().display());
        let done = command("bash")
            .env("PATH", path)
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .args(["-c", &script])
            .output()
            .unwrap();
        app.kill().unwrap();
        app.wait().unwrap();
        assert!(done.status.success(), "{of}: {}\n{}", stderr(&done), stdout(&done));
    }
}

/// Which status is for which mistake, as the help of `run` and the book have it.
#[test]
fn a_mistake_in_the_command_line_has_the_status_that_the_help_names() {
    let folder = tempfile::tempdir().unwrap();
    for (words, status) in [
        (&["--nosuch", "--", "true"][..], 2),
        (&["--format", "x", "--", "true"], 2),
        (&["--rule", "no-such-rule", "--", "true"], 2),
        (&[], 2),
        (&["-o", "x.unknown", "--", "true"], 125),
        (&["-o", "/nonexist/x.json", "--", "true"], 125),
        (&["--config", "/nonexist", "--", "true"], 125),
        (&["--as", "nosuch", "--", "true"], 125),
        (&["--latency", "--backend", "ptrace", "--", "true"], 125),
        (&["--", ""], 125),
        (&["--", "/"], 126),
        (&["--", "no-such-command"], 127),
        (&["--prove", "-o", "x.unknown", "--", "true"], 2),
    ] {
        let done =
            command(NEEDLESS).arg("run").args(words).current_dir(folder.path()).output().unwrap();
        assert_eq!(done.status.code(), Some(status), "{words:?}: {}", stderr(&done));
    }
}

#[test]
fn options_are_in_groups() {
    let help = stdout(&needless(&["run", "--help"]));
    for heading in [
        "How to observe:",
        "Proof:",
        "User:",
        "Report:",
        "Which findings:",
        "Options of all commands:",
    ] {
        assert!(help.lines().any(|line| line == heading), "{heading}: {help}");
    }
    let group = |option: &str| {
        let before = help.split(option).next().unwrap();
        before.lines().rev().find(|line| line.ends_with(':') && !line.starts_with(' ')).unwrap()
    };
    assert_eq!(group("  -o, --output <FILE>"), "Report:");
    assert_eq!(group("      --fail-on <BUDGET>"), "Which findings:");
    assert_eq!(group("  <CMD>...\n"), "Arguments:");
}

/// The script for a shell, in a folder with needless.
fn script(shell: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let done = needless(&["completions", shell]);
    assert!(done.status.success() && done.stderr.is_empty(), "{}", stderr(&done));
    let file = folder.path().join("_needless");
    std::fs::write(&file, done.stdout).unwrap();
    (folder, file)
}

/// What a shell writes that runs `text`.
fn shell(words: &[&str], text: &str, folder: &Path) -> String {
    let path = format!("{}/bin:/usr/bin:/bin", folder.display());
    let done = command_of(words)
        .env("PATH", path)
        .env("HOME", folder)
        .env("TERM", "dumb")
        .current_dir(folder)
        .arg(text)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    stdout(&done)
}

#[test]
fn bash_completes_commands_options_and_values() {
    let Some(_) = program("bash") else { return };
    let (folder, file) = script("bash");
    for (words, offers, not) in [
        (&["needless", "pr"][..], &["preload", "prove"][..], "run"),
        (&["needless", "check", "--b"], &["--backend", "--baseline", "--budget"], "--name"),
        (&["needless", "run", "--backend", ""], &["auto", "ebpf", "ptrace"], "--all"),
        (&["needless", "completions", "z"], &["zsh"], "bash"),
        (&["needless", "explain", "--a"], &["--all"], "--color"),
        (&["needless", "explain", "tz-u"], &["tz-unset"], "tz-misread"),
        (&["needless", "run", "--rule", "zone-"], &["zone-reload", "zone-scan"], "tz-unset"),
        (&["needless", "host", "--ignore", "php-"], &["php-realpath"], "tz-unset"),
        (&["needless", "run", "--format", ""], &["full", "sarif"], "junit"),
        (&["needless", "fix", "--format", ""], &["ansible", "kustomize"], "json"),
        // Bash makes a word of its own of "=".
        (&["needless", "run", "--color", "=", "al"], &["always"], "auto"),
        (&["needless", "run", "--color", "="], &["always", "auto"], "--all"),
        (&["needless", "run", "--as", "roo"], &["root"], "nobody"),
        (&["needless", "run", "-o", "/et"], &["/etc"], "/usr"),
        (&["needless", "attach", "--unit", "Docker"], &["Docker"], "Dockerfile"),
        // What needless runs.
        (&["needless", "run", "--", "fin"], &["find"], "ls"),
        (&["needless", "run", "--color", "=", "always", "fin"], &["find"], "ls"),
        (&["needless", "--color", "never", "check", "fin"], &["find"], "ls"),
        (&["needless", "run", "-o", "Docker"], &["Dockerfile"], "find"),
        (&["needless", "prove", "--set", "TZ", "=", "UTC", "--", "fin"], &["find"], "ls"),
        (&["needless", "origin", "TZ", "--", "fin"], &["find"], "ls"),
        (&["needless", "run", "ls", "--al"], &[], "--all"),
        (&["needless", "read", "--", "fin"], &[], "find"),
    ] {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let (last, before) = (words.len() - 1, words[words.len() - 2]);
        // After "=" the word is empty so far.
        let word = words[last].trim_start_matches('=');
        let text = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={last}; \
             function=$(complete -p needless | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
             compopt() {{ :; }}; $function needless '{}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            file.display(),
            quoted.join(" "),
            word,
        );
        let said = shell(&["bash", "-c"], &text, folder.path());
        let offered: Vec<&str> = said.lines().collect();
        assert!(offers.iter().all(|word| offered.contains(word)), "{words:?}: {said}");
        assert!(!offered.contains(&not), "{words:?}: {said}");
    }
}

/// In a terminal, as its users do: what only readline adds, a slash or a space, and a word that bash splits itself.
#[test]
fn bash_completes_in_a_terminal() {
    let (Some(_), Some(_)) = (program("bash"), program("zsh")) else { return };
    let (folder, file) = script("bash");
    for (line, becomes) in [
        ("needless run -o bi", "needless run -o bin/"),
        ("needless run --output=Docker", "needless run --output=Dockerfile "),
        ("needless run --color=al", "needless run --color=always "),
        ("needless run --format=spe", "needless run --format=speedscope "),
        ("needless agent --dir bi", "needless agent --dir bin/"),
        ("needless attach --unit Docker", "needless attach --unit Docker"),
        ("needless run -- myap", "needless run -- myapp "),
        ("needless run -- cat Docker", "needless run -- cat Dockerfile "),
    ] {
        let text = format!(
            "zmodload zsh/zpty; zpty b bash --norc --noprofile -i; \
             zpty -w b 'PS1=; bind \"set enable-bracketed-paste off\"; source {}; show() {{ echo \"<$READLINE_LINE>\"; }}; bind -x '\\''\"\\C-t\": show'\\''; echo ready:$((40+2))'; \
             zpty -r b said '*ready:42*'; \
             zpty -w -n b $'{line}\\t\\x14'; \
             zpty -r b said '*<*>*'; print -r -- $said; zpty -d b",
            file.display()
        );
        let said = shell(&["zsh", "-f", "-c"], &text, folder.path());
        assert!(said.contains(&format!("<{becomes}>")), "{line}: {said:?}");
    }
}

#[test]
fn fish_completes_commands_options_and_values() {
    let Some(_) = program("fish") else { return };
    let (folder, file) = script("fish");
    for (line, offers, not) in [
        ("needless pr", &["preload", "prove"][..], "run"),
        ("needless check --b", &["--backend", "--baseline", "--budget"], "--name"),
        ("needless run --backend ", &["auto", "ebpf", "ptrace"], "--all"),
        ("needless completions z", &["zsh"], "bash"),
        ("needless explain tz-u", &["tz-unset"], "tz-misread"),
        ("needless run --rule zone-", &["zone-reload", "zone-scan"], "tz-unset"),
        ("needless host --ignore php-", &["php-realpath"], "tz-unset"),
        ("needless run --format ", &["full", "sarif"], "Dockerfile"),
        ("needless --color ", &["always", "auto"], "Dockerfile"),
        ("needless run --as roo", &["root"], "Dockerfile"),
        ("needless attach --unit Docker", &[], "Dockerfile"),
        ("needless attach Docker", &[], "Dockerfile"),
        ("needless run -o Docker", &["Dockerfile"], "find"),
        ("needless agent --dir b", &["bin/"], "Dockerfile"),
        ("needless run -- fin", &["find"], "ls"),
        ("needless run --color never -o x fin", &["find"], "ls"),
        ("needless prove --set TZ=UTC -- fin", &["find"], "ls"),
        ("needless origin TZ -- fin", &["find"], "ls"),
        ("needless run -- cat Docker", &["Dockerfile"], "find"),
        ("needless run ls --al", &[], "--as-root"),
        ("needless read -- fin", &[], "find"),
    ] {
        let text = format!("source '{}'; complete -C '{line}'", file.display());
        let said = shell(&["fish", "--no-config", "-c"], &text, folder.path());
        let offered: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(offers.iter().all(|word| offered.contains(word)), "{line}: {said}");
        assert!(!offered.contains(&not), "{line}: {said}");
    }
}

/// In a terminal of zsh's own (zpty), as its users do: Tab, and what the line is then.
#[test]
fn zsh_completes_commands_and_options() {
    let Some(_) = program("zsh") else { return };
    let (folder, _) = script("zsh");
    for (line, becomes) in [
        ("needless expl", "needless explain "),
        ("needless run --late", "needless run --latency "),
        ("needless explain tz-u", "needless explain tz-unset "),
        ("needless run --rule zone-rel", "needless run --rule zone-reload "),
        ("needless host --ignore php-r", "needless host --ignore php-realpath "),
        ("needless run --format spe", "needless run --format speedscope "),
        ("needless run --format=spe", "needless run --format=speedscope "),
        ("needless run --as nobod", "needless run --as nobody "),
        ("needless attach --unit Docker", "needless attach --unit Docker"),
        ("needless run -o Docker", "needless run -o Dockerfile "),
        ("needless run -- myap", "needless run -- myapp "),
        ("needless run -o x myap", "needless run -o x myapp "),
        ("needless prove --set TZ=UTC -- myap", "needless prove --set TZ=UTC -- myapp "),
        ("needless origin TZ -- cat Docker", "needless origin TZ -- cat Dockerfile "),
    ] {
        let text = format!(
            "zmodload zsh/zpty; zpty z zsh -f -i; \
             zpty -w z 'PS1=; unsetopt zle_bracketed_paste; fpath=({} $fpath); autoload -Uz compinit; compinit -u -D; show() {{ print \"<$BUFFER>\"; zle .send-break }}; zle -N show; bindkey \"^X\" show; print ready:$((40+2))'; \
             zpty -r z said '*ready:42*'; \
             zpty -w -n z $'{line}\\t\\x18'; \
             zpty -r z said '*<*>*'; print -r -- $said; zpty -d z",
            folder.path().display()
        );
        let said = shell(&["zsh", "-f", "-c"], &text, folder.path());
        assert!(said.contains(&format!("<{becomes}>")), "{line}: {said:?}");
    }
}

#[test]
fn a_mistake_on_the_command_line_gets_the_advice_that_fits() {
    for (words, says, not) in [
        (&["attach", "nginx"][..], "$(pidof NAME)", "invalid digit"),
        (&["attach", "1,2"], "expected a process id", "invalid digit"),
        (&["-p", "1"], "needless attach PID", "-- -p"),
        (&["attach", "-p", "1"], "needless attach PID", "-- -p"),
        (&["run", "-c", "ls"], "--all counts every call", "-- -c"),
        (&["origin", "TZ", "-p", "1"], "needless origin VAR PID", "attach"),
        (&["prove", "-p", "1"], "use --pid", "attach"),
        (&["run", "-f", "ls"], "children of a command are always observed", "-- -f"),
        (&["run", "-e", "trace=open", "ls"], "--rule and --ignore", "-- -e"),
        (&["run", "-T", "ls"], "needless read reads", "-- -T"),
        (&["host", "--top", "x"], "expected a whole number", "digit"),
        (&["prove", "--runs", "0", "--", "ls"], "from 1 to 2000", "digit"),
        (&["fix", "--set", "TZ", "--unit", "cron"], "--unset VAR removes a variable", "drop-in"),
        (&["rnu", "--", "ls"], "'run'", "panic"),
        (&["ls"], "put run before it", "similar"),
        (&["help", "nonsense"], "nonsense", "put run before it"),
        (&["explain", "tzunset"], "perhaps tz-unset", "panic"),
        (&["run", "--rule", "tz-unser", "--", "true"], "perhaps tz-unset", "usage"),
        (&["run", "--rule", "locale", "--", "true"], "locale-alias", "panic"),
        (&["run", "--rule", "banana", "--", "true"], "no such rule; ", "perhaps"),
    ] {
        let done = needless(words);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(says) && !said.contains(not), "{words:?}: {said}");
    }
    // An invalid value from the environment is reported as the variable's.
    for (words, names_it) in [
        (&["run", "--", "true"][..], true),
        (&["run", "--", "true", "--format", "x"], true),
        (&["run", "--format", "xyz", "--", "true"], false),
    ] {
        let done = command(NEEDLESS).env("NEEDLESS_FORMAT", "xyz").args(words).output().unwrap();
        let said = stderr(&done);
        assert_eq!(said.contains("for 'NEEDLESS_FORMAT'"), names_it, "{words:?}: {said}");
        assert_eq!(said.contains("--format <FORMAT>"), !names_it, "{words:?}: {said}");
    }
}
