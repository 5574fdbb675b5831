//! The file of a budget, and the profile beside it.

use crate::cli::CheckArgs;
use crate::context::Context;
use crate::output::{self, Output, Stream};
use crate::places::below_here;
use anyhow::{Context as _, Result, bail};
use needless_config::{Config, RUNS, with_budget};
use needless_model::{Profile, Query, Snapshot};
use needless_rules::{Budget, Counted, Limit, Measured};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where a budget is read from and written to.
pub(super) struct BudgetFile<'a> {
    context: &'a Context,
    path: PathBuf,
    name: String,
    budget: Option<Budget>,
    baseline: Option<Snapshot>,
    /// For the budget and the profile, with --update.
    outputs: Option<[Output<'a>; 2]>,
}

impl<'a> BudgetFile<'a> {
    /// Reads the budget and the profile beside it; with --update, also checks that they can be written.
    ///
    /// # Errors
    /// When the file cannot be read or is wrong, or has no such budget and --update does not make one.
    pub(super) fn open(
        args: &CheckArgs,
        name: &str,
        context: &'a Context,
    ) -> Result<BudgetFile<'a>> {
        let (path, budget) = match &args.budget {
            Some(path) => (path.clone(), in_file(path, name, context)?),
            None => {
                let budgets = &context.settings.config.budgets;
                let budget = budgets.iter().find(|budget| budget.name == name).cloned();
                let own = budget.as_ref().map(|budget| PathBuf::from(&budget.file));
                let first = || context.settings.files.iter().find(|file| file.is_file()).cloned();
                let path = match own.or_else(first) {
                    Some(path) => path,
                    None => new_file()?,
                };
                (path, budget)
            }
        };
        if budget.is_none() && !args.update {
            let file = path.display();
            bail!(
                "no budget for \"{name}\" in {file}: needless check --update -- {name} … writes one"
            );
        }
        if budget.as_ref().is_some_and(|budget| budget.limits.is_empty()) {
            bail!(
                "{}: budget {name} limits nothing: delete its table, and --update writes all limits",
                path.display()
            );
        }
        let beside = beside(&path, name);
        let baseline = context.user.act(|| std::fs::read_to_string(&beside))?;
        let baseline = match baseline {
            Ok(text) => match needless_report::read_saved(&text) {
                Ok(saved) => Some(saved.snapshot),
                // It is written anew.
                Err(_) if args.update => None,
                Err(why) => {
                    let why = why.split(';').next().unwrap_or_default();
                    bail!("{}: {why}; --update writes it anew", beside.display());
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", beside.display()));
            }
        };
        let outputs = args.update.then(|| opened(&path, &beside, context)).transpose()?;
        Ok(BudgetFile { context, path, name: name.to_owned(), budget, baseline, outputs })
    }

    /// The budget, where there is one.
    pub(super) fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// What the command asked when the budget was written.
    pub(super) fn baseline(&self) -> Option<&Snapshot> {
        self.baseline.as_ref()
    }

    /// The file that says what the command asked, if it is not there: without it, no cause is known but rules.
    pub(super) fn missing(&self) -> Option<String> {
        let beside = beside(&self.path, &self.name);
        self.baseline.is_none().then(|| below_here(&beside.to_string_lossy()))
    }

    /// Whether one of the two files is not there yet.
    pub(super) fn is_new(&self) -> bool {
        self.baseline.is_none()
    }

    /// Lets the files be written once more.
    ///
    /// # Errors
    /// When they cannot be.
    pub(super) fn reopen(&mut self) -> Result<()> {
        self.outputs = Some(opened(&self.path, &beside(&self.path, &self.name), self.context)?);
        Ok(())
    }

    /// Says what was written.
    pub(super) fn say(&self) {
        let [path, beside] = [self.path.clone(), beside(&self.path, &self.name)]
            .map(|path| below_here(&path.to_string_lossy()));
        output::warn(format_args!(
            "budget {} written to {path}, what the command asks to {beside}: add both to the repository",
            self.name
        ));
    }

