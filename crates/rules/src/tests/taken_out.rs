//! No remedy takes out of a list what some program opened or executed, unless that is a directory.

use super::profile;
use crate::{CheckOptions, RULES, Verdict, check, examples, page};
use needless_model::{Change, Directory, Errno, Finding, Profile, Query};
use std::collections::BTreeSet;
use std::fmt::Write;

fn verdict(profile: &Profile) -> Verdict {
    let options =
        CheckOptions { min_saving_percent: 0.0, pedantic: true, ..CheckOptions::default() };
    check(profile, &options)
}

fn is_list(variable: &str) -> bool {
    let mut searches = RULES.iter().flat_map(|rule| rule.lists);
    variable == "LD_PRELOAD" || searches.any(|search| search.variable == variable)
}

/// The entries of the lists of a finding's processes that are not in the new value.
fn dropped(profile: &Profile, finding: &Finding, variable: &str, value: &str) -> BTreeSet<String> {
    let now: BTreeSet<&str> = value.split(':').collect();
    let processes = finding.processes.iter().map(|id| profile.process(*id));
    let lists = processes.filter_map(|process| process.env.value(variable));
    let entries = lists.flat_map(|list| list.split([':', ' ']));
    entries.filter(|entry| !now.contains(entry)).map(str::to_owned).collect()
}

/// What all remedies take out of lists.
fn taken_out(profile: &Profile) -> BTreeSet<String> {
    let verdict = verdict(profile);
    let mut out = BTreeSet::new();
    for finding in verdict.findings.iter().chain(&verdict.below) {
        for remedy in &finding.remedies {
            match &remedy.change {
                Change::WithoutEntries { entries, .. } => out.extend(entries.iter().cloned()),
                Change::SetEnv { variable, value } if is_list(variable) => {
                    let value = value.as_deref().unwrap_or("");
                    out.extend(dropped(profile, finding, variable, value));
                }
                Change::UnsetEnv { variable } if is_list(variable) => {
                    out.extend(dropped(profile, finding, variable, ""));
                }
                _ => {}
            }
        }
    }
    out.iter().map(|entry| entry.trim_end_matches('/').to_owned()).collect()
}

/// What was opened or executed, and is not shown to be a directory.
fn used(profile: &Profile) -> BTreeSet<&str> {
    let is_directory = |path: &str| {
        use Directory::{Empty, Filled, Listed};
        let known = profile.host.directories.get(path);
        let searched = profile.rows.iter().any(|row| {
            let missed = row.failed(Errno::ENOENT) || row.failed(Errno::EACCES);
            let rest = profile.path(row).strip_prefix(path);
            missed && rest.is_some_and(|rest| rest.starts_with('/'))
        });
        matches!(known, Some(Listed | Empty | Filled)) || searched
    };
    let uses = |query| matches!(query, Query::Open | Query::OpenWrite | Query::Exec);
    let rows = profile.rows.iter().filter(|row| row.ok() && uses(row.query));
    rows.map(|row| profile.path(row)).filter(|path| !is_directory(path)).collect()
}

/// How many entries are taken out.
fn nothing_used_is_taken_out(profile: &Profile, about: &str) -> usize {
    let out = taken_out(profile);
    let used = used(profile);
    let both: Vec<&String> = out.iter().filter(|entry| used.contains(entry.as_str())).collect();
    assert!(both.is_empty(), "{both:?} in\n{about}");
    out.len()
}

#[test]
fn issue_39_no_example_takes_out_what_is_used() {
    let mut taken = 0;
    for rule in RULES {
        for example in page(rule).sections.iter().flat_map(|s| examples(&s.text).unwrap()) {
            taken += nothing_used_is_taken_out(&profile(&example.trace), &example.trace);
        }
    }
    assert!(taken > 30, "{taken}");
}

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

const LISTS: [(&str, &str); 13] = [
    ("KUBECONFIG", "kubectl"),
    ("KRB5_CONFIG", "kinit"),
    ("CDPATH", "bash"),
    ("CLASSPATH", "java"),
    ("CPATH", "cc1"),
    ("LD_LIBRARY_PATH", "app"),
    ("MANPATH", "man"),
    ("NODE_PATH", "node"),
    ("PATH", "bash"),
    ("PERL5LIB", "perl"),
    ("PYTHONPATH", "python3"),
    ("RUBYLIB", "ruby"),
    ("XDG_DATA_DIRS", "app"),
];

