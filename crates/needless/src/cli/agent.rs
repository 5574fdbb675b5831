//! The options of `agent`.

use super::top::interval;
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct AgentArgs {
    /// Where the files go; it is made if it is missing.
    #[arg(long, value_name = "DIR", help_heading = FILES)]
    pub(crate) dir: PathBuf,
    /// How long each window is, and so how often a file is written.
    #[arg(long, value_name = "TIME", default_value = "5m", help_heading = FILES, value_parser = every)]
    pub(crate) every: Duration,
    /// Limit the total size of recordings: 64M, 1G. The oldest go first.
    #[arg(long, value_name = "BYTES", default_value = "256M", help_heading = FILES, value_parser = bytes)]
    pub(crate) keep_bytes: u64,
    /// Delete recordings older than N days.
    #[arg(long, value_name = "N", default_value = "7", help_heading = FILES, value_parser = days)]
    pub(crate) keep_days: Duration,
    /// Use at most so many percent of one processor, for itself and for counting in the kernel: where that is not
    /// enough, a random part of each window is observed. "none": observe all the time.
    #[arg(long, value_name = "PERCENT", default_value = "0.5", help_heading = FILES, value_parser = cpu_limit)]
    pub(crate) cpu_limit: CpuLimit,
    /// How lines on standard error are written: as text, or each as a JSON object with time, level and message.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = FILES)]
    pub(crate) log_format: LogFormat,
    /// The name of this host in each row. By default a hash of its machine id, from which that id cannot be computed.
    #[arg(long, value_name = "NAME", help_heading = FILES, value_parser = host)]
    pub(crate) host: Option<String>,
    /// A label in each row, such as env=production (repeatable).
    #[arg(long = "label", value_name = "KEY=VALUE", help_heading = FILES, value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// Answer Prometheus at this address: 127.0.0.1:9466. Without a password: whoever can reach it can read.
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = METRICS, value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Write the same numbers to FILE after each window, for the textfile collector of node_exporter.
    #[arg(long, value_name = "FILE", help_heading = METRICS)]
    pub(crate) textfile: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ShipArgs {
    /// The directory of the agent.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Where the copies go; it is made if it is missing.
    #[arg(value_name = "DIRECTORY")]
    pub(crate) to: PathBuf,
}

const FILES: &str = "Files";
const METRICS: &str = "Metrics";

/// How lines on standard error are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs that collect logs.
    Json,
}

/// The part of one processor that may be used, from 0 to 1; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuLimit(pub(crate) Option<f64>);

fn cpu_limit(text: &str) -> Result<CpuLimit, String> {
    if text == "none" {
        return Ok(CpuLimit(None));
    }
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.01..=100.0).contains(percent));
    let percent = percent.ok_or("expected a percentage from 0.01 to 100, or none")?;
    Ok(CpuLimit(Some(percent / 100.0)))
}

/// Longer ones would say too little of when, and lose too much at a crash.
fn every(text: &str) -> Result<Duration, String> {
    let every = interval(text).ok().filter(|every| *every <= Duration::from_secs(3600));
    every.ok_or_else(|| "expected a time from 500ms to 1h, such as 1m or 5m".to_owned())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong = || "expected an address and a port such as 127.0.0.1:9466 or [::1]:9466".to_owned();
    text.parse().map_err(|_| wrong())
}

fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes such as 64M or 1G".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

fn days(text: &str) -> Result<Duration, String> {
    let days = text.parse::<u64>().ok().filter(|days| (1..=3650).contains(days));
    let days = days.ok_or("expected a number of days from 1 to 3650")?;
    Ok(Duration::from_secs(days * 86_400))
}

/// A part of the names of files, and where they are copied to perhaps a folder, which a dot would hide or lead
/// elsewhere.
fn host(text: &str) -> Result<String, String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if (1..=64).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('.') {
        return Ok(text.to_owned());
    }
    Err("expected up to 64 letters, digits, hyphens, underscores or dots, and no dot at the start"
        .to_owned())
}

fn label(text: &str) -> Result<(String, String), String> {
    const LONGEST: usize = 256;
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as env=production")?;
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let harmless = |c: char| !c.is_control() && !matches!(c, ',' | '=');
    if key.is_empty() || !key.bytes().all(fits) {
        return Err("expected a key of small letters, digits and underscores".to_owned());
    }
    if !value.chars().all(harmless) {
        return Err(
            "expected a value without commas, equals signs and control characters".to_owned()
        );
    }
    if text.len() > LONGEST {
        return Err(format!("expected {LONGEST} bytes or less, got {}", text.len()));
    }
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_names_and_labels() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(days("7"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(label("env=a b"), Ok(("env".to_owned(), "a b".to_owned())));
        assert_eq!(host("web-1.example"), Ok("web-1.example".to_owned()));
        for wrong in ["", "0", "1T", "99999999999G", "-1"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for wrong in ["env", "=x", "Env=x", "a=b,c", "a=b=c", "a=\n"] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
        assert!(host("a/b").is_err() && host("").is_err() && days("0").is_err());
        assert_eq!(cpu_limit("0.5%"), Ok(CpuLimit(Some(0.005))));
        assert_eq!(cpu_limit("none"), Ok(CpuLimit(None)));
        for wrong in ["0", "-1", "101", "NaN", "", "all"] {
            assert!(cpu_limit(wrong).is_err(), "{wrong}");
        }
        assert!(every("2h").is_err() && every("100ms").is_err());
    }
}
