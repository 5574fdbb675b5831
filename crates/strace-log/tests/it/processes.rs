//! Which process made a call, and which process started which.

use crate::common::{profile, row};
use needless_model::{Exit, Libc, Runtime, Spawn};

#[test]
fn processes_threads_and_their_makers() {
    let profile = profile(
        "10 execve(\"/bin/sh\", [\"sh\"], 0x7ff /* 3 vars */) = 0\n\
         10 openat(AT_FDCWD, \"/lib/libc-2.31.so\", O_RDONLY|O_CLOEXEC) = 3\n\
         10 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_THREAD|CLONE_SIGHAND) = 11\n\
         11 stat(\"/a\", 0x7ff) = -1 ENOENT (No such file or directory)\n\
         10 vfork( <unfinished ...>\n\
         12 execve(\"/usr/bin/java\", [\"java\"], 0x7ff /* 3 vars */ <unfinished ...>\n\
         10 <... vfork resumed>) = 12\n\
         12 <... execve resumed>) = 0\n\
         12 execve(\"/nowhere\", [\"x\"], 0x7ff /* 3 vars */) = -1 ENOENT (No such file or directory)\n\
         12 +++ killed by SIGSEGV (core dumped) +++\n\
         10 clone3({flags=CLONE_THREAD|CLONE_VM, exit_signal=0, stack=0x7f}, 88) = 13\n\
         13 stat(\"/b\", 0x7ff) = -1 ENOENT (No such file or directory)\n\
         10 clone(child_stack=NULL, flags=0x1200011, child_tidptr=0x7f) = 2 /* 14 in strace's PID NS */\n\
         14 stat(\"/c\", 0x7ff) = -1 ENOENT (No such file or directory)\n\
         10 exit_group(7) = ?\n\
         13 +++ exited with 7 +++\n\
         11 +++ exited with 7 +++\n\
         10 +++ exited with 7 +++\n",
    );
    let of = |path: &str| profile.process(row(&profile, path).process);
    let sh = of("/bin/sh");
    assert_eq!((sh.born, sh.pid, sh.exit), (Spawn::Exec, 10, Some(Exit::Code(7))));
    assert_eq!(sh.libc, Libc::Glibc(Some("2.31".into())));
    assert_eq!(row(&profile, "/a").process, row(&profile, "/bin/sh").process);
    assert_eq!(row(&profile, "/b").process, row(&profile, "/bin/sh").process);
    let java = of("/usr/bin/java");
    assert_eq!((java.runtime, java.exit), (Runtime::Java, Some(Exit::Signal(11))));
    assert_eq!(java.libc, Libc::Unknown);
    // The exec that failed was called by the image before it.
    assert_eq!(row(&profile, "/nowhere").process, row(&profile, "/usr/bin/java").process);
    let fork = profile.process(java.parent.unwrap());
    assert_eq!((fork.born, fork.pid), (Spawn::Fork, 12));
    assert_eq!(fork.parent, Some(row(&profile, "/bin/sh").process));
    assert_eq!(
        (of("/c").born, of("/c").parent),
        (Spawn::Fork, Some(row(&profile, "/bin/sh").process))
    );
    assert_eq!(profile.processes.len(), 4);
}

#[test]
fn two_forks_at_once_find_their_children() {
    let profile = profile(
        "1 execve(\"/bin/one\", [\"x\"], 0x7 /* 0 vars */) = 0\n\
         1 clone(child_stack=NULL, flags=SIGCHLD) = 2\n\
         2 execve(\"/bin/two\", [\"x\"], 0x7 /* 0 vars */) = 0\n\
         1 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n\
         2 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n\
         4 stat(\"/of-two\", 0x7) = -1 ENOENT (x)\n\
         3 stat(\"/of-one\", 0x7) = -1 ENOENT (x)\n\
         2 <... clone resumed>) = 4\n\
         1 <... clone resumed>) = 3\n",
    );
    let parent = |path: &str| {
        let process = profile.process(row(&profile, path).process);
        (process.exe.clone().unwrap(), process.parent.unwrap())
    };
    let (two, one) = (row(&profile, "/bin/two").process, row(&profile, "/bin/one").process);
    assert_eq!(parent("/of-two").1, two);
    assert_eq!(parent("/of-one").1, one);
}

