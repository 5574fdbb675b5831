//! A text in YAML as a tree whose nodes know where they stand: a parser reads it, and a change replaces bytes and leaves
//! all others as they are.

use super::{bare, lines, splice};
use crate::error::EnvironmentError;
use crate::place::FilePath;
use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, Tag, options};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Whether a file's name says that it is YAML.
pub(super) fn is_yaml(path: &FilePath<'_>) -> bool {
    path.ends(".yaml") || path.ends(".yml")
}

/// A node of a tree: an index.
pub(crate) type Id = usize;

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind<'a> {
    /// A text, and whether it stands there without quotes: `null`, `5` and `yes` are then no texts.
    Scalar(Cow<'a, str>, bool),
    /// Keys and values in turn.
    Map(Vec<Id>),
    List(Vec<Id>),
    /// The node that is meant.
    Alias(Id),
}

/// A node, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) kind: Kind<'a>,
    /// Its bytes without tag and anchor. Those of a block end with its last value.
    pub(crate) bytes: Range<usize>,
    /// Its line and column, from 0; those of a list in a block are those of its first value.
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// Whether it is written in braces or brackets.
    pub(crate) flow: bool,
    pub(crate) tagged: bool,
    /// Its anchor: `&name`.
    pub(crate) anchor: Option<Cow<'a, str>>,
    pub(crate) parent: Option<Id>,
}

/// A text that was read.
pub(crate) struct Yaml<'a> {
    pub(crate) text: &'a str,
    pub(crate) nodes: Vec<Node<'a>>,
    /// The top of each document.
    pub(crate) tops: Vec<Id>,
}

/// Words that readers of YAML take for a switch, or for nothing.
pub(crate) const SWITCHES: [&str; 9] =
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// Stands for what a template puts in.
pub(crate) const PUT_IN: char = '\u{fffc}';

/// Why a value over lines is refused.
pub(crate) const SPANS: &str = "a value over several lines is not changed automatically";

/// Why lines in flow style and the like are refused.
pub(crate) const NOT_A_BLOCK: &str =
    "what is not written as a block (in braces, with a tag) is not changed automatically";

/// The refusal of what stands in line `at`, from 0.
pub(crate) fn by_hand(at: usize, why: &str) -> EnvironmentError {
    format!("line {}: {why}: edit it by hand", at + 1).into()
}

/// A text as a quoted scalar.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Builds a tree from what the parser says.
#[derive(Default)]
struct Builder<'a> {
    text: &'a str,
    nodes: Vec<Node<'a>>,
    tops: Vec<Id>,
    open: Vec<Id>,
    /// The node of each anchor that the parser numbered.
    anchors: BTreeMap<usize, Id>,
}

impl<'a> Builder<'a> {
    fn add(&mut self, kind: Kind<'a>, span: &Span, anchor: usize, tag: Option<&Tag>, flow: bool) {
        let (id, parent) = (self.nodes.len(), self.open.last().copied());
        match parent.map(|parent| &mut self.nodes[parent].kind) {
            Some(Kind::Map(inside) | Kind::List(inside)) => inside.push(id),
            _ => self.tops.push(id),
        }
        self.anchors.insert(anchor, id);
        let (line, column) = (span.start.line().saturating_sub(1), span.start.col());
        if matches!(kind, Kind::Map(_) | Kind::List(_)) {
            self.open.push(id);
        }
        let bytes = span.byte_range().unwrap_or_default();
        let tagged = tag.is_some();
        self.nodes.push(Node { kind, bytes, line, column, flow, tagged, anchor: None, parent });
    }

    /// Lets a text block begin behind its `|`: the parser says where its first text is.
    fn above(&mut self) {
        let Some(node) = self.nodes.last_mut() else { return };
        let before = &self.text[..node.bytes.start];
        let blank = &before[before.trim_end().len()..];
        node.line -= blank.matches('\n').count().min(node.line);
        node.bytes.start -= blank.len();
    }

    fn close(&mut self, span: &Span) {
        let Some(id) = self.open.pop() else { return };
        let inside = match &self.nodes[id].kind {
            Kind::Map(inside) | Kind::List(inside) => inside.last().copied(),
            _ => None,
        };
        let end = inside.map(|last| self.nodes[last].bytes.end);
        let braces = span.byte_range().map(|bytes| bytes.end);
        let node = &mut self.nodes[id];
        node.bytes.end = if node.flow { braces } else { end }.unwrap_or(node.bytes.end);
    }

    fn event(&mut self, event: Event<'a>, span: &Span) {
        let flow = |style| style == StructureStyle::Flow;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // What `!!str` says of a scalar, quotes say as well.
                let tag = tag.as_deref();
                let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                let kind = Kind::Scalar(text, style == ScalarStyle::Plain && !is_text);
                self.add(kind, span, anchor, tag.filter(|_| !is_text), false);
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    self.above();
                }
            }
            Event::MappingStart(style, anchor, tag) => {
                self.add(Kind::Map(Vec::new()), span, anchor, tag.as_deref(), flow(style));
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.add(Kind::List(Vec::new()), span, anchor, tag.as_deref(), flow(style));
            }
            Event::Alias(anchor) => {
                let of = self.anchors.get(&anchor).copied().unwrap_or_default();
                self.add(Kind::Alias(of), span, 0, None, false);
            }
            Event::Anchor(anchor, name) => {
                if let Some(id) = self.anchors.get(&anchor) {
                    self.nodes[*id].anchor = Some(name);
                }
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(span),
            _ => {}
        }
    }
}

