//! The words of command lines.

/// Whether a program runs the script that it is given, and so may become any other.
pub(crate) fn is_interpreter(name: &str) -> bool {
    ["perl", "python", "ruby", "node", "php"].iter().any(|one| {
        name.strip_prefix(one)
            .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

/// The words behind the options of a program; `with_word`: the letters of options whose argument is the next word.
pub(crate) fn behind_options<'a>(words: &'a [String], with_word: &str) -> &'a [String] {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') || word.contains('='))
    {
        at += 1;
        if word == "--" {
            break;
        }
        let takes = word.len() == 2 && with_word.contains(&word[1..]);
        at += usize::from(takes && !word.contains('='));
    }
    words.get(at..).unwrap_or_default()
}