    /// Writes what was measured as the budget: its limits get new figures; a new one gets a limit for each count.
    ///
    /// # Errors
    /// When one of the files cannot be written.
    pub(super) fn update(
        &mut self,
        measured: &[Measured],
        runs: usize,
        profile: &Profile,
        variables: &BTreeSet<String>,
        program: &str,
    ) -> Result<()> {
        let old = self.budget.as_ref().map(|budget| &budget.limits);
        let limits = limits(measured, old);
        let new = Budget {
            name: self.name.clone(),
            file: self.path.to_string_lossy().into_owned(),
            limits,
            ..Budget::default()
        };
        let text = read(&self.path, self.context)?;
        let about = |counted: &Counted| {
            let one = measured.iter().find(|one| one.counted == *counted && one.varies())?;
            Some(format!("{} to {} in {runs} {RUNS}", one.lowest, one.highest))
        };
        let text = with_budget(&text, &self.path.display().to_string(), &new, &about)?;
        let mut snapshot = Snapshot {
            variables: variables.clone(),
            callers: needless_rules::callers(profile),
            ..Snapshot::of(profile, program)
        };
        let (portable, mut rows) = (portable(), BTreeMap::new());
        for ((call, path, outcome), count) in std::mem::take(&mut snapshot.rows) {
            *rows.entry((call, portable(&path), outcome)).or_default() += count;
        }
        snapshot.rows = rows;
        let mut saved = Vec::new();
        needless_report::write_snapshot(&mut saved, &snapshot, crate::VERSION)
            .context("cannot form the profile")?;
        let Some([file, beside]) = self.outputs.take() else { bail!("not opened for writing") };
        beside.write(&saved)?;
        file.write(text.as_bytes())?;
        self.budget = parsed(&text, &self.path, &self.name, self.context)?;
        Ok(())
    }
}

/// Where a budget is written if no file was read.
///
/// # Errors
/// When something else has the name: a pipe would wait, and a link that leads nowhere makes a file elsewhere.
fn new_file() -> Result<PathBuf> {
    let path = PathBuf::from("needless.toml");
    if !path.is_file() && path.symlink_metadata().is_ok() {
        bail!("{} is not a file: --budget names another for the budget", path.display());
    }
    Ok(path)
}

fn opened<'a>(path: &Path, beside: &Path, context: &'a Context) -> Result<[Output<'a>; 2]> {
    let open = |path: &Path| Output::open(context, Some(path), Stream::Stdout, None);
    Ok([open(path)?, open(beside)?])
}

/// The tolerance of `one` of the counts `measured`. Runs that follow each other differ less than days and machines, so it is
/// twice what they differ by. Calls without a path follow the clock and the scheduler: the compiler of a JVM asks for its
/// CPU time a third more often on a busy machine. Where the sum varies, those that were equal by chance may differ, too.
fn tolerance(one: &Measured, measured: &[Measured]) -> u64 {
    let differs = 2 * (one.highest - one.lowest);
    match &one.counted {
        Counted::Call(name) if !Query::of(name).names_path() => {
            let sum_varies =
                measured.iter().any(|one| one.counted == Counted::Calls && one.varies());
            let share = match one.varies() {
                true => one.highest.div_ceil(2),
                false if sum_varies => one.highest.div_ceil(100),
                false => 0,
            };
            differs.max(share)
        }
        Counted::Calls if one.varies() => {
            let calls = measured.iter().filter(|one| matches!(one.counted, Counted::Call(_)));
            calls.map(|one| tolerance(one, measured)).sum::<u64>().max(differs)
        }
        _ => differs,
    }
}

/// The limits for what was measured: those that `old` has, or all.
fn limits(
    measured: &[Measured],
    old: Option<&BTreeMap<Counted, Limit>>,
) -> BTreeMap<Counted, Limit> {
    let kind = |one: &Counted| match one {
        Counted::Call(_) => Counted::Call(String::new()),
        Counted::Rule(_) => Counted::Rule(String::new()),
        other => other.clone(),
    };
    let kinds: Option<BTreeSet<Counted>> = old.map(|old| old.keys().map(kind).collect());
    let wanted =
        |one: &&Measured| kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind(&one.counted)));
    let done = |one: &&Measured| {
        one.highest > 0 || !matches!(one.counted, Counted::Call(_) | Counted::Rule(_))
    };
    let limit = |one: &Measured| {
        // A tolerance that was measured or written before holds on.
        let before = old.and_then(|old| old.get(&one.counted)).map_or(0, |limit| limit.vary);
        let vary = before.max(tolerance(one, measured));
        (one.counted.clone(), Limit { most: one.highest, vary, line: 0 })
    };
    measured.iter().filter(wanted).filter(done).map(limit).collect()
}

