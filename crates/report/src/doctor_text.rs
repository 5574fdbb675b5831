//! What needless can observe on a machine.

use crate::Style;
use crate::text::{Tint, count, escape, wrap};
use std::io::{self, Write};

/// The check of something that needless needs from a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorCheck {
    /// What was checked ("ptrace").
    pub name: String,
    /// Whether it is as needed.
    pub ok: bool,
    /// What was found.
    pub says: String,
    /// What to do about it, if something can be done; a command if possible.
    pub remedy: Option<String>,
}

/// Writes `checks`, one or two lines each, and how many failed.
///
/// # Errors
/// When `out` cannot be written to.
pub fn doctor(out: &mut dyn Write, checks: &[DoctorCheck], style: Style) -> io::Result<()> {
    let names = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let indent = 4 + names + 2;
    let width = style.width.saturating_sub(indent).max(20);
    for check in checks {
        let (word, tint) = if check.ok { ("ok", Tint::Fix) } else { ("no", Tint::Care) };
        let mut lead = format!("{}  {:<names$}  ", style.paint(tint, word), escape(&check.name));
        for line in wrap(&escape(&check.says), width) {
            writeln!(out, "{lead}{line}")?;
            lead = " ".repeat(indent);
        }
        let Some(remedy) = &check.remedy else { continue };
        for line in wrap(&format!("→ {}", escape(remedy)), width) {
            writeln!(out, "{:indent$}{}", "", style.paint(Tint::Fix, &line))?;
        }
    }
    let bad = checks.iter().filter(|check| !check.ok).count() as u64;
    let all = count(checks.len() as u64, "check", "checks");
    match bad {
        0 => writeln!(out, "{all}, nothing to do"),
        n => writeln!(out, "{n} of {all} not ok"),
    }
}
