//! Keys, from the bytes that a terminal sends.

use termion::event::{Event, Key as Sent};

/// A key that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Stop,
    /// Ctrl-L.
    Redraw,
}

/// The keys behind the bytes of one read(2).
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    let mut rest = bytes.iter().map(|byte| Ok(*byte));
    while let Some(Ok(byte)) = rest.next() {
        // The key itself sends no more than this byte.
        let event = match byte {
            0x1b if rest.len() == 0 => Ok(Event::Key(Sent::Esc)),
            byte => termion::event::parse_event(byte, &mut rest),
        };
        if let Ok(Event::Key(key)) = event {
            found.extend(known(key));
        }
    }
    found
}

fn known(key: Sent) -> Option<Key> {
    Some(match key {
        Sent::Char('\n' | '\r') => Key::Enter,
        Sent::Char(c) if !c.is_control() => Key::Char(c),
        Sent::Up => Key::Up,
        Sent::Down => Key::Down,
        Sent::PageUp => Key::PageUp,
        Sent::PageDown => Key::PageDown,
        Sent::Home => Key::Home,
        Sent::End => Key::End,
        Sent::Esc => Key::Escape,
        Sent::Backspace | Sent::Ctrl('h') => Key::Backspace,
        Sent::Ctrl('c') => Key::Interrupt,
        Sent::Ctrl('z') => Key::Stop,
        Sent::Ctrl('l') => Key::Redraw,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        assert_eq!(keys(b"q/\r"), [Key::Char('q'), Key::Char('/'), Key::Enter]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b[A\x1b[B\x1bOA"), [Key::Up, Key::Down, Key::Up]);
        assert_eq!(
            keys(b"\x1b[5~\x1b[6~\x1b[H\x1b[F"),
            [Key::PageUp, Key::PageDown, Key::Home, Key::End]
        );
        assert_eq!(
            keys(b"\x03\x1a\x0c\x7f"),
            [Key::Interrupt, Key::Stop, Key::Redraw, Key::Backspace]
        );
        assert_eq!(keys("ü".as_bytes()), [Key::Char('ü')]);
        assert_eq!(keys(b"\x1b[<garbage\xff"), []);
    }
}