#[test]
fn a_pid_used_again_is_another_process() {
    let profile = profile(
        "1 clone(flags=SIGCHLD) = 2\n2 stat(\"/a\", 0x7) = -1 ENOENT (x)\n\
         1 clone(flags=SIGCHLD) = 2\n2 stat(\"/b\", 0x7) = -1 ENOENT (x)\n",
    );
    assert_ne!(row(&profile, "/a").process, row(&profile, "/b").process);
}

/// Reading on from a process to its parent would never end.
#[test]
fn no_process_is_its_own_ancestor() {
    for log in [
        "1 fork() = 1\n1 getpid() = 1\n",
        "1 fork() = 2\n2 getpid() = 2\n2 fork() = 1\n1 getpid() = 1\n2 fork() = 1\n1 getpid() = 1\n",
        "3 getpid() = 3\n1 fork() = 2\n2 fork() = 3\n3 fork() = 1\n3 fork() = 2\n2 fork() = 3\n",
    ] {
        let profile = profile(log);
        for id in (0..profile.processes.len() as u32).map(needless_model::ProcId) {
            let above = |id: &needless_model::ProcId| profile.process(*id).parent;
            let ancestors = std::iter::successors(Some(id), above);
            assert!(ancestors.take(9).count() < 9, "{log}");
        }
    }
}

#[test]
fn on_the_terminal_the_last_process_left_has_no_pid() {
    let profile = profile(
        "execve(\"/bin/sh\", [\"sh\"], 0x7ff /* 3 vars */) = 0\n\
         clone(child_stack=NULL, flags=SIGCHLDProcess 12 attached\n\
         , child_tidptr=0x7f) = 12\n\
         [pid    11] brk(NULL) = 0x55\n\
         [pid    11] exit_group(0) = ?\n\
         [pid    12] stat(\"/a\", 0x7) = -1 ENOENT (x)\n\
         [pid    11] +++ exited with 0 +++\n\
         stat(\"/b\", 0x7) = -1 ENOENT (x)\n\
         brk(NULL) = 0x55\n\
         exit_group(0) = ?\n\
         +++ exited with 0 +++\n",
    );
    assert_eq!(row(&profile, "/a").process, row(&profile, "/b").process);
    assert_eq!(profile.process(row(&profile, "/bin/sh").process).pid, 11);
    assert_eq!(profile.process(row(&profile, "/b").process).pid, 12);
    assert!(profile.lost.is_empty(), "{:?}", profile.lost);
}

/// A vfork returns after its child's exec; both belong to the same child.
#[test]
fn a_vfork_that_returns_after_its_childs_exec_made_that_child() {
    let log = "\
33 execve(\"/usr/bin/sh\", [\"sh\"], 0x7ffd /* 9 vars */) = 0
33 vfork( <unfinished ...>
35 rt_sigprocmask(SIG_SETMASK, [], NULL, 8) = 0
35 execve(\"/usr/bin/tput\", [\"tput\"], 0x55d8 /* 9 vars */) = 0
35 access(\"/one\", R_OK) = -1 ENOENT (No such file or directory)
33 <... vfork resumed>) = 35
35 access(\"/two\", R_OK) = -1 ENOENT (No such file or directory)
";
    let profile = profile(log);
    let exes: Vec<&str> = profile.processes.iter().filter_map(|p| p.exe.as_deref()).collect();
    assert_eq!(exes, ["/usr/bin/sh", "/usr/bin/sh", "/usr/bin/tput"]);
    let asker = |path| profile.rows.iter().find(|r| profile.path(r) == path).unwrap().process;
    assert_eq!(asker("/one"), asker("/two"));
}
