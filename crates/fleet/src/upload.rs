//! Windows sent from a ring to a bucket, where those of many hosts come together. The requests are curl's (curl(1), from
//! 7.88 on), and so are TLS, proxies and signatures; many requests share one connection.

use crate::bucket::{Access, Bucket, encoded, is_plain};
use crate::curl::{Fault, answers, between};
use crate::file::is_window;
use crate::ring::{Entry, entries, host_of, open_folder};
use crate::ship::Shipped;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Windows that one curl sends.
const BATCH: usize = 500;
/// The SHA-256 of no bytes: curl 7.88 does not add it itself.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// Pauses before the tries that follow one in which nothing was sent. After the last, the store is given up.
const PAUSES_MS: [u64; 5] = [100, 400, 1600, 6400, 25_600];

/// Sends each window of the ring `from` that is not in `to`, as `HOST/NAME` below the prefix. An object is there whole or
/// not at all, since the store compares it with its SHA-256, and none is replaced: whenever this is killed, the next call
/// goes on. What fails is tried again for as long as something is sent, and five times more.
///
/// # Errors
/// When the ring cannot be read, curl or sha256sum cannot be run, or the store cannot be reached or refuses: what, why and
/// what to do.
pub fn upload(from: &Path, to: &Bucket, access: &Access) -> Result<Shipped, String> {
    let error = |why| format!("{why}; name the directory of an agent");
    let source = open_folder(from).map_err(error)?;
    let all = entries(&source, from).map_err(error)?;
    // The agent's own are plain.
    let (pending, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|entry| is_plain(host_of(&entry.name)));
    let refused = others.into_iter().map(|entry| entry.name).collect();
    let shipped = Shipped { refused, ..Shipped::default() };
    let mut upload = Upload { from, source, to, access, pending, sent: HashSet::new(), shipped };
    let mut tries = 0;
    while !upload.pending.is_empty() {
        let before = upload.pending.len();
        let done = upload.round();
        if upload.pending.len() < before {
            tries = 0;
            if done.is_ok() {
                continue;
            }
        }
        let fault = done.err().unwrap_or_else(|| {
            Fault::for_now(
                "it says that they are there, and does not list them; see what it says about it",
            )
        });
        let pause = PAUSES_MS.get(tries).filter(|_| fault.again);
        let pause = pause.ok_or_else(|| format!("cannot send windows to {to}: {}", fault.why))?;
        sleep(Duration::from_millis(*pause));
        tries += 1;
    }
    Ok(upload.shipped)
}

struct Upload<'a> {
    from: &'a Path,
    source: OwnedFd,
    to: &'a Bucket,
    access: &'a Access,
    /// Oldest first.
    pending: Vec<Entry>,
    /// What was sent without an answer.
    sent: HashSet<String>,
    shipped: Shipped,
}

