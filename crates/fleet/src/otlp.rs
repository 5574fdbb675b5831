//! The numbers of an agent, pushed to a collector by OTLP over HTTP, in its encoding as JSON: OpenTelemetry Protocol 1.3,
//! "OTLP/HTTP" and "JSON Protobuf Encoding".

use crate::curl::{self, Answer};
use crate::file::AgentWindow;
use crate::metrics::{Family, Kind, Metrics, Own, Point};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// A request takes no longer.
const LONGEST: Duration = Duration::from_secs(10);

/// A collector that takes metrics, and the headers that it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    url: String,
    /// Each as a line of a request.
    headers: Vec<String>,
}

impl Receiver {
    /// The variable of the environment with headers for each request, as OpenTelemetry's own exporters read it: names and
    /// values, `authorization=Bearer%20…,tenant=a`.
    pub const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

    /// Reads `http://HOST:PORT`, where metrics go to `/v1/metrics`, or a URL with a path of its own.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn parse(text: &str) -> Result<Receiver, String> {
        let wrong =
            || "expected http://HOST:PORT or https://HOST/PATH, without a password".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'~');
        let host_fits = |b: u8| plain(b) || matches!(b, b':' | b'[' | b']');
        if !matches!(scheme, "http" | "https")
            || host.is_empty()
            || !host.bytes().all(host_fits)
            || !path.bytes().all(|b| plain(b) || b == b'/')
        {
            return Err(wrong());
        }
        let path = if path.is_empty() { "v1/metrics" } else { path };
        Ok(Receiver { url: format!("{scheme}://{host}/{path}"), headers: Vec::new() })
    }

    /// With the headers of [`Receiver::HEADERS`].
    ///
    /// # Errors
    /// That they cannot be read; never what they are.
    pub fn with_headers(mut self, text: &str) -> Result<Receiver, String> {
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let header = header(pair).ok_or_else(|| {
                format!(
                    "{}: expected NAME=VALUE,…, with %20 for a blank; set it again",
                    Receiver::HEADERS
                )
            })?;
            self.headers.push(header);
        }
        Ok(self)
    }

    /// Where metrics go.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn request(&self, body: &str) -> String {
        let mut request = String::new();
        let mut set = |name: &str, value: &str| curl::set(&mut request, name, value);
        set("url", &self.url);
        set("proto", &format!("={}", self.url.split(':').next().unwrap_or("https")));
        set("max-time", &LONGEST.as_secs().to_string());
        set("header", "Content-Type: application/json");
        self.headers.iter().for_each(|header| set("header", header));
        set("data-raw", body);
        request
    }
}

/// A pair of the variable as a header. Values are encoded as in a URL (RFC 3986, 2.1).
fn header(pair: &str) -> Option<String> {
    let (name, value) = pair.split_once('=')?;
    let mut decoded = Vec::new();
    let mut bytes = value.trim().bytes();
    while let Some(b) = bytes.next() {
        decoded.push(if b == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            b
        });
    }
    let (name, value) = (name.trim(), String::from_utf8(decoded).ok()?);
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    // A header without a value would be removed by curl, and `@` would name a file.
    let fits = !name.is_empty() && name.bytes().all(fits) && !value.is_empty();
    (fits && !value.chars().any(char::is_control)).then(|| format!("{name}: {value}"))
}

impl Metrics {
    /// All series as a request to a collector. The names are those that Prometheus has in the end: it adds `_total`.
    /// `window` names the host, `now_us` is microseconds since 1970.
    pub fn otlp(&self, own: &Own, window: &AgentWindow, start_us: i64, now_us: i64) -> String {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let mut resource = vec![
            text("service.name", "needless-agent"),
            text("service.instance.id", &window.host),
            text("service.version", &window.version),
        ];
        let labels = window.labels.split(',').filter_map(|label| label.split_once('='));
        resource.extend(labels.map(|(key, value)| text(key, value)));
        let (start, now) = (nanoseconds(start_us), nanoseconds(now_us));
        let metrics = self.families(own).into_iter().map(|family| metric(&family, &start, &now));
        let metrics: Vec<Value> = metrics.collect();
        json!({"resourceMetrics": [{
            "resource": {"attributes": resource},
            "scopeMetrics": [{
                "scope": {"name": "needless", "version": window.version},
                "metrics": metrics,
            }],
        }]})
        .to_string()
    }
}

