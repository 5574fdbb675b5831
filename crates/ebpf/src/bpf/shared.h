/* What the program in the kernel and its reader (src/wire.rs) agree on. A test of the reader looks that its numbers
 * are those of the definitions and enumerations here; that the sizes are those of the structures, the end of this
 * file. */
#pragma once

#define CALLS 512
#define TEXT 4096
#define INTERPRETER 256
#define ENVIRON 16384
#define STACK 4096
#define PATH_BYTES 2048
#define COMPONENT 256
#define COMMAND 16	/* TASK_COMM_LEN */
#define NOFILE 7	/* RLIMIT_NOFILE, asm-generic/resource.h */

/* What is to be done about a call: needless-syscalls's table. */
enum kind { PLAIN, PATH, WAIT, MOVES, URING, BIRTH, TELLS };
enum decider { NAME, OPEN_FLAGS, OPEN_HOW, AT_FLAGS };
enum reply { NO_REPLY, STAT, STAT64_I386, STAT64_ARM, STAT_I386, STATX, LINK };
enum when { ALWAYS, NON_ZERO, WITHOUT, AT_LEAST, STREAM, ONE_OF, WITH };
enum moves { NOTHING, DIRECTORY, ROOT };
/* needless_model::Ask, in its order. */
enum ask { ASK_STAT, ASK_LSTAT, ASK_OPEN, ASK_OPEN_WRITE, ASK_ACCESS, ASK_READLINK, ASK_EXEC, ASK_CHANGE, ASK_OTHER, ASK_NO_PATH };
#define NONE 0xff
/* needless_model::Detail, in its order, as far as it is named here; and what only the arguments decide. */
enum detail { SMALL_OUTPUT = 0, HEAP_GROWS = 2, HEAP_SHRINKS = 3, NAME_SERVER = 6, SYSTEM_LOG = 7, DISCARDED_OUTPUT = 8 };
enum told { OUTPUT = 0x40, HEAP, PEER };

struct call {
	__u8 kind;
	__u8 ask;	/* or, of TELLS, a detail or what is told */
	__u8 path;	/* position of the argument, or NONE */
	__u8 dir;
	__u8 at_flags;
	__u8 decider;
	__u8 decider_at;
	__u8 reply;
	__u8 reply_at;
	__u8 when;
	__u8 when_at;
	__u8 moves;
	__u32 when_bits;
};

struct settings {
	__u64 key[2];		/* of the path hash: random, another in each run */
	__u64 within_ns;	/* how soon the same question must be put again to be repeated */
	__u32 self;		/* our own tgid, as seen in our pid namespace */
	__u32 pid_ns;		/* inode number of our pid namespace */
	__u8 everyone;		/* every process, not only those in `procs` */
	__u8 all;		/* rows of calls without a path, too */
	__u8 latency;		/* the enter hook is attached: kernel time per row */
	__u8 stacks;		/* take snapshots */
	__u8 launch;		/* the first process that we fork is observed */
	__u8 translate;		/* our process ids are not the kernel's: whom we chose is in `wanted` */
	__u8 unused[2];
	__u32 cpus;		/* that may be there, numbered from 0 */
	__u32 last_image;	/* the number of all images for which there is no other left */
	struct call calls[2][CALLS];	/* the machine's own ABI, then the 32-bit one */
};

/* Counters of what went wrong, and state of all CPUs. */
struct shared {
	__u64 changes;		/* counts calls after which an answer may be another */
	__u64 rows;		/* distinct rows added, those deleted since not subtracted */
	__u64 folded;		/* calls counted without their path, for lack of room */
	__u64 unreadable;	/* paths that could not be read */
	__u64 untimed;		/* calls whose begin found no room */
	__u64 events_lost;	/* processes that came, exec'd or went unseen for lack of room */
	__u64 uncounted;	/* calls that were counted nowhere */
	__u64 stacks_lost;
	__u64 uring;		/* calls of io_uring_setup */
	__u64 launched;		/* whether the launched process was seen */
	__u64 own_mnt_ns;	/* our own mount namespace and root, to compare */
	__u64 own_root;
};

/* A process that is observed. Its threads write here at the same time. What is counted is added atomically, but for
 * `samples`: an addition that is lost means one snapshot more. The others are set to what does not depend on what
 * was there. */
struct proc {
	__u32 image;		/* 0: not yet its own program, and not counted */
	__u32 waits;		/* counts calls that waited, and moves */
	__u32 moved;		/* whether its working directory or root may be another than at first */
	__u16 mapped;		/* when its mappings were told, in units of about 16 ms */
	__u16 samples;		/* snapshots taken of it */
	__u32 threads;		/* that have not ended; 0: it was there before us, and we do not know */
	__u32 stdio;	/* what its standard streams are, once looked at; 0 at each exec */
	__u64 heap;	/* the last end of the heap that it asked for */
	__u64 utime, stime, runtime;	/* of the threads that have ended */
};

struct row_key {
	__u64 path;		/* hash of the text; of ASK_NO_PATH, a detail and 1 */
	__u32 image;
	__u16 nr;
	__u16 err;		/* 0: it succeeded */
	__u8 ask;
	__u8 compat;
	__u8 from_dir_fd;
	__u8 moved;		/* proc.moved at the call */
	__u8 zero[4];
};

