//! What is shown, as data: windows and keys go in, rows and texts come out. Knows no terminal.

use super::details::{self, Indented};
use super::rows::{ALL, History, Key as RowKey, Overall, Row};
use super::sample::Sample;
use super::{keys::Key, lines};
use crate::cli::Grouping;
use needless_model::Change;
use needless_observe::Who;

/// What the keys do.
const HELP: &str = "\
Up, Down, PgUp, PgDn   choose a row; Home, End: the first, the last
Enter   what is known of it: calls, cause, processes, fix
e       the page of its rule
d       its fix as a diff; nothing is written
p       the commands that measure what the fix saves
u       what no rule explains: one row, or one for each unit or program
g       a row for each unit, program or container
/       only rows with a text in them; Esc drops it
Space   pause: the list stays as it is, and counting goes on
q       quit";

/// What a key asks the program to do, besides what it changes here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    Quit,
    Stop,
    /// Draw everything again.
    Redraw,
    /// Show the page of this rule.
    Explain(String),
    /// Show the diff of this change for the process, or for the unit.
    Diff {
        change: Change,
        pid: Option<u32>,
        unit: Option<String>,
    },
}

/// A text over the list.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) title: String,
    pub(super) lines: Vec<Indented>,
    /// The first line that is shown.
    pub(super) from: usize,
}

pub(super) struct State {
    pub(super) who: Who,
    pub(super) interval_s: f64,
    pub(super) grouping: Grouping,
    pub(super) filter: String,
    /// Whether calls that no rule explains have a row for each unit or program.
    apart: bool,
    /// Whether keys go into the filter.
    pub(super) typing: bool,
    pub(super) paused: bool,
    /// The rows and sums as shown: of the moment of the pause, while there is one.
    pub(super) rows: Vec<Row>,
    pub(super) overall: Overall,
    pub(super) text: Option<Text>,
    /// The command that the last key stands for.
    pub(super) command: String,
    /// The commands so far, each once.
    pub(super) commands: Vec<String>,
    /// Whether all observed processes have ended.
    pub(super) over: bool,
    history: History,
    /// The row that the user has moved to; the first one, if none.
    chosen: Option<RowKey>,
    /// How many rows or lines fit on the screen.
    pub(super) page: usize,
}

impl State {
    pub(super) fn new(who: Who, interval_s: f64, grouping: Grouping) -> State {
        State {
            interval_s,
            grouping,
            command: lines::list(&who),
            who,
            filter: String::new(),
            apart: false,
            typing: false,
            paused: false,
            rows: Vec::new(),
            overall: Overall::default(),
            text: None,
            commands: Vec::new(),
            over: false,
            history: History::default(),
            chosen: None,
            page: 1,
        }
    }

    /// A window has ended.
    pub(super) fn take(&mut self, sample: Sample) {
        self.history.add(sample);
        if !self.paused {
            self.arrange();
        }
    }

    /// How many windows were taken, of those that are kept.
    pub(super) fn windows(&self) -> usize {
        self.history.len()
    }

    fn arrange(&mut self) {
        self.rows = self.history.rows(self.grouping, &self.filter, self.apart);
        self.overall = self.history.overall();
    }

    /// The position of the row that keys are about.
    pub(super) fn position(&self) -> usize {
        let at = |key: &RowKey| self.rows.iter().position(|row| row.key == *key);
        self.chosen.as_ref().and_then(at).unwrap_or(0)
    }

    fn row(&self) -> Option<&Row> {
        self.rows.get(self.position())
    }

    /// Shows a text over the list.
    pub(super) fn show(&mut self, title: &str, lines: Vec<Indented>) {
        self.text = Some(Text { title: title.to_owned(), lines, from: 0 });
    }

    pub(super) fn press(&mut self, key: Key) -> Deed {
        match key {
            Key::Interrupt => return Deed::Quit,
            Key::Stop => return Deed::Stop,
            Key::Redraw => return Deed::Redraw,
            _ => {}
        }
        if self.typing {
            self.type_into_filter(key);
            return Deed::Nothing;
        }
        if self.text.is_some() && self.scroll(key) {
            return Deed::Nothing;
        }
        match key {
            Key::Char('q') => return Deed::Quit,
            Key::Up | Key::Char('k') => self.go(-1),
            Key::Down | Key::Char('j') => self.go(1),
            Key::PageUp => self.go(-(self.page as isize)),
            Key::PageDown => self.go(self.page as isize),
            Key::Home => self.go(isize::MIN / 2),
            Key::End => self.go(isize::MAX / 2),
            Key::Char(' ') => {
                self.paused = !self.paused;
                if !self.paused {
                    self.arrange();
                }
                self.stands_for(lines::list(&self.who));
            }
            Key::Char('/') => self.typing = true,
            Key::Char('?' | 'h') => self.help(),
            Key::Char('u') => {
                self.apart = !self.apart;
                self.text = None;
                self.arrange();
                self.stands_for(lines::apart(&self.who));
            }
            Key::Escape if !self.filter.is_empty() => {
                self.filter.clear();
                self.arrange();
                self.stands_for(lines::list(&self.who));
            }
            Key::Char('g') => self.regroup(),
            Key::Enter => self.details(),
            Key::Char('e') => return self.explain(),
            Key::Char('d') => return self.diff(),
            Key::Char('p') => self.prove(),
            _ => {}
        }
        Deed::Nothing
    }

