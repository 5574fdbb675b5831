//! A page to look at and to send: the account as a bar, the remedies, all calls as an icicle, what else is known.

use super::full;
use crate::document::{PartKind, ReportDocument, ReportFinding, ReportUnexplained, ReportWaits};
use crate::html::icicle::{Palette, icicle};
use crate::html::{Slice, Text, bar, copy, labelled, page, section};
use crate::overview::{Line, Overview, columns_of_time, heading, more_small};
use crate::text::{count, duration, number};
use crate::{Report, Style, account, next_command, proof, summary, time, unjudged};
use needless_model::Stage;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let (document, (subject, extent)) = (report.document, full::subject(report));
    page(out, &format!("needless: {subject}"), &document.needless_version, |out| {
        writeln!(out, "<h1>{}</h1>\n<p>{}</p>", Text(subject), Text(&extent))?;
        if document.findings.is_empty() {
            writeln!(out, "<p><strong>{}</strong></p>", unjudged::nothing_found(report))?;
        }
        let causes = Causes::of(document);
        section(out, "What became of the calls", |out| write_account(out, report, &causes))?;
        let overview = Overview::of(report);
        if !document.findings.is_empty() {
            section(out, "What to change", |out| write_remedies(out, &overview, report))?;
            section(out, "Why, and at what price", |out| write_details(out, &overview, report))?;
        }
        let parts = &document.breakdown;
        if !parts.is_empty() {
            section(out, "Where the calls come from", |out| icicle(out, parts, &causes.palette))?;
        }
        write_times(out, report)?;
        write_unexplained(out, report)?;
        if let Some(proof) = &document.proof {
            section(out, "Measured", |out| proof::html::body(out, proof))?;
        }
        section(out, "How it was observed", |out| {
            let notes = full::notes(report);
            let lines: Vec<_> = notes.into_iter().map(|(label, text, _)| (label, text)).collect();
            labelled(out, &lines)
        })
    })
}

/// So many remedies are shown.
const REMEDIES: usize = 60;
/// So many services or programs with the same remedy are listed.
const ALIKE: usize = 20;
/// What calls of findings are that are below the threshold, suppressed or known.
const LEFT_OUT: &str = "left out of this report";

/// The needless calls by rule.
struct Causes {
    certain: ByRule,
    /// Those whose cause was not looked up.
    perhaps: ByRule,
    palette: Palette,
}

/// Calls by rule, most calls first, and those of findings that the report leaves out.
struct ByRule {
    rules: Vec<(String, u64)>,
    left_out: u64,
}

impl ByRule {
    fn of(document: &ReportDocument, all: u64, seen: bool) -> ByRule {
        let (mut sums, scale) = (BTreeMap::<&str, u64>::new(), document.scale());
        let belongs = |finding: &&ReportFinding| (finding.stage() == Stage::Seen) == seen;
        for finding in document.findings.iter().filter(belongs) {
            *sums.entry(&finding.rule).or_default() += scale.saves(&[finding]).calls;
        }
        let mut rules: Vec<_> = sums.into_iter().map(|(rule, n)| (rule.to_owned(), n)).collect();
        rules.sort_by_key(|(_, calls)| Reverse(*calls));
        let shown: u64 = rules.iter().map(|(_, calls)| calls).sum();
        ByRule { rules, left_out: all.saturating_sub(shown) }
    }
}

impl Causes {
    fn of(document: &ReportDocument) -> Causes {
        let account = &document.account;
        let certain = ByRule::of(document, account.certain().calls, false);
        let perhaps = ByRule::of(document, account.uncertain().calls, true);
        let parts = document.breakdown.iter().filter(|part| part.kind == PartKind::Needless);
        let of_parts = parts.filter_map(|part| part.rule.as_ref());
        let of_findings = certain.rules.iter().chain(&perhaps.rules).map(|(rule, _)| rule);
        // Rules whose findings are left out have a colour, too, in the icicle.
        let mut names: Vec<String> = Vec::new();
        for rule in of_findings.chain(of_parts) {
            if !names.contains(rule) {
                names.push(rule.clone());
            }
        }
        Causes { certain, perhaps, palette: Palette::of(names) }
    }
}