/// What a program does with an entry, and what that is afterwards.
fn calls(entry: &str, kind: u64) -> (String, Directory) {
    const NAMES: [&str; 4] = ["a", "b/c.h", "libd.so", "e.pm"];
    let stat = |answer: &str| format!("newfstatat(AT_FDCWD, \"{entry}\", {answer}\n");
    let there = stat("{st_mode=S_IFREG|0644, st_size=9, ...}, 0) = 0");
    let gone = stat("0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)");
    let open = |flags: &str, end: &str| format!("openat(AT_FDCWD, \"{entry}\", {flags}) = {end}\n");
    let file = open("O_RDONLY|O_CLOEXEC", "3");
    let names = |error: &str| -> String {
        NAMES
            .iter()
            .map(|name| {
                format!("openat(AT_FDCWD, \"{entry}/{name}\", O_RDONLY|O_CLOEXEC) = -1 {error}\n")
            })
            .collect()
    };
    let no_file = "ENOENT (No such file or directory)";
    match kind {
        0 => (gone, Directory::Missing),
        1 => (names(no_file), Directory::Missing),
        2 => (there + &file, Directory::File),
        3 => (file, Directory::File),
        4 => (file + &names("ENOTDIR (Not a directory)"), Directory::File),
        5 => (gone + &there.repeat(3) + &file, Directory::File),
        // Removed before anybody could look.
        6 => (there + &file, Directory::Missing),
        7 => (open("O_RDONLY|O_DIRECTORY", "3") + &there.replace("REG", "DIR"), Directory::Empty),
        _ => (there.replace("REG", "DIR") + &names(no_file), Directory::Filled),
    }
}

#[test]
fn issue_39_no_remedy_takes_out_what_is_used() {
    let mut taken = 0;
    for seed in 0..600 {
        let mut random = Random(seed);
        let (variable, program) = LISTS[random.below(LISTS.len() as u64) as usize];
        let (mut value, mut each, mut known) = (String::new(), String::new(), Vec::new());
        for number in 0..2 + random.below(5) {
            let entry = format!("/opt/e{number}");
            let (lines, is) = calls(&entry, random.below(9));
            write!(value, "{}{entry}", if number == 0 { "" } else { ":" }).unwrap();
            each += &lines;
            known.push((entry, is));
        }
        let trace = format!(
            "env {variable}={value}\n\
             execve(\"/usr/bin/{program}\", [\"{program}\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0\n\
             repeat 60\n{each}end\n"
        );
        let mut profile = profile(&trace);
        taken += nothing_used_is_taken_out(&profile, &trace);
        profile.host.directories = known.into_iter().collect();
        taken += nothing_used_is_taken_out(&profile, &format!("{trace}and the host is known"));
    }
    assert!(taken > 500, "{taken}");
}

/// `KUBECONFIG` with three files that are gone, and one that is read.
#[test]
fn issue_39_a_file_that_is_read_stays_in_its_list() {
    let missing = ["/opt/a", "/opt/b", "/opt/c"];
    let mut each: String = missing.iter().map(|file| calls(file, 0).0).collect();
    each += &calls("/home/me/config", 2).0;
    let trace = format!(
        "env KUBECONFIG={}:/home/me/config\n\
         execve(\"/usr/bin/kubectl\", [\"kubectl\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0\n\
         repeat 30\n{each}end\n",
        missing.join(":")
    );
    let mut profile = profile(&trace);
    for is in [Directory::File, Directory::Missing] {
        let known = missing.into_iter().map(|file| (file.to_owned(), Directory::Missing));
        profile.host.directories = known.chain([("/home/me/config".to_owned(), is)]).collect();
        assert_eq!(taken_out(&profile), BTreeSet::from(missing.map(str::to_owned)));
        let finding = verdict(&profile).findings.remove(0);
        assert_eq!(finding.what, "90 calls ask for 3 entries of KUBECONFIG that are not there");
        assert!(finding.why.contains("None of them exists. "), "{}", finding.why);
    }
}
