//! To a bucket of a real store, by a network that cuts connections and damages bytes.

use super::*;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex};

const WINDOWS: usize = 60;
const KEY: &str = "AKTEST";
/// What has to be quoted is in it.
const SECRET: &str = "hunter\"2\\/+=#";

/// A store: the directories of `root` are its buckets.
struct Store {
    process: Child,
    address: SocketAddr,
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn store(root: &Path) -> Option<Store> {
    let gateway = needless_fixtures::tool("bin/s3")?;
    fs::create_dir_all(root.join("fleet")).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let log = File::create(root.with_extension("log")).unwrap();
    let mut process = command(gateway)
        .args(["--port", &free.to_string(), "--keep-alive", "--quiet", "posix"])
        .arg(root)
        .env("ROOT_ACCESS_KEY", KEY)
        .env("ROOT_SECRET_KEY", SECRET)
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    while TcpStream::connect(free).is_err() {
        assert!(process.try_wait().unwrap().is_none(), "the store does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    Some(Store { process, address: free })
}

fn send(from: &Path, to: &str, address: SocketAddr) -> Command {
    let mut ship = command(NEEDLESS);
    ship.args(["ship", "--to", to, "--dir"])
        .arg(from)
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_ENDPOINT_URL", format!("http://{address}"));
    ship
}

/// The objects of a bucket with a name of ours, and what is in them.
fn objects(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(objects(&path));
        } else if path.extension().is_some_and(|ending| ending == "parquet") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(all.insert(name, path).is_none());
        }
    }
    all
}

/// Numbers from a seed: xorshift64 (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Passes connections on, and cuts each after a random number of bytes. Where `damages`, one bit of the content of some is
/// another one.
fn network(to: SocketAddr, random: Arc<Mutex<Random>>, damages: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) else { return };
            let mut random = random.lock().unwrap();
            let cut = 500 + random.below(100_000) as usize;
            // The head of a request is shorter than this, and a window is longer.
            let damaged =
                (damages && random.below(3) == 0).then(|| 1500 + random.below(500) as usize);
            pass(client.try_clone().unwrap(), server.try_clone().unwrap(), cut, damaged);
            pass(server, client, cut, None);
        }
    });
    address
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: usize, damaged: Option<usize>) {
    std::thread::spawn(move || {
        let (mut passed, mut bytes) = (0, [0; 4096]);
        while passed < cut {
            let Ok(read @ 1..) = from.read(&mut bytes) else { break };
            if let Some(at) = damaged.filter(|at| (passed..passed + read).contains(at)) {
                bytes[at - passed] ^= 1;
            }
            let part = read.min(cut - passed);
            if to.write_all(&bytes[..part]).is_err() {
                break;
            }
            passed += read;
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

#[test]
fn windows_are_sent_once_whenever_it_is_killed_or_the_network_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (from, root) = (folder.path().join("ring"), folder.path().join("store"));
    let Some(store) = store(&root) else { return };
    fill(&from, WINDOWS);
    let seed = std::env::var("NEEDLESS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros() as u64);
    println!("NEEDLESS_SEED={seed}");
    let random = Arc::new(Mutex::new(Random(seed | 1)));
    let all_whole = || {
        let sent = objects(&root);
        for (name, path) in &sent {
            assert_eq!(fs::read(path).unwrap(), fs::read(from.join(name)).unwrap(), "{name}");
        }
        sent.len()
    };
    let damaging = network(store.address, random.clone(), true);
    let (mut in_the_middle, mut rounds) = (0, 0);
    // Two at a time, and each is killed.
    while all_whole() < WINDOWS / 2 {
        rounds += 1;
        assert!(rounds < 200, "it does not go on");
        let mut two = [(); 2].map(|()| {
            let mut ship = send(&from, "s3://fleet/env=test", damaging);
            ship.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        });
        for ship in &mut two {
            let pause = random.lock().unwrap().below(120);
            std::thread::sleep(Duration::from_millis(pause));
            in_the_middle += usize::from(ship.try_wait().unwrap().is_none());
            ship.kill().unwrap();
            ship.wait().unwrap();
        }
    }
    assert!(in_the_middle > 0, "none was killed while it ran: {rounds} rounds");
    // One call is enough where connections are only cut, also for two at a time.
    let cutting = network(store.address, random, false);
    let two = [(); 2].map(|()| {
        let mut ship = send(&from, "s3://fleet/env=test", cutting);
        ship.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for ship in two {
        let done = ship.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    }
    assert_eq!(all_whole(), WINDOWS);
    let done = send(&from, "s3://fleet/env=test/", store.address).output().unwrap();
    assert_eq!(
        stdout(&done),
        format!("0 windows copied, already there: {WINDOWS}\n"),
        "{}",
        stderr(&done)
    );
    assert_eq!(
        objects(&root.join("fleet/env=test/a")).into_keys().collect::<Vec<_>>(),
        names(&from)
    );
}

#[test]
fn what_a_bucket_cannot_take_is_one_line_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (from, root) = (folder.path().join("ring"), folder.path().join("store"));
    let Some(store) = store(&root) else { return };
    fill(&from, 3);
    let says = |ship: &mut Command, what: &str| {
        let done = ship.output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{what}");
        let line = assert_one_line(&done);
        assert!(line.contains(what) && !line.contains("hunter"), "{what}: {line}");
    };
    let to = "s3://fleet/p";
    says(
        send(&from, to, store.address).env("AWS_SECRET_ACCESS_KEY", "hunter3"),
        "SignatureDoesNotMatch",
    );
    says(
        send(&from, to, store.address).env_remove("AWS_SECRET_ACCESS_KEY"),
        "AWS_SECRET_ACCESS_KEY: is not set",
    );
    says(&mut send(&from, "s3://no-such-bucket/p", store.address), "404 NoSuchBucket");
    says(&mut send(&from, "file:///tmp", store.address), "s3://BUCKET/PREFIX");
    says(&mut send(&from.join("no"), to, store.address), "No such file");
    says(send(&from, to, store.address).env("PATH", "/nowhere"), "there is no curl; install curl");
    // Another file with that name stays, and the others are sent.
    let first = &names(&from)[0];
    fs::create_dir_all(root.join("fleet/p/a")).unwrap();
    fs::write(root.join("fleet/p/a").join(first), "other").unwrap();
    fs::write(from.join(&names(&from)[1]), "cut off").unwrap();
    says(&mut send(&from, to, store.address), first);
    let sent = objects(&root);
    assert_eq!(sent.len(), 2);
    assert_eq!(fs::read(&sent[first]).unwrap(), b"other");
}

#[test]
fn no_secret_is_among_the_arguments_or_in_the_environment_of_curl() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("ring");
    fill(&from, 1);
    // Here nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ship = send(&from, "s3://fleet", silent.local_addr().unwrap());
    let mut ship = ship.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (mut request, _) = silent.accept().unwrap();
    let mut head = [0; 2048];
    let read = request.read(&mut head).unwrap();
    assert!(String::from_utf8_lossy(&head[..read]).contains("AWS4-HMAC-SHA256 Credential=AKTEST/"));
    let pid = ship.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let mut looked = 0;
    for curl in children.split_whitespace() {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{curl}/{file}")).unwrap();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains("hunter"), "{text}");
            looked += usize::from(text.starts_with("curl"));
        }
    }
    ship.kill().unwrap();
    ship.wait().unwrap();
    assert_eq!(looked, 1, "{children}");
}