struct row {
	__u64 repeated;		/* calls that were answered as the one before, with nothing in between */
	__u64 others;
	__u64 first_ns;		/* 0: nothing was counted yet */
	__u64 last_ns;		/* of the last call that was compared */
	__u64 kernel_ns;
	__u64 print;		/* fingerprint of the last answer that was compared */
	__u64 changes;		/* shared.changes at the last call that was not repeated */
	__u32 waits;		/* proc.waits at it */
	__u32 streak;		/* repeated calls since */
	__u32 untimed;		/* calls that are not in kernel_ns, though time is measured */
	__u32 untold;		/* the text of its path found no room in the ring so far */
};

/* A row that this CPU adds to, to what others do. */
struct hot {
	struct row_key key;
	struct row row;
	__u64 before;		/* how often it was counted before it came here */
	__u32 tgid;
	__u32 zero;
};

struct plain_key {
	__u32 image;
	__u16 nr;
	__u16 err;
	__u16 compat;
	__u16 shard;
};

struct plain {
	__u64 count;
	__u64 kernel_ns;
	__u64 untimed;
};

enum event_kind { SEEN = 1, FORKED, EXECUTED, EXITED, MOVED, NAMED, SAMPLED, MAPPED, LATE };

struct event {
	__u32 kind;
	__u32 image;
	__u64 at_ns;
};

/* NAMED: the text of a path. The text follows. */
struct named {
	struct event head;
	__u64 path;
	__u32 length;
	__u32 zero;
};

/* SEEN, FORKED, EXECUTED, EXITED; MOVED has the head alone. For EXECUTED the file as asked for, what
 * it is interpreted by, and the environment follow, the first two with their NUL. */
struct process {
	struct event head;
	__u32 pid;		/* in our pid namespace; 0: it has none there */
	__u32 former;		/* the image it was, or its parent's */
	__u64 utime, stime, runtime;	/* of the process so far */
	__u64 cgroup;
	__u64 open_files;	/* the soft limit */
	char command[COMMAND];	/* its name, of SEEN and EXECUTED */
	__s32 exit_code;
	__u8 own_root;
	__u8 secure;
	__u8 moved;
	__u8 by_descriptor;	/* execveat with a descriptor */
	__u32 file_length;
	__u32 interpreter_length;
	__u32 environ_length;
	__u32 environ_whole;	/* its true length */
};

/* MAPPED: a file mapped executable when a snapshot was about to be taken. The components of its path
 * follow, the last first, each with its NUL. */
struct mapped {
	struct event head;
	__u64 start, end;
	__u64 page;		/* of the file, that `start` is */
	__u64 inode;
	__u32 pid;
	__u32 first;		/* what was told of this image before is out of date */
	__u32 length;
	__u32 zero;
};

/* LATE: what a CPU had not yet added to a row when its process ended. */
struct late {
	struct event head;
	struct row_key key;
	struct row row;
};

struct registers {
	__u64 pc, sp, fp, lr;
};

/* SAMPLED: a stack follows. */
struct sampled {
	struct event head;
	struct row_key key;
	__u64 weight;
	struct registers at;
	__u32 pid;
	__u32 length;
};

#define CALL_SIZE 16
#define SETTINGS_HEAD 48	/* the settings before the calls */
#define SHARED_SIZE 96
#define PROC_SIZE 56
#define ROW_KEY_SIZE 24
#define ROW_SIZE 72
#define HOT_SIZE 112
#define PLAIN_KEY_SIZE 12
#define PLAIN_SIZE 24
#define EVENT_SIZE 16
#define NAMED_SIZE 32
#define PROCESS_SIZE 104
#define MAPPED_SIZE 64
#define LATE_SIZE 112
#define SAMPLED_SIZE 88
_Static_assert(sizeof(struct call) == CALL_SIZE, "call");
_Static_assert(sizeof(struct settings) == SETTINGS_HEAD + 2 * CALLS * CALL_SIZE, "settings");
_Static_assert(sizeof(struct shared) == SHARED_SIZE, "shared");
_Static_assert(sizeof(struct proc) == PROC_SIZE, "proc");
_Static_assert(sizeof(struct row_key) == ROW_KEY_SIZE, "row_key");
_Static_assert(sizeof(struct row) == ROW_SIZE, "row");
_Static_assert(sizeof(struct hot) == HOT_SIZE, "hot");
_Static_assert(sizeof(struct plain_key) == PLAIN_KEY_SIZE, "plain_key");
_Static_assert(sizeof(struct plain) == PLAIN_SIZE, "plain");
_Static_assert(sizeof(struct event) == EVENT_SIZE, "event");
_Static_assert(sizeof(struct named) == NAMED_SIZE, "named");
_Static_assert(sizeof(struct process) == PROCESS_SIZE, "process");
_Static_assert(sizeof(struct mapped) == MAPPED_SIZE, "mapped");
_Static_assert(sizeof(struct late) == LATE_SIZE, "late");
_Static_assert(sizeof(struct sampled) == SAMPLED_SIZE, "sampled");
