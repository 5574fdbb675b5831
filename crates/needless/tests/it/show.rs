//! `show` writes again what a command wrote; one observation has any number of outputs.

use crate::common::*;
use std::fs;
use std::path::Path;

/// `needless WORDS… -o FOLDER/x.ENDING…`, for each ending.
fn written(words: &[&str], folder: &Path, endings: &[&str], tail: &[&str]) {
    let mut ran = command(NEEDLESS);
    ran.args(words);
    for ending in endings {
        ran.arg("-o").arg(folder.join(format!("x.{ending}")));
    }
    let done = ran.args(tail).output().unwrap();
    assert!(done.status.code().is_some_and(|code| code < 2), "{words:?}: {}", stderr(&done));
}

/// That `show` of the JSON file gives each of the others.
fn assert_shown(folder: &Path, endings: &[&str], options: &[&str]) {
    let json = folder.join("x.json");
    for ending in endings {
        let wanted = fs::read_to_string(folder.join(format!("x.{ending}"))).unwrap();
        let again = folder.join(format!("again.{ending}"));
        let words = ["show", json.to_str().unwrap(), "-o", again.to_str().unwrap()];
        let done = needless(&[&words, options].concat());
        assert!(done.status.success() && done.stderr.is_empty(), "{}", stderr(&done));
        assert_eq!(fs::read_to_string(&again).unwrap(), wanted, "{ending} {options:?}");
    }
}

#[test]
fn a_run_is_shown_byte_for_byte() {
    let Some(sample) = testee("packagecloud") else { return };
    let script = format!("{sample} 1000; ls /nowhere /; exec {sample} 20");
    let cases = [
        (&[][..], vec![sample.as_str(), "1000"]),
        (&["--all"], vec!["sh", "-c", &script]),
        (&["--min-saving", "0"], vec!["ls"]),
        (&["--rule", "tz-unset"], vec![&sample, "10"]),
        (&["--ignore", "tz-unset", "--ignore", "close-storm"], vec![&sample, "10"]),
        (&[], vec!["true"]),
    ];
    for (options, words) in cases {
        for more in [&[][..], &["-v"]] {
            let folder = tempfile::tempdir().unwrap();
            let endings = ["json", "txt"];
            let run = [&["run"], options, more].concat();
            written(&run, folder.path(), &endings, &[&["--"], &words[..]].concat());
            assert_shown(folder.path(), &endings, more);
        }
    }
}

#[test]
fn a_report_is_shown_to_code_hosts_and_profilers() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let endings = ["json", "sarif", "folded", "speedscope.json", "pb.gz"];
    written(&["run", "--all"], folder.path(), &endings, &["--", &sample, "100"]);
    assert_shown(folder.path(), &["sarif"], &[]);
    let json = folder.path().join("x.json");
    let show = |words: &[&str]| needless(&[&["show", json.to_str().unwrap()], words].concat());
    let github = stdout(&show(&["--format", "github"]));
    assert!(github.starts_with("::warning ") && github.contains("tz-unset"), "{github}");
    // Stacks are coarser than those of the run, and hold the same calls.
    let sum = |text: &str| -> u64 {
        text.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    let folded = stdout(&show(&["--format", "folded"]));
    let of_run = fs::read_to_string(folder.path().join("x.folded")).unwrap();
    assert_eq!(sum(&folded), sum(&of_run), "{folded}");
    assert!(folded.lines().any(|line| line.contains(";tz-unset ")), "{folded}");
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["totals"]["calls"], sum(&folded));
    let again = folder.path().join("again.pb.gz");
    let done = show(&["-o", again.to_str().unwrap(), "-o", "/dev/null"]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(fs::metadata(&again).unwrap().len() > 100);
    // What the report does not hold is refused in a line that says so.
    let refused = assert_one_line(&show(&["--format", "profile"]));
    assert!(refused.contains("a profile is every row"), "{refused}");
}

#[test]
fn a_log_and_a_comparison_are_shown_byte_for_byte() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("strace")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, n: &str| {
        let log = folder.path().join(name);
        strace(&["-f", "-T", "-v"], &log, &[], &[&sample, n]);
        log.to_str().unwrap().to_owned()
    };
    let (one, other) = (log("one", "1000"), log("other", "10"));
    written(&["read", &one], folder.path(), &["json", "txt"], &[]);
    assert_shown(folder.path(), &["json", "txt"], &[]);
    let endings = ["json", "txt", "md"];
    written(&["diff", &one, &other], folder.path(), &endings, &[]);
    assert_shown(folder.path(), &endings, &[]);
}

