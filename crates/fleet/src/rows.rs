//! From a judged window to rows: sums by service, program, cause and call.
//!
//! Each number is in one row: there are no totals beside their parts. Every call, every needless call and every
//! nanosecond is in exactly one row of its window, so a sum over whatever somebody groups by is right, and equals the
//! account of a report (`tests/it/sums.rs`). What finds no room among the rows is added to a row without a name.

use needless_model::{ProcId, Process, Profile, Stage};
use needless_rules::{Account, Claim, Fate as Became};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// So many rows a window has at most, but for those of the others, which are folded: one for each fate and cause.
pub const MOST_ROWS: usize = 750;

/// What became of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// They are known to be needed.
    #[default]
    Needed,
    /// A rule says that they could go, and why.
    Needless,
    /// A rule says so, and has not found the cause: so many at most.
    Perhaps,
    /// They failed or got no new answer, and no rule explains it.
    NotExplained,
    /// No rule looked at them.
    NotJudged,
    /// No calls: `needless fix` changed the variable for the service, and has not taken it back.
    Applied,
}

impl Fate {
    /// The word in the column `fate`.
    pub fn word(self) -> &'static str {
        match self {
            Fate::Needed => "needed",
            Fate::Needless => "needless",
            Fate::Perhaps => "perhaps",
            Fate::NotExplained => "not explained",
            Fate::NotJudged => "not judged",
            Fate::Applied => "applied",
        }
    }
}

/// What a row is about; of each combination a window has one row. `None`: not known, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dimensions {
    /// The unit, container, pod or session, as [`Process::service`]; the program where it is in none.
    pub service: Option<String>,
    /// The program, as [`Process::title`] where a process has not named itself otherwise; of a kernel thread the part of its name that all of its kind share.
    pub program: Option<String>,
    /// What became of the calls.
    pub fate: Fate,
    /// The rule, of needless calls.
    pub cause: Option<String>,
    /// The variable that the rule's first remedy changes: its name.
    pub variable: Option<String>,
    /// The kernel's name of the call.
    pub call: Option<String>,
}

/// The numbers of a row. Each call, each needless call and each nanosecond of the window is in exactly one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Calls that were counted.
    pub calls: i64,
    /// Of these, calls that failed.
    pub failed: i64,
    /// Calls that could go. Those that go with others and were not counted one by one are in a row without a call,
    /// below zero where two causes name the same calls.
    pub needless: i64,
    /// Nanoseconds that the needless calls take: an estimate, from what such calls cost on that machine.
    pub saves_ns: i64,
    /// Nanoseconds of CPU time of the program.
    pub cpu_ns: i64,
    /// What was not seen, in the row that has neither service nor program.
    pub lost: i64,
}

impl Measures {
    fn add(&mut self, other: Measures) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.needless += other.needless;
        self.saves_ns += other.saves_ns;
        self.cpu_ns += other.cpu_ns;
        self.lost += other.lost;
    }
}

/// The rows of a window, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<(Dimensions, Measures)>,
    /// How many rows found no room, and are part of others.
    pub folded: u64,
}

type Table = BTreeMap<Dimensions, Measures>;

