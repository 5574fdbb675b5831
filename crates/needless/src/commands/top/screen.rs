//! The terminal: taken over, drawn on, and given back as it was.

use anyhow::{Context as _, Result, bail};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect, Size};
use ratatui_core::terminal::Terminal;
use ratatui_termion::TermionBackend;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Stdout, Write, stdin, stdout};
use std::sync::{Arc, Mutex};

/// xterm's sequences: to its second screen, without cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// How the terminal was, while it is ours.
type Before = Arc<Mutex<Option<Termios>>>;

/// The terminal. It is given back when this is dropped, and before a panic is reported.
pub(super) struct Screen {
    terminal: Terminal<TermionBackend<Stdout>>,
    before: Before,
    drawn: Size,
}

impl Screen {
    /// Whether there is a terminal to draw on and to read keys from.
    ///
    /// # Errors
    /// One line that names what to use instead.
    pub(super) fn check() -> Result<()> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            bail!(
                "top: standard input and output must be a terminal: for a report, use `needless host` (or `needless attach`)"
            );
        }
        if std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty()) {
            bail!(
                "top: this terminal cannot be drawn on (TERM is unset or dumb): for a report, use `needless host`"
            );
        }
        Ok(())
    }

    /// Takes the terminal over.
    ///
    /// # Errors
    /// Those of the terminal.
    pub(super) fn open() -> Result<Screen> {
        let terminal =
            Terminal::new(TermionBackend::new(stdout())).context("cannot use the terminal")?;
        let before = Before::default();
        let (hook, ours) = (std::panic::take_hook(), before.clone());
        std::panic::set_hook(Box::new(move |panic| {
            leave(&ours);
            hook(panic);
        }));
        let mut screen = Screen { terminal, before, drawn: Size::default() };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes it over, also again: somebody else may have used it.
    ///
    /// # Errors
    /// As for [`open`](Screen::open).
    pub(super) fn enter(&mut self) -> Result<()> {
        let now = tcgetattr(stdin()).context("cannot read the settings of the terminal")?;
        let mut raw = now.clone();
        raw.make_raw();
        // read(2) returns what is there.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        if let Ok(mut before) = self.before.lock() {
            before.get_or_insert(now);
        }
        tcsetattr(stdin(), OptionalActions::Drain, &raw).context("cannot set up the terminal")?;
        stdout().write_all(ENTER.as_bytes()).context("cannot write to the terminal")?;
        // It clears the screen and draws everything again. `clear` would ask the terminal where its cursor is.
        let again = self
            .terminal
            .size()
            .and_then(|size| self.terminal.resize(Rect::from((Position::ORIGIN, size))));
        again.context("cannot write to the terminal")
    }

    /// Gives it back.
    pub(super) fn leave(&mut self) {
        leave(&self.before);
    }

    /// Whether its size has changed since it was drawn on.
    pub(super) fn was_resized(&self) -> bool {
        self.terminal.size().is_ok_and(|now| now != self.drawn)
    }

    /// # Errors
    /// When the terminal cannot be written.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Buffer)) -> Result<()> {
        let drawn = self.terminal.draw(|frame| picture(frame.buffer_mut()));
        self.drawn = drawn.context("cannot write to the terminal")?.area.as_size();
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Nobody is left to report an error to.
fn leave(before: &Before) {
    let Some(before) = before.lock().ok().and_then(|mut before| before.take()) else { return };
    let mut out = stdout();
    let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
    let _ = tcsetattr(stdin(), OptionalActions::Drain, &before);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_reported() {
        const INSIDE: &str = "NEEDLESS_TEST_PANICS";
        if std::env::var_os(INSIDE).is_some() {
            let _screen = Screen::open().unwrap();
            panic!("on purpose");
        }
        // The same test in a terminal that script(1) makes.
        let program = std::env::current_exe().unwrap();
        let name = "a_panic_gives_the_terminal_back_before_it_is_reported";
        let test = format!("{INSIDE}=yes '{}' {name} --nocapture", program.display());
        let run = format!("stty -g; {test}; echo left=$?; stty -g");
        let mut script = Command::new("script");
        let done = script.args(["-qec", &run, "/dev/null"]).env("TERM", "xterm").output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("no {text:?}: {said}"));
        assert!(at(ENTER) < at(LEAVE) && at(LEAVE) < at("on purpose"), "{said}");
        assert!(said.contains("left=101"), "{said}");
        let mut lines = said.lines();
        assert_eq!(lines.next(), lines.next_back(), "{said}");
        assert_eq!(said.matches(LEAVE).count(), 1, "{said}");
    }
}
