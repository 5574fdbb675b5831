//! ## What it finds
//!
//! Modules of Python that are read as source and compiled at each start, because there is no
//! compiled form (`.pyc`) and none is written.
//!
//! ## Why it happens
//!
//! If PYTHONDONTWRITEBYTECODE is set, as in many container images, or if the directory cannot be
//! written, Python does not find the compiled form of a module, reads the source and compiles it.
//! The calls are few; compiling takes the time. In the container of the second reference it took
//! nearly half of a start: 3.36 s, and 1.85 s with the modules compiled.
//!
//! ## Example
//!
//! ```trace
//! env PYTHONDONTWRITEBYTECODE=1
//! bytecode yes
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/srv/app/__pycache__/a.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/b.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/b.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/c.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/c.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/d.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/d.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/e.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/e.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/f.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/f.py", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! python-bytecode: 12 of 12
//! stage explained
//! unset PYTHONDONTWRITEBYTECODE
//! ```
//!
//! Where the user of the process may not write there, the variable is right: without it Python would try at each start,
//! and fail. Only the compiled modules help:
//!
//! ```trace
//! env PYTHONDONTWRITEBYTECODE=1
//! bytecode no
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/srv/app/__pycache__/a.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x6
//! openat(AT_FDCWD, "/srv/app/a.py", O_RDONLY|O_CLOEXEC) = 3 x6
//! ```
//! ```finding
//! python-bytecode: 12 of 12
//! stage explained
//! setting python-bytecode
//! ```
//!
//! ## Not a finding
//!
//! A first run, which writes what it compiled:
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/srv/app/__pycache__/a.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/a.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/a.cpython-311.pyc.1403", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/b.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/b.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/b.cpython-311.pyc.1403", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/c.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/c.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/c.cpython-311.pyc.1403", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/d.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/d.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/d.cpython-311.pyc.1403", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/e.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/e.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/e.cpython-311.pyc.1403", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/f.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/app/f.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/f.cpython-311.pyc.1403", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The program itself, which Python never caches; and compiled modules, which Python reads in spite
//! of the variable:
//!
//! ```trace
//! env PYTHONDONTWRITEBYTECODE=1
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/srv/app/main.py", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/a.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/b.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/c.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/d.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/e.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/f.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/g.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/app/__pycache__/h.cpython-311.pyc", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Compile when the image is built (`python3 -m compileall`): the variable may then stay. `needless fix` compiles the
//! directories that the finding names, with the same Python, if it is the system's. Or unset
//! PYTHONDONTWRITEBYTECODE and let Python write beside the sources, if its user may; PYTHONPYCACHEPREFIX names
//! another place if those directories cannot be written. The image grows by about the size of the
//! sources. If the file system must not change at run time, compile when the image is built.
//!
//! ## References
//!
//! * <https://docs.python.org/3/using/cmdline.html#envvar-PYTHONDONTWRITEBYTECODE>
//! * <https://github.com/juspay/clairvoyance/pull/1125>: what it cost in a container

use crate::engine::Case;
use crate::engine::helpers;
use crate::text::count;
use crate::{Rule, Sink, View};
use needless_model::{Env, Query, Remedy, Safety, Setting, Stage};
use std::collections::HashMap;

pub(crate) const RULE: Rule = Rule {
    name: "python-bytecode",
    summary: "Python compiles the same modules at each start, because no bytecode is cached",
    variables: &["PYTHONDONTWRITEBYTECODE"],
    mentions: &[".pyc"],
    setting: Some(|process| match process.name() {
        name if name.starts_with("python") || name == "?" => Ok(compile()),
        other => Err(format!("{other} runs there, not Python")),
    }),
    ..Rule::PLAIN
};

