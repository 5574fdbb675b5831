//! Which lines of a shell file count, compared with what the shells themselves do.

use needless_environment::{Edit, PROFILE_D, Reach, WRAPPER};
use needless_fixtures::{needed, thorough};
use std::path::Path;
use std::process::Command;

/// How a shell that is not interactive reads such a file, and the value of TZ that programs get then. The file may end
/// that shell, or become another program.
const SOURCE: &str = "exec 9>&1; trap 'sh -c \"printf %s \\\"\\${TZ-unset}\\\"\" >&9' EXIT; . \"$1\" >/dev/null 2>&1";

fn value(shell: &str, folder: &Path, text: &str) -> String {
    let file = folder.join("file.sh");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(shell);
    command.args(["-c", SOURCE, "sh"]).arg(&file).env_remove("TZ").env("OUT", folder.join("out"));
    let done = command.output().unwrap();
    // What `exec` became writes there.
    let out = std::fs::read_to_string(folder.join("out"));
    let _ = std::fs::remove_file(folder.join("out"));
    out.unwrap_or_else(|_| String::from_utf8(done.stdout).unwrap())
}

fn shells() -> Vec<&'static str> {
    let has = |shell: &&str| {
        let there =
            Command::new(shell).args(["-c", ":"]).output().map_err(|e| format!("{shell}: {e}"));
        needed(there).is_some()
    };
    ["bash", "sh"].into_iter().filter(has).collect()
}

const EXEC: &str = "exec sh -c 'printf %s \"${TZ-unset}\" >\"$OUT\"'";

/// Parts of files. `{V}`: a line that sets the variable to a value of its own.
const PARTS: [&str; 92] = [
    "{V}",
    "{V}",
    "{V}",
    "A=1",
    "# return",
    "echo return",
    "echo \"a; return\"; B='x; exit'",
    "return",
    "exit 0",
    "return 0 2>/dev/null",
    "(exit 3)",
    "x=$(exit 3)",
    "case $- in\n    *i*) ;;\n      *) return;;\nesac",
    "case $- in\n*i*)\necho in\nreturn\n;;\n(b|c) {V}\n;;\nesac",
    "case a in a) echo in; return;; esac",
    "case a in b) echo esac; return;; esac",
    "[ -z \"$PS1\" ] && return",
    "[ -n \"$PS1\" ] || return 0",
    "test -x /nonexistent && exit",
    "if false; then\n{V}\nfi",
    "if [ 0 = 1 ]; then\n  {V}\nelse\n{V}\nfi",
    "if [ -n \"$PS1\" ]; then return; fi",
    "if true\nthen\nreturn\nfi",
    "for x in a b; do\n{V}\ndone",
    "for x in; do\n{V}\ndone",
    "while false; do\nexit\ndone",
    "until true; do {V}; done",
    "f() {\n{V}\nreturn\n}",
    "f () {\n  exit\n}",
    "g() { exit; }; g",
    "f() {\n{V}\n}\nf",
    "function h {\n{V}\nreturn 1\n}",
    "( {V}\nexit )",
    "{\n{V}\n}",
    "{ return; }",
    "cat <<EOF\n{V}\nreturn\nEOF",
    "exec 3>&1",
    "exec 4> /dev/null",
    EXEC,
    "if false; then\nexec true\nfi",
    "unset TZ",
    "if false; then\nunset TZ\nfi",
    "B=${A#x} C=${A:-(} D=$((1+2))",
    "A=1 && B=2 || C=3; ! false",
    "readonly TZ",
    "\\return",
    "'return'",
    "re\"turn\"",
    "eval return",
    "eval export TZ=EVAL",
    "X=return; $X",
    "set -e; false",
    "set -e\nfalse",
    "set -n",
    "set -u\nA=$none_such",
    "kill $$",
    "/bin/kill $$",
    "sh -c \"kill $$\"",
    ": ${none_such?}",
    "A=${none_such:?gone}",
    "echo \"${none_such?}\"",
    "exec </none/such",
    ": >/none/such",
    "TZ=PRE export",
    "TZ=PRE :",
    "alias export=:",
    "alias return=:",
    "export() { :; }",
    "return() { :; }\nreturn",
    "trap 'TZ=TRAPPED' DEBUG",
    "f() { TZ=F; }\n{V}\nf",
    "f() { g; }\ng() { export TZ=G; }\n{V}\nf",
    "for TZ in a b; do :; done",
    "echo R | { read TZ; }\nread TZ </dev/null",
    "export A=1 TZ=LAST",
    "TZ=x A=1",
    "export \"TZ=Q\"",
    "TZ+=more",
    ": ${TZ:=DEF} ${NTZ:=x}",
    "A=$((TZ=5))",
    "false &&\n{V}",
    "false &&\nreturn",
    "{V} &",
    "true | {V}",
    "cat <<EOF\n\tEOF\n{V}\nEOF",
    "cat <<-E 'x'\n{V}\n\tE",
    "echo \"<<EOF\"",
    "A=\"$(echo \"x; return\")\"; [ -n \"$(echo ')')\" ] && B=$(echo a b)c",
    ": ${OTHER:=x} $((1==1))",
    "N=TZ; A=$(($N=5))",
    "unset -v TZ A",
    "printf -v TZ x 2>/dev/null",
];

