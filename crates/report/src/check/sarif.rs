//! A checked budget as SARIF 2.1.0: a result for each count that is over, at its limit, and one for each finding that
//! explains it.

use crate::annotation::with_line;
use crate::check_text::{grown, reason};
use crate::sarif::{BUDGET, SarifResult, of_finding};
use crate::text::escape;
use crate::{CheckDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &CheckDocument, _: Style) -> io::Result<()> {
    let (shown, _) = check.shown();
    let why: Vec<String> = shown.iter().map(reason).collect();
    let over = check.over().map(|one| SarifResult {
        rule: BUDGET.to_owned(),
        level: "error",
        text: format!("{}. {}", grown(one), why.join(". ")),
        place: (check.file.clone(), one.line.unwrap_or(check.line) as u32),
    });
    let mut results: Vec<SarifResult> = over.collect();
    results.extend(check.findings().map(|(rule, finding, cause)| {
        let (who, headline) = (escape(&finding.who), escape(&finding.headline));
        let what = format!("{} more calls. {who}: {headline}", cause.more);
        // Without a place of its own it is where the limits are: code hosts show nothing outside of the repository.
        let place = finding.file.clone().zip(finding.line.map(|line| line as u32));
        let place = place.unwrap_or_else(|| (check.file.clone(), check.line as u32));
        let fix = cause.remedy.as_deref().map(escape);
        let fix = fix.map(|fix| with_line(&fix, finding.by_hand.as_deref()));
        of_finding(rule, what, fix.as_deref(), place)
    }));
    crate::sarif::write(out, &results, &check.needless_version)
}