impl<'a> Yaml<'a> {
    /// # Errors
    /// When the text is no YAML.
    pub(crate) fn read(text: &'a str) -> Result<Yaml<'a>, EnvironmentError> {
        // To the parser such a line ends there, and to other readers of the file it does not.
        let lone = |line: &str| bare(line).contains('\r');
        if let Some(at) = lines(text).into_iter().position(lone) {
            return Err(by_hand(at, "a carriage return inside of a line"));
        }
        let mut tree = Builder { text, ..Builder::default() };
        let options = options! { emit_anchor_events: true, emit_comments: false };
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| {
                format!("line {}: no YAML: {}", error.marker().line(), error.info())
            })?;
            tree.event(event, &span);
        }
        Ok(Yaml { text, nodes: tree.nodes, tops: tree.tops })
    }

    /// The same of a text whose values stand where they are used.
    ///
    /// # Errors
    /// When it is no YAML, or anchors and aliases are used.
    pub(crate) fn read_plain(text: &'a str) -> Result<Yaml<'a>, EnvironmentError> {
        let yaml = Yaml::read(text)?;
        let shared =
            |node: &&Node<'_>| node.anchor.is_some() || matches!(node.kind, Kind::Alias(_));
        if let Some(node) = yaml.nodes.iter().find(shared) {
            let line = node.line + 1;
            return Err(format!("line {line}: anchors and aliases are not understood").into());
        }
        Ok(yaml)
    }

    /// The text of a chart's template, as far as it is YAML: what the template puts in is [`PUT_IN`].
    pub(crate) fn template(text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let mut rest = line;
            while let Some((before, (_, after))) =
                rest.split_once("{{").and_then(|(a, b)| Some((a, b.split_once("}}")?)))
            {
                // A line of nothing else is no line of YAML.
                let alone = before.trim().is_empty() && after.trim().is_empty();
                out.push_str(if alone { "" } else { before });
                out.extend((!alone).then_some(PUT_IN));
                rest = after;
            }
            out.push_str(rest);
        }
        out
    }

    /// Keys and values of a mapping; nothing of what is none.
    pub(crate) fn pairs(&self, of: Id) -> impl DoubleEndedIterator<Item = (Id, Id)> + Clone {
        let inside: &[Id] = match &self.nodes[of].kind {
            Kind::Map(inside) => inside,
            _ => &[],
        };
        inside.chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// The values of a list; nothing of what is none.
    pub(crate) fn items(&self, of: Id) -> &[Id] {
        match &self.nodes[of].kind {
            Kind::List(inside) => inside,
            _ => &[],
        }
    }

    /// The node that an alias means; any other one itself.
    pub(crate) fn meant(&self, of: Id) -> Id {
        match self.nodes[of].kind {
            Kind::Alias(of) => of,
            _ => of,
        }
    }

    /// The text of a scalar, or of the one that an alias means.
    pub(crate) fn scalar(&self, of: Id) -> Option<&str> {
        match &self.nodes[self.meant(of)].kind {
            Kind::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    /// The same, where it is not nothing.
    pub(crate) fn value(&self, of: Id) -> Option<&str> {
        self.scalar(of).filter(|_| !self.is_null(of))
    }

    /// Whether it is nothing: `~`, `null`, or what is not there.
    pub(crate) fn is_null(&self, of: Id) -> bool {
        let nothing = |text: &str| matches!(text, "" | "~" | "null" | "Null" | "NULL");
        matches!(&self.nodes[self.meant(of)].kind, Kind::Scalar(text, true) if nothing(text))
    }

    /// Whether readers take it for a text: it has quotes, or no version of YAML knows what else it certainly is.
    pub(crate) fn is_text(&self, of: Id) -> bool {
        let Kind::Scalar(text, plain) = &self.nodes[of].kind else { return false };
        let digits = text.replace('_', "");
        let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(&digits);
        let whole = |(prefix, radix)| {
            unsigned.strip_prefix(prefix).is_some_and(|it| u64::from_str_radix(it, radix).is_ok())
        };
        // With an exponent, YAML 1.1 and 1.2 differ.
        let number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && !unsigned.contains(['e', 'E'])
            && unsigned.parse::<f64>().is_ok();
        let other = SWITCHES.contains(&&*text.to_ascii_lowercase())
            || number
            || [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().any(whole);
        !plain || self.nodes[of].tagged || !(self.is_null(of) || other)
    }

    /// The pair of a mapping with the key `wanted`.
    pub(crate) fn key(&self, of: Id, wanted: &str) -> Option<(Id, Id)> {
        self.pairs(of).find(|(key, _)| self.scalar(*key) == Some(wanted))
    }

    /// The value of that pair.
    pub(crate) fn get(&self, of: Id, wanted: &str) -> Option<Id> {
        self.key(of, wanted).map(|(_, value)| value)
    }

    /// The pairs of a mapping, and of all that are below the node, in the order of the text.
    pub(crate) fn pairs_below(&self, top: Id) -> impl Iterator<Item = (Id, Id)> {
        // What is below a node comes right behind it.
        let below =
            (top + 1..self.nodes.len()).take_while(move |of| self.nodes[*of].parent >= Some(top));
        std::iter::once(top).chain(below).flat_map(|of| self.pairs(of))
    }

    /// The last line of a node, from 0, without blank lines behind a text block.
    pub(crate) fn last_line(&self, of: Id) -> usize {
        let node = &self.nodes[of];
        node.line + self.text[node.bytes.clone()].trim_end().matches('\n').count()
    }

    /// Whether a value goes on below the line of its key, or of itself where it has none.
    pub(crate) fn spans(&self, key: Id, value: Id) -> bool {
        !self.is_null(value) && self.last_line(value) > self.nodes[key].line
    }

    /// Whether something stands behind a key, in its own line, that is no block.
    pub(crate) fn in_line(&self, key: Id, value: Id) -> bool {
        let (key, value) = (&self.nodes[key], &self.nodes[value]);
        let block = matches!(value.kind, Kind::Map(_) | Kind::List(_)) && !value.flow;
        key.line == value.line && !block && !value.bytes.is_empty()
    }

    /// Whether it is a scalar as it stands there: no alias, no tag.
    pub(crate) fn is_plain(&self, of: Id) -> bool {
        matches!(self.nodes[of].kind, Kind::Scalar(..)) && !self.nodes[of].tagged
    }

    /// The column of the dashes of a list in a block: of the first that stands in the line of its item.
    pub(crate) fn dash(&self, list: Id) -> Option<usize> {
        self.items(list).iter().find_map(|item| {
            let before = &self.text[..self.nodes[*item].bytes.start];
            let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
            let column = line.len() - line.trim_start_matches(' ').len();
            line[column..].starts_with('-').then_some(column)
        })
    }

    /// The name of an anchor through which others would get a change of the node.
    pub(crate) fn shared(&self, of: Id) -> Option<&str> {
        let means = |node: &Node<'_>, it: Id| matches!(node.kind, Kind::Alias(of) if of == it);
        let mut up = std::iter::successors(Some(of), |of| self.nodes[*of].parent);
        up.find(|of| self.nodes.iter().any(|node| means(node, *of)))
            .and_then(|of| self.nodes[of].anchor.as_deref())
    }

    /// The text with another value: in the place of the old one, or behind the colon where there is none.
    ///
    /// # Errors
    /// When there is no colon.
    pub(crate) fn with_value(
        &self,
        key: Id,
        value: Id,
        new: &str,
    ) -> Result<String, EnvironmentError> {
        let bytes = self.nodes[value].bytes.clone();
        let mut out = self.text.to_owned();
        if !bytes.is_empty() {
            out.replace_range(bytes, new);
            return Ok(out);
        }
        let end = self.nodes[key].bytes.end;
        let colon =
            self.text[end..].find(':').filter(|at| self.text[end..][..*at].trim().is_empty());
        let colon = colon.ok_or_else(|| by_hand(self.nodes[key].line, NOT_A_BLOCK))?;
        out.insert_str(end + colon + 1, &format!(" {new}"));
        Ok(out)
    }

    /// The text without the lines of a node, which begin in line `from`.
    pub(crate) fn without(&self, from: usize, of: Id) -> String {
        splice(self.text, from, self.last_line(of).max(from) + 1, &[])
    }
}

/// So many parts of a file are named where one has to be chosen.
const NAMED: usize = 40;

/// The one of `all` that is called `part`, or the only one. `what` they are stands in the error.
///
/// # Errors
/// When there is none, or none of that name.
pub(crate) fn choose<'a, T>(
    what: &str,
    all: &'a [T],
    name: impl Fn(&T) -> &str,
    part: Option<&str>,
) -> Result<&'a T, EnvironmentError> {
    let names = || {
        let names: Vec<_> =
            all.iter().take(NAMED).map(|one| name(one).escape_debug().to_string()).collect();
        names.join(", ") + if all.len() > NAMED { ", …" } else { "" }
    };
    match (part, all) {
        (Some(part), all) => all.iter().find(|one| name(one) == part).ok_or_else(|| match all {
            [] => format!("no {what} in it is understood: {part} is changed by hand").into(),
            _ => format!("there is no {what} {part} that is understood; there are: {}", names())
                .into(),
        }),
        (None, [one]) => Ok(one),
        (None, []) => Err(format!("no {what} in it is understood").into()),
        (None, _) => Err(format!("name one of its {what}s with --part: {}", names()).into()),
    }
}
