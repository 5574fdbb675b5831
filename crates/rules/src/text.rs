//! Numbers and lists in sentences, and lines of text.

/// `1,234,567`.
pub(crate) fn number(n: u64) -> String {
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
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The words in lines of at most so many characters; a word that is longer has a line of its own.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > columns {
            out.push('\n');
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let all = [0, 12, 999, 1000, 123_456, 1_234_567].map(number);
        assert_eq!(all, ["0", "12", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!(count(1, "call", "calls"), "1 call");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrapped("aa bb cc", 5), "aa bb\ncc");
        assert_eq!(wrapped("much-too-long aé é", 4), "much-too-long\naé é");
        assert_eq!(wrapped("", 4), "");
    }
}