impl Rows {
    /// The rows of a window whose services were judged one by one
    /// ([`check_with_accounts`](needless_rules::check_with_accounts)).
    pub fn of(profile: &Profile, accounts: &[(Option<String>, Account)]) -> Rows {
        let programs: Vec<String> = profile.processes.iter().map(program).collect();
        let of = |id: ProcId| Dimensions {
            service: profile.process(id).service.as_deref().map(clean),
            program: Some(programs[id.index()].clone()),
            ..Dimensions::default()
        };
        let mut table = Table::new();
        // There is such a row in every window, also where nothing happened.
        let lost = signed(profile.lost.values().sum());
        table.entry(Dimensions::default()).or_default().lost = lost;
        let mut left: Vec<u64> = profile.rows.iter().map(|row| row.count).collect();
        for (_, account) in accounts {
            let mut counted = vec![0; account.claims.len()];
            for share in &account.shares {
                let row = &profile.rows[share.row];
                left[share.row] = left[share.row].saturating_sub(share.calls);
                let about =
                    Dimensions { call: Some(profile.call(row).to_owned()), ..of(row.process) };
                let calls = signed(share.calls);
                let mut sums =
                    Measures { calls, failed: failed(row, calls), ..Measures::default() };
                let about = match share.fate {
                    Became::Unexplained => Dimensions { fate: Fate::NotExplained, ..about },
                    Became::Unjudged => Dimensions { fate: Fate::NotJudged, ..about },
                    Became::Needless(at) => {
                        let (claim, so_far) = (&account.claims[at], &mut counted[at]);
                        let before = time_of(claim, *so_far);
                        *so_far += share.calls;
                        sums.needless = calls;
                        sums.saves_ns = signed(time_of(claim, *so_far) - before);
                        because_of(claim, about)
                    }
                };
                table.entry(about).or_default().add(sums);
            }
            for (claim, counted) in account.claims.iter().zip(counted) {
                let needless = signed(claim.amount.calls) - signed(counted);
                let saves_ns = signed(time_of(claim, u64::MAX) - time_of(claim, counted));
                if needless != 0 {
                    let sums = Measures { needless, saves_ns, ..Measures::default() };
                    table.entry(because_of(claim, of(claim.process))).or_default().add(sums);
                }
            }
        }
        for (row, left) in profile.rows.iter().zip(left) {
            let calls = signed(left);
            let sums = Measures { calls, failed: failed(row, calls), ..Measures::default() };
            table.entry(of(row.process)).or_default().add(sums);
        }
        for (id, process) in (0..).map(ProcId).zip(&profile.processes) {
            if let Some(ns) = process.cpu_ns.filter(|ns| *ns > 0) {
                table.entry(of(id)).or_default().cpu_ns += signed(ns);
            }
        }
        limited(table, MOST_ROWS)
    }

