//! curl(1) as a child: requests in, answers out.

use crate::bucket::Access;
use crate::otlp::Receiver;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What each request has: no pattern in its names, nothing on the screen, an end to a connection that stands still.
const ALWAYS: &str = "\
globoff
silent
fail-with-body
connect-timeout = 10
speed-limit = 1
speed-time = 60
";
/// What curl prints after the text of each answer. The store's text may begin a line with it; it could as well have
/// given any other answer.
const MARK: &str = "needless-answer ";
/// More than a thousand names take.
const MOST_BYTES: u64 = 16 << 20;

/// What a request came to.
pub(crate) struct Answer {
    /// The status of HTTP; 0 if there was none.
    pub(crate) status: u16,
    /// curl's own: curl(1), EXIT CODES.
    pub(crate) exit: u8,
    /// What curl says of it. No credentials are in it.
    pub(crate) said: String,
    /// What the other side sent.
    pub(crate) body: String,
}

/// Why something was not done: why and what to do, and whether it may be otherwise soon.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) why: String,
    pub(crate) again: bool,
}

impl Fault {
    pub(crate) fn for_good(why: impl Into<String>) -> Fault {
        Fault { why: why.into(), again: false }
    }

    pub(crate) fn for_now(why: impl Into<String>) -> Fault {
        Fault { why: why.into(), again: true }
    }
}

impl Answer {
    /// Whether the object is there already: RFC 9110, 13.1.2.
    pub(crate) fn is_taken(&self) -> bool {
        self.exit == 22 && self.status == 412
    }

    /// # Errors
    /// When the request was not answered, or refused.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.exit == 0 && (200..300).contains(&self.status) {
            return Ok(());
        }
        if !matches!(self.exit, 0 | 22) {
            let why = format!("{} (curl's status {})", self.said, self.exit);
            return Err(match self.exit {
                // Not built in, no option, and what is no certificate or is none that is trusted.
                1 | 2 | 4 | 58 | 60 | 77 => {
                    Fault::for_good(format!("{why}; make curl able to reach the store"))
                }
                _ => Fault::for_now(format!("{why}; see whether the store can be reached")),
            });
        }
        // The text beside it may hold what was signed.
        let code = between(&self.body, "<Code>", "</Code>").unwrap_or_default();
        let known = code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric());
        let why =
            format!("{} {}", self.status, if known { code } else { "" }).trim_end().to_owned();
        let transport =
            ["BadDigest", "IncompleteBody", "RequestTimeout", "XAmzContentSHA256Mismatch"];
        let to_do = match self.status {
            301 | 307 | 308 => "set AWS_REGION and AWS_ENDPOINT_URL to those of the bucket",
            403 => "see the credentials, their rights to list and to put, and the clock",
            404 => "see the name of the bucket, and AWS_ENDPOINT_URL",
            _ => "see what the store says about it",
        };
        let again =
            matches!(self.status, 408 | 409 | 429 | 500 | 502..=599) || transport.contains(&code);
        Err(Fault { why: format!("{why}; {to_do}"), again })
    }
}

/// What is between two texts.
pub(crate) fn between<'a>(text: &'a str, begins: &str, ends: &str) -> Option<&'a str> {
    text.split_once(begins)?.1.split_once(ends).map(|(between, _)| between)
}

/// Adds a setting to a request: curl(1), --config.
pub(crate) fn set(request: &mut String, name: &str, value: &str) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    let _ = writeln!(request, "{name} = \"{value}\"");
}

/// Makes the requests one after the other, over one connection where the store allows it, up to the first that fails. So
/// there may be fewer answers, but there is one. Files are those of `folder`.
pub(crate) fn answers(folder: &Path, requests: &[String]) -> Result<Vec<Answer>, Fault> {
    finish(start(folder, requests)?)
}

