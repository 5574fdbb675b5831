//! Collapsed stacks, one line each: what flamegraph.pl, inferno and speedscope read. `unit;program;function;call N`, with
//! the rule at the end where a finding is about these calls; N is a number of calls.
//!
//! Specified by their first reader: <https://github.com/brendangregg/FlameGraph>.

use crate::stacks::{Frame, Stacks};
use crate::{Report, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    for (frames, weight) in Stacks::of(report)?.with_rules() {
        if weight.calls > 0 {
            let names: Vec<String> = frames.iter().map(name).collect();
            writeln!(out, "{} {}", names.join(";"), weight.calls)?;
        }
    }
    Ok(())
}

/// A name has no control characters any more; a semicolon would begin another frame.
fn name(frame: &Frame) -> String {
    frame.name.replace(';', "\\x3b")
}