/// As the encoding has numbers of 64 bits.
fn nanoseconds(us: i64) -> String {
    (i128::from(us.max(0)) * 1000).to_string()
}

fn metric(family: &Family, start: &str, now: &str) -> Value {
    let points = family.points.iter().map(|Point { labels, value }| {
        let labels =
            labels.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}));
        let labels: Vec<Value> = labels.collect();
        let mut point = json!({"attributes": labels, "timeUnixNano": now, "asDouble": value});
        if family.kind == Kind::Counter {
            point["startTimeUnixNano"] = start.into();
        }
        point
    });
    let points: Vec<Value> = points.collect();
    // AGGREGATION_TEMPORALITY_CUMULATIVE: what a push lacks is in the next one.
    let sum = json!({"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": points});
    let (name, help) = (family.name, family.help);
    match family.kind {
        Kind::Counter => json!({"name": name, "description": help, "sum": sum}),
        Kind::Gauge => {
            json!({"name": name, "description": help, "gauge": {"dataPoints": sum["dataPoints"]}})
        }
    }
}

/// Requests to a collector, one at a time. A curl makes each; nothing here waits for it but [`Push::last`].
pub struct Push {
    receiver: Receiver,
    running: Option<(Child, Instant)>,
}

impl Push {
    /// None yet.
    pub fn new(receiver: Receiver) -> Push {
        Push { receiver, running: None }
    }

    /// Where they go.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// What became of the last one, if it has ended since this was asked.
    ///
    /// # Errors
    /// Why the numbers were not taken, and what to do.
    pub fn ended(&mut self) -> Option<Result<(), String>> {
        let (child, since) = self.running.as_mut()?;
        // One that writes an answer without end does not end by itself.
        let hangs = since.elapsed() > LONGEST * 2;
        if hangs {
            let _ = child.kill();
        }
        if !hangs && matches!(child.try_wait(), Ok(None)) {
            return None;
        }
        let (child, _) = self.running.take()?;
        Some(outcome(child))
    }

    /// Sends `body`. One that is still on its way goes on, and `body` is not sent: the next one has its counts.
    ///
    /// # Errors
    /// Why curl does not run, and what to do.
    pub fn send(&mut self, body: &str) -> Result<(), String> {
        if self.running.is_none() {
            let child = curl::start(Path::new("/"), &[self.receiver.request(body)]);
            self.running = Some((child.map_err(|fault| fault.why)?, Instant::now()));
        }
        Ok(())
    }

