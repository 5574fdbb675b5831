//! Keys, from the bytes that a terminal sends.

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

/// The keys behind the bytes of one read(2). What is not known means nothing.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            // The key itself sends no more than this byte.
            0x1b if after.is_empty() => found.push(Key::Escape),
            0x1b => {
                let (key, after) = sequence(after);
                found.extend(key);
                rest = after;
            }
            b'\r' | b'\n' => found.push(Key::Enter),
            0x7f | 0x08 => found.push(Key::Backspace),
            0x03 => found.push(Key::Interrupt),
            0x1a => found.push(Key::Stop),
            0x0c => found.push(Key::Redraw),
            0..0x20 => {}
            _ => {
                let end = after.iter().position(|byte| *byte < 0x20 || *byte == 0x7f);
                let text =
                    &bytes[bytes.len() - after.len() - 1..][..end.unwrap_or(after.len()) + 1];
                let text = String::from_utf8_lossy(text);
                let known = |c: &char| !c.is_control() && *c != char::REPLACEMENT_CHARACTER;
                found.extend(text.chars().filter(known).map(Key::Char));
                rest = &after[end.unwrap_or(after.len())..];
            }
        }
    }
    found
}

/// The key behind what follows an ESC (ECMA-48, control sequences), and what comes after it.
fn sequence(bytes: &[u8]) -> (Option<Key>, &[u8]) {
    let (b"[" | b"O", sequence) = bytes.split_at(1) else { return (None, &bytes[1..]) };
    let Some(end) = sequence.iter().position(|byte| (0x40..0x7f).contains(byte)) else {
        return (None, &[]);
    };
    let (parameters, after) = (&sequence[..end], &sequence[end + 1..]);
    let key = match (parameters, sequence[end]) {
        (b"", b'A') => Some(Key::Up),
        (b"", b'B') => Some(Key::Down),
        (b"", b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
        (b"", b'F') | (b"4" | b"8", b'~') => Some(Key::End),
        (b"5", b'~') => Some(Key::PageUp),
        (b"6", b'~') => Some(Key::PageDown),
        _ => None,
    };
    (key, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        assert_eq!(keys(b"q/\r"), [Key::Char('q'), Key::Char('/'), Key::Enter]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b[A\x1bOB"), [Key::Up, Key::Down]);
        assert_eq!(
            keys(b"\x1b[5~\x1b[6~\x1b[H\x1b[F"),
            [Key::PageUp, Key::PageDown, Key::Home, Key::End]
        );
        assert_eq!(
            keys(b"\x03\x1a\x0c\x7f"),
            [Key::Interrupt, Key::Stop, Key::Redraw, Key::Backspace]
        );
        assert_eq!(keys("ü".as_bytes()), [Key::Char('ü')]);
        assert_eq!(keys(b"\x1b[<0;1;1Mq\x1b[<1;\x1b["), [Key::Char('q')]);
        assert_eq!(keys(b"a\xffb\x1bx\x01\x1b[A"), [Key::Char('a'), Key::Char('b'), Key::Up]);
    }
}
