//! What the page "Many hosts" of the book says of programs of others: rclone brings windows to a bucket, and a collector of
//! OpenTelemetry scrapes an agent. Commands and configurations are read from the page.

use super::*;
use crate::ship::fill;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;

/// The credentials of the store.
const KEY: &str = "AKTEST";
const SECRET: &str = "of-a-test";
/// Where the page has the windows of an agent.
const RING: &str = "/var/lib/needless-agent/windows";

/// The block of code of the page that begins with `first`, without its indentation.
fn of_the_page(first: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    let lines = page.lines().skip_while(|line| line.strip_prefix("    ") != Some(first));
    let block =
        lines.map_while(|line| line.strip_prefix("    ").or((line.is_empty()).then_some("")));
    let block = block.map(|line| format!("{line}\n")).collect::<String>();
    assert!(block.starts_with(first), "the page has no block that begins with {first}");
    block
}

/// A store with a bucket `fleet`, which is the directory of this name in `root`; and its address.
fn store(root: &Path) -> Option<(Running, String)> {
    let gateway = tool("bin/s3")?;
    fs::create_dir_all(root.join("fleet")).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let mut process = command(gateway);
    process.args(["--port", &address, "--keep-alive", "--quiet", "posix"]).arg(root);
    process.env("ROOT_ACCESS_KEY", KEY).env("ROOT_SECRET_KEY", SECRET);
    let process = Running::start(&mut process);
    wait("store", || TcpStream::connect(&address).ok());
    Some((process, address))
}

/// Runs a command of the page, with `from` as the directory of the agent.
fn rclone(line: &str, config: &Path, from: &Path) -> (bool, String) {
    let line = line.replace(RING, from.to_str().unwrap()).replace("$(hostname)", "a");
    let mut run = command("sh");
    run.arg("-c").arg(line).current_dir(from.parent().unwrap()).env("RCLONE_CONFIG", config);
    run.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    let done = run.output().unwrap();
    (done.status.success(), stdout(&done) + &stderr(&done))
}

#[test]
#[ignore = "long: scripts/install forwarders builds the store"]
fn rclone_brings_each_window_to_a_bucket_and_replaces_none() {
    let folder = tempfile::tempdir().unwrap();
    let (ring, root) = (folder.path().join("ring"), folder.path().join("store"));
    let (Some(_), Some((_store, address))) = (program("rclone"), store(&root)) else { return };
    fill(&ring, 70);
    let away = folder.path().join("away");
    fs::create_dir(&away).unwrap();
    let later = names(&ring).split_off(60);
    for name in &later {
        fs::rename(ring.join(name), away.join(name)).unwrap();
    }
    fs::write(ring.join(".unfinished-needless-window"), "half").unwrap();
    let config = folder.path().join("rclone.conf");
    let text =
        of_the_page("[fleet]").replace("https://s3.example.com", &format!("http://{address}"));
    fs::write(&config, text).unwrap();
    let copy = first_line("rclone copy --size-only");
    let send = || rclone(&copy, &config, &ring);

    assert_eq!(send(), (true, String::new()));
    let bucket = root.join("fleet/windows/a");
    assert_eq!(names(&bucket), files(folder.path(), "ring"));
    // Those that come later follow; those that are there stay as they are.
    let first = names(&bucket)[0].clone();
    let there = |name: &str| fs::metadata(bucket.join(name)).unwrap().modified().unwrap();
    let before = there(&first);
    for name in &later {
        fs::rename(away.join(name), ring.join(name)).unwrap();
    }
    assert_eq!(send(), (true, String::new()));
    assert_eq!((names(&bucket).len(), there(&first)), (70, before));
    for name in names(&bucket) {
        assert_eq!(fs::read(bucket.join(&name)).unwrap(), fs::read(ring.join(&name)).unwrap());
    }
    // Another file of that name is an error, and is not replaced.
    fs::write(bucket.join(&first), "other").unwrap();
    let (is_done, said) = send();
    assert!(!is_done && said.contains(&first), "{said}");
    assert_eq!(fs::read(bucket.join(&first)).unwrap(), b"other");
    fs::copy(ring.join(&first), bucket.join(&first)).unwrap();

    // Back, into one directory.
    assert_eq!(
        rclone(&first_line("rclone copy --size-only fleet:"), &config, &ring),
        (true, String::new())
    );
    assert_eq!(names(&folder.path().join("windows/a")), names(&bucket));
}

