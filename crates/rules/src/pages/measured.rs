//! What the remedies of the rules saved in real programs: the table `tools/cases/measured.tsv`, which
//! `cargo xtask cases --write` makes, and the proof on each rule's page.

use crate::text::{list, number, wrap};
use std::fmt::Write as _;

/// A program run as it is and with the remedy, under strace both times, and what needless
/// predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredCase {
    /// The rule's name.
    pub rule: String,
    /// What ran, Markdown: "`ls /` with `LD_PRELOAD=libgone.so.0`".
    pub program: String,
    /// What was different in the second run, Markdown: "without it".
    pub fixed: String,
    /// System calls of the first run, counted by strace.
    pub before: u64,
    /// System calls of the second run, counted by strace.
    pub after: u64,
    /// How many fewer the findings in the first run had predicted: under ptrace, under eBPF, from
    /// strace's log.
    pub predicted: [u64; 3],
    /// Other rules whose findings are part of the prediction.
    pub beside: Vec<String>,
    /// The C library, the kernel and the architecture: "glibc 2.36, Linux 6.18, x86_64".
    pub machine: String,
}

/// The table that is checked in, in its order.
pub fn measured() -> Vec<MeasuredCase> {
    include_str!("../../../../tools/cases/measured.tsv")
        .lines()
        .filter_map(MeasuredCase::from_line)
        .collect()
}

impl MeasuredCase {
    /// The row in a line of the table; `None` for a comment, or a line that is not a row.
    pub fn from_line(line: &str) -> Option<MeasuredCase> {
        if line.starts_with('#') {
            return None;
        }
        let cells: Vec<&str> = line.split('\t').collect();
        let [rule, program, fixed, before, after, ptrace, ebpf, log, beside, machine] = cells[..]
        else {
            return None;
        };
        let count = |cell: &str| cell.parse::<u64>().ok();
        Some(MeasuredCase {
            rule: rule.to_owned(),
            program: program.to_owned(),
            fixed: fixed.to_owned(),
            before: count(before)?,
            after: count(after)?,
            predicted: [count(ptrace)?, count(ebpf)?, count(log)?],
            beside: beside.split_whitespace().map(str::to_owned).collect(),
            machine: machine.to_owned(),
        })
    }

    /// The row as a line of the table.
    pub fn line(&self) -> String {
        let MeasuredCase { rule, program, fixed, before, after, predicted, beside, machine } = self;
        let [ptrace, ebpf, log] = predicted;
        format!(
            "{rule}\t{program}\t{fixed}\t{before}\t{after}\t{ptrace}\t{ebpf}\t{log}\t{}\t{machine}",
            beside.join(" "),
        )
    }

    /// The row in one to three sentences, of which the first begins with the program.
    fn sentences(&self) -> String {
        let saved = match self.before.checked_sub(self.after) {
            Some(0) => "none saved".to_owned(),
            Some(saved) => format!("{} fewer", number(saved)),
            None => format!("{} more", number(self.after - self.before)),
        };
        let mut out = format!(
            "{}: strace counts {} calls, and {} {}: {saved}. needless had predicted ",
            self.program,
            number(self.before),
            number(self.after),
            self.fixed,
        );
        out += &match self.after < self.before {
            true => self.prediction(),
            false if self.predicted == [0; 3] => "none fewer".to_owned(),
            false => {
                format!(
                    "that {} would go; it does not count the calls that replace them",
                    self.prediction()
                )
            }
        };
        if !self.beside.is_empty() {
            let _ = write!(out, ", including those of {}", list(&self.beside));
        }
        out + "."
    }

    fn prediction(&self) -> String {
        let [ptrace, ebpf, log] = self.predicted;
        match (ptrace == ebpf, ebpf == log) {
            (true, true) => number(ptrace),
            (true, false) => format!("{} live, {} from strace's log", number(ptrace), number(log)),
            _ => format!(
                "{} under ptrace, {} under eBPF and {} from strace's log",
                number(ptrace),
                number(ebpf),
                number(log)
            ),
        }
    }
}

/// As wide as the rest of a page.
const COLUMNS: usize = 96;

/// The proof on the page of this rule; `None` if no program was measured for it.
pub(crate) fn proof(rule: &str) -> Option<String> {
    let rows: Vec<MeasuredCase> = measured().into_iter().filter(|row| row.rule == rule).collect();
    let first = rows.first()?;
    let mut out = String::new();
    for row in &rows {
        let _ = writeln!(out, "{}\n", wrap(&row.sentences(), COLUMNS).join("\n"));
    }
    let end = format!(
        "`cargo xtask cases {rule}`, in a checkout of needless, measures it again. The figures are \
         for {}.",
        first.machine
    );
    Some(out + &wrap(&end, COLUMNS).join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> MeasuredCase {
        MeasuredCase {
            rule: "tz-unset".to_owned(),
            program: "`date`".to_owned(),
            fixed: "with `TZ=UTC`".to_owned(),
            before: 2212,
            after: 213,
            predicted: [1999, 1999, 1999],
            beside: Vec::new(),
            machine: "glibc 2.36".to_owned(),
        }
    }

    #[test]
    fn a_row_survives_the_table() {
        let with_others = MeasuredCase { beside: vec!["a".to_owned(), "b".to_owned()], ..row() };
        for row in [row(), with_others] {
            assert_eq!(MeasuredCase::from_line(&row.line()), Some(row));
        }
        assert_eq!(MeasuredCase::from_line("# a comment"), None);
        assert_eq!(MeasuredCase::from_line(&row().line().replace("213", "few")), None);
    }

    #[test]
    fn every_line_of_the_table_is_a_row() {
        let lines = include_str!("../../../../tools/cases/measured.tsv").lines();
        assert_eq!(lines.filter(|line| !line.starts_with('#')).count(), measured().len());
    }

    #[test]
    fn rows_are_written_as_sentences() {
        assert_eq!(
            row().sentences(),
            "`date`: strace counts 2,212 calls, and 213 with `TZ=UTC`: 1,999 fewer. needless had \
             predicted 1,999."
        );
        let more = MeasuredCase { after: 2213, predicted: [1, 1, 3], ..row() };
        let end = "1 more. needless had predicted that 1 live, 3 from strace's log would go; it \
                   does not count the calls that replace them.";
        assert!(more.sentences().ends_with(end), "{}", more.sentences());
        let beside = vec!["a".to_owned(), "b".to_owned()];
        let three = MeasuredCase { predicted: [1, 2, 3], beside, ..row() };
        let end =
            "1 under ptrace, 2 under eBPF and 3 from strace's log, including those of a and b.";
        assert!(three.sentences().ends_with(end), "{}", three.sentences());
    }
}