#[test]
fn a_proof_is_shown_byte_for_byte() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let endings = ["json", "txt", "md"];
    let words = ["prove", "--set", "TZ=UTC", "--runs", "6"];
    written(&words, folder.path(), &endings, &["--", &sample, "1000"]);
    assert_shown(folder.path(), &endings, &[]);
    let words = ["run", "--prove", "--runs", "6"];
    written(&words, folder.path(), &["json", "txt"], &["--", &sample, "1000"]);
    assert_shown(folder.path(), &["json", "txt"], &[]);
}

#[test]
fn a_check_is_shown_byte_for_byte() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("ls")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let script = at("job.sh");
    fs::write(&script, format!("{sample} 100; ls /nowhere 2>/dev/null; :\n")).unwrap();
    let budget = at("needless.toml");
    let words = ["check", "--runs", "2", "--name", "job", "--budget", &budget];
    let job = ["--", "sh", &script];
    let mut update = command(NEEDLESS);
    let done = update.args(words).arg("--update").args(job).env("TZ", "UTC").output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let endings = ["json", "txt", "md", "sarif", "xml"];
    for over in [false, true] {
        let mut check = command(NEEDLESS);
        check.env("TZ", "UTC");
        if over {
            fs::write(&script, format!("{sample} 100; ls /nowhere /new 2>/dev/null; :\n")).unwrap();
            check.env_remove("TZ");
        }
        check.args(words).args(["--format", "github"]);
        check.args(endings.iter().flat_map(|ending| ["-o".to_owned(), at(&format!("x.{ending}"))]));
        let done = check.args(job).output().unwrap();
        assert_eq!(done.status.code(), Some(i32::from(over)), "{}", stderr(&done));
        assert_shown(folder.path(), &endings, &[]);
        let github = needless(&["show", &at("x.json"), "--format", "github"]);
        assert_eq!(stdout(&github), stdout(&done));
    }
    let said = fs::read_to_string(at("x.txt")).unwrap();
    assert!(said.contains("tz-unset") && said.contains("/new"), "{said}");
    // Texts of a file that somebody changed are for no terminal.
    let hostile = fs::read_to_string(at("x.json")).unwrap().replace("tz-unset", "\\u001b[31m");
    fs::write(at("x.json"), hostile).unwrap();
    for format in ["full", "markdown", "github", "junit"] {
        let said = stdout(&needless(&["show", &at("x.json"), "--format", format]));
        assert!(said.contains("[31m") && !said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn a_host_is_shown_byte_for_byte() {
    if root().is_none() || !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for options in [&["--top", "2"][..], &[]] {
        written(
            &[&["host", "--for", "1s"], options].concat(),
            folder.path(),
            &["json", "txt"],
            &[],
        );
        assert_shown(folder.path(), &["json", "txt"], options);
    }
}

#[test]
fn a_profile_and_an_origin_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (profile, origin) = (folder.path().join("p.json"), folder.path().join("o.json"));
    let (profile, origin) = (profile.to_str().unwrap(), origin.to_str().unwrap());
    needless(&["run", "--format", "profile", "-o", profile, "--", "ls", "/"]);
    let said = stdout(&needless(&["show", profile]));
    assert!(said.starts_with("ls: ") && said.contains(" × openat("), "{said}");
    let again = stdout(&needless(&["show", profile, "--format", "json"]));
    assert_eq!(again, fs::read_to_string(profile).unwrap());
    let done = needless(&["origin", "TZ", "-o", origin, "--", "true"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let direct = stderr(&needless(&["origin", "TZ", "--", "true"]));
    let without_pids = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let said = stdout(&needless(&["show", origin]));
    assert_eq!(without_pids(&said), without_pids(&direct));
}

#[test]
fn what_cannot_be_shown_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    let name = file.to_str().unwrap();
    for text in
        ["", "no JSON", "{}", r#"{"schema":"needless.rules/1"}"#, "{\"schema\":\"\u{1b}[m\"}"]
    {
        fs::write(&file, text).unwrap();
        let done = needless(&["show", name]);
        assert_eq!(done.status.code(), Some(2), "{text}");
        assert!(assert_one_line(&done).contains("x.json"), "{text}");
    }
    needless(&["run", "-o", name, "--", "true"]);
    for (options, says) in [
        (["--format", "profile"], "choose --format profile"),
        (["--format", "nonsense"], "no such format"),
        (["-o", "/tmp/x.nonsense"], ".json"),
    ] {
        let done = needless(&[&["show", name], &options[..]].concat());
        assert_eq!(done.status.code(), Some(2), "{options:?}");
        assert!(assert_one_line(&done).contains(says), "{options:?}");
    }
    assert_eq!(needless(&["show", "/nowhere"]).status.code(), Some(2));
}

#[test]
fn an_unknown_ending_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (wrong, made) = (folder.path().join("x.pdf"), folder.path().join("made"));
    let (wrong, made) = (wrong.to_str().unwrap(), made.to_str().unwrap());
    let right = folder.path().join("x.json");
    let outputs = ["-o", right.to_str().unwrap(), "-o", wrong];
    for (before, after) in [
        (vec!["run"], vec!["--", "touch", made]),
        (vec!["prove", "--set", "TZ=UTC"], vec!["--", "touch", made]),
        (vec!["read", "/dev/null"], vec![]),
        (vec!["diff", "/dev/null", "/dev/null"], vec![]),
    ] {
        let done = needless(&[before, outputs.to_vec(), after].concat());
        let said = assert_one_line(&done);
        assert!(said.contains(".pdf names no format") && said.contains(".json"), "{said}");
        assert!(!done.status.success() && !Path::new(made).exists() && !right.exists());
    }
}

#[test]
fn one_letter_says_what_several_options_say() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    // Kinds of calls that no rule explains, what saves much, and what saves little.
    let starts = (1..=5).map(|pid| {
        format!(
            "{pid} execve(\"/bin/x{pid}\", [\"x{pid}\"], 0x7ffd00000000 /* 1 var */) = 0\n\
             {pid} openat(AT_FDCWD, \"/etc/none\", O_RDONLY) = -1 ENOENT (No such file or directory)\n"
        )
    });
    let looks = "6 execve(\"/bin/y\", [\"y\"], 0x7ffd00000000 /* 1 var */) = 0\n".to_owned()
        + &"6 stat(\"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n".repeat(9)
        + &"6 stat(\"/nowhere/at/all\", 0x7ffd00000000) = -1 ENOENT (No such file or directory)\n"
            .repeat(40_000)
        + "7 execve(\"/bin/z\", [\"z\"], 0x7ffd00000000 /* 1 var */) = 0\n"
        + &"7 stat(\"/nowhere/else\", 0x7ffd00000000) = -1 ENOENT (No such file or directory)\n"
            .repeat(300);
    fs::write(&log, starts.collect::<String>() + &looks).unwrap();
    let read = |options: &[&str]| {
        let done = needless(&[&["read"], options, &[log.to_str().unwrap()]].concat());
        assert_eq!(done.status.code(), Some(0), "{options:?}: {}", stderr(&done));
        assert!(done.stderr.is_empty(), "{options:?}: {}", stderr(&done));
        String::from_utf8(done.stdout).unwrap()
    };
    let full = ["--format", "full"];
    let plain = read(&full);
    let more = read(&[&full[..], &["-v"]].concat());
    assert_eq!(more, read(&[&full[..], &["--full", "--unexplained"]].concat()));
    let most = read(&[&full[..], &["-vv"]].concat());
    let words = ["--full", "--unexplained", "--pedantic", "--min-saving", "0"];
    assert_eq!(most, read(&[&full[..], &words].concat()));
    assert!(!more.contains("z[7]") && most.contains("z[7]"), "{most}");
    assert!(plain != more, "{plain}");
    assert_eq!(read(&["--json"]), read(&["--format", "json"]));
    assert_eq!(read(&["-q"]), "");
    let file = folder.path().join("x.json");
    assert_eq!(read(&["-q", "-o", file.to_str().unwrap()]), "");
    assert_eq!(fs::read_to_string(&file).unwrap(), read(&["--json"]));
    let shown =
        |options: &[&str]| needless(&[&["show", file.to_str().unwrap()], options].concat()).stdout;
    assert_eq!(shown(&["--json"]), shown(&["--format", "json"]));
    assert_eq!(shown(&["-v"]), shown(&["--full", "--unexplained"]));
}
