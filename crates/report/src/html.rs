//! One HTML page without network: its style and script are in it, and its policy allows no others.

pub(crate) mod icicle;
pub(crate) mod tables;

use crate::text::escape;
use std::fmt::{self, Display};
use std::io::{self, Write};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The hashes of both, as a content security policy has them: `openssl dgst -sha256 -binary FILE | base64`. A test
/// compares them with the files.
const STYLE_HASH: &str = "4FNIYFeLS5PjQRVubG5NMWjQ8h4nsX0Z5NO/BNhF0KI=";
const SCRIPT_HASH: &str = "xlKKb+MAQc+0nndHqahOIuAVHTXC+SC88pHMB2cG9yQ=";

/// A text as HTML, without effect on the page or on the direction of its letters.
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in escape(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// Writes a page: `title` in its head, `body` in its main part.
pub(crate) fn page(
    out: &mut dyn Write,
    title: &str,
    version: &str,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let title = Text(title);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    )?;
    body(out)?;
    writeln!(
        out,
        "</main>\n<footer>needless {}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>",
        Text(version)
    )
}

/// A section with a heading.
pub(crate) fn section(
    out: &mut dyn Write,
    heading: &str,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>{}</h2>", Text(heading))?;
    body(out)?;
    writeln!(out, "</section>")
}

/// A button that copies `text`.
pub(crate) fn copy(text: &str) -> String {
    let text = Text(text);
    format!(
        "<button type=\"button\" class=\"copy\" data-text=\"{text}\" aria-label=\"copy {text}\">copy</button>"
    )
}

/// A part of a bar: the class of its colour, its name, how much it is.
pub(crate) struct Slice {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) amount: u64,
}

/// Writes a bar of parts of a whole, which `label` describes.
pub(crate) fn bar(out: &mut dyn Write, label: &str, slices: &[Slice], all: u64) -> io::Result<()> {
    write!(out, "<svg class=\"bar\" role=\"img\" aria-label=\"{}\">", Text(label))?;
    let percent = |amount: u64| amount as f64 * 100.0 / all.max(1) as f64;
    let mut from = 0.0;
    for Slice { class, name, amount } in slices.iter().filter(|slice| slice.amount > 0) {
        let width = percent(*amount).min(100.0 - from);
        write!(
            out,
            "<rect class=\"{class}\" x=\"{from:.3}%\" width=\"{width:.3}%\" height=\"100%\"><title>{}</title></rect>",
            Text(name)
        )?;
        from += width;
    }
    writeln!(out, "</svg>")
}

/// Writes a list of labels and sentences, of which one label stands for all that follow without one.
pub(crate) fn labelled(out: &mut dyn Write, lines: &[(&str, String)]) -> io::Result<()> {
    writeln!(out, "<dl>")?;
    let (mut open, mut last) = (false, &"");
    for (label, text) in lines {
        if !label.is_empty() || !open {
            last = label;
            write!(out, "{}<dt>{}</dt><dd>", if open { "</dd>\n" } else { "" }, Text(label))?;
            open = true;
        }
        let exact = ["from", "strace", "fix"].contains(last);
        let tag = if exact { "code" } else { "span" };
        write!(out, "<p><{tag}>{}</{tag}></p>", Text(text))?;
    }
    writeln!(out, "{}</dl>", if open { "</dd>\n" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let evil = "</script><img src=x onerror='alert(1)'>\"&\u{202e}\u{1b}[31m\r\n";
        let safe = Text(evil).to_string();
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{202e}', '\u{1b}', '\n']), "{safe}");
        assert!(safe.starts_with("&lt;/script&gt;&lt;img"));
    }
}
