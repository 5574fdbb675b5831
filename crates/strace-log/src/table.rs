//! The table of `strace -c`, `-C`, `-w`, `-U`: counts without paths.

use std::collections::BTreeMap;

/// Counts of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub calls: u64,
    pub errors: u64,
}

/// The tables of a log, summed.
#[derive(Debug, Default)]
pub(crate) struct CountTable {
    columns: Vec<Column>,
    /// Dashed lines seen since the header: rows are between the first and the second.
    rules: u32,
    pub rows: BTreeMap<String, Counts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Calls,
    Errors,
    Name,
    Other,
}

impl CountTable {
    /// Names beyond this limit are not kept: no kernel has as many calls.
    const MOST: usize = 4096;

    /// Whether `line` belongs to a table; if so it is read.
    pub(crate) fn line(&mut self, line: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(line) else { return false };
        if text.starts_with("System call usage summary") {
            return true;
        }
        if let Some(columns) = header(text) {
            self.columns = columns;
            self.rules = 0;
            return true;
        }
        if self.columns.is_empty() {
            return false;
        }
        if text.starts_with("---") && text.bytes().all(|b| b == b'-' || b == b' ') {
            self.rules += 1;
            return true;
        }
        let read = self.rules > 0 && self.row(text);
        if self.rules >= 2 || !read {
            self.columns.clear(); // the total is the last line
        }
        read
    }

    fn row(&mut self, text: &str) -> bool {
        let cells: Vec<&str> = text.split_ascii_whitespace().take(16).collect();
        // No errors: the cell is blank.
        let blank = cells.len() + 1 == self.columns.len();
        if !blank && cells.len() != self.columns.len() {
            return false;
        }
        let columns = self.columns.iter().filter(|c| !blank || **c != Column::Errors);
        let (mut name, mut counts) = (None, Counts::default());
        for (column, cell) in columns.zip(&cells) {
            match column {
                Column::Name => name = Some(*cell),
                Column::Other => {}
                Column::Calls | Column::Errors => {
                    let Ok(n) = cell.parse() else { return false };
                    match column {
                        Column::Calls => counts.calls = n,
                        _ => counts.errors = n,
                    }
                }
            }
        }
        let Some(name) = name else { return false };
        if self.rules == 1 && (self.rows.len() < CountTable::MOST || self.rows.contains_key(name)) {
            let sum = self.rows.entry(name.to_owned()).or_default();
            sum.calls = sum.calls.saturating_add(counts.calls);
            sum.errors = sum.errors.saturating_add(counts.errors);
        }
        true
    }
}

/// The columns, if `text` is the first line of a table.
fn header(text: &str) -> Option<Vec<Column>> {
    let text = text.replace("% time", "%time");
    let mut columns = Vec::new();
    for word in text.split_ascii_whitespace() {
        columns.push(match word {
            "calls" => Column::Calls,
            "errors" => Column::Errors,
            "syscall" => Column::Name,
            "%time" | "seconds" | "usecs/call" | "shortest" | "longest" | "min-time"
            | "max-time" | "avg-time" | "total-time" | "stime" => Column::Other,
            // strace 7.1: the wall clock next to the system time.
            wall if wall.starts_with("wall") => Column::Other,
            _ => return None,
        });
    }
    let one = |what| columns.iter().filter(|c| **c == what).count() == 1;
    (one(Column::Calls) && one(Column::Name)).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (BTreeMap<String, Counts>, usize) {
        let mut table = CountTable::default();
        let strange = text.lines().filter(|l| !table.line(l.as_bytes())).count();
        (table.rows, strange)
    }

    #[test]
    fn columns_in_any_order_and_blank_errors() {
        let (rows, strange) = read(
            "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000000           0        34        13 openat
 40.00    0.000000           0         7           read
------ ----------- ----------- --------- --------- ----------------
100.00    0.000000           0        41        13 total
",
        );
        assert_eq!(strange, 0);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows["openat"], Counts { calls: 34, errors: 13 });
        assert_eq!(rows["read"], Counts { calls: 7, errors: 0 });
        let (rows, strange) = read(
            "\
System call usage summary for 32 bit mode:
syscall           longest  usecs/call     calls    errors shortest
---------------- -------- ----------- --------- --------- --------
read             0.000000           0         7           0.000000
access           0.000000           0         2         1 0.000000
not a row
",
        );
        assert_eq!(strange, 1);
        assert_eq!(rows["access"], Counts { calls: 2, errors: 1 });
        assert_eq!(rows["read"], Counts { calls: 7, errors: 0 });
    }

    #[test]
    fn text_is_no_table() {
        assert_eq!(read("calls\n------\n--- SIGCHLD {} ---\n% time\n").1, 4);
    }
}
