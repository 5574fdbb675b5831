//! The picture of a state.

use super::details::{Indented, core};
use super::rows::{ALL, KEPT, Row, sparkline};
use super::state::{State, Text};
use crate::cli::Grouping;
use needless_report::{cut, escape, number, wrap};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

/// The least size.
const COLUMNS: u16 = 80;
const LINES: u16 = 24;
/// Lines above the list or text, and below.
const ABOVE: u16 = 3;
const BELOW: u16 = 2;

/// How things look. Without colours, only what needs none.
struct Looks {
    colour: bool,
}

impl Looks {
    fn of(&self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn heading(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn chosen(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Of a share of a core: what costs much stands out.
    fn cost(&self, permille: f64) -> Style {
        match permille {
            much if much >= 50.0 => self.of(Color::Red),
            some if some >= 10.0 => self.of(Color::Yellow),
            _ => Style::new(),
        }
    }
}

/// How many rows or lines of text fit.
pub(super) fn page(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(ABOVE + BELOW))
}

/// Draws a state. Every text is escaped here, and nowhere else.
pub(super) fn draw(state: &State, buffer: &mut Buffer, colour: bool) {
    let area = buffer.area;
    let looks = Looks { colour };
    if area.width < COLUMNS || area.height < LINES {
        let text = format!(
            "needless top needs {COLUMNS} x {LINES} characters; this terminal has {} x {}. q quits.",
            area.width, area.height
        );
        for (at, line) in (0..area.height).zip(wrap(&text, usize::from(area.width).max(1))) {
            put(buffer, 0, at, &line, Style::new());
        }
        return;
    }
    head(state, buffer, &looks);
    match &state.text {
        Some(text) => show(text, buffer, &looks),
        None => list(state, buffer, &looks),
    }
    foot(state, buffer, &looks);
}

fn put(buffer: &mut Buffer, x: u16, y: u16, text: &str, style: Style) {
    let room = buffer.area.width.saturating_sub(x);
    if y < buffer.area.height {
        buffer.set_stringn(x, y, escape(text), usize::from(room), style);
    }
}

fn head(state: &State, buffer: &mut Buffer, looks: &Looks) {
    let by = match state.grouping {
        Grouping::Unit => "by unit",
        Grouping::Program => "by program",
        Grouping::Container => "by container",
    };
    let mut first = format!("needless top: {}, {by}, every {} s", state.who, state.interval_s);
    if state.typing || !state.filter.is_empty() {
        let cursor = if state.typing { "_" } else { "" };
        first += &format!(", filter: {}{cursor}", state.filter);
    }
    put(buffer, 0, 0, &first, looks.heading());
    let all = state.overall;
    let busy = format!(" {} busy, {:.2} cores", number(all.processes), all.cores);
    right(buffer, 0, &busy, Style::new());
    let needed = (1.0 - all.needless - all.unexplained - all.unjudged).max(0.0);
    let percent = |share: f64| match share * 100.0 {
        few if few > 0.0 && few < 1.0 => "< 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    };
    let mut text = format!(
        "{} calls/s: {} needless, {} not explained, {} not judged",
        number(all.calls_per_s),
        percent(all.needless),
        percent(all.unexplained),
        percent(all.unjudged),
    );
    // The rest: where there is no room, the others say it.
    let needed = format!(", {} needed", percent(needed));
    let room = usize::from(buffer.area.width).saturating_sub(" all ended ".len());
    text += if text.chars().count() + needed.len() <= room { &needed } else { "" };
    put(buffer, 0, 1, if state.windows() == 0 { "observing …" } else { &text }, Style::new());
    match (state.paused, state.over) {
        (true, _) => right(buffer, 1, " PAUSED ", looks.chosen()),
        (_, true) => right(buffer, 1, " all ended ", looks.chosen()),
        _ => {}
    }
}

/// At the end of a line.
fn right(buffer: &mut Buffer, y: u16, text: &str, style: Style) {
    let at = buffer.area.width.saturating_sub(text.chars().count() as u16);
    put(buffer, at, y, text, style);
}

fn foot(state: &State, buffer: &mut Buffer, looks: &Looks) {
    let (width, last) = (buffer.area.width, buffer.area.height - 1);
    let lost = match state.overall.lost {
        0 => String::new(),
        n => format!("{} not seen, ", number(n)),
    };
    let own = format!(" {lost}needless itself: {}", core(state.overall.own * 1000.0));
    let room = usize::from(width).saturating_sub(own.chars().count());
    let command = cut(&format!("$ {}", escape(&state.command)), room);
    put(buffer, 0, last - 1, &command, looks.of(Color::Cyan));
    right(buffer, last - 1, &own, Style::new());
    let keys = match (state.typing, &state.text) {
        (true, _) => "type to filter   Enter keep   Esc drop",
        (_, Some(_)) => {
            "Esc back   arrows, PgUp, PgDn scroll   e explain   d diff   p prove   q quit"
        }
        _ => "Enter details  e explain  d diff  p prove  / filter  g group  ? help  q quit",
    };
    put(buffer, 0, last, keys, looks.heading());
}

/// Columns: where each begins, and how wide it is.
struct Columns {
    bars: usize,
    who: usize,
}

impl Columns {
    fn of(width: u16) -> Columns {
        // What is beyond 80 columns goes to the bars and the names in part, and to the remedy.
        let more = usize::from(width.saturating_sub(COLUMNS));
        Columns { bars: (10 + more / 4).min(KEPT), who: (18 + more / 4).min(40) }
    }
}

fn list(state: &State, buffer: &mut Buffer, looks: &Looks) {
    let columns = Columns::of(buffer.area.width);
    let minutes = state.interval_s * KEPT as f64 / 60.0;
    let past = format!("LAST {minutes:.0} MIN");
    let who = match state.grouping {
        Grouping::Unit => "UNIT",
        Grouping::Program => "PROGRAM",
        Grouping::Container => "CONTAINER",
    };
    let heading = line(&columns, ["OF CORE", "CALLS/S", &past, who, "REMEDY"]);
    put(buffer, 0, ABOVE - 1, &heading, looks.heading());
    let (page, position) = (page(buffer.area), state.position());
    let from = (position + 1).saturating_sub(page);
    for (y, (at, row)) in (ABOVE..).zip(state.rows.iter().enumerate().skip(from).take(page)) {
        let text = shown(&columns, row);
        let style = if at == position { looks.chosen() } else { Style::new() };
        put(buffer, 0, y, &format!("{text:width$}", width = usize::from(buffer.area.width)), style);
        if at != position {
            let cost = Rect::new(0, y, 7, 1);
            buffer.set_style(cost, looks.cost(row.permille));
        }
    }
    if state.rows.is_empty() && state.windows() > 0 {
        let nothing = match state.filter.is_empty() {
            true => "nothing needless in the last minutes",
            false => "nothing that the filter matches: Esc drops it",
        };
        put(buffer, 2, ABOVE + 1, nothing, Style::new());
    }
}

fn shown(columns: &Columns, row: &Row) -> String {
    let (who, what) = &row.key;
    let bars = sparkline(&row.series, columns.bars);
    let rules = row.rules();
    let what = match rules.first() {
        // First, as a remedy in words has more of them than fit.
        Some(rule) => format!("{rule}: {what}"),
        None if who == ALL => format!("{what}: u shows each"),
        None => what.clone(),
    };
    let (cost, calls) = (core(row.permille), number(row.calls_per_s));
    line(columns, [&cost, &calls, &bars, who, &what])
}

fn line(columns: &Columns, cells: [&str; 5]) -> String {
    let [cost, calls, bars, who, what] = cells.map(escape);
    let (width, names) = (columns.bars, columns.who);
    format!("{cost:>7} {calls:>9}  {bars:width$}  {:names$}  {what}", cut(&who, names))
}

fn show(text: &Text, buffer: &mut Buffer, looks: &Looks) {
    put(buffer, 0, ABOVE - 1, &format!("-- {} --", text.title), looks.heading());
    let lines = wrapped(&text.lines, usize::from(buffer.area.width));
    let page = page(buffer.area);
    let from = text.from.min(lines.len().saturating_sub(page));
    for (y, line) in (ABOVE..).zip(lines.iter().skip(from).take(page)) {
        put(buffer, 0, y, line, Style::new());
    }
    if from + page < lines.len() {
        right(buffer, ABOVE - 1, "more: ↓", looks.heading());
    }
}

/// The lines as they fit: a line that is too long is broken between words.
fn wrapped(lines: &[Indented], width: usize) -> Vec<String> {
    let mut all = Vec::new();
    for (indent, line) in lines {
        let line = " ".repeat(*indent) + &escape(line);
        if line.chars().count() <= width {
            all.push(line);
            continue;
        }
        let margin = line.len() - line.trim_start_matches(' ').len();
        let pieces = wrap(&line, width.saturating_sub(margin).max(1));
        all.extend(pieces.iter().map(|piece| " ".repeat(margin) + piece));
    }
    all
}
