//! All calls as a tree: service, program, place in the program, call. A script draws it as an icicle; the list that is
//! written here is what it reads, and what those see who have no script.

use super::Text;
use crate::document::{PartKind, ReportPart};
use crate::text::{count, percent};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// So many rules have a colour of their own.
const COLOURS: usize = 8;

/// The colours of causes: of the rules, those with most calls first.
pub(crate) struct Palette {
    rules: Vec<String>,
}

impl Palette {
    /// For rules in this order.
    pub(crate) fn of(rules: Vec<String>) -> Palette {
        Palette { rules }
    }

    /// The class of a rule.
    pub(crate) fn class(&self, rule: &str) -> String {
        match self.rules.iter().position(|name| name == rule) {
            Some(at) if at < COLOURS => format!("c{at}"),
            _ => "other".to_owned(),
        }
    }
}

/// A level of the tree.
#[derive(Default)]
struct Node {
    calls: u64,
    /// By name; of calls, the class of the cause and its words beside the name.
    kids: BTreeMap<(String, String, String), Node>,
}

impl Node {
    fn add(&mut self, path: &[(String, String, String)], calls: u64) {
        self.calls += calls;
        if let Some((first, rest)) = path.split_first() {
            self.kids.entry(first.clone()).or_default().add(rest, calls);
        }
    }

    fn write(
        &self,
        out: &mut dyn Write,
        (name, class, says): &(String, String, String),
        all: u64,
    ) -> io::Result<()> {
        write!(out, "<li data-n=\"{}\"", self.calls)?;
        if self.kids.is_empty() {
            write!(out, " data-c=\"{class}\" data-s=\"{}\"", Text(says))?;
        }
        let share = percent(self.calls as f64 / all.max(1) as f64);
        write!(out, "><b>{}</b> {}, {share}", Text(name), count(self.calls, "call", "calls"))?;
        if self.kids.is_empty() {
            return writeln!(out, ", {}</li>", Text(says));
        }
        writeln!(out, "<ul>")?;
        let mut kids: Vec<_> = self.kids.iter().collect();
        kids.sort_by_key(|(_, kid)| Reverse(kid.calls));
        for (key, kid) in kids {
            kid.write(out, key, all)?;
        }
        writeln!(out, "</ul></li>")
    }
}

/// Writes the icicle and the list.
pub(crate) fn icicle(
    out: &mut dyn Write,
    parts: &[ReportPart],
    palette: &Palette,
) -> io::Result<()> {
    let mut root = Node::default();
    for part in parts {
        let rule = part.rule.as_deref().unwrap_or_default();
        let (class, says) = match part.kind {
            PartKind::Needed => ("needed".to_owned(), "needed".to_owned()),
            PartKind::Unexplained => ("unexplained".to_owned(), "not explained".to_owned()),
            PartKind::Unjudged => ("unjudged".to_owned(), "not judged".to_owned()),
            PartKind::Needless => (palette.class(rule), format!("needless: {rule}")),
        };
        let inner = |name: &String| (name.clone(), String::new(), String::new());
        let program = part.program.clone().unwrap_or_else(|| "other programs".to_owned());
        let call = part.call.clone().unwrap_or_else(|| "other calls".to_owned());
        let outer = [&part.service, &Some(program), &part.site];
        let mut path: Vec<_> = outer.into_iter().flatten().map(inner).collect();
        path.push((call, class, says));
        root.add(&path, part.calls);
    }
    let all = root.calls;
    writeln!(
        out,
        "<div class=\"tools\"><label>find <input type=\"search\" id=\"find\"></label>\
         <output id=\"found\" for=\"find\"></output>\
         <button type=\"button\" id=\"whole\">show all</button></div>\n\
         <div class=\"icicle\" role=\"group\" aria-label=\"all calls: arrow keys go from one to the next, Enter \
         enlarges one, Escape goes back\"></div>\n<p class=\"at faint\" aria-live=\"polite\"></p>\n\
         <details class=\"tree\"><summary>the same as a list</summary>\n<ul>"
    )?;
    root.write(out, &("all calls".to_owned(), String::new(), String::new()), all)?;
    writeln!(out, "</ul></details>")
}
