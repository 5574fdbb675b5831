//! Answers scrapes, in the agent's only thread: nothing here waits for a client.

use anyhow::{Context, Result};
use needless_fleet::Exposition;
use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// So many clients at a time; the next one takes the place of the first that has not asked yet.
const CLIENTS: usize = 8;
/// So many are let in between two looks at the kernel's messages: the length of the kernel's queue.
const AT_ONCE: usize = 128;
/// A request is no longer.
const REQUEST: usize = 8192;
/// A client that sends more, with what follows its request, is left.
const ALL: usize = 1 << 20;
/// A client that takes longer is left.
const PATIENCE: Duration = Duration::from_secs(5);

/// The open address.
pub(super) struct Server {
    listener: TcpListener,
    /// Whether only programs of this machine can reach it.
    is_local: bool,
    clients: Vec<Client>,
}

struct Client {
    stream: TcpStream,
    asked: Vec<u8>,
    is_answered: bool,
    /// How many bytes it has sent.
    sent: usize,
    since: Instant,
}

impl Server {
    /// # Errors
    /// When the address cannot be had.
    pub(super) fn open(address: SocketAddr) -> Result<Server> {
        let listener = TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .with_context(|| {
                format!("cannot listen at {address} (--listen names another address or port)")
            })?;
        Ok(Server { listener, is_local: address.ip().is_loopback(), clients: Vec::new() })
    }

    /// What is readable when there is something to do.
    pub(super) fn readable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let clients = self.clients.iter().map(|client| client.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(clients)
    }

    /// Does what there is to do now. `page` makes the answer. Returns whether a client got one.
    pub(super) fn serve(&mut self, page: impl Fn(Exposition) -> String) -> bool {
        let is_local = self.is_local;
        let gave = Cell::new(false);
        let page = |format| {
            gave.set(true);
            page(format)
        };
        let reply = |asked: &[u8]| reply(asked, is_local, page);
        self.clients.retain_mut(|client| client.goes_on(reply));
        for _ in 0..AT_ONCE {
            let Ok((stream, _)) = self.listener.accept() else { break };
            let since = Instant::now();
            let mut client =
                Client { stream, asked: Vec::new(), is_answered: false, sent: 0, since };
            // Who asks at once, as scrapers do, has its answer before another one is let in.
            if client.stream.set_nonblocking(true).is_err() || !client.goes_on(reply) {
                continue;
            }
            if self.clients.len() == CLIENTS {
                let silent = self.clients.iter().position(|client| !client.is_answered);
                self.clients.remove(silent.unwrap_or(0));
            }
            self.clients.push(client);
        }
        gave.get()
    }
}

impl Client {
    /// Reads what came, and answers once `reply` has an answer. Returns whether more is to come.
    fn goes_on(&mut self, reply: impl Fn(&[u8]) -> Option<String>) -> bool {
        let mut part = [0; 1024];
        while self.sent < ALL {
            let n = match self.stream.read(&mut part) {
                Ok(0) => return false,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.since.elapsed() < PATIENCE;
                }
                Err(_) => return false,
            };
            self.sent += n;
            if self.is_answered {
                continue;
            }
            self.asked.extend_from_slice(&part[..n]);
            if let Some(answer) = reply(&self.asked) {
                // It fits into the buffer of a connection on which nothing was written yet. A client that is gone
                // needs no answer. What it still sends is read: to close before would take the answer away from it
                // (RFC 9112, 9.6).
                let _ = self.stream.write_all(answer.as_bytes());
                let _ = self.stream.shutdown(Shutdown::Write);
                self.is_answered = true;
            }
        }
        false
    }
}

/// The answer to what a client has sent so far; `None` while the end of its request is not there.
fn reply(asked: &[u8], is_local: bool, page: impl Fn(Exposition) -> String) -> Option<String> {
    let end = asked.windows(4).position(|end| end == b"\r\n\r\n");
    let head = &asked[..end.map_or(asked.len(), |end| end + 2)];
    let bare = |(at, byte): (usize, &u8)| *byte == b'\n' && !head[..at].ends_with(b"\r");
    if head.iter().enumerate().any(bare) {
        return Some(refusal("400 Bad Request", "a line must end with CR LF"));
    }
    match end {
        None if asked.len() <= REQUEST => None,
        Some(end) if end <= REQUEST => Some(answer(head, is_local, page)),
        _ => Some(refusal("431 Request Header Fields Too Large", "the request is too long")),
    }
}

/// The answer to a request, by its first line and what it accepts. RFC 9112.
fn answer(request: &[u8], is_local: bool, page: impl Fn(Exposition) -> String) -> String {
    let request = String::from_utf8_lossy(request).to_ascii_lowercase();
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let mut hosts = request.lines().filter_map(|line| line.strip_prefix("host:"));
    if is_local && !hosts.all(|host| is_number_or_localhost(host.trim())) {
        return refusal(
            "421 Misdirected Request",
            "ask this address by its number, or as localhost",
        );
    }
    let open = request
        .lines()
        .any(|line| line.starts_with("accept:") && line.contains("application/openmetrics-text"));
    let format = if open { Exposition::OpenMetrics } else { Exposition::Text };
    match (method, target.split('?').next()) {
        (Some("get"), Some("/metrics")) => text("200 OK", format.content_type(), &page(format)),
        (Some("head"), Some("/metrics")) => head("200 OK", format.content_type()),
        // It is the agent's only thread that answers: it observes, or has ended.
        (Some("get"), Some("/healthz")) => text("200 OK", "text/plain", "ok\n"),
        (Some("head"), Some("/healthz")) => head("200 OK", "text/plain"),
        (Some("get"), _) => refusal("404 Not Found", "try /metrics or /healthz"),
        (Some("head"), _) => head("404 Not Found", "text/plain"),
        _ => refusal("405 Method Not Allowed", "only GET and HEAD"),
    }
}