    fn regroup(&mut self) {
        self.grouping = match self.grouping {
            Grouping::Unit => Grouping::Program,
            Grouping::Program => Grouping::Container,
            Grouping::Container => Grouping::Unit,
        };
        self.chosen = None;
        self.text = None;
        self.arrange();
        self.stands_for(lines::grouping(self.grouping).to_owned());
    }

    fn details(&mut self) {
        if let Some(row) = self.row() {
            let (lines, command) = (details::details(row), lines::details(row, &self.who));
            self.show("details", lines);
            self.stands_for(command);
        }
    }

    fn explain(&mut self) -> Deed {
        let rule = self.row().and_then(|row| Some((*row.rules().first()?).to_owned()));
        let Some(rule) = rule else {
            self.say("no rule explains these calls: Enter shows what they are");
            return Deed::Nothing;
        };
        self.stands_for(lines::explain(&rule));
        Deed::Explain(rule)
    }

    fn diff(&mut self) -> Deed {
        let about = |row: &Row| {
            let item = row.items.iter().find(|item| lines::change(item).is_some())?;
            let unit = item.service.clone().filter(|service| service.ends_with(".service"));
            let (change, pid) = (lines::change(item)?.clone(), item.pids.first().copied());
            Some((Deed::Diff { change, pid, unit }, lines::fix(item)))
        };
        let Some((deed, command)) = self.row().and_then(about) else {
            self.say("needless has no automatic fix for these calls: Enter shows what is known");
            return Deed::Nothing;
        };
        if let Some(command) = command {
            self.stands_for(command);
        }
        deed
    }

    fn prove(&mut self) {
        let named = |row: &Row| row.items.iter().find_map(lines::prove);
        let one = self.row().filter(|row| row.key.0 != ALL);
        let Some([before, after]) = one.and_then(named) else {
            self.say("the processes of these calls are not known: group by unit (g), show each (u), or name them to `needless prove`");
            return;
        };
        self.show(
            "prove",
            vec![
                (0, "To measure what a change saves, observe before it and after it:".to_owned()),
                (0, String::new()),
                (2, before.clone()),
                (2, "(make the change, restart the program)".to_owned()),
                (2, after.clone()),
            ],
        );
        self.stands_for(before);
        self.note(after);
    }

    fn help(&mut self) {
        self.show("keys", HELP.lines().map(|line| (0, line.to_owned())).collect());
    }

    fn say(&mut self, sentence: &str) {
        self.show("note", vec![(0, sentence.to_owned())]);
    }

    /// Shows the command that a key stands for.
    fn stands_for(&mut self, command: String) {
        self.command = command.clone();
        self.note(command);
    }

    fn note(&mut self, command: String) {
        if !self.commands.contains(&command) {
            self.commands.push(command);
        }
    }

    fn type_into_filter(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Escape => {
                self.filter.clear();
                self.typing = false;
            }
            Key::Enter => self.typing = false,
            _ => {}
        }
        self.arrange();
        if !self.typing && !self.filter.is_empty() {
            self.stands_for(lines::filter(&self.who, &self.filter));
        }
    }

    /// Whether the key was about the text over the list.
    fn scroll(&mut self, key: Key) -> bool {
        let page = self.page.max(1);
        let Some(text) = &mut self.text else { return false };
        let last = text.lines.len().saturating_sub(1);
        text.from = match key {
            Key::Escape | Key::Enter => {
                self.text = None;
                return true;
            }
            Key::Up | Key::Char('k') => text.from.saturating_sub(1),
            Key::Down | Key::Char('j') => text.from.saturating_add(1).min(last),
            Key::PageUp => text.from.saturating_sub(page),
            Key::PageDown => text.from.saturating_add(page).min(last),
            Key::Home => 0,
            Key::End => last,
            _ => return false,
        };
        true
    }

    fn go(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        let at = self.position().saturating_add_signed(by).min(last);
        self.chosen = self.rows.get(at).map(|row| row.key.clone());
    }
}
