//! Control groups that come and go: whose rows are whose, where a name is used again before anybody looks.

use super::*;
use needless_fleet::MOST_ROWS;
use std::collections::BTreeSet;

/// A shell asks so often for a file that is missing.
const ASK: &str = "i=0; while [ $i -lt $0 ]; do i=$((i+1)); [ -e /missing/asked ]; done; true";

/// A directory of control groups, removed with all in it.
struct Groups(std::path::PathBuf);

impl Groups {
    fn new(name: &str) -> Option<Groups> {
        root()?;
        let mounted = needless_host::cgroup_mount()
            .filter(|dir| needless_host::cgroup_id(dir).is_ok())
            .ok_or_else(|| "no cgroup v2 is mounted".to_owned());
        let top = needed(mounted)?.join(format!("needless-{name}-{}", std::process::id()));
        let made = std::fs::create_dir(&top).map_err(|why| format!("no control groups: {why}"));
        needed(made).map(|()| Groups(top))
    }

    /// Runs `program` in a new group, so that it asks `asks` times for a file that is missing. The group is gone
    /// afterwards; its id.
    fn run(&self, name: &str, program: &Path, asks: usize) -> u64 {
        let group = self.0.join(name);
        std::fs::create_dir(&group).unwrap();
        let id = needless_host::cgroup_id(&group).unwrap();
        let mut run = command("sh");
        let join = r#"echo $$ >"$0/cgroup.procs" && exec "$@""#;
        run.args(["-c", join]).arg(&group).arg(program).args(["-c", ASK, &asks.to_string()]);
        assert!(run.status().unwrap().success());
        wait("empty group", || std::fs::remove_dir(&group).ok());
        id
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Copies of a shell, which are distinguished by their names.
fn shells<const N: usize>(folder: &Path, names: [&str; N]) -> Option<[std::path::PathBuf; N]> {
    let sh = program("sh")?;
    Some(names.map(|name| {
        let file = folder.join(name);
        copy(sh.to_str().unwrap(), &file);
        file
    }))
}

/// An agent that has begun to observe.
fn observing(folder: &Path, every: &str) -> Running {
    observing_by(command(NEEDLESS), folder, every)
}

/// The same; `agent` runs needless.
fn observing_by(mut agent: Command, folder: &Path, every: &str) -> Running {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    agent.args(["agent", "--every", every, "--host", "a", "--cpu-limit", "none"]);
    let agent = Running::start(agent.args(["--listen", &listen, "--dir"]).arg(folder.join("a")));
    wait("answer", || http(port, "/metrics", "*/*"));
    agent
}

/// Calls by service and program; `of`: a condition.
fn calls(folder: &Path, of: &str) -> Option<Vec<(String, String, u64)>> {
    let all = format!("read_parquet('{}/a/*.parquet')", folder.display());
    let sql = format!(
        "SELECT service, program, sum(calls) FROM needless_rows WHERE {of} GROUP BY ALL ORDER BY ALL"
    );
    let row = |row: &String| {
        let mut fields = row.rsplitn(3, '|');
        let calls = fields.next().unwrap().parse().unwrap();
        let program = fields.next().unwrap().to_owned();
        (fields.next().unwrap().to_owned(), program, calls)
    };
    Some(duckdb(&all, &sql)?.iter().map(row).collect())
}

/// Calls of one run by `program`, counted by strace.
fn by_strace(program: &Path, asks: usize) -> Option<u64> {
    let strace = needed(needless_fixtures::installed("strace"))?;
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table");
    // From a shell, which sets PWD, as in a group: each shell looks whether that is right.
    let mut run = command("sh");
    run.args(["-c", r#"exec "$0" "$@""#]).arg(strace).args(["-c", "-o"]).arg(&table).arg(program);
    assert!(run.args(["-c", ASK, &asks.to_string()]).status().unwrap().success());
    let table = std::fs::read_to_string(table).unwrap();
    Some(needless_fixtures::referee::totals_of(&table).values().sum())
}

#[test]
fn a_name_that_is_used_again_in_a_window_has_the_calls_of_both() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(groups) = Groups::new("again") else { return };
    let Some([first, second]) = shells(folder.path(), ["asks-first", "asks-second"]) else {
        return;
    };
    let (Some(one), Some(other)) = (by_strace(&first, 100), by_strace(&second, 300)) else {
        return;
    };
    // One window, which ends with the agent.
    let agent = observing(folder.path(), "10m");
    let container = |digit: &str| format!("docker-{}.scope", digit.repeat(64));
    // The kernel refuses a line end in such a name, and no other character.
    let odd = "a\"b,c=d{é}\\\t.service";
    let ids = [
        groups.run("web.service", &first, 100),
        groups.run("web.service", &second, 300),
        groups.run("web.service", &first, 100),
        groups.run(&container("a"), &first, 100),
        groups.run(&container("b"), &second, 300),
        groups.run(odd, &second, 300),
    ];
    // The kernel numbers a group that has the name of another as a new one.
    assert_eq!(BTreeSet::from(ids).len(), ids.len());
    assert_eq!(agent.end(), (Some(0), String::new()));
    assert_eq!(files(folder.path(), "a").len(), 1);
    let Some(rows) = calls(folder.path(), "program IN ('asks-first', 'asks-second')") else {
        return;
    };
    let expected = [
        ("a\"b,c=d{é}\\\\t.service", "asks-second", other),
        ("container aaaaaaaaaaaa (docker)", "asks-first", one),
        ("container bbbbbbbbbbbb (docker)", "asks-second", other),
        ("web.service", "asks-first", 2 * one),
        ("web.service", "asks-second", other),
    ];
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    for ((service, program, calls), expected) in rows.iter().zip(expected) {
        assert_eq!((&**service, &**program), (expected.0, expected.1), "{rows:?}");
        assert_eq!(*calls, expected.2, "{rows:?}");
    }
}

#[test]
fn pods_have_one_name_over_a_rollout() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(groups) = Groups::new("pods") else { return };
    let Some([shell]) = shells(folder.path(), ["asks-in-a-pod"]) else { return };
    let Some(all) = by_strace(&shell, 100) else { return };
    // Two pods of one workload, one after the other, as containerd and CRI-O name their groups, and what the kubelet
    // writes about them.
    let uid = |digit: &str| format!("5b2c1a90-1111-4c3d-9e0f-{}", digit.repeat(12));
    let log = folder.path().join("log");
    let mut paths = Vec::new();
    for (pod, digit, runtime) in
        [("web-7d9f8c6b54-x2x4z", "a", "cri-containerd"), ("web-6c8f7d5b49-q8w7z", "b", "crio")]
    {
        let id = digit.repeat(64);
        let dir = log.join(format!("pods/shop_{pod}_{}/app", uid(digit)));
        std::fs::create_dir_all(dir).unwrap();
        std::fs::create_dir_all(log.join("containers")).unwrap();
        let link = log.join(format!("containers/{pod}_shop_app-{id}.log"));
        std::os::unix::fs::symlink("/missing", link).unwrap();
        let slice = format!("kubepods-burstable-pod{}.slice", uid(digit).replace('-', "_"));
        paths.push((slice, format!("{runtime}-{id}.scope")));
    }
    let mut agent = command("unshare");
    let over = r#"mount --bind "$0" /var/log && exec "$@""#;
    agent.args(["--mount", "sh", "-c", over]).arg(&log).arg(NEEDLESS);
    let agent = observing_by(agent, folder.path(), "10m");
    for (slice, scope) in &paths {
        let slice = groups.0.join(slice);
        std::fs::create_dir(&slice).unwrap();
        Groups(slice).run(scope, &shell, 100);
    }
    assert_eq!(agent.end(), (Some(0), String::new()));
    let Some(rows) = calls(folder.path(), "program = 'asks-in-a-pod'") else { return };
    assert_eq!(rows, [("pod shop/web-*/app".into(), "asks-in-a-pod".into(), 2 * all)]);
}

#[test]
fn of_a_thousand_groups_each_call_is_counted_once() {
    const GROUPS: u64 = 1000;
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(groups) = Groups::new("churn") else { return };
    let Some([shell]) = shells(folder.path(), ["asks-often"]) else { return };
    let Some(all) = by_strace(&shell, 5) else { return };
    let agent = observing(folder.path(), "500ms");
    let run = |n| groups.run(&format!("churn-{n}.service"), &shell, 5);
    assert_eq!((0..GROUPS).map(run).collect::<BTreeSet<u64>>().len(), GROUPS as usize);
    wait_for_windows(folder.path(), "a", 3);
    assert_eq!(agent.end(), (Some(0), String::new()));
    let Some(rows) = calls(folder.path(), "program = 'asks-often'") else { return };
    assert!(rows.iter().all(|row| row.0.starts_with("churn-") && row.2 <= all), "{rows:?} {all}");
    // What finds no room in a window has no name, and what was handed over after its process had ended may have "?": each
    // together with such calls of other programs.
    let others = calls(folder.path(), "program IS NULL OR program = '?'").unwrap();
    let sum = |rows: &[(String, String, u64)]| rows.iter().map(|row| row.2).sum::<u64>();
    let counted = sum(&rows) + sum(&others);
    assert!(counted >= GROUPS * all, "{counted} of {GROUPS} * {all}; {others:?}");
    // A window that has calls without a name has as many rows as it may.
    let all = format!("read_parquet('{}/a/*.parquet')", folder.path().display());
    let early = duckdb(
        &all,
        &format!(
            "SELECT window_start, count(*) FROM needless_rows GROUP BY ALL HAVING count(*) < {MOST_ROWS} \
             AND sum(calls) FILTER (program IS NULL) > 0"
        ),
    );
    assert_eq!(early, Some(Vec::new()));
    assert!(!rows.is_empty(), "{others:?}");
}
