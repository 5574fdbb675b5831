//! What the report of a workload shows, in seconds.

use anyhow::{Result, bail};
use serde_json::Value;

/// Where a report shows what was found by hand: a line of its script, `# look: KIND NAME`.
pub(super) enum Look {
    /// The findings of a rule.
    Finding(String),
    /// A call that is not explained, by its name or its place.
    Fact(String),
    /// The CPU time of a program.
    Program(String),
    /// What a call waited for.
    Waits(String),
    /// The number of processes that were started.
    Started,
}

impl Look {
    pub(super) fn parse(words: &str) -> Result<Look> {
        let (kind, name) = words.split_once(' ').unwrap_or((words, ""));
        let name = name.to_owned();
        Ok(match kind {
            "finding" => Look::Finding(name),
            "fact" => Look::Fact(name),
            "program" => Look::Program(name),
            "waits" => Look::Waits(name),
            "started" => Look::Started,
            _ => bail!("there is no {kind:?} in a report"),
        })
    }

    /// The part of `report` that it names; `None` if there is none.
    pub(super) fn find(&self, report: &Value) -> Option<String> {
        match self {
            Look::Finding(rule) => {
                let all = list(&report["findings"]).iter().filter(|one| one["rule"] == **rule);
                let (mut us, mut small, mut any) = (0.0, true, false);
                for one in all {
                    any = true;
                    us += one["kernel_us"].as_f64().unwrap_or(0.0);
                    small &= one["small"] == true;
                }
                let small = if small { ", small" } else { "" };
                any.then(|| format!("{}: {rule}{small}", seconds(us)))
            }
            Look::Fact(text) => {
                let is = |line: &&Value| {
                    ["call", "place"].iter().any(|of| word(&line[of]).contains(&**text))
                };
                let lines: Vec<&Value> =
                    list(&report["account"]["lines"]).iter().filter(is).collect();
                let sum = |of: &str| lines.iter().filter_map(|line| line[of].as_f64()).sum::<f64>();
                (!lines.is_empty()).then(|| {
                    let (us, calls) = (sum("kernel_us"), sum("calls"));
                    format!("{}: not explained, {calls} calls ({text})", seconds(us))
                })
            }
            Look::Program(name) => {
                let programs = list(&report["programs"]).iter();
                let of_it = programs.filter(|one| word(&one["program"]).contains(&**name));
                let cpu = |one: &&Value| one["cpu_s"].as_f64().unwrap_or(0.0);
                of_it.max_by(|one, other| cpu(one).total_cmp(&cpu(other))).map(|one| {
                    let cpu = one["cpu_s"].as_f64().unwrap_or(0.0);
                    format!("{}: CPU time of {}", seconds(cpu * 1e6), word(&one["program"]))
                })
            }
            Look::Waits(call) => {
                let waits = list(&report["waiting"]).iter().filter(|one| one["call"] == **call);
                let (us, calls) = waits.fold((0.0, 0.0), |(us, calls), one| {
                    let number = |of: &str| one[of].as_f64().unwrap_or(0.0);
                    (us + number("wait_us"), calls + number("calls"))
                });
                (calls > 0.0).then(|| format!("{}: waiting, {calls} × {call}", seconds(us)))
            }
            Look::Started => {
                let (started, window) = (report["started"].as_u64()?, report["window_s"].as_f64()?);
                let most = list(&report["programs"]).first()?;
                let (program, processes) = (word(&most["program"]), &most["processes"]);
                let cpu = seconds(most["cpu_s"].as_f64()? * 1e6);
                Some(format!(
                    "{cpu}: CPU time of {processes} processes of {program}; {started} processes started in {window:.1} s"
                ))
            }
        }
    }
}

/// The most expensive finding or fact.
pub(super) fn first(report: &Value) -> String {
    let us = |one: &Value| one["kernel_us"].as_f64().unwrap_or(0.0);
    let most = |all: &Value| list(all).iter().map(us).fold(0.0, f64::max);
    let (findings, lines) = (&report["findings"], &report["account"]["lines"]);
    let named = |all: &Value, name: &dyn Fn(&Value) -> String| {
        let one = list(all).iter().max_by(|one, other| us(one).total_cmp(&us(other)));
        one.map(|one| format!("{}: {}", seconds(us(one)), name(one)))
    };
    let finding = || {
        named(findings, &|one| {
            let small = if one["small"] == true { ", small" } else { "" };
            format!("{}{small}", word(&one["rule"]))
        })
    };
    let fact = || {
        named(lines, &|one| {
            let error = one["error"].as_str().unwrap_or("again");
            format!("not explained, {} × {} {error}", one["calls"], word(&one["call"]))
        })
    };
    let finding_is_first = most(findings) >= most(lines);
    let shown = if finding_is_first { finding().or_else(fact) } else { fact().or_else(finding) };
    shown.unwrap_or_else(|| "nothing".to_owned())
}

/// The account, and its first lines.
pub(super) fn print(report: &Value) {
    let of = |value: &Value| value.as_f64().map_or("?".to_owned(), seconds);
    let account = &report["account"];
    println!(
        "  account  {} calls, {} failed; needless {} calls, {}; not explained {} calls, {}",
        account["calls"],
        account["failed"],
        account["needless"]["calls"],
        of(&account["needless"]["kernel_us"]),
        account["unexplained"]["calls"],
        of(&account["unexplained"]["kernel_us"]),
    );
    for finding in list(&report["findings"]).iter().take(3) {
        let (rule, what) = (word(&finding["rule"]), word(&finding["what"]));
        println!("  finding  {} {rule}: {what}", of(&finding["kernel_us"]));
    }
    for line in list(&account["lines"]).iter().take(3) {
        println!(
            "  fact     {} {}: {} {} {} {}",
            of(&line["kernel_us"]),
            word(&line["program"]),
            line["calls"],
            word(&line["call"]),
            line["error"].as_str().unwrap_or("again"),
            word(&line["place"])
        );
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn seconds(us: f64) -> String {
    if us > 0.0 && us < 100.0 { "< 0.0001 s".to_owned() } else { format!("{:.4} s", us / 1e6) }
}