    /// Sends `body` and waits for the end. One that is still on its way has less, and is left.
    ///
    /// # Errors
    /// Why the numbers were not taken, and what to do.
    pub fn last(&mut self, body: &str) -> Result<(), String> {
        if let Some((mut child, _)) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.send(body)?;
        self.running.take().map_or(Ok(()), |(child, _)| outcome(child))
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn outcome(child: Child) -> Result<(), String> {
    let answers = curl::finish(child).map_err(|fault| fault.why)?;
    answers.first().map_or(Ok(()), judge)
}

/// Whether all was taken.
fn judge(answer: &Answer) -> Result<(), String> {
    if !matches!(answer.exit, 0 | 22) {
        return Err(format!(
            "{} (curl's status {}); see whether it can be reached",
            answer.said, answer.exit
        ));
    }
    if !(200..300).contains(&answer.status) {
        let to_do = match answer.status {
            401 | 403 => "set OTEL_EXPORTER_OTLP_HEADERS to what it asks for",
            301..=308 | 404 | 405 => "see the path in --otlp",
            415 => "it takes no JSON; see its version",
            _ => "see what it says about it",
        };
        return Err(format!("its answer is {}; {to_do}", answer.status));
    }
    let said: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let refused = match &said["partialSuccess"]["rejectedDataPoints"] {
        Value::String(text) => text.parse().unwrap_or(0),
        number => number.as_i64().unwrap_or(0),
    };
    if refused == 0 {
        return Ok(());
    }
    Err(format!("it refused {refused} of the series; see what it says about it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, exit: u8, body: &str) -> Answer {
        Answer { status, exit, said: "Could not connect".into(), body: body.into() }
    }

    #[test]
    fn addresses_are_read_or_refused() {
        let url = |text| Receiver::parse(text).map(|receiver| receiver.url);
        assert_eq!(url("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!(url("https://[::1]:4318/").unwrap(), "https://[::1]:4318/v1/metrics");
        let prometheus = "http://prometheus:9090/api/v1/otlp/v1/metrics";
        assert_eq!(url(prometheus).unwrap(), prometheus);
        for wrong in [
            "",
            "127.0.0.1:4318",
            "grpc://a",
            "http://",
            "http:///a",
            "http://hunter:2@host",
            "http://a/b c",
            "http://a/\"",
            "http://a?token=hunter",
        ] {
            let error = url(wrong).unwrap_err();
            assert!(!error.contains("hunter"), "{error}");
        }
    }

    #[test]
    fn headers_are_those_of_the_variable_and_no_error_has_them() {
        let receiver = Receiver::parse("http://a").unwrap();
        let text = "authorization=Bearer%20a\"b\\c, x-scope-orgid = 7 ,";
        let request = receiver.clone().with_headers(text).unwrap().request("{\"a\":1}");
        assert!(request.contains("header = \"authorization: Bearer a\\\"b\\\\c\"\n"), "{request}");
        assert!(request.contains("header = \"x-scope-orgid: 7\"\n"), "{request}");
        assert!(request.contains("data-raw = \"{\\\"a\\\":1}\"\n"), "{request}");
        assert!(request.contains("proto = \"=http\"\n"), "{request}");
        for wrong in
            ["hunter2", "=hunter2", "a=", "a=hunter%0a2", "a=hunter%2", "a b=hunter2", "@a=hunter2"]
        {
            let error = receiver.clone().with_headers(wrong).unwrap_err();
            assert!(!error.contains("hunter") && error.starts_with(Receiver::HEADERS), "{error}");
        }
        assert_eq!(receiver.clone().with_headers("").unwrap(), receiver);
    }

    #[test]
    fn what_was_not_taken_has_a_reason() {
        for body in [
            "",
            "{}",
            "{\"partialSuccess\":{}}",
            "{\"partialSuccess\":{\"rejectedDataPoints\":\"0\"}}",
        ] {
            assert_eq!(judge(&answer(200, 0, body)), Ok(()));
        }
        for (answer, reason) in [
            (
                answer(0, 7, ""),
                "Could not connect (curl's status 7); see whether it can be reached",
            ),
            (answer(401, 22, "hunter"), "its answer is 401; set OTEL_EXPORTER_OTLP_HEADERS"),
            (answer(404, 22, ""), "its answer is 404; see the path"),
            (answer(302, 0, ""), "its answer is 302; see the path"),
            (answer(503, 22, ""), "its answer is 503; see what"),
            (
                answer(200, 0, "{\"partialSuccess\":{\"rejectedDataPoints\":\"3\"}}"),
                "it refused 3 of",
            ),
            (answer(200, 0, "{\"partialSuccess\":{\"rejectedDataPoints\":3}}"), "it refused 3 of"),
        ] {
            let said = judge(&answer).unwrap_err();
            assert!(said.starts_with(reason) && !said.contains("hunter"), "{said}");
        }
    }

    #[test]
    fn series_are_those_of_the_text() {
        let window = AgentWindow {
            host: "a".into(),
            labels: "env=x y,site=b".into(),
            ..AgentWindow::default()
        };
        let (metrics, own) = (Metrics::new("1"), Own { duty: 0.25, ..Own::default() });
        let said: Value = serde_json::from_str(&metrics.otlp(&own, &window, 5, 7)).unwrap();
        let all = &said["resourceMetrics"][0];
        let labels = all["resource"]["attributes"].as_array().unwrap();
        assert_eq!(labels[1]["value"]["stringValue"], "a");
        assert_eq!(
            (&labels[3]["key"], &labels[3]["value"]["stringValue"]),
            (&"env".into(), &"x y".into())
        );
        let metrics = all["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
        let point = &of("needless_agent_duty_ratio")["gauge"]["dataPoints"][0];
        assert_eq!(*point, json!({"attributes": [], "timeUnixNano": "7000", "asDouble": 0.25}));
        let sum = &of("process_cpu_seconds")["sum"];
        assert_eq!(sum["dataPoints"][0]["startTimeUnixNano"], "5000");
        assert_eq!(
            (&sum["isMonotonic"], &sum["aggregationTemporality"]),
            (&true.into(), &2.into())
        );
    }
}
