//! A limit of memory, at which the kernel kills the agent.

use super::*;

/// A control group with a limit of memory in bytes; removed when it is dropped.
struct MemoryGroup {
    dir: PathBuf,
    /// The file that counts what the kernel has killed.
    events: &'static str,
}

impl MemoryGroup {
    fn new(most: u64) -> Option<MemoryGroup> {
        root()?;
        let name = format!("needless-limit-{}", std::process::id());
        let versions = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"),
            ("/sys/fs/cgroup", "memory.max", "memory.events"),
        ];
        let made = versions.into_iter().find_map(|(parent, limit, events)| {
            let parent = Path::new(parent);
            parent.join("cgroup.procs").exists().then_some(())?;
            let dir = parent.join(&name);
            fs::create_dir(&dir).ok()?;
            let group = MemoryGroup { dir, events };
            fs::write(group.dir.join(limit), most.to_string()).ok().map(|()| group)
        });
        needed(made.ok_or("no control group with a limit of memory".to_owned()))
    }

    /// A program in the group; `first`: how soon the kernel kills it, as in `/proc/PID/oom_score_adj`.
    fn command(&self, first: &str, program: &str) -> Command {
        let join = r#"echo $$ >"$0/cgroup.procs" && echo "$1" >/proc/$$/oom_score_adj && shift && exec "$@""#;
        let mut run = command("sh");
        run.args(["-c", join]).arg(&self.dir).args([first, program]);
        run
    }

    fn killed(&self) -> u64 {
        let events = fs::read_to_string(self.dir.join(self.events)).unwrap();
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill ")).unwrap();
        count.parse().unwrap()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

#[test]
fn an_agent_that_the_kernel_kills_at_the_limit_of_memory_leaves_whole_windows() {
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(group) = MemoryGroup::new(512 << 20) else { return };
    let mut agent = group.command("1000", NEEDLESS);
    agent.args(["agent", "--every", "500ms", "--host", "a", "--cpu-limit", "none", "--dir"]);
    let mut agent = Running::start(agent.arg(folder.path().join("a")));
    wait_for_windows(folder.path(), "a", 2);
    assert_eq!(group.killed(), 0);
    // It keeps all that it reads, and is killed as well once nothing else is left.
    let mut grows = Running::start(group.command("0", "tail").arg("/dev/zero"));
    let by = |ended: &mut Running| {
        use std::os::unix::process::ExitStatusExt;
        ended.0.wait().unwrap().signal()
    };
    assert_eq!((by(&mut agent), by(&mut grows)), (Some(9), Some(9)));
    assert!(group.killed() >= 2);
    let left = files(folder.path(), "a");
    let whole = "SELECT count(DISTINCT window_start) FROM needless_rows";
    let Some(read) = duckdb(&windows_of_a(folder.path()), whole) else { return };
    assert_eq!(read, [left.len().to_string()]);

    let again = Running::agent(folder.path(), "a", &[]);
    wait_for_windows(folder.path(), "a", left.len() + 2);
    assert_eq!(again.end(), (Some(0), String::new()));
    assert_eq!(duckdb(&windows_of_a(folder.path()), GAPS).unwrap(), ["1|0"]);
}