/// `needless.NAME.json` beside `needless.toml`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}.{name}.json"))
}

/// The path as it is on every machine that has a copy of this directory: relative to the working directory or, with
/// `~`, to the home directory, if it is below one of them; and without parts that say nothing, as `./` in its middle.
pub(super) fn portable() -> impl Fn(&str) -> String {
    let here = std::env::current_dir().ok();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let text = |dir: PathBuf| dir.into_os_string().into_string().ok().filter(|dir| dir.len() > 1);
    let dirs = [(".", here.and_then(text)), ("~", home.and_then(text))];
    move |path| {
        let path = &plain(path);
        for (name, dir) in &dirs {
            if let Some(rest) = dir.as_deref().and_then(|dir| path.strip_prefix(dir))
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{name}{rest}");
            }
        }
        path.to_owned()
    }
}

/// The path without empty parts and parts `.`, which change nothing: path_resolution(7). What it begins with stays, and a
/// slash at its end.
fn plain(path: &str) -> String {
    let mut parts = path.split('/');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts.filter(|part| !matches!(*part, "" | ".")) {
        plain.push('/');
        plain += part;
    }
    if path.ends_with('/') || plain.is_empty() && path.starts_with('/') {
        plain.push('/');
    }
    plain
}

/// The text of the file; "" if there is none yet.
fn read(path: &Path, context: &Context) -> Result<String> {
    match context.user.act(|| std::fs::read_to_string(path))? {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        text => text.with_context(|| format!("cannot read {}", path.display())),
    }
}

fn in_file(path: &Path, name: &str, context: &Context) -> Result<Option<Budget>> {
    parsed(&read(path, context)?, path, name, context)
}

fn parsed(text: &str, path: &Path, name: &str, context: &Context) -> Result<Option<Budget>> {
    let mut config = Config::default();
    needless_config::parse(text, &path.display().to_string(), &mut config)?;
    config.check_budgets(&context.settings.config)?;
    Ok(config.budgets.into_iter().find(|budget| budget.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three runs of `javac One.java`. Later, with compilers beside it, it asked getrusage 156 to 168 times.
    #[test]
    fn what_follows_the_clock_may_vary_more_than_what_follows_files() {
        let call = |name: &str| Counted::Call(name.to_owned());
        let measured = [
            (Counted::Calls, 9_823, 9_900),
            (call("getrusage"), 125, 131),
            (call("openat"), 192, 208),
            (call("brk"), 8, 8),
            (call("newfstatat"), 300, 300),
        ]
        .map(|(counted, lowest, highest)| Measured {
            counted,
            lowest,
            highest,
            limit: None,
        });
        let vary = |of: &Counted, measured: &[Measured]| limits(measured, None)[of].vary;
        assert_eq!(vary(&call("getrusage"), &measured), 66);
        assert_eq!(vary(&call("openat"), &measured), 32);
        assert_eq!(vary(&call("brk"), &measured), 1);
        assert_eq!(vary(&call("newfstatat"), &measured), 0);
        assert_eq!(vary(&Counted::Calls, &measured), 154, "twice 77 is more than 66 + 32 + 1");
        let few = [(Counted::Calls, 244, 250), (call("getrusage"), 125, 131)];
        let few = few.map(|(counted, lowest, highest)| Measured {
            counted,
            lowest,
            highest,
            limit: None,
        });
        assert_eq!(vary(&Counted::Calls, &few), 66);
        let exact = [(Counted::Calls, 300, 300), (call("brk"), 8, 8)];
        let exact = exact.map(|(counted, lowest, highest)| Measured {
            counted,
            lowest,
            highest,
            limit: None,
        });
        assert_eq!(vary(&call("brk"), &exact), 0);
    }

    #[test]
    fn a_path_loses_what_says_nothing() {
        for (path, is) in [
            ("/a/././more.php", "/a/more.php"),
            ("//a//b/.", "/a/b"),
            ("./a/./b/", "./a/b/"),
            ("a", "a"),
            ("", ""),
            ("/", "/"),
            ("/.", "/"),
            ("/a/../.b", "/a/../.b"),
        ] {
            assert_eq!(plain(path), is, "{path}");
        }
    }
}
