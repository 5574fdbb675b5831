use super::*;
use crate::{Answer, Backend, Builder, Facts, Limits, Process, Question, Spawn, Window};

/// A profile of one process with these variables and calls.
fn profile(variables: &[(&str, &str)], calls: &[(&str, Result<(), Errno>)]) -> Profile {
    let mut builder = Builder::new(Limits::default());
    let id = builder.process(Process::new(1, None, Spawn::Exec));
    builder.environment(id, variables.iter().copied());
    let child = builder.process(Process::new(1, Some(id), Spawn::Exec).forked(2, id));
    let call = builder.call("openat");
    for (path, outcome) in calls {
        let question = Question { call, query: Query::Open, path, from_dir_fd: false };
        let question = builder.question(child, question);
        builder.answer(question, Answer::outcome(*outcome));
    }
    builder.finish(Backend::Ebpf, Facts::default(), Window::default())
}

const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);

fn entries(profile: &Profile) -> Vec<(&str, Vec<&str>, bool)> {
    let lists = profile.processes[0].lists.as_deref().unwrap();
    lists
        .iter()
        .map(|list| {
            let texts = list.entries.iter().map(|entry| &*entry.text).collect();
            (&*list.variable, texts, list.others)
        })
        .collect()
}

#[test]
fn only_entries_with_failed_calls_are_kept() {
    let variables = [
        ("CDPATH", "/a:/b:/c:"),
        ("HOME", "/root"),
        ("PWD", "/a"),
        ("TOKEN", "/a:s3cret/very:more"),
        ("URL", "https://user:pw@host/a:/b"),
        ("LS_COLORS", "di=01;34:/a"),
        ("OTHER", "/x:/y"),
    ];
    let found = profile(&variables, &[("/a/n", ABSENT), ("/b/n", Ok(())), ("/root/.x", ABSENT)]);
    assert_eq!(entries(&found), [("CDPATH", vec!["/a"], true)]);
    assert_eq!(found.processes[1].lists, found.processes[0].lists);
    assert!(entries(&profile(&variables, &[("/b/n", Ok(()))])).is_empty());
}

#[test]
fn patterns_slashes_and_homes_are_understood() {
    let lists = |name, value, path| {
        let found = profile(&[("HOME", "/home/me"), (name, value)], &[(path, ABSENT)]);
        let lists = found.processes[0].lists.as_deref().unwrap();
        lists.iter().flat_map(|l| &l.entries).map(|e| e.text.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(lists("LUA_PATH", "/a/?.lua;/a/?/init.lua;;", "/a/x.lua"), "/a/?.lua");
    assert_eq!(lists("LUA_PATH", "/a/?.lua;/a/?/init.lua;;", "/a/x/init.lua"), "/a/?/init.lua");
    assert_eq!(lists("LUA_PATH", "/a/?/init.lua;/b/?.lua", "/a/x/init.lua"), "/a/?/init.lua");
    assert_eq!(lists("LUA_PATH", "/a/?.lua;;", "/a/x.so"), "");
    assert_eq!(lists("NLSPATH", "/a/%L/%N.cat:/b/%N", "/a/de/x.cat"), "/a/%L/%N.cat");
    assert_eq!(lists("TEXINPUTS", ".:/a//:", "/a/b/x.sty"), "/a//");
    assert_eq!(lists("TEXINPUTS", "!!/a//:", "/a"), "!!/a//");
    assert_eq!(lists("XCURSOR_PATH", "~/.icons:/usr/share/icons", "/home/me/.icons/x"), "~/.icons");
    assert_eq!(lists("TCLLIBPATH", "/a /b", "/b/pkgIndex.tcl"), "/b");
    assert_eq!(lists("R_LIBS", "/a", "/a/stats"), "/a");
    assert_eq!(lists("CMAKE_PREFIX_PATH", "/a:/a/b", "/a/b/x"), "/a/b");
    assert_eq!(lists("WHERE", "/a", "/a/stats"), "");
}

#[test]
fn who_lists_an_entry_has_it_even_without_calls() {
    let mut builder = Builder::new(Limits::default());
    let first = builder.process(Process::new(1, None, Spawn::Exec));
    builder.environment(first, [("LUA_PATH", "/a/?.lua;/z/?.lua"), ("X", "/q")].into_iter());
    let second = builder.process(Process::new(1, Some(first), Spawn::Exec));
    builder.environment(second, [("LUA_PATH", "/b/?.lua;/a/?.lua")].into_iter());
    let call = builder.call("openat");
    let path = "/a/x.lua";
    let question = Question { call, query: Query::Open, path, from_dir_fd: false };
    let question = builder.question(second, question);
    builder.answer(question, Answer::outcome(ABSENT));
    let found = builder.finish(Backend::Ebpf, Facts::default(), Window::default());
    assert_eq!(entries(&found), [("LUA_PATH", vec!["/a/?.lua"], true)]);
}

#[test]
fn a_value_loses_its_entries() {
    let without = |name, value, dead: &[&str]| {
        let dead: Vec<String> = dead.iter().map(|entry| entry.to_string()).collect();
        without_entries(name, value, &dead)
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(without("CDPATH", "/a:/b:/a:", &["/a"]), is("/b:"));
    assert_eq!(without("CDPATH", "/a:/b", &["/a", "/b"]), None);
    assert_eq!(without("MANPATH", ":/a", &["/a"]), None);
    assert_eq!(without("LUA_PATH", "/a/?.lua;;", &["/a/?.lua"]), None);
    assert_eq!(without("LUA_PATH", "/a/?.lua;;/b/?.lua", &["/a/?.lua"]), is(";;/b/?.lua"));
    assert_eq!(without("LUA_PATH", "/b/?.lua;/a/?.lua;;", &["/a/?.lua"]), is("/b/?.lua;;"));
    assert_eq!(without("TCLLIBPATH", "/a  /b /c", &["/b"]), is("/a /c"));
    assert_eq!(without("CDPATH", "/a:/ab", &["/a"]), is("/ab"));
    assert_eq!(without("CDPATH", "/a", &[]), is("/a"));
}
