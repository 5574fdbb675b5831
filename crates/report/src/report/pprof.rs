//! For pprof: stacks with the number of calls and, where it was measured, their time; with the labels `rule`, `directory`
//! and `outcome`. Compressed with gzip.
//!
//! Specified by <https://github.com/google/pprof/blob/main/proto/profile.proto>, whose numbers of fields these are.

use crate::protobuf::Message;
use crate::stacks::{Frame, Stack, Stacks, Weight};
use crate::text::escape;
use crate::{Report, Style};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let stacks = Stacks::of(report)?;
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&profile(report, stacks))?;
    packed.finish().map(drop)
}

/// The texts of a profile, each once. The first one is empty.
struct Strings {
    numbers: BTreeMap<String, u64>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        let next = self.numbers.len() as u64;
        *self.numbers.entry(text.to_owned()).or_insert(next)
    }

    fn in_order(self) -> Vec<String> {
        let mut all: Vec<(String, u64)> = self.numbers.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        all.into_iter().map(|(text, _)| text).collect()
    }
}

fn profile(report: &Report<'_>, Stacks { stacks, timed }: Stacks) -> Vec<u8> {
    let document = report.document;
    let mut strings = Strings { numbers: BTreeMap::from([(String::new(), 0)]) };
    let mut profile = Message::default();
    let types = [("calls", "count"), ("time", "nanoseconds")];
    for (name, unit) in &types[..if timed { 2 } else { 1 }] {
        let mut value_type = Message::default();
        value_type.number(1, strings.number(name));
        value_type.number(2, strings.number(unit));
        profile.message(1, &value_type);
    }
    // A location and its function have the same number, from 1.
    let mut locations: BTreeMap<&Frame, u64> = BTreeMap::new();
    for (stack, weight) in &stacks {
        let mut sample = Message::default();
        // The call comes first.
        let of = |frame| {
            let next = locations.len() as u64 + 1;
            *locations.entry(frame).or_insert(next)
        };
        sample.numbers(1, stack.frames.iter().rev().map(of));
        sample.numbers(2, values(weight, timed));
        for label in labels(stack, &mut strings) {
            sample.message(3, &label);
        }
        profile.message(2, &sample);
    }
    for (frame, number) in locations {
        let (mut line, mut location) = (Message::default(), Message::default());
        line.number(1, number);
        location.number(1, number);
        location.message(4, &line);
        profile.message(4, &location);
        let mut function = Message::default();
        function.number(1, number);
        function.number(2, strings.number(&frame.name));
        function.number(3, strings.number(&frame.name));
        function.number(4, strings.number(frame.file.as_deref().unwrap_or_default()));
        profile.message(5, &function);
    }
    let comment = format!("needless {}: {}", document.needless_version, escape(document.name()));
    let (comment, calls) = (strings.number(&comment), strings.number("calls"));
    for text in strings.in_order() {
        profile.bytes(6, text.as_bytes());
    }
    profile.number(10, document.length_ns().unwrap_or(0));
    profile.numbers(13, [comment]);
    profile.number(14, calls);
    profile.finish()
}

fn values(weight: &Weight, timed: bool) -> impl Iterator<Item = u64> {
    [weight.calls, weight.kernel_ns].into_iter().take(if timed { 2 } else { 1 })
}

fn labels(stack: &Stack, strings: &mut Strings) -> Vec<Message> {
    let all = [
        ("rule", stack.rule.as_deref()),
        ("directory", stack.directory.as_deref()),
        ("outcome", stack.outcome),
    ];
    let label = |(key, value): (&str, Option<&str>)| {
        let mut label = Message::default();
        label.number(1, strings.number(key));
        label.number(2, strings.number(value?));
        Some(label)
    };
    all.into_iter().filter_map(label).collect()
}
