// The data that the programs in the kernel and this crate exchange. This is their only definition, and it is read
// twice, each time with another macro `shared!`: the build script writes it as C (shared.h in OUT_DIR), and
// layout.rs defines it in Rust. A field that would leave a gap does not compile, so both sides agree on every offset.
//
// In C, `Row` is `struct row`, and `Action::Path` is `ACTION_PATH`. The build script adds the members of
// needless_model's `Query` and `ArgClass` (QUERY_STAT, ARG_CLASS_CLOCK).

shared! {
    /// How many calls of an ABI the settings describe, by number.
    const CALLS: usize = 512;
    /// Bytes of a process's name, with its NUL (TASK_COMM_LEN).
    const COMMAND: usize = 16;
    /// No argument; no class.
    const NONE: u8 = 0xff;
    /// As in needless_model.
    const ANSWER: u32 = 64;
    const QUESTION: u32 = 1024;
    const LARGEST_RESULT: u64 = 0x80000000;
    /// In `Counter::on`: the descriptor was looked at.
    const SEEN: u16 = 0x100;

    /// What the program at the exit of a call does about it: needless_syscalls::CallKind.
    enum Action { Plain, Path, Wait, Moves, Uring, Spawn, Classify }
    /// What decides the query or the class, besides the name.
    enum Decider { Name, OpenFlags, OpenHow, AtFlags, Output, Heap, Mapped, Unmapped, Peer }
    /// The structure that holds the answer.
    enum Reply { None, Stat, Stat64I386, Stat64Arm, Stat32, Statx, Link }
    /// The condition on an argument: needless_syscalls::Condition.
    enum When { Always, NonZero, Without, AtLeast, Stream, OneOf, With }
    /// What the call moves if it succeeds.
    enum Moves { Nothing, Directory, Root }

    /// What is known of a system call by its number.
    struct Call {
        kind: u8,
        /// A `Query`; of `Action::Classify` an `ArgClass`.
        query_or_class: u8,
        /// Position of the argument, or `NONE`; so are the next two.
        path: u8,
        dir: u8,
        at_flags: u8,
        decider: u8,
        decider_at: u8,
        reply: u8,
        reply_at: u8,
        when: u8,
        when_at: u8,
        moves: u8,
        when_bits: u32,
    }

    /// Set before the programs are loaded, and constant from then on.
    struct Settings {
        /// Of the path hash: random, new in each run.
        key: [u64; 2],
        /// A question that is asked again after a longer time is not repeated.
        within_ns: u64,
        /// The group that is at the mount point of cgroup v2: names begin below it. 0: it is not mounted.
        cgroup_root: u64,
        /// The tgid of needless, as seen in its pid namespace.
        self_pid: u32,
        /// Inode number of the pid namespace of needless.
        pid_ns: u32,
        /// Observe every process, not only those in `procs`.
        everyone: u8,
        /// Count calls without a path, too.
        all: u8,
        /// The program at the entry of a call is attached: measure kernel time per row.
        latency: u8,
        /// Take snapshots of stacks.
        stacks: u8,
        /// Observe the first process that needless forks.
        launch: u8,
        /// The process ids of needless are not the kernel's: the chosen ones are in `chosen_pids`.
        translate: u8,
        /// Measure what the programs take.
        metered: u8,
        unused: u8,
        /// How many CPUs there may be, numbered from 0.
        cpus: u32,
        /// The number that all images share once no other is left.
        last_image: u32,
        /// The calls of the machine's own ABI, then those of its 32-bit one.
        calls: [[Call; CALLS]; 2],
    }

    /// State of all CPUs, and counters of what went wrong.
    struct Shared {
        /// Counts calls that may change the answer of another.
        changes: u64,
        /// Rows and counters added; it is not decreased when they are deleted.
        rows: u64,
        /// Calls counted without their path, because there was no room.
        folded: u64,
        /// Paths that could not be read.
        unreadable: u64,
        /// Calls whose start found no room.
        untimed: u64,
        /// Processes whose start, exec or end found no room.
        events_lost: u64,
        /// Calls that were not counted anywhere.
        uncounted: u64,
        stacks_lost: u64,
        /// Calls of io_uring_setup.
        uring: u64,
        /// Whether the launched process was seen.
        launched: u64,
        /// Mount namespace and root of needless itself, to compare with.
        own_mnt_ns: u64,
        own_root: u64,
    }

    /// A process that is observed. Its threads write here at the same time: counters are added to atomically, except
    /// `samples`, where a lost addition means one snapshot more, and those of answers, where one write may count in
    /// another way. The other fields are set to values that do not depend on the old ones.
    struct Proc {
        /// 0: it has not executed its own program yet, and is not counted.
        image: u32,
        /// Counts calls that waited, and moves.
        waits: u32,
        /// When its mappings were sent, in units of about 16 ms.
        mapped: u16,
        /// Snapshots taken of it.
        samples: u16,
        /// Threads that have not ended; 0: not known, because it ran before the observation.
        threads: u32,
        /// What its standard streams are; 0: not looked up since the last exec.
        stdio: u32,
        /// As in `needless_model::Answers`: how many more writes are new, the number of the epoch, and the reads and
        /// their bytes by then.
        answer: u32,
        epoch: u64,
        reads: u64,
        read_bytes: u64,
        /// The number of its working directory; 0: not looked up.
        directory: u64,
        /// The last end of the heap that it asked for.
        heap: u64,
        /// CPU time of the threads that have ended, and their page faults.
        utime: u64,
        stime: u64,
        runtime: u64,
        minor_faults: u64,
        major_faults: u64,
        /// Bytes of memory that it gave back.
        given_back: u64,
    }

    /// What a row counts: calls that agree in all of this.
    struct RowKey {
        /// Hash of the path's text, and of its working directory if it is relative to that; of `Query::NoPath` an
        /// `ArgClass` plus 1.
        path: u64,
        image: u32,
        nr: u16,
        /// 0: it succeeded.
        err: u16,
        query: u8,
        compat: u8,
        from_dir_fd: u8,
        zero: [u8; 5],
    }

    struct Row {
        /// Calls with the same answer as the call before, and nothing in between that could change it.
        repeated: u64,
        others: u64,
        /// 0: nothing was counted yet.
        first_ns: u64,
        /// Of the last call whose answer was compared.
        last_ns: u64,
        kernel_ns: u64,
        /// Of the last answer that was compared.
        fingerprint: u64,
        /// `Shared::changes` at the last call that was not repeated.
        changes: u64,
        /// `Proc::waits` at that call.
        waits: u32,
        /// Repeated calls since.
        streak: u32,
        /// Calls that are not in kernel_ns, though time is measured.
        untimed: u32,
        /// The text of its path has found no room in the ring so far.
        unsent: u32,
    }

    /// What one CPU has counted for a row and not yet added to it.
    struct PercpuRow {
        key: RowKey,
        row: Row,
        /// The count of the row when this CPU took it.
        before: u64,
        tgid: u32,
        zero: u32,
    }

    /// What a counter of calls without a path counts.
    struct CounterKey {
        image: u32,
        nr: u16,
        err: u16,
        compat: u16,
        zero: u16,
    }

    struct Counter {
        count: u64,
        /// Of the calls that did not wait.
        kernel_ns: u64,
        untimed: u64,
        /// As in needless_model's `Sequence`: sums over all calls.
        returned: u64,
        zero: u64,
        same: u64,
        next: u64,
        at_once: u64,
        /// The first argument of the last call.
        first: u64,
        /// The descriptor of the last call that was looked at: its number, what poll said of it, and a `WaitsOn`, with
        /// `SEEN`.
        fd: u32,
        events: u16,
        on: u16,
    }

    /// What one CPU has counted for a counter and not yet added to it.
    struct PercpuCounter {
        key: CounterKey,
        /// The process: its id, how many programs it has executed, and when it was started.
        tgid: u32,
        execs: u32,
        /// The thread of the last call, and how often it had waited by then.
        tid: u32,
        start: u64,
        waits: u64,
        counter: Counter,
    }

    /// A thread that is in a call.
    struct Entry {
        /// When it entered it.
        at_ns: u64,
        /// How often it had waited by then.
        waits: u64,
    }

    /// What calls that waited have in common.
    struct WaitKey {
        image: u32,
        nr: u16,
        err: u16,
        compat: u16,
        /// A `WaitsOn`.
        on: u16,
    }

    struct Wait {
        calls: u64,
        ns: u64,
    }

    /// What one CPU has spent in a program.
    struct Meter {
        /// Of the run that is timed now; 0: none is.
        start: u64,
        /// Of the runs that were timed.
        ns: u64,
        runs: u64,
        timed: u64,
    }

    /// A thread that ends.
    struct Ending {
        image: u32,
        zero: u32,
        /// Its CPU time as sent.
        runtime: u64,
    }

    /// The messages. Processes have four kinds.
    enum MessageKind { Seen, Forked, Executed, Exited, Path, Directory, Stack, Mapping, OrphanRow, Spent, Cgroup }

    struct MessageHead {
        kind: u32,
        image: u32,
    }

    /// The text of a path follows; of `Directory` and `Cgroup` its components, as in `MappingMessage`.
    struct PathMessage {
        head: MessageHead,
        /// `RowKey::path`, or the number of the directory, or the id of the control group.
        path: u64,
        /// Of a path that is relative to a working directory, the number of that; 0: not known.
        directory: u64,
        length: u32,
        zero: u32,
    }

    /// After `Executed`, the file as given to exec, the program that runs it and the environment follow, the first
    /// two with their NUL.
    struct ProcessMessage {
        head: MessageHead,
        /// In the pid namespace of needless; 0: it has no number there.
        pid: u32,
        /// The image it was before, or its parent's.
        former: u32,
        /// CPU time of the process so far: in user mode and in the kernel as sampled at ticks, and the exact sum.
        utime: u64,
        stime: u64,
        runtime: u64,
        minor_faults: u64,
        major_faults: u64,
        given_back: u64,
        cgroup: u64,
        /// The soft limit.
        open_files: u64,
        /// `Proc::directory`, of `Executed`.
        directory: u64,
        /// Its name, of `Seen` and `Executed`.
        command: [u8; COMMAND],
        /// As which `Executed` runs.
        uid: u32,
        gid: u32,
        exit_code: i32,
        shares_root: u8,
        secure: u8,
        zero: u8,
        /// It was executed by execveat with a descriptor.
        by_descriptor: u8,
        file_length: u32,
        interpreter_length: u32,
        environ_length: u32,
        /// The length of the whole environment.
        environ_whole: u32,
    }

    /// A file that is mapped executable, sent before a snapshot. The components of its path follow, the last one
    /// first, each with its NUL.
    struct MappingMessage {
        head: MessageHead,
        start: u64,
        end: u64,
        /// The page of the file at `start`.
        page: u64,
        inode: u64,
        pid: u32,
        /// The first mapping of a list that replaces an earlier list of this image.
        first: u32,
        length: u32,
        zero: u32,
    }

    /// What a CPU had not yet added to a row when the process ended.
    struct OrphanRow {
        head: MessageHead,
        key: RowKey,
        row: Row,
    }

    /// CPU time of a thread that has ended, in addition to what the other messages have.
    struct Spent {
        head: MessageHead,
        runtime: u64,
    }

    struct Registers {
        pc: u64,
        sp: u64,
        fp: u64,
        lr: u64,
    }

    /// A stack follows.
    struct StackMessage {
        head: MessageHead,
        key: RowKey,
        /// How many calls it stands for.
        weight: u64,
        at: Registers,
        pid: u32,
        length: u32,
    }
}