    /// Adds what was changed: for each service of the window and each of its variables in `changes` a row without calls.
    pub fn note_applied(&mut self, changes: &BTreeSet<(String, String)>) {
        let named = |service: &Option<String>| {
            self.rows.iter().any(|(row, _)| row.service == *service && row.program.is_some())
        };
        let applied = changes.iter().map(|(service, variable)| Dimensions {
            service: Some(clean(service)),
            variable: Some(clean(variable)),
            fate: Fate::Applied,
            ..Dimensions::default()
        });
        let applied: Vec<_> = applied.filter(|row| named(&row.service)).take(MOST_ROWS).collect();
        self.rows.extend(applied.into_iter().map(|row| (row, Measures::default())));
        self.rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn failed(row: &needless_model::Row, calls: i64) -> i64 {
    if matches!(row.outcome, Some(Err(_))) { calls } else { 0 }
}

/// The part of a claim's time that the first `calls` of its calls take.
fn time_of(claim: &Claim, calls: u64) -> u64 {
    let (all, ns) = (claim.amount.calls.max(1), claim.amount.time_ns().unwrap_or(0));
    (u128::from(ns) * u128::from(calls.min(all)) / u128::from(all)) as u64
}

fn because_of(claim: &Claim, row: Dimensions) -> Dimensions {
    let fate = if claim.stage == Stage::Seen { Fate::Perhaps } else { Fate::Needless };
    let (cause, variable) = (Some(claim.rule.to_string()), claim.variable.as_deref().map(clean));
    Dimensions { fate, cause, variable, ..row }
}

/// The program, without what a process says about itself. `kworker` of `kworker/0:1-events`: the name of a kernel thread says what it does at the moment.
fn program(process: &Process) -> String {
    if process.exe.is_none() {
        return clean(process.title().split(['/', ':']).next().unwrap_or_default());
    }
    // The kernel's mark of a file that was removed or replaced: the program is still the same.
    let name = process.name();
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    // A process can take any name (prctl PR_SET_NAME): what is not like a file's may be an argument, or a secret.
    let script = process.script().map(|script| script.split(": ").next().unwrap_or_default());
    let is_like_a_file = |text: &&str| {
        let fits = |c: char| c.is_alphanumeric() || "._+@-".contains(c);
        !text.is_empty() && text.chars().all(fits)
    };
    match script.filter(is_like_a_file) {
        Some(script) => clean(&format!("{script} ({name})")),
        None => clean(name),
    }
}

/// Programs choose their names; whoever prints them may be a terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Keeps the `most` rows with most needless calls, then most calls; the others are one row for each fate and cause.
fn limited(table: Table, most: usize) -> Rows {
    if table.len() <= most {
        return Rows { rows: table.into_iter().collect(), folded: 0 };
    }
    let mut all: Vec<_> = table.into_iter().collect();
    all.sort_by_key(|(row, sums)| {
        (row.program.is_some(), Reverse((sums.needless, sums.calls, sums.cpu_ns)))
    });
    let rest = all.split_off(most);
    let folded = rest.len() as u64;
    let mut table: Table = all.into_iter().collect();
    for (row, sums) in rest {
        let row = Dimensions { fate: row.fate, cause: row.cause, ..Dimensions::default() };
        table.entry(row).or_default().add(sums);
    }
    Rows { rows: table.into_iter().collect(), folded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::Spawn;

    fn row(program: &str, cause: Option<&str>) -> Dimensions {
        let fate = if cause.is_some() { Fate::Needless } else { Fate::Needed };
        let (program, cause) = (Some(program.to_owned()), cause.map(str::to_owned));
        Dimensions { program, cause, fate, ..Dimensions::default() }
    }

    #[test]
    fn what_finds_no_room_is_still_counted() {
        let mut table = Table::new();
        table.insert(Dimensions::default(), Measures { lost: 3, ..Measures::default() });
        for n in 0..100 {
            let (calls, needless) = (n + 1, (n + 1) % 2);
            let cause = (needless > 0).then_some("tz-unset");
            let sums = Measures { calls, needless, ..Measures::default() };
            table.insert(row(&format!("p{n}"), cause), sums);
        }
        let kept = limited(table.clone(), 101);
        assert_eq!((kept.rows.len(), kept.folded), (101, 0));
        let kept = limited(table, 10);
        // Those without a program: what was lost and the folded ones with a cause.
        assert_eq!((kept.rows.len(), kept.folded), (11, 91));
        let sum =
            |of: fn(&Measures) -> i64| kept.rows.iter().map(|(_, sums)| of(sums)).sum::<i64>();
        assert_eq!((sum(|s| s.calls), sum(|s| s.needless), sum(|s| s.lost)), (5050, 50, 3));
        let largest = kept.rows.iter().filter(|(row, _)| row.program.is_some());
        assert!(largest.into_iter().all(|(_, sums)| sums.needless == 1 && sums.calls > 80));
    }

    #[test]
    fn a_change_is_noted_for_services_that_ran() {
        let of = |service: &str, program: Option<&str>| Dimensions {
            service: Some(service.into()),
            program: program.map(str::to_owned),
            ..Dimensions::default()
        };
        let sums = Measures { calls: 7, ..Measures::default() };
        let mut rows = Rows { rows: vec![(of("web.service", Some("web")), sums)], folded: 0 };
        let change = |service: &str| (service.to_owned(), "TZ".to_owned());
        rows.note_applied(&BTreeSet::from([change("web.service"), change("stopped.service")]));
        let (variable, fate) = (Some("TZ".to_owned()), Fate::Applied);
        let applied = Dimensions { variable, fate, ..of("web.service", None) };
        let web = (of("web.service", Some("web")), sums);
        assert_eq!(rows.rows, [(applied, Measures::default()), web]);
    }

    #[test]
    fn names_are_of_one_kind_and_harmless() {
        let named = |exe: Option<&str>, command: &str| {
            let exe = exe.map(str::to_owned);
            let command = Some(command.to_owned());
            program(&Process { exe, command, ..Process::new(1, None, Spawn::Seen) })
        };
        assert_eq!(named(None, "kworker/0:1-events"), "kworker");
        assert_eq!(named(Some("/usr/bin/a\u{1b}[2J"), "a\u{1b}[2J"), "a\u{fffd}[2J");
        assert_eq!(named(Some("/usr/sbin/payd (deleted)"), "payd"), "payd");
        assert_eq!(named(Some("/usr/bin/perl"), "ts"), "ts (perl)");
        assert_eq!(named(Some("/usr/bin/python3.11"), "gunicorn: maste"), "gunicorn (python3.11)");
        // What a process says about itself may be an argument.
        assert_eq!(named(Some("/usr/bin/perl"), "tok=s3cr3t/a b"), "perl");
    }
}
