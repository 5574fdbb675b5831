/* What the programs keep between calls, and how they send messages. */
#pragma once
#include "shared.h"

const volatile struct settings settings SEC(".rodata.settings");
struct shared shared;	/* the only variable of .bss */

/* All maps are allocated beforehand: to allocate at each new row is many times dearer than to count. */
#define HASH(name, size, key_type, value_type)       \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_HASH);     \
		__uint(max_entries, size);           \
		__type(key, key_type);               \
		__type(value, value_type);           \
	} name SEC(".maps")

HASH(procs, 16384, __u32, struct proc);
HASH(rows, 65536, struct row_key, struct row);
/* Rows that are counted again and again: found without a search, and no CPU waits for another. */
#define HOT 512
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOT);
	__type(key, __u32);
	__type(value, struct hot);
} hots SEC(".maps");
HASH(plains, 32768, struct plain_key, struct plain);
/* Where rows go that find no room: one per call and outcome, of nobody in particular. */
HASH(folded, 2048, struct plain_key, struct plain);
/* Whom to observe, by process id in our pid namespace where that is not the machine's own: the image
 * that it is to be. */
HASH(wanted, 4096, __u32, __u32);
/* Paths whose text was sent. */
HASH(texts, 65536, __u64, __u8);
/* When a thread entered the call it is in. */
HASH(entered, 16384, __u32, __u64);

/* How many images were numbered on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} numbered SEC(".maps");

#define RING (1 << 21)
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING);
} events SEC(".maps");

/* Too large for the stack of a program. Each program that uses one has its own: a program does not
 * interrupt itself on the same CPU. */
#define STRIDE 64
struct text_scratch {
	struct named head;
	char text[TEXT + STRIDE];	/* padded */
	__u64 arguments[8];	/* of the call */
	struct row_key key;	/* of its row */
	struct registers at;	/* where it was made */
};
struct exec_scratch {
	struct process head;
	char bytes[2 * TEXT + ENVIRON];
};
struct sample_scratch {
	struct sampled head;
	char bytes[STACK];
};
struct map_scratch {
	struct mapped head;
	char bytes[PATH_BYTES + COMPONENT];
};
#define SCRATCH(name)                                \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, 1);              \
		__type(key, __u32);                  \
		__type(value, struct name);          \
	} name SEC(".maps")
SCRATCH(text_scratch);
SCRATCH(exec_scratch);
SCRATCH(sample_scratch);
SCRATCH(map_scratch);

#define scratch(name)                                          \
	({                                                     \
		__u32 zero_ = 0;                               \
		(struct name *)bpf_map_lookup_elem(&name, &zero_); \
	})

static __always_inline void bump(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* Readers look ten times a second; they are woken only where the ring may fill up before. */
static __always_inline bool send(void *data, __u32 size)
{
	__u64 flags = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > RING / 2
			      ? BPF_RB_FORCE_WAKEUP
			      : BPF_RB_NO_WAKEUP;
	return bpf_ringbuf_output(&events, data, size, flags) == 0;
}