fn write_account(out: &mut dyn Write, report: &Report<'_>, causes: &Causes) -> io::Result<()> {
    let account = &report.document.account;
    let slice = |class: &str, name: &str, amount| {
        let name = format!("{name}: {}", count(amount, "call", "calls"));
        Slice { class: class.to_owned(), name, amount }
    };
    let mut slices = Vec::new();
    for (word, by_rule) in [("needless", &causes.certain), ("perhaps needless", &causes.perhaps)] {
        slices.extend(by_rule.rules.iter().map(|(rule, calls)| {
            slice(&causes.palette.class(rule), &format!("{word}, {rule}"), *calls)
        }));
        slices.push(slice("other", &format!("{word}, {LEFT_OUT}"), by_rule.left_out));
    }
    slices.push(slice("unexplained", "not explained", account.unexplained.calls));
    slices.push(slice("unjudged", "not judged", account.unjudged.calls));
    slices.push(slice("needed", "needed", account.needed()));
    let parts = account::parts(report);
    let words: Vec<String> = parts.iter().map(|(label, text)| format!("{label} {text}")).collect();
    bar(out, &words.join("; "), &slices, account.calls)?;
    writeln!(out, "<table class=\"legend\"><tbody>")?;
    let row = |out: &mut dyn Write, class: &str, (kind, name): (&str, &str), text: &str| {
        let swatch = match class {
            "" => String::new(),
            class => format!("<span class=\"swatch {class}\"></span>"),
        };
        let (name, text) = (Text(name), Text(text));
        writeln!(out, "<tr><th scope=\"row\"{kind}>{swatch}{name}</th><td>{text}</td></tr>")
    };
    for (label, text) in parts {
        let class = match label {
            "needed" => "needed",
            "not explained" => "unexplained",
            "not judged" => "unjudged",
            _ => "",
        };
        row(out, class, ("", label), &text)?;
        let by_rule = match label {
            "needless" => &causes.certain,
            "perhaps" => &causes.perhaps,
            _ => continue,
        };
        for (rule, calls) in &by_rule.rules {
            let class = causes.palette.class(rule);
            row(out, &class, (" class=\"sub\"", rule), &count(*calls, "call", "calls"))?;
        }
        if by_rule.left_out > 0 {
            let calls = count(by_rule.left_out, "call", "calls");
            row(out, "other", (" class=\"sub\"", LEFT_OUT), &calls)?;
        }
    }
    writeln!(out, "</tbody></table>")
}

/// The remedies that the page shows, and the large and small ones that it leaves out: nobody reads a page of a thousand.
fn shown<'o, 'a>(overview: &'o Overview<'a>) -> (Vec<&'o Line<'a>>, [&'o [Line<'a>]; 2]) {
    let (large, small) = (&overview.large, &overview.small);
    let (large, more) = large.split_at(REMEDIES.min(large.len()));
    let (small, rest) = small.split_at((REMEDIES - large.len()).min(small.len()));
    (large.iter().chain(small).collect(), [more, rest])
}

/// One line for each remedy, also the small ones.
fn write_remedies(
    out: &mut dyn Write,
    overview: &Overview<'_>,
    report: &Report<'_>,
) -> io::Result<()> {
    let (lines, rest) = shown(overview);
    let scale = report.document.scale();
    let saves = columns(&heading(&scale));
    writeln!(
        out,
        "<table class=\"cards\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" class=\"number\">{saves}</th>\
         <th role=\"columnheader\" class=\"number\">calls</th><th role=\"columnheader\">rule</th><th role=\"columnheader\">who</th>\
         <th role=\"columnheader\">fix</th></tr></thead><tbody role=\"rowgroup\">"
    )?;
    for (at, line) in lines.iter().enumerate() {
        let time = columns(&columns_of_time(&scale, line));
        let fix = line.fix();
        let typed = line.findings[0].remedies.first().filter(|remedy| remedy.is_typed());
        let button = typed.map_or(String::new(), |remedy| copy(&summary::change(&remedy.change())));
        let small =
            if at < overview.large.len() { "" } else { " <span class=\"faint\">(small)</span>" };
        writeln!(
            out,
            "<tr role=\"row\"><td role=\"cell\" class=\"number\" data-of=\"saves\">{}{small}</td>\
             <td role=\"cell\" class=\"number\" data-of=\"calls\">{}</td>\
             <td role=\"cell\" class=\"rule\" data-of=\"rule\"><a href=\"#remedy-{at}\">{}</a></td>\
             <td role=\"cell\" data-of=\"who\">{}</td>\
             <td role=\"cell\" data-of=\"fix\"><span class=\"fix\">{}</span>{button}</td></tr>",
            Text(&time),
            number(line.saves.calls),
            Text(&line.rules()),
            Text(&line.who(120)),
            Text(&fix),
        )?;
    }
    writeln!(out, "</tbody></table>")?;
    for more in rest.into_iter().filter_map(more_small) {
        writeln!(out, "<p>{}: the JSON report has them</p>", Text(&more))?;
    }
    match next_command::again(report) {
        Some(command) => writeln!(
            out,
            "<p>To try it: <span class=\"fix\">{}</span>{}</p>",
            Text(&command),
            copy(&command)
        ),
        None => Ok(()),
    }
}

