//! A rule's page: the `//!` comment at the head of its file.

use crate::Rule;
use crate::pages::measured;

/// The sections of every page, in this order.
pub const SECTIONS: [&str; 7] = [
    "What it finds",
    "Why it happens",
    "Example",
    "Not a finding",
    "Fix and caveat",
    PROOF,
    "References",
];

/// The section that is not in the rule's source: it comes from what was measured.
const PROOF: &str = "Proof";

/// A rule's page in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The rule's name.
    pub name: &'static str,
    /// The rule in one line.
    pub summary: &'static str,
    /// The sections, in the order of the page.
    pub sections: Vec<PageSection>,
}

/// A section of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSection {
    /// Its heading ("What it finds").
    pub title: String,
    /// Its text, Markdown.
    pub text: String,
}

impl Page {
    /// The page as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n\n{}\n", self.name, self.summary);
        for PageSection { title, text } in &self.sections {
            out.push_str(&format!("\n## {title}\n\n{text}\n"));
        }
        out
    }

    /// The text of one section, "" where there is none.
    pub fn section(&self, title: &str) -> &str {
        self.sections.iter().find(|s| s.title == title).map_or("", |s| &s.text)
    }
}

/// The page of `rule`: taken from its source, and the proof from what was measured.
pub fn page(rule: &Rule) -> Page {
    let mut sections: Vec<PageSection> = Vec::new();
    for line in rule.page.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(PageSection { title: title.to_owned(), text: String::new() });
        } else if let Some(section) = sections.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    for section in &mut sections {
        section.text = section.text.trim().to_owned();
    }
    if let Some(text) = measured::proof(rule.name) {
        let end = sections.len().saturating_sub(1);
        sections.insert(end, PageSection { title: PROOF.to_owned(), text });
    }
    Page { name: rule.name, summary: rule.summary, sections }
}

/// Whether the source has, below its heading `## Not a finding`, a `finding` block that says
/// `nothing`. `const`, so that the list of rules can demand it when it is compiled.
pub(crate) const fn has_counterexample(source: &str) -> bool {
    let source = source.as_bytes();
    let Some(heading) = find(source, b"\n//! ## Not a finding\n", 0) else { return false };
    let Some(block) = find(source, b"\n//! ```finding\n//! nothing\n//! ```\n", heading) else {
        return false;
    };
    match find(source, b"\n//! ## ", heading + 1) {
        Some(next) => block < next,
        None => false,
    }
}

const fn find(text: &[u8], part: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at + part.len() <= text.len() {
        let mut same = 0;
        while same < part.len() && text[at + same] == part[same] {
            same += 1;
        }
        if same == part.len() {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_counterexample_is_refused() {
        let page = |not: &str| {
            format!("//! x\n//! ## Not a finding\n{not}//! ## References\n//! ```finding\n")
        };
        assert!(has_counterexample(&page("//! ```finding\n//! nothing\n//! ```\n")));
        assert!(!has_counterexample(&page("//! ```finding\n//! x: 1 of 2\n//! ```\n")));
        assert!(!has_counterexample("//! ```finding\n//! nothing\n//! ```\n"));
        // The block belongs to another section.
        let after = "//! ## Not a finding\n//! ## R\n//! ```finding\n//! nothing\n//! ```\n";
        assert!(!has_counterexample(after));
    }
}
