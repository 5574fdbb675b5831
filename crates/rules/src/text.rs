//! Numbers and lists in sentences, and lines of text.

use std::borrow::Borrow;
use std::collections::BTreeSet;

/// `1,234,567`.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 program start`, `41 program starts`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<S: Borrow<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.borrow().to_owned(),
        [most @ .., last] => format!("{} and {}", most.join(", "), last.borrow()),
    }
}

/// `/a and /b`; of more than three, `/a, /b, /c and others`.
pub(crate) fn some(all: &BTreeSet<&str>) -> String {
    let mut shown: Vec<&str> = all.iter().copied().take(3).collect();
    shown.extend((all.len() > shown.len()).then_some("others"));
    list(&shown)
}

/// `text` broken between words into lines of at most `width` columns, at least one.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut columns = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wide = word.chars().count();
        if columns > 0 && columns + 1 + wide > width {
            lines.push(String::new());
            columns = 0;
        }
        let line = lines.last_mut().expect("it began with one line");
        if columns > 0 {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += wide;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let all = [0, 12, 999, 1000, 123_456, 1_234_567].map(number);
        assert_eq!(all, ["0", "12", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!(number(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(count(1, "call", "calls"), "1 call");
        assert_eq!(count(0, "call", "calls"), "0 calls");
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a /very/long/path é b", 4), ["a", "/very/long/path", "é b"]);
        assert_eq!(wrap("", 5), [""]);
    }
}