/// The first line of the page that begins so.
fn first_line(start: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    let found = page
        .lines()
        .find_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(start)));
    found.unwrap_or_else(|| panic!("the page has no line {start}")).to_owned()
}

/// The collector with the configuration of the page, which sends to itself here and prints what it gets into `taken`.
fn collector(folder: &Path, agent: u16, taken: &Path) -> Option<Running> {
    let program = tool("bin/collector")?;
    let to = free_port();
    let of_page = of_the_page("receivers:")
        .replace("127.0.0.1:9466", &format!("127.0.0.1:{agent}"))
        .replace("https://otel.example.com:4318", &format!("http://127.0.0.1:{to}"))
        .replace("scrape_interval: 1m", "scrape_interval: 1s");
    let receives = format!(
        "receivers: {{otlp: {{protocols: {{http: {{endpoint: \"127.0.0.1:{to}\"}}}}}}}}\n\
         exporters: {{debug: {{verbosity: detailed}}}}\n\
         service:\n  telemetry: {{metrics: {{level: none}}}}\n  \
         pipelines: {{metrics/taken: {{receivers: [otlp], exporters: [debug]}}}}\n"
    );
    let mut collector = command(program);
    for (name, text) in [("page.yaml", of_page), ("receives.yaml", receives)] {
        let file: PathBuf = folder.join(name);
        fs::write(&file, text).unwrap();
        collector.arg("--config").arg(file);
    }
    collector.stdout(Stdio::null()).stderr(File::create(taken).unwrap());
    Some(Running(collector.spawn().unwrap()))
}

/// The values of a series for a cause, in the words of the collector's exporter "debug".
fn values(taken: &str, series: &str, cause: &str) -> Vec<f64> {
    let metrics = taken.split("Metric #").filter(|one| one.contains(&format!("Name: {series}\n")));
    let points = metrics.flat_map(|one| one.split("NumberDataPoints #").skip(1));
    let of_cause =
        points.filter(|point| point.contains(&format!("needless_cause: Str({cause})\n")));
    of_cause
        .filter_map(|point| point.split_once("Value: ")?.1.lines().next()?.parse().ok())
        .collect()
}

#[test]
#[ignore = "long: scripts/install forwarders builds the collector"]
fn a_collector_scrapes_the_series_of_an_agent() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_offender) = Running::offender() else { return };
    let (port, taken) = (free_port(), folder.path().join("taken"));
    let listen = format!("127.0.0.1:{port}");
    let agent = Running::agent(folder.path(), "a", &["--listen", &listen]);
    let Some(_collector) = collector(folder.path(), port, &taken) else { return };
    let read = || fs::read_to_string(&taken).unwrap();
    let planted = || values(&read(), "needless_syscalls_total", "tz-unset");
    let first = wait("count", || planted().last().copied().filter(|count| *count > 0.0));
    wait("more", || planted().last().filter(|count| **count > first).map(|_| ()));

    let (_, page) = http(port, "/metrics", "text/plain").unwrap();
    let of_page = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let of_page: BTreeSet<&str> = of_page.collect();
    let text = read();
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("-> Name: "));
    let names: BTreeSet<&str> = names.collect();
    let missing: Vec<&&str> = of_page.difference(&names).collect();
    assert!(of_page.len() >= 16 && missing.is_empty(), "{missing:?}");
    assert!(text.contains("-> service.name: Str(needless)\n"), "{text}");
    assert_eq!(agent.end(), (Some(0), String::new()));
}
