//! Annotations of GitHub Actions: commands that a job prints on a line of its own.

use crate::text::escape;

/// How an annotation is shown.
#[derive(Clone, Copy)]
pub(crate) enum Level {
    /// Red: the job fails for it.
    Error,
    /// Yellow.
    Warning,
    /// Blue.
    Notice,
}

/// `::error file=needless.toml,line=3,title=…::…`, as GitHub's "Workflow commands" describes it. In its text a line
/// may end, in its properties not.
pub(crate) fn annotation(
    level: Level,
    spot: Option<(&str, u32)>,
    title: &str,
    text: &str,
) -> String {
    let level = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Notice => "notice",
    };
    let spot = spot.map_or_else(String::new, |(file, line)| {
        format!("file={},line={},", property(file), line.max(1))
    });
    let lines: Vec<String> = text.lines().map(|line| data(&escape(line))).collect();
    format!("::{level} {spot}title={}::{}", property(title), lines.join("%0A"))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&escape(text)).replace(':', "%3A").replace(',', "%2C")
}

/// A remedy, with what a person writes where no tool does it.
pub(crate) fn with_line(fix: &str, by_hand: Option<&str>) -> String {
    match by_hand {
        Some(by_hand) => format!("{fix}: {}", escape(by_hand)),
        None => fix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_becomes_a_command() {
        let line = annotation(Level::Error, Some(("a,b:c", 0)), "t::x\n", "50 %\n::error::\x1b[m");
        assert_eq!(
            line,
            "::error file=a%2Cb%3Ac,line=1,title=t%3A%3Ax\\n::50 %25%0A::error::\\x1b[m"
        );
    }
}
