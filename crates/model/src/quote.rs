//! Text of an input in a sentence about it. Somebody else may have chosen it, and it may be of any length.

use std::borrow::Cow;

/// How many characters of an input an error shows: of its beginning and of its end.
const SHOWN: (usize, usize) = (70, 30);
/// How long a message of a parser may be, characters.
const MESSAGE: usize = 400;

/// `text` with only `head` characters of its beginning and `tail` of its end, if it is longer.
pub fn shorten(text: &str, head: usize, tail: usize) -> Cow<'_, str> {
    // A text has no more characters than bytes.
    if text.len() <= head + tail || text.chars().count() <= head + tail {
        return Cow::Borrowed(text);
    }
    let begin: String = text.chars().take(head).collect();
    let mut end: Vec<char> = text.chars().rev().take(tail).collect();
    end.reverse();
    Cow::Owned(format!("{begin}…{}", end.into_iter().collect::<String>()))
}

/// A name or value from an input, not longer than about 100 characters.
pub fn brief(text: &str) -> Cow<'_, str> {
    shorten(text, SHOWN.0, SHOWN.1)
}

/// The same in quotes, with escapes for quotes and control characters.
pub fn quote(text: &str) -> String {
    format!("{:?}", brief(text))
}

/// What a parser of a library says, which may quote all of its input.
pub fn parser_message(message: &str) -> Cow<'_, str> {
    if message.len() <= MESSAGE {
        return Cow::Borrowed(message);
    }
    // What is wrong comes before the first quote, and where it is at the end.
    let before =
        message.chars().take(MESSAGE).take_while(|c| !matches!(c, '"' | '`' | '\'')).count();
    shorten(message, before.min(MESSAGE / 2) + SHOWN.0, 2 * SHOWN.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_of_any_length_is_shown_in_part() {
        assert_eq!(quote("a\n\"b\""), r#""a\n\"b\"""#);
        assert_eq!(shorten("äöüß", 2, 1), "äö…ß");
        for long in ["x".repeat(70_000), "\u{1b}`x \"".repeat(20_000)] {
            let quoted = quote(&long);
            assert!(quoted.chars().count() < 800 && !quoted.contains('\u{1b}'), "{quoted}");
            assert!(brief(&long).chars().count() == 101);
            let message = format!("invalid type: string {long:?}, expected u64 at line 3 column 8");
            let shown = parser_message(&message);
            assert!(shown.starts_with("invalid type: string \""), "{shown}");
            assert!(shown.ends_with("expected u64 at line 3 column 8"), "{shown}");
            assert!(shown.chars().count() < 200, "{shown}");
        }
    }
}
