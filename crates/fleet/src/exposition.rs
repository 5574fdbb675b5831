//! The numbers of an agent as a text that Prometheus reads.

use crate::metrics::{Family, Kind, Metrics, Own, Point};
use std::fmt::Write;

/// The text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// Prometheus' own, version 0.0.4: for files that node_exporter reads.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Exposition {
    /// The media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Exposition::Text => "text/plain; version=0.0.4; charset=utf-8",
            Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

impl Metrics {
    /// All series, as a text.
    pub fn text(&self, own: &Own, format: Exposition) -> String {
        let mut text = String::new();
        for family in self.families(own) {
            write_family(&mut text, &family, format);
        }
        if format == Exposition::OpenMetrics {
            text += "# EOF\n";
        }
        text
    }
}

fn write_family(text: &mut String, family: &Family, format: Exposition) {
    let Family { name, kind, help, points } = family;
    let (kind, total) = match kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
    };
    // OpenMetrics does not count it to the name.
    let end = if format == Exposition::Text { total } else { "" };
    let _ = write!(text, "# HELP {name}{end} {help}\n# TYPE {name}{end} {kind}\n");
    for Point { labels, value, since } in points {
        let escaped =
            |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{name}{total}{labels} {value}");
        if let (Exposition::OpenMetrics, Some(since)) = (format, since) {
            let _ = writeln!(text, "{name}_created{labels} {since}");
        }
    }
}