#[test]
fn what_is_certain_is_what_a_shell_does() {
    let folder = tempfile::tempdir().unwrap();
    let (mut sure, mut changed) = (0, 0);
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let rounds = if thorough() { 450 } else { PARTS.len() + 60 };
    for shell in shells() {
        for round in 0..rounds {
            let mut text = String::new();
            let once = PARTS.get(round).copied().unwrap_or_default();
            for at in 0..1 + random(5) {
                // Each part once by itself, with a line before and after.
                let part = match (round.checked_sub(PARTS.len()), at) {
                    (None, 1) => once,
                    (None, _) => "{V}",
                    (Some(_), _) => PARTS[random(PARTS.len())],
                };
                if shell != "bash" && part.starts_with("function") {
                    continue;
                }
                for (nth, piece) in part.split("{V}").enumerate() {
                    if nth > 0 {
                        text.push_str(&format!("export TZ=V{}", text.len()));
                    }
                    text.push_str(piece);
                }
                text.push('\n');
            }
            let is = value(shell, folder.path(), &text);
            // It killed itself, and cannot be asked.
            if is.is_empty() {
                continue;
            }
            let found = PROFILE_D.find(&text, "TZ", None);
            if let Some(last) = found.last().filter(|last| last.certain && last.reach == Reach::Yes)
            {
                sure += 1;
                assert_eq!(last.value.as_deref().unwrap_or("unset"), is, "{shell}:\n{text}");
            }
            for new in [Some("NEW"), None] {
                let edit = Edit { variable: "TZ", value: new, part: None };
                if let Ok(after) = PROFILE_D.change(&text, &edit) {
                    changed += usize::from(after != text);
                    let is = value(shell, folder.path(), &after);
                    // Removing it where no line sets it changes nothing.
                    let unset = found.is_empty() || is == "unset";
                    assert!(
                        new.map_or(unset, |new| is == new),
                        "{shell}: {new:?}: {is}\n{text}---\n{after}"
                    );
                }
            }
        }
    }
    assert!(sure > 40 && changed > 100, "{sure}, {changed}");
}

/// The first lines of Debian's ~/.bashrc.
const BASHRC: &str = "# ~/.bashrc: executed by bash(1) for non-login shells.\n\n# If not running interactively, don't do anything\ncase $- in\n    *i*) ;;\n      *) return;;\nesac\n\n";

/// With a line that is not understood in the file, no line is promised to have an effect.
#[test]
fn what_is_not_simple_is_refused_with_its_line() {
    let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
    for (line, what) in [
        ("readonly TZ", "readonly"),
        ("\\return", ""),
        ("eval \"$X\"", "eval"),
        (". /etc/other", "."),
        ("set -n", "set"),
        ("TZ=A export", "in front of a builtin"),
        ("alias export=:", "alias"),
        ("trap x DEBUG", "trap"),
        ("export() { :; }", "a function in place of a command"),
        ("f() { :; }; f", "a function of the file"),
        ("for TZ in a; do :; done", ""),
        ("export TZ=a\r", ""),
    ] {
        for (text, at) in
            [(format!("A=1\n{line}\nexport TZ=b\n"), 2), (format!("export TZ=b\n\n{line}\n"), 3)]
        {
            let why = PROFILE_D.change(&text, &edit).unwrap_err().to_string();
            assert!(why.contains(&format!("line {at} (")), "{line}: {why}");
            assert!(why.contains(what) && !why.contains('\n'), "{line}: {why}");
            assert!(!PROFILE_D.find(&text, "TZ", None).iter().any(|found| found.certain), "{line}");
            // The line right above the program is reached if the program is.
            let new = WRAPPER.change(&format!("{text}exec prog\n"), &edit).unwrap();
            assert!(new.ends_with("export TZ=UTC\nexec prog\n"), "{line}: {new}");
        }
    }
    for line in ["set -e", "kill $$", ": ${X?}", "exec </none"] {
        let text = format!("{line}\nexport TZ=b\n");
        let why = PROFILE_D.change(&text, &edit).unwrap_err().to_string();
        assert!(why.contains("line 1 (") && why.contains("may end the file"), "{line}: {why}");
    }
    for above in ["false &&", "A='x", "cat <<EOF", "echo \\"] {
        let text = format!("{above}\nexec prog\n");
        let why = WRAPPER.change(&text, &edit).unwrap_err().to_string();
        assert!(why.contains("line 1 goes on"), "{above}: {why}");
    }
}

#[test]
fn the_reason_is_said() {
    let doubt = |text: &str| PROFILE_D.find(text, "TZ", None).pop().unwrap().reach.doubt();
    let debian = format!("{BASHRC}export TZ=UTC\n");
    assert_eq!(doubt(&debian).as_deref(), Some("line 6 may end the file before it"));
    let said = doubt("f() {\nexport TZ=UTC\n}\n");
    assert_eq!(said.as_deref(), Some("the command that begins in line 1 may not run it"));
    assert_eq!(doubt("if true; then A=1; fi\nexport TZ=UTC\n"), None);
    // `fix` says it, too.
    let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
    let why = PROFILE_D.change(BASHRC, &edit).unwrap_err().to_string();
    assert!(why.starts_with("line 6 (return) may end the file") && !why.contains('\n'), "{why}");
    // What ends a wrapper before a line ends it before the program starts, too.
    let wrapper = "#!/bin/sh\n[ -x /bin/prog ] || exit 0\nexec prog\n";
    let new = WRAPPER.change(wrapper, &edit).unwrap();
    assert_eq!(new, wrapper.replace("exec", "export TZ=UTC\nexec"));
    assert!(WRAPPER.change(&new, &edit).unwrap() == new);
}