impl Upload<'_> {
    /// Looks what is there, and sends what is not.
    fn round(&mut self) -> Result<(), Fault> {
        self.leave_out_what_is_there()?;
        self.leave_out_what_is_not_whole()?;
        let batch = &self.pending[..self.pending.len().min(BATCH)];
        if batch.is_empty() {
            return Ok(());
        }
        let sums = self.sums(batch)?;
        let requests: Vec<_> =
            batch.iter().zip(&sums).map(|(entry, sum)| self.put(&entry.name, sum)).collect();
        self.sent.extend(batch.iter().map(|entry| entry.name.clone()));
        let mut failed = Ok(());
        let mut done = HashSet::new();
        for (entry, answer) in batch.iter().zip(answers(self.from, &requests)?) {
            if answer.is_taken() {
                self.sent.remove(&entry.name);
                continue;
            }
            match answer.check() {
                Ok(()) => done.insert(entry.name.clone()),
                Err(fault) => {
                    failed = Err(fault);
                    break;
                }
            };
        }
        self.pending.retain(|entry| !done.contains(&entry.name));
        self.shipped.copied += done.len() as u64;
        failed
    }

    fn key(&self, name: &str) -> String {
        self.to.key(&format!("{}/{name}", host_of(name)))
    }

    /// PutObject: no object is replaced, and none is made of other bytes than these.
    fn put(&self, name: &str, sum: &str) -> String {
        let about = [
            ("upload-file", name),
            ("header", &format!("x-amz-content-sha256: {sum}")),
            ("header", "If-None-Match: *"),
            ("header", "Content-Type: application/vnd.apache.parquet"),
        ];
        self.access.request(self.to, &self.key(name), "", &about)
    }

    fn leave_out_what_is_there(&mut self) -> Result<(), Fault> {
        // One list holds a thousand names: less than to ask for each. The oldest is where it begins.
        let mut oldest = BTreeMap::new();
        for entry in &self.pending {
            oldest.entry(host_of(&entry.name).to_owned()).or_insert_with(|| entry.name.clone());
        }
        for oldest in oldest.into_values() {
            let there = self.listed(&oldest)?;
            let (shipped, sent) = (&mut self.shipped, &self.sent);
            self.pending.retain(|entry| {
                match there.get(&entry.name) {
                    None => return true,
                    Some(bytes) if *bytes != entry.bytes => {
                        shipped.refused.push(entry.name.clone())
                    }
                    Some(_) if sent.contains(&entry.name) => shipped.copied += 1,
                    Some(_) => shipped.there += 1,
                }
                false
            });
        }
        Ok(())
    }

    /// ListObjectsV2: the names of one host's windows from `oldest` on, each with its bytes.
    fn listed(&self, oldest: &str) -> Result<BTreeMap<String, u64>, Fault> {
        let folder = self.key(oldest).replace(oldest, "");
        // Sorted before it: without the host.
        let mut after =
            oldest[..oldest.len() - host_of(oldest).len() - ".parquet".len()].to_owned();
        let mut there = BTreeMap::new();
        loop {
            let (folder_is, after_is) =
                (encoded(&folder, false), encoded(&(folder.clone() + &after), false));
            let query =
                format!("delimiter=%2F&list-type=2&prefix={folder_is}&start-after={after_is}");
            let sum = format!("x-amz-content-sha256: {OF_NOTHING}");
            let request = self.access.request(self.to, "", &query, &[("header", &sum)]);
            let Some(answer) = answers(self.from, &[request])?.pop() else { return Ok(there) };
            answer.check()?;
            let page = names(&answer.body);
            let last = page.last().map(|(name, _)| name.clone());
            there.extend(page);
            match last.filter(|_| answer.body.contains("<IsTruncated>true<")) {
                Some(last) if last > after => after = last,
                _ => return Ok(there),
            }
        }
    }

    fn leave_out_what_is_not_whole(&mut self) -> Result<(), Fault> {
        let (source, shipped) = (&self.source, &mut self.shipped);
        let mut failed = Ok(());
        let (mut looked, mut keep) = (0, Vec::new());
        for entry in self.pending.drain(..) {
            // What comes later is looked at later.
            if looked == BATCH || failed.is_err() {
                keep.push(entry);
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let whole = fs::openat(source, &entry.name, flags, Mode::empty())
                .map(|file| is_window(File::from(file)));
            match whole {
                Ok(true) => {
                    looked += 1;
                    keep.push(entry);
                }
                Ok(false) => shipped.refused.push(entry.name),
                Err(Errno::NOENT) => shipped.left += 1,
                Err(why) => {
                    let why = std::io::Error::from(why);
                    failed =
                        Err(Fault::for_good(format!("{}: {why}; make it readable", entry.name)));
                    keep.push(entry);
                }
            }
        }
        self.pending = keep;
        failed
    }

    /// The SHA-256 of each, in hexadecimal digits.
    fn sums(&self, batch: &[Entry]) -> Result<Vec<String>, Fault> {
        let names = batch.iter().map(|entry| &entry.name);
        let done = Command::new("sha256sum")
            .arg("--")
            .args(names)
            .current_dir(self.from)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|why| {
                Fault::for_good(format!("cannot run sha256sum: {why}; install coreutils"))
            })?;
        let printed = String::from_utf8_lossy(&done.stdout);
        let sums: Vec<String> =
            printed.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
        if !done.status.success() || sums.len() != batch.len() {
            // The agent removes its oldest at any time.
            return Err(Fault::for_now(
                "sha256sum cannot read all windows; see whether they are readable",
            ));
        }
        Ok(sums)
    }
}

/// The last part of each key in a page of a list, and its bytes.
fn names(page: &str) -> Vec<(String, u64)> {
    let each = page.split("<Contents>").skip(1).filter_map(|object| {
        let name = between(object, "<Key>", "</Key>")?.rsplit('/').next()?;
        Some((name.to_owned(), between(object, "<Size>", "</Size>")?.parse().ok()?))
    });
    each.collect()
}