/// Whether the field Host holds the number of an address, or `localhost`. Another name may be one that a page in a browser
/// of this machine was loaded from, and that its owner has pointed at us since, so that the page may read the answer (DNS
/// rebinding).
fn is_number_or_localhost(host: &str) -> bool {
    let port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name =
        host.rsplit_once(':').filter(|(_, after)| port(after)).map_or(host, |(name, _)| name);
    let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || number.parse::<IpAddr>().is_ok()
}

fn refusal(status: &str, why: &str) -> String {
    text(status, "text/plain", &format!("{why}\n"))
}

/// The answer to HEAD, without a length: nobody has made the page (RFC 9110, 8.6).
fn head(status: &str, kind: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n")
}

fn text(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> String {
        reply(request.as_bytes(), true, |format| format!("{format:?}")).unwrap_or_default()
    }

    #[test]
    fn a_scrape_gets_the_format_that_it_accepts() {
        let open = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;version=1.0.0,*/*\r\n\r\n";
        assert!(ask(open).ends_with("\r\n\r\nOpenMetrics"));
        let plain = "GET /metrics?x=1 HTTP/1.1\r\nHost: [::1]:9466\r\n\r\n";
        let text = ask(plain);
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nText"),
            "{text}"
        );
        assert!(text.contains("\r\nContent-Length: 4\r\n"), "{text}");
        assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask("GET /healthz HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nok\n"));
        for (target, status) in [("/metrics", 200), ("/healthz", 200), ("/", 404)] {
            let said = ask(&format!("HEAD {target} HTTP/1.1\r\n\r\n"));
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
            assert!(said.ends_with("\r\n\r\n") && !said.contains("Length"), "{said}");
        }
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask("\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn what_is_no_request_is_refused_at_once() {
        assert_eq!(ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"), "", "more is to come");
        for bare in ["\n", "GET /metrics HTTP/1.0\n", "GET /metrics HTTP/1.1\r\nAccept: */*\n"] {
            assert!(ask(bare).starts_with("HTTP/1.1 400 "), "{bare:?}");
        }
        assert!(ask("POST / HTTP/1.1\r\n\r\na\nb").starts_with("HTTP/1.1 405 "), "not in a body");
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(REQUEST));
        for end in ["", "\r\n\r\n"] {
            assert!(ask(&(long.clone() + end)).starts_with("HTTP/1.1 431 "));
        }
    }

    #[test]
    fn a_name_that_somebody_pointed_at_this_machine_is_refused() {
        let page = |_| String::new();
        for (host, fits) in [
            ("127.0.0.1:9466", true),
            ("127.0.0.1", true),
            ("[::1]:9466", true),
            ("[::1]", true),
            ("LocalHost:9466", true),
            ("evil.example:9466", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example:80", false),
            ("", false),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nHOST: {host}\r\n\r\n");
            let here = reply(request.as_bytes(), true, page).unwrap();
            let status = if fits { "HTTP/1.1 200 " } else { "HTTP/1.1 421 " };
            assert!(here.starts_with(status), "{host}: {here}");
            // Where other machines ask, they know this one by its name.
            let there = reply(request.as_bytes(), false, page).unwrap();
            assert!(there.starts_with("HTTP/1.1 200 "), "{host}: {there}");
        }
    }

    /// Serves until the client has read the whole answer.
    fn answered(server: &mut Server, client: &mut TcpStream) -> String {
        client.set_nonblocking(true).unwrap();
        let mut said = Vec::new();
        loop {
            server.serve(|_| "page".to_owned());
            match client.read_to_end(&mut said) {
                Ok(_) => return String::from_utf8(said).unwrap(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{said:?}"),
            }
        }
    }

    #[test]
    fn slow_clients_hold_up_nobody() {
        let mut server = Server::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.listener.local_addr().unwrap();
        let connect = || TcpStream::connect(address).unwrap();
        let mut halting = connect();
        halting.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
        while server.clients.is_empty() {
            server.serve(|_| String::new());
        }
        halting.write_all(b"\r\n").unwrap();
        assert!(answered(&mut server, &mut halting).ends_with("\r\n\r\npage"));

        let silent: Vec<TcpStream> = (0..3 * CLIENTS).map(|_| connect()).collect();
        let mut scraper = connect();
        scraper.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        assert!(answered(&mut server, &mut scraper).ends_with("\r\n\r\npage"));
        // The last ones still have their time.
        assert_eq!(server.clients.len(), CLIENTS);
        drop(silent);
    }

    #[test]
    fn the_answer_to_a_large_request_arrives() {
        let mut server = Server::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.listener.local_addr().unwrap();
        let body = vec![b'x'; ALL / 2];
        for (head, status) in [
            (&b"POST /metrics HTTP/1.1\r\n\r\n"[..], "HTTP/1.1 405 "),
            (b"GET /metrics HTTP/1.1\r\nX: ", "HTTP/1.1 431 "),
        ] {
            let request = [head, &body].concat();
            let client = std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(&request).unwrap();
                let mut said = String::new();
                stream.read_to_string(&mut said).map(|_| said)
            });
            while !client.is_finished() {
                server.serve(|_| "page".to_owned());
            }
            let said = client.join().unwrap().unwrap();
            assert!(said.starts_with(status), "{said}");
        }
    }
}