/// Compiling fewer modules takes no noticeable time.
const FEWEST: u64 = 10;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let mut missed: HashMap<String, usize> = HashMap::new();
        let mut sources: HashMap<&str, usize> = HashMap::new();
        let mut writes = false;
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            let path = view.profile.path(row);
            if row.query == Query::Open && helpers::absent(row) && path.ends_with(".pyc") {
                missed.extend(source(path).map(|source| (source, at)));
            } else if row.query == Query::Open && row.ok() && path.ends_with(".py") {
                sources.insert(path, at);
            }
            writes |= row.query == Query::OpenWrite && row.ok() && path.contains("/__pycache__/");
        }
        let both = missed.iter().filter_map(|(source, at)| Some([*at, *sources.get(&**source)?]));
        let mut rows: Vec<usize> = both.flatten().collect();
        rows.sort_unstable();
        let needless: u64 = rows.iter().map(|at| view.profile.rows[*at].count).sum();
        if !writes && needless > 0 {
            cases.push(Case { process: id, needless, of: needless, rows });
        }
    }
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let variable = "PYTHONDONTWRITEBYTECODE";
        let first = view.process(cases[0].process);
        let forbidden = first.env.value(variable).is_some_and(|value| !value.is_empty());
        let answers = cases.iter().map(|case| view.process(case.process).writes_bytecode);
        let may_write = all_of(answers.collect());
        let merged = helpers::merged(view, cases);
        let modules = count(merged.needless / 2, "module is", "modules are");
        let cause = match (forbidden, &first.env) {
            (true, _) if may_write == Some(false) => {
                format!("is not written: {variable} is set, and its user may not write there")
            }
            (true, _) => format!("is not written, because {variable} is set"),
            (false, Env::Unknown) => format!("is not written, perhaps because {variable} is set"),
            (false, _) => "could not be written".to_owned(),
        };
        let why = format!(
            "The compiled form of each module is missing, and {cause}. At each start {program} \
             looks for it, reads the source instead and compiles it."
        );
        let what = format!("{modules} compiled again at each start: no cached bytecode");
        let mut remedies = vec![compile()];
        if forbidden && let Some(unset) = unset(may_write) {
            remedies.insert(0, unset);
        }
        let stage = if forbidden { Stage::Explained } else { Stage::Seen };
        // The compiled form is opened instead of the source.
        let besides = -((merged.needless / 2) as i64);
        let finding = helpers::finding(merged, RULE.name, stage, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// Whether all processes may write: `None`, if that is not known of one and no other may not.
fn all_of(answers: Vec<Option<bool>>) -> Option<bool> {
    if answers.contains(&Some(false)) {
        return Some(false);
    }
    answers.iter().all(Option::is_some).then_some(true)
}

/// Lets Python write what it compiled, unless its user may not.
fn unset(may_write: Option<bool>) -> Option<Remedy> {
    match may_write {
        Some(true) => Some(remedy()),
        Some(false) => None,
        None => {
            let unless = "Only if the user of the process may write __pycache__ directories beside the \
                          sources. Else Python tries at each start, and fails, which costs more calls.";
            Some(Remedy { safety: Safety::Manual(unless.to_owned()), ..remedy() })
        }
    }
}

/// Writes what Python would.
fn compile() -> Remedy {
    helpers::setting(
        Setting::PythonBytecode,
        "Compile the modules once, when they are installed: python3 -m compileall DIRECTORY",
        "Needs the right to write beside the sources; repeat it when they change.",
    )
}

/// Lets Python write what it compiled.
pub(crate) fn remedy() -> Remedy {
    let caveat = "Python then writes __pycache__ directories beside the sources, where it may.";
    helpers::unset("PYTHONDONTWRITEBYTECODE", caveat)
}

/// The source of `DIRECTORY/__pycache__/NAME.TAG.pyc`.
fn source(path: &str) -> Option<String> {
    let (dir, file) = path.rsplit_once("/__pycache__/")?;
    let (name, _) = file.split_once('.')?;
    Some(format!("{dir}/{name}.py"))
}
