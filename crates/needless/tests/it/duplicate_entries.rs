//! A directory that is named by a variable and by something else: the prediction for the variable equals the
//! calls that go with it, for real programs.

use crate::common::*;
use serde_json::Value;
use std::path::Path;

/// How many calls `rule` predicts to go when `variable` is unset, and how many did, in percent.
fn agrees(folder: &Path, env: &[(&str, &str)], variable: &str, rule: &str, words: &[&str]) {
    let mut prove = command(NEEDLESS);
    prove.current_dir(folder).envs(env.iter().copied());
    prove.args(["prove", "--count-only", "--unset", variable, "--format", "json", "--"]);
    let done = prove.args(words).output().unwrap();
    let proof: Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", stderr(&done)));
    let predictions = proof["predictions"].as_array().unwrap().iter();
    let mut of = predictions.filter(|prediction| prediction["rule"] == rule);
    let one = of.next().unwrap_or_else(|| panic!("{variable}, {words:?}: {proof:#}"));
    let (predicted, went) = (one["predicted"].as_f64().unwrap(), one["went"].as_f64().unwrap());
    let off = (predicted - went).abs() / predicted;
    assert!(off <= 0.05, "{variable}, {words:?}: predicted {predicted}, {went} went");
}

/// A folder with two empty directories.
fn stage() -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let dir = |name: &str| {
        let dir = folder.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        dir.to_str().unwrap().to_owned()
    };
    let (one, two) = (dir("one"), dir("two"));
    (folder, one, two)
}

#[test]
fn a_compiler_drops_what_it_has_twice() {
    let (Some(_), Some(_)) = (program("gcc"), program("g++")) else { return };
    let (folder, one, two) = stage();
    let source = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return 0; }\n";
    for file in ["a.c", "a.cc"] {
        std::fs::write(folder.path().join(file), source).unwrap();
    }
    let header = |env: &[(&str, &str)], variable, words: &[&str]| {
        agrees(folder.path(), env, variable, "header-search", words);
    };
    let both = [("CPATH", &*one), ("C_INCLUDE_PATH", &one)];
    let c = ["gcc", "-c", "a.c"];
    header(&both, "CPATH", &c);
    header(&both, "C_INCLUDE_PATH", &c);
    let list = format!("{one}:{two}");
    let option = format!("-I{one}");
    header(&[("CPATH", &list)], "CPATH", &["gcc", &option, "-c", "a.c"]);
    header(&[("CPATH", &list)], "CPATH", &["gcc", "-isystem", &one, "-c", "a.c"]);
    header(&[("C_INCLUDE_PATH", &list)], "C_INCLUDE_PATH", &["gcc", "-isystem", &one, "-c", "a.c"]);
    let all = [("CPATH", &*one), ("C_INCLUDE_PATH", &two), ("CPLUS_INCLUDE_PATH", &two)];
    header(&all, "CPLUS_INCLUDE_PATH", &["g++", "-c", "a.cc"]);
}

/// g++ does not read C_INCLUDE_PATH.
#[test]
fn run_blames_no_list_of_another_language() {
    if program("g++").is_none() {
        return;
    }
    let (folder, one, _) = stage();
    std::fs::write(folder.path().join("a.cc"), "#include <cstdlib>\nint main() {}\n").unwrap();
    let mut run = command(NEEDLESS);
    run.current_dir(folder.path()).env("C_INCLUDE_PATH", &one).env("CPLUS_INCLUDE_PATH", &one);
    let done = run.args(["run", "-o", "r.json", "--", "g++", "-c", "a.cc"]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let report = std::fs::read(folder.path().join("r.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let finding = finding(&report, "header-search");
    assert_eq!(finding["remedies"][0]["variable"], "CPLUS_INCLUDE_PATH", "{finding:#}");
}

#[test]
fn perl_asks_each_mention() {
    let Some(perl) = program("perl") else { return };
    let (folder, one, two) = stage();
    let (perl, list, option) = (perl.to_str().unwrap(), format!("{one}:{two}"), format!("-I{one}"));
    let with = |words: &[&str]| {
        let words = [&[perl], words].concat();
        agrees(folder.path(), &[("PERL5LIB", &list)], "PERL5LIB", "perl-path", &words);
    };
    with(&["-e", "use POSIX"]);
    with(&[&option, "-e", "use POSIX"]);
    with(&["-e", &format!("use lib '{one}'; use POSIX")]);
}

#[test]
fn ruby_asks_each_mention() {
    let Some(ruby) = program("ruby") else { return };
    let (folder, one, two) = stage();
    let (list, option) = (format!("{one}:{two}"), format!("-I{one}"));
    let words = [ruby.to_str().unwrap(), &option, "-e", "require 'set'; require 'json'"];
    agrees(folder.path(), &[("RUBYLIB", &list)], "RUBYLIB", "ruby-path", &words);
}

#[test]
fn python_asks_each_entry() {
    // Not a wrapper that PATH may find first.
    let there = Path::new("/usr/bin/python3").exists();
    if needed(there.then_some(()).ok_or("no /usr/bin/python3".to_owned())).is_none() {
        return;
    }
    let (folder, one, two) = stage();
    let list = format!("{one}:{two}");
    for code in ["sys.path.insert(0, D)", "sys.path.append(D)", "pass"] {
        let code = format!("import sys; D = {one:?}; {code}; import json, http.server");
        let words = ["/usr/bin/python3", "-B", "-c", &code];
        agrees(folder.path(), &[("PYTHONPATH", &list)], "PYTHONPATH", "python-path", &words);
    }
}

#[test]
fn the_loader_looks_at_a_directory_once() {
    if program("gcc").is_none() {
        return;
    }
    let (folder, one, two) = stage();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("lib.c", "int one(void) { return 0; }\n");
    file("app.c", "int one(void); int main(void) { return one(); }\n");
    let gcc = |words: &[&str]| {
        let done = command("gcc").current_dir(folder.path()).args(words).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
    };
    gcc(&["-shared", "-fPIC", "-o", "libone.so.1", "-Wl,-soname,libone.so.1", "lib.c"]);
    let here = folder.path().to_str().unwrap();
    let runpath = format!("-Wl,--enable-new-dtags,-rpath,{one}:{here}");
    gcc(&["-o", "app", "app.c", "libone.so.1", &runpath]);
    let list = format!("{one}:{two}");
    for list in [&list, &one] {
        let env = [("LD_LIBRARY_PATH", &**list)];
        agrees(folder.path(), &env, "LD_LIBRARY_PATH", "library-search", &["./app"]);
    }
}