/// What stands in columns, as one text.
fn columns(text: &str) -> String {
    let columns = text.split("  ").map(str::trim).filter(|column| !column.is_empty());
    columns.collect::<Vec<_>>().join(", ")
}

/// The findings of each remedy: the most expensive one in full, the others in a line each.
fn write_details(
    out: &mut dyn Write,
    overview: &Overview<'_>,
    report: &Report<'_>,
) -> io::Result<()> {
    for (at, line) in shown(overview).0.into_iter().enumerate() {
        let Some((first, others)) = line.findings.split_first() else { continue };
        let open = if at == 0 { " open" } else { "" };
        let summary = format!("{}: {}", first.rule_name(), summary::headline(first));
        writeln!(out, "<details id=\"remedy-{at}\"{open}><summary>{}</summary>", Text(&summary))?;
        let mut lines = of_finding(first, report);
        for (at, finding) in others.iter().take(ALIKE).enumerate() {
            let label = if at == 0 { "also" } else { "" };
            lines.push((label, full::also(finding, report)));
        }
        if others.len() > ALIKE {
            lines.push(("", format!("{} more are in the JSON report", others.len() - ALIKE)));
        }
        labelled(out, &lines)?;
        writeln!(out, "</details>")?;
    }
    Ok(())
}

fn of_finding(finding: &ReportFinding, report: &Report<'_>) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("saves", full::saves(finding, report)),
        ("who", full::who(finding) + &summary::in_service(finding)),
        ("why", finding.why.clone()),
    ];
    let under = |label, at: usize| if at == 0 { label } else { "" };
    let from = full::origins(finding).into_iter().enumerate();
    lines.extend(from.map(|(at, line)| (under("from", at), line)));
    let counts = finding.evidence.iter().map(full::counted).enumerate();
    lines.extend(counts.map(|(at, line)| (under("strace", at), line)));
    for (at, remedy) in finding.remedies.iter().enumerate() {
        lines.push((if at == 0 { "fix" } else { "or" }, summary::change(&remedy.change())));
        lines.push((remedy.safety.word(), remedy.caveat.clone()));
    }
    lines.push(("stage", full::stage(finding.stage()).to_owned()));
    lines.push(("more", format!("needless explain {}", finding.rule)));
    lines
}

/// What programs waited for, as a bar, and who spent the CPU time.
fn write_times(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let lines = time::lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    section(out, "Where the time went", |out| {
        let waits = &report.document.waiting;
        let all: u64 = waits.iter().map(ReportWaits::ns).fold(0, u64::saturating_add);
        if lines.iter().any(|(label, _)| *label == "waiting") {
            let colour =
                |at: usize| if at.is_multiple_of(2) { "waits" } else { "needed" }.to_owned();
            let slices = waits.iter().enumerate().map(|(at, waits)| Slice {
                class: colour(at),
                name: format!("{} by {}: {}", waits.call, waits.program, duration(waits.ns())),
                amount: waits.ns(),
            });
            let slices: Vec<Slice> = slices.take(60).collect();
            bar(out, &format!("waiting: {}", duration(all)), &slices, all)?;
        }
        labelled(out, &lines)
    })
}

/// All kinds of calls that are not explained.
fn write_unexplained(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    /// So many are shown.
    const SHOWN: usize = 100;
    let lines = &report.document.account.lines;
    if lines.is_empty() {
        return Ok(());
    }
    section(out, "Not explained", |out| {
        writeln!(out, "<p>No rule applies; for information; no change is suggested.</p>")?;
        let (first, others) = lines[..lines.len().min(SHOWN)].split_at(lines.len().min(5));
        let list = |out: &mut dyn Write, lines: &[ReportUnexplained]| {
            writeln!(out, "<ul>")?;
            for line in lines {
                writeln!(out, "<li>{}</li>", Text(&account::line(report, line)))?;
            }
            writeln!(out, "</ul>")
        };
        list(out, first)?;
        if others.is_empty() {
            return Ok(());
        }
        let kinds = count(others.len() as u64, "other kind", "other kinds");
        writeln!(out, "<details><summary>{kinds}</summary>")?;
        list(out, others)?;
        if lines.len() > SHOWN {
            let more = lines.len() - SHOWN;
            writeln!(out, "<p>{} more are in the JSON report</p>", number(more as u64))?;
        }
        writeln!(out, "</details>")
    })
}
