//! Windows as columns of a chart, side by side: as high as their calls per second, needless calls at the bottom.

use crate::html::{Text, page, section, tables};
use crate::text::number;
use crate::windows::Window;
use crate::{Style, Timeline, per_second};
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, timeline: &Timeline, _: Style) -> io::Result<()> {
    let title = timeline.title();
    page(out, &format!("needless: {title}"), &timeline.version, |out| {
        writeln!(out, "<h1>{}</h1>", Text(&title))?;
        section(out, "Calls per second", |out| {
            chart(out, timeline)?;
            legend(out, timeline)
        })?;
        section(out, "In numbers", |out| tables::write(out, &timeline.table()))
    })
}

/// A part of this height can be seen, as a share of the highest column: one pixel of the chart.
const VISIBLE: f64 = 0.005;
/// The colours that stand above those of rules, from the bottom up.
const ABOVE: [&str; 4] = ["other", "unexplained", "unjudged", "needed"];

fn rate(calls: u64, window: &Window) -> f64 {
    calls as f64 * 1e9 / window.length_ns as f64
}

/// The parts of a window from the bottom up: class, name, calls.
fn parts<'a>(timeline: &'a Timeline, window: &'a Window) -> Vec<(String, String, u64)> {
    let palette = timeline.palette();
    let mut parts = Vec::new();
    for (word, part) in [("needless", &window.needless), ("perhaps needless", &window.perhaps)] {
        for rule in &timeline.rules {
            let calls = part.by_rule.get(rule).copied().unwrap_or(0);
            parts.push((palette.class(rule), format!("{word}, {rule}"), calls));
        }
        let shown: u64 = part.by_rule.values().sum();
        let name = format!("{word}, left out of the report");
        parts.push(("other".to_owned(), name, part.calls - shown));
    }
    parts.push(("unexplained".to_owned(), "not explained".to_owned(), window.unexplained));
    parts.push(("unjudged".to_owned(), "not judged".to_owned(), window.unjudged));
    parts.push(("needed".to_owned(), "needed".to_owned(), window.needed));
    parts.retain(|(_, _, calls)| *calls > 0);
    parts
}

fn chart(out: &mut dyn Write, timeline: &Timeline) -> io::Result<()> {
    let windows = &timeline.windows;
    let of = |window: &&Window| rate(window.calls, window);
    let Some(highest) = windows.iter().max_by(|a, b| of(a).total_cmp(&of(b))) else {
        return Ok(());
    };
    let each = 100.0 / windows.len() as f64;
    writeln!(
        out,
        "<svg class=\"timeline\" role=\"img\" aria-label=\"Calls per second of each window; the table has the numbers\">"
    )?;
    for (n, window) in windows.iter().enumerate() {
        let mut top = 100.0;
        for (class, name, calls) in parts(timeline, window) {
            let height = rate(calls, window) * 100.0 / of(&highest);
            top -= height;
            let text = format!(
                "{}: {name}: {} calls, {} per second",
                window.name,
                number(calls),
                per_second(calls, window.length_ns)
            );
            let (x, width) = (each * n as f64, each * 0.9);
            writeln!(
                out,
                "<rect class=\"{class}\" x=\"{x:.3}%\" width=\"{width:.3}%\" y=\"{:.3}%\" height=\"{height:.3}%\"><title>{}</title></rect>",
                top.max(0.0),
                Text(&text)
            )?;
        }
    }
    writeln!(
        out,
        "</svg>\n<p class=\"faint\">The highest column is {} calls per second. The order is that in which the files were named.</p>",
        per_second(highest.calls, highest.length_ns)
    )
}

/// What each colour that can be seen stands for, from the bottom of a column up. The table has what is too small.
fn legend(out: &mut dyn Write, timeline: &Timeline) -> io::Result<()> {
    let highest = timeline.windows.iter().map(|window| rate(window.calls, window));
    let least = highest.fold(0.0, f64::max) * VISIBLE;
    let mut shown = BTreeMap::<(usize, String), Vec<String>>::new();
    for window in &timeline.windows {
        for (class, name, calls) in parts(timeline, window) {
            let above = ABOVE.iter().position(|other| *other == class);
            let names = shown.entry((above.map_or(0, |at| at + 1), class)).or_default();
            if rate(calls, window) >= least && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    shown.retain(|_, names| !names.is_empty());
    writeln!(out, "<p>")?;
    for ((_, class), names) in shown {
        let names = names.join("; ");
        let name = Text(&names);
        writeln!(out, "<span class=\"key\"><span class=\"swatch {class}\"></span>{name}</span>")?;
    }
    writeln!(out, "</p>")
}
