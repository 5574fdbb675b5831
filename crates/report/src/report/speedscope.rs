//! For speedscope: stacks with the number of calls and, where it was measured, their time.
//!
//! Specified by <https://www.speedscope.app/file-format-schema.json>, whose names these are.

use crate::json::print;
use crate::stacks::{Frame, Stacks, Weight};
use crate::{Report, Style};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: u32,
    shared: Shared,
    profiles: Vec<SampledProfile>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<SharedFrame>,
}

#[derive(Serialize)]
struct SharedFrame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampledProfile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let stacks = Stacks::of(report)?;
    let timed = stacks.timed;
    let all = stacks.with_rules();
    let mut numbers: BTreeMap<&Frame, usize> = all.keys().flatten().map(|of| (of, 0)).collect();
    for (number, at) in numbers.values_mut().enumerate() {
        *at = number;
    }
    let profile = |name, unit, weight: fn(&Weight) -> u64| {
        let heavy = || all.iter().filter(|(_, of)| weight(of) > 0);
        let number = |frames: &Vec<Frame>| frames.iter().map(|frame| numbers[frame]).collect();
        SampledProfile {
            kind: "sampled",
            name,
            unit,
            start_value: 0,
            end_value: heavy().map(|(_, of)| weight(of)).sum(),
            samples: heavy().map(|(frames, _)| number(frames)).collect(),
            weights: heavy().map(|(_, of)| weight(of)).collect(),
        }
    };
    let mut profiles = vec![profile("calls", "none", |weight| weight.calls)];
    if timed {
        profiles.push(profile("time", "nanoseconds", |weight| weight.kernel_ns));
    }
    let shared =
        |frame: &&Frame| SharedFrame { name: frame.name.clone(), file: frame.file.clone() };
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: report.document.name().to_owned(),
        exporter: format!("needless@{}", report.document.needless_version),
        active_profile_index: 0,
        shared: Shared { frames: numbers.keys().map(shared).collect() },
        profiles,
    };
    print(out, &file)
}
