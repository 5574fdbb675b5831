/* What the programs keep between calls, and how they send messages. */
#pragma once
#include "shared.h"	/* written by build.rs from src/shared.rs */

#define TEXT 4096
#define INTERPRETER 256
#define ENVIRON 16384
#define STACK 4096
#define PATH_BYTES 2048
#define COMPONENT 256

const volatile struct settings settings SEC(".rodata.settings");
struct shared shared;	/* the only variable of .bss */

/* Maps are allocated beforehand: an allocation for a new row costs many times more than a count. */
#define HASH(name, size, key_type, value_type)       \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_HASH);     \
		__uint(max_entries, size);           \
		__type(key, key_type);               \
		__type(value, value_type);           \
	} name SEC(".maps")

HASH(procs, 16384, __u32, struct proc);
HASH(rows, 65536, struct row_key, struct row);
/* Rows that are counted often: found without a search, and no CPU waits for another. */
#define PERCPU_ROWS 512
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PERCPU_ROWS);
	__type(key, __u32);
	__type(value, struct percpu_row);
} percpu_rows SEC(".maps");
HASH(counters, 32768, struct counter_key, struct counter);
/* What each CPU has counted of calls without a path and not yet added to the counters. */
#define PERCPU_COUNTERS 512
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PERCPU_COUNTERS);
	__type(key, __u32);
	__type(value, struct percpu_counter);
} percpu_counters SEC(".maps");
/* For rows that find no room: one counter per call and outcome, without a process. */
HASH(folded, 2048, struct counter_key, struct counter);
/* Processes to observe, by their id in the pid namespace of needless, if that is not the machine's own. The value is
 * the image number of the process. */
HASH(chosen_pids, 4096, __u32, __u32);
/* Hashes of paths whose text was sent, each at its remainder. A text that another one has displaced is sent again. */
#define SENT_PATHS 65536
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_PATHS);
	__type(key, __u32);
	__type(value, __u64);
} sent_paths SEC(".maps");
/* Ids of control groups whose names were sent, each at the top bits of its hash. */
#define SENT_CGROUPS_BITS 12
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << SENT_CGROUPS_BITS);
	__type(key, __u32);
	__type(value, __u64);
} sent_cgroups SEC(".maps");
/* Of each thread that is in a call: when it entered it. */
HASH(entries, 16384, __u32, struct entry);
/* Calls that waited, where calls are timed. */
HASH(waits, 16384, struct wait_key, struct wait);
/* Threads that end: what the scheduler still adds to their CPU time is sent once they have left their CPU. */
HASH(endings, 16384, __u32, struct ending);

/* What each program takes on each CPU. */
enum program { PROGRAM_SYS_EXIT, PROGRAM_FORK, PROGRAM_EXEC, PROGRAM_EXIT, PROGRAM_SWITCH, PROGRAMS };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROGRAMS);
	__type(key, __u32);
	__type(value, struct meter);
} meters SEC(".maps");

/* How many images were numbered on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} image_numbers SEC(".maps");

#define RING (1 << 21)
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING);
} events SEC(".maps");

/* Data too large for the stack of a program. No two programs share one, and a program does not interrupt itself on
 * the same CPU. */
#define STRIDE 128
struct sip {
	__u64 a, b, c, d;
};
struct text_scratch {
	struct path_message head;
	char text[TEXT + STRIDE];	/* padded */
	struct sip sip;	/* of hash_long() */
	__u64 arguments[8];	/* of the call */
	struct row_key key;	/* of its row */
	struct registers at;	/* of its caller */
};
struct exec_scratch {
	struct process_message head;
	char bytes[2 * TEXT + ENVIRON];
};
struct sample_scratch {
	struct stack_message head;
	char bytes[STACK];
};
struct map_scratch {
	struct mapping_message head;
	char bytes[PATH_BYTES + COMPONENT];
	struct dentry *dentry;	/* where components() is */
	struct mount *mount;
};
#define SCRATCH(name)                                \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, 1);              \
		__type(key, __u32);                  \
		__type(value, struct name);          \
	} name SEC(".maps")
/* One for the path of a call, one for a directory. */
#define OF_CALL 0
#define OF_DIRECTORY 1
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct text_scratch);
} text_scratches SEC(".maps");
struct cgroup_scratch {
	struct path_message head;
	char bytes[PATH_BYTES + COMPONENT];
};
/* One for each kind of message about a process. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct cgroup_scratch);
} cgroup_scratches SEC(".maps");
SCRATCH(exec_scratch);
SCRATCH(sample_scratch);
SCRATCH(map_scratch);

static __always_inline struct text_scratch *text_scratch(__u32 of)
{
	return bpf_map_lookup_elem(&text_scratches, &of);
}

#define scratch(name)                                          \
	({                                                     \
		__u32 zero_ = 0;                               \
		(struct name *)bpf_map_lookup_elem(&name, &zero_); \
	})

static __always_inline void bump(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* The reader looks ten times a second; it is woken only if the ring may be full before that. */
static __always_inline bool send(void *data, __u32 size)
{
	__u64 flags = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > RING / 2
			      ? BPF_RB_FORCE_WAKEUP
			      : BPF_RB_NO_WAKEUP;
	return bpf_ringbuf_output(&events, data, size, flags) == 0;
}
