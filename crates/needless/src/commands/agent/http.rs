//! Answers scrapes, in the agent's only thread: nothing here waits for a client.

use anyhow::{Context, Result};
use needless_fleet::Exposition;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// So many clients at a time; others wait in the kernel's queue.
const CLIENTS: usize = 8;
/// A request is no longer.
const REQUEST: usize = 8192;
/// A client that takes longer to ask is left.
const PATIENCE: Duration = Duration::from_secs(5);

/// The open address.
pub(super) struct Server {
    listener: TcpListener,
    clients: Vec<Client>,
}

struct Client {
    stream: TcpStream,
    asked: Vec<u8>,
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
        Ok(Server { listener, clients: Vec::new() })
    }

    /// What is readable when there is something to do.
    pub(super) fn readable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = (self.clients.len() < CLIENTS).then(|| self.listener.as_fd());
        listener.into_iter().chain(self.clients.iter().map(|client| client.stream.as_fd()))
    }

    /// Does what there is to do now. `page` makes the answer.
    pub(super) fn serve(&mut self, page: impl Fn(Exposition) -> String) {
        while self.clients.len() < CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, asked: Vec::new(), since: Instant::now() });
            }
        }
        self.clients.retain_mut(|client| client.is_asking(&page));
    }
}

impl Client {
    /// Reads what came, and answers a whole request. Returns whether more is to come.
    fn is_asking(&mut self, page: impl Fn(Exposition) -> String) -> bool {
        let mut part = [0; 1024];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return false,
                Ok(n) => self.asked.extend_from_slice(&part[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.since.elapsed() < PATIENCE;
                }
                Err(_) => return false,
            }
            if self.asked.windows(4).any(|end| end == b"\r\n\r\n") {
                // It fits into the buffer of a connection on which nothing was written yet. A client that is gone
                // needs no answer.
                let _ = self.stream.write_all(answer(&self.asked, page).as_bytes());
                return false;
            }
            if self.asked.len() > REQUEST {
                return false;
            }
        }
    }
}

/// The answer to a request, by its first line and what it accepts. RFC 9112.
fn answer(request: &[u8], page: impl Fn(Exposition) -> String) -> String {
    let request = String::from_utf8_lossy(request).to_ascii_lowercase();
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let open = request
        .lines()
        .any(|line| line.starts_with("accept:") && line.contains("application/openmetrics-text"));
    let format = if open { Exposition::OpenMetrics } else { Exposition::Text };
    let (status, kind, body) = match (method, target.split('?').next()) {
        (Some("get"), Some("/metrics")) => ("200 OK", format.content_type(), page(format)),
        (Some("get"), _) => ("404 Not Found", "text/plain", "try /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".to_owned()),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> String {
        answer(request.as_bytes(), |format| format!("{format:?}"))
    }

    #[test]
    fn a_scrape_gets_the_format_that_it_accepts() {
        let open = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;version=1.0.0,*/*\r\n\r\n";
        assert!(ask(open).ends_with("\r\n\r\nOpenMetrics"));
        let plain = "GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n";
        let text = ask(plain);
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nText"),
            "{text}"
        );
        assert!(text.contains("\r\nContent-Length: 4\r\n"), "{text}");
        assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask("\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn clients_are_answered_and_slow_ones_hold_up_nobody() {
        let mut server = Server::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.listener.local_addr().unwrap();
        let _silent: Vec<TcpStream> =
            (0..CLIENTS - 1).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut scraper = TcpStream::connect(address).unwrap();
        scraper.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
        server.serve(|_| String::new());
        assert_eq!(server.clients.len(), CLIENTS);
        scraper.write_all(b"\r\n").unwrap();
        while server.clients.len() == CLIENTS {
            server.serve(|_| "page".to_owned());
        }
        let mut said = String::new();
        scraper.read_to_string(&mut said).unwrap();
        assert!(said.ends_with("\r\n\r\npage"), "{said}");
    }
}