/// Starts a curl that makes these requests.
pub(crate) fn start(folder: &Path, requests: &[String]) -> Result<Child, Fault> {
    let mut config = String::from("fail-early\n");
    for (n, request) in requests.iter().enumerate() {
        let next = if n == 0 { "" } else { "next\n" };
        config += &format!(
            "{next}{ALWAYS}write-out = \"\\n{MARK}%{{http_code}} %{{exitcode}} %{{errormsg}}\\n\"\n{request}"
        );
    }
    // Not the user's own configuration: it may print, or write into files.
    let mut curl = Command::new("curl");
    curl.args(["-q", "-K", "-"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Access::SECRETS.iter().chain([&Receiver::HEADERS]).for_each(|name| {
        curl.env_remove(name);
    });
    let mut curl = curl.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Fault::for_good("there is no curl; install curl"),
        _ => Fault::for_good(format!("curl cannot be run: {error}; see why")),
    })?;
    // It reads all of it before it asks anything; where it ends before, its status says so.
    let mut input = curl.stdin.take().expect("a pipe was asked for");
    let _ = input.write_all(config.as_bytes());
    Ok(curl)
}

/// Waits until it has ended, and reads what came back.
pub(crate) fn finish(mut curl: Child) -> Result<Vec<Answer>, Fault> {
    let mut printed = Vec::new();
    let output = curl.stdout.take().expect("a pipe was asked for");
    let read = output.take(MOST_BYTES).read_to_end(&mut printed);
    let ended = read.and_then(|_| curl.wait());
    let ended = ended.map_err(|error| Fault::for_now(format!("curl: {error}; see why")))?;
    let answers = parsed(&String::from_utf8_lossy(&printed));
    match ended.code() {
        _ if !answers.is_empty() => Ok(answers),
        Some(2) => Err(Fault::for_good("curl is too old; install version 7.88 or newer")),
        _ => Err(Fault::for_now(format!("curl ended with {ended}; see why"))),
    }
}

fn parsed(printed: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut body = String::new();
    for line in printed.split_inclusive('\n') {
        let Some(about) = line.strip_prefix(MARK) else {
            body.push_str(line);
            continue;
        };
        let mut words = about.trim_end().splitn(3, ' ');
        let status = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let exit = words.next().and_then(|word| word.parse().ok()).unwrap_or(u8::MAX);
        let said = words.next().unwrap_or_default().to_owned();
        answers.push(Answer { status, exit, said, body: std::mem::take(&mut body) });
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(printed: &str) -> Fault {
        parsed(printed)[0].check().unwrap_err()
    }

    #[test]
    fn what_is_tried_again_and_what_is_shown() {
        let all =
            parsed("\nneedless-answer 200 0 \n<a>\n</a>\nneedless-answer 412 22 The requested\n");
        assert!(all[0].check().is_ok() && !all[0].is_taken());
        assert!(all[1].is_taken() && all[1].body == "<a>\n</a>\n");
        let text = "<Code>SignatureDoesNotMatch</Code><CanonicalRequest>hunter</CanonicalRequest>";
        let refused = fault(&format!("{text}\nneedless-answer 403 22 The requested URL\n"));
        assert!(
            !refused.again && refused.why.starts_with("403 SignatureDoesNotMatch; "),
            "{refused:?}"
        );
        assert!(!refused.why.contains("hunter"));
        let escape = fault("<Code>\x1b[2J</Code>\nneedless-answer 400 22 The requested URL\n");
        assert!(!escape.again && escape.why.starts_with("400; "), "{escape:?}");
        for printed in [
            "needless-answer 503 22 x\n",
            "needless-answer 000 7 x\n",
            "needless-answer 200 18 x\n",
        ] {
            assert!(fault(printed).again, "{printed}");
        }
        assert!(fault("<Code>BadDigest</Code>\nneedless-answer 400 22 x\n").again);
        assert!(!fault("needless-answer 000 60 x\n").again);
        assert!(!fault("needless-answer 501 22 x\n").again);
    }
}
