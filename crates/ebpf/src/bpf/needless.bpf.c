/* Counts system calls where they are made: no event per call leaves the kernel.
 *
 * One program runs as each call returns. The arguments are still in the saved registers, so the
 * entry need not be watched; execve, whose arguments are gone by then, is counted by the exec
 * tracepoint. Threads of one process that run on different CPUs have rows of their own. */
#include "kernel.h"
#include <bpf_helpers.h>
#include <bpf_tracing.h>
#include <bpf_core_read.h>
#include "shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} events SEC(".maps");

/* Too large for the stack of a program. Each program that uses one has its own: a program does not
 * interrupt itself on the same CPU. */
struct text_scratch {
	struct named head;
	char text[TEXT];
};
struct exec_scratch {
	struct process head;
	char bytes[2 * TEXT + ENVIRON];
};
struct sample_scratch {
	struct sampled head;
	char bytes[STACK];
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
struct map_scratch {
	struct mapped head;
	char bytes[PATH_BYTES + COMPONENT];
};
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

/* How many rows one question of a process with threads may have. */
#define SHARDS 8

/* The task that makes the call. */
static __always_inline struct task_struct *current_task(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___here, BPF_FUNC_get_current_task_btf___here))
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* Readers look ten times a second; they are woken only where the ring may fill up before. */
static __always_inline bool send(void *data, __u32 size)
{
	__u64 flags = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > (1 << 20)
			      ? BPF_RB_FORCE_WAKEUP
			      : BPF_RB_NO_WAKEUP;
	return bpf_ringbuf_output(&events, data, size, flags) == 0;
}

/* ---- registers ---- */

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x0002	/* asm/thread_info.h: a 32-bit call is under way */
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}
static __always_inline long number(struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}
static __always_inline __u64 argument(struct pt_regs *regs, bool compat, __u32 at)
{
	if (compat) {
		switch (at) {
		case 0: return (__u32)regs->bx;
		case 1: return (__u32)regs->cx;
		case 2: return (__u32)regs->dx;
		case 3: return (__u32)regs->si;
		case 4: return (__u32)regs->di;
		default: return (__u32)regs->bp;
		}
	}
	switch (at) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	case 3: return regs->r10;
	case 4: return regs->r8;
	default: return regs->r9;
	}
}
#define PC(regs) ((regs)->ip)
#define SP(regs) ((regs)->sp)
#define FP(regs) ((regs)->bp)
#define LR(regs) 0
/* asm/unistd.h: marks a call of the x32 ABI, numbered like the others but for those from 512. */
#define X32_BIT 0x40000000
#define RT_SIGRETURN 15
#else
#define TIF_32BIT 22	/* asm/thread_info.h */
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.flags >> TIF_32BIT & 1;
}
static __always_inline long number(struct pt_regs *regs)
{
	return regs->syscallno;
}
static __always_inline __u64 argument(struct pt_regs *regs, bool compat, __u32 at)
{
	switch (at) {
	case 0: return regs->orig_x0;	/* the result is in x0 by now */
	case 1: return regs->regs[1];
	case 2: return regs->regs[2];
	case 3: return regs->regs[3];
	case 4: return regs->regs[4];
	default: return regs->regs[5];
	}
}
#define PC(regs) ((regs)->pc)
#define SP(regs) ((regs)->sp)
#define FP(regs) ((regs)->regs[29])
#define LR(regs) ((regs)->regs[30])
#define X32_BIT 0
#define RT_SIGRETURN 139
#endif

/* Of i386 and arm, where rt_sigreturn cannot be told from it any more. */
#define SIGRETURN_COMPAT 119

/* ---- processes ---- */

/* The number of `pid` in our own pid namespace; 0 where it has none. */
static __always_inline __u32 number_here(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	for (int i = 0; i < 8; i++) {
		struct upid at = {};
		if (i > level)
			break;
		bpf_core_read(&at, sizeof(at), &pid->numbers[i]);
		if (BPF_CORE_READ(at.ns, ns.inum) == settings.pid_ns)
			return at.nr;
	}
	return 0;
}

static __always_inline __u32 tgid_here(struct task_struct *task)
{
	return number_here(BPF_CORE_READ(task, group_leader, thread_pid));
}

/* CPU time of a process whose only thread is `task`. */
static __always_inline void times(struct process *event, struct proc *proc, struct task_struct *task)
{
	event->utime = proc->utime + task->utime;
	event->stime = proc->stime + task->stime;
	event->runtime = proc->runtime + task->se.sum_exec_runtime;
}

static __always_inline bool has_own_root(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, nsproxy, mnt_ns) == shared.own_mnt_ns &&
	       (__u64)BPF_CORE_READ(task, fs, root.dentry) == shared.own_root;
}

static __always_inline void head(struct process *event, __u32 kind, __u32 image, struct task_struct *task)
{
	event->head.kind = kind;
	event->head.image = image;
	event->head.at_ns = bpf_ktime_get_ns();
	event->cgroup = bpf_get_current_cgroup_id();
	event->own_root = has_own_root(task);
	event->pid = tgid_here(task);
}

/* A number for a process image, unlike those of the last million on this CPU. 0 is none. */
static __always_inline __u32 new_image(void)
{
	__u32 zero = 0;
	__u32 *last = bpf_map_lookup_elem(&numbered, &zero);
	if (!last)
		return 0;
	*last += 1;
	return bpf_get_smp_processor_id() << 20 | (*last & ((1 << 20) - 1));
}

/* A process that was there before us makes its first call. */
static __noinline struct proc *first_seen(__u32 tgid)
{
	struct task_struct *task = current_task();
	if (!shared.own_root && tgid_here(task) == settings.self) {
		shared.own_root = (__u64)BPF_CORE_READ(task, fs, root.dentry);
		shared.own_mnt_ns = (__u64)BPF_CORE_READ(task, nsproxy, mnt_ns);
	}
	struct proc fresh = {};
	if (settings.translate) {
		__u32 here = tgid_here(task);
		__u32 *image = bpf_map_lookup_elem(&wanted, &here);
		if (!image)
			return NULL;
		fresh.image = *image;
		bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST);
		bpf_map_delete_elem(&wanted, &here);
		return bpf_map_lookup_elem(&procs, &tgid);
	}
	if (!settings.everyone || tgid_here(task) == settings.self)
		return NULL;
	fresh.image = new_image();
	if (bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST) == 0) {
		struct process event = {};
		head(&event, SEEN, fresh.image, task);
		if (!send(&event, sizeof(event)))
			bump(&shared.events_lost);
	}
	return bpf_map_lookup_elem(&procs, &tgid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = child->tgid, from = parent->tgid;
	struct proc *known = bpf_map_lookup_elem(&procs, &from);
	if (tgid == from) {
		if (known && known->threads)
			__sync_fetch_and_add(&known->threads, 1);
		return 0;
	}
	bool launched = false;
	if (!known) {
		if (!settings.launch || shared.launched || tgid_here(parent) != settings.self)
			return 0;
		shared.launched = launched = true;
	} else {
		known->waits++;
	}
	struct proc fresh = { .threads = 1 };
	struct process event = {};
	if (known && known->image) {
		fresh.image = new_image();
		fresh.moved = known->moved;
		event.former = known->image;
		event.moved = known->moved;
	} else if (known) {
		return 0;
	} else {
		/* Our own child, which becomes the command when it execs. */
		return bpf_map_update_elem(&procs, &tgid, &fresh, BPF_ANY), 0;
	}
	head(&event, FORKED, fresh.image, child);
	if (bpf_map_update_elem(&procs, &tgid, &fresh, BPF_ANY) || !send(&event, sizeof(event)))
		bump(&shared.events_lost);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	__u32 tgid = task->tgid;
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	struct exec_scratch *s = scratch(exec_scratch);
	if (!proc || !s)
		return 0;
	struct process *event = &s->head;
	__builtin_memset(event, 0, sizeof(*event));
	event->former = proc->image;
	proc->image = new_image();
	proc->waits++;
	head(event, EXECUTED, proc->image, task);
	times(event, proc, task);
	event->moved = proc->moved;
	event->secure = BPF_CORE_READ_BITFIELD(binprm, secureexec);
	event->by_descriptor = binprm->fdpath != NULL;
	__u32 used = 0;
	long length = bpf_probe_read_kernel_str(s->bytes, TEXT, binprm->filename);
	if (length > 0)
		used = length;
	event->file_length = used;
	length = bpf_probe_read_kernel_str(s->bytes + (used & (2 * TEXT - 1)), INTERPRETER, binprm->interp);
	if (length > 0)
		used += length;
	event->interpreter_length = used - event->file_length;
	struct mm_struct *mm = task->mm;
	__u64 start = mm->env_start, end = mm->env_end;
	__u64 whole = end > start ? end - start : 0;
	__u32 size = whole < ENVIRON - 1 ? whole : ENVIRON - 1;
	event->environ_whole = whole > 0xffffffff ? 0xffffffff : whole;
	if (bpf_probe_read_user(s->bytes + (used & (2 * TEXT - 1)), size & (ENVIRON - 1), (void *)start) == 0)
		event->environ_length = size;
	else
		size = 0;
	bump(&shared.changes);
	if (!send(s, (sizeof(*event) + used + size) & (2 * ENVIRON - 1)))
		bump(&shared.events_lost);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	if (settings.latency)
		bpf_map_delete_elem(&entered, &tid);	/* exit does not return */
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc)
		return 0;
	__sync_fetch_and_add(&proc->utime, task->utime);
	__sync_fetch_and_add(&proc->stime, task->stime);
	__sync_fetch_and_add(&proc->runtime, task->se.sum_exec_runtime);
	if (!proc->threads) {
		if (task->signal->live.counter != 0)
			return 0;	/* other threads go on */
	} else {
		/* signal->live is 0 for each of several threads that end at once, of which the last is to
		 * tell the time of all. */
		__sync_fetch_and_add(&proc->threads, -1);
		if (proc->threads)
			return 0;
	}
	struct process event = {};
	head(&event, EXITED, proc->image, task);
	event.utime = proc->utime;
	event.stime = proc->stime;
	event.runtime = proc->runtime;
	event.exit_code = task->signal->group_exit_code ?: task->exit_code;
	if (bpf_map_delete_elem(&procs, &tgid))
		return 0;	/* told by another */
	if (!send(&event, sizeof(event)))
		bump(&shared.events_lost);
	return 0;
}

/* The working directory or the root of a process may be another from here on. */
static __always_inline void moves(struct proc *proc)
{
	proc->waits++;
	if (proc->moved)
		return;
	proc->moved = 1;
	struct event event = { .kind = MOVED, .image = proc->image, .at_ns = bpf_ktime_get_ns() };
	if (!send(&event, sizeof(event)))
		bump(&shared.events_lost);
}

/* ---- calls ---- */

/* Of a text whose bytes behind `length` do not matter, eight at a time. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Of the first `length` bytes in text_scratch. A function of its own, so that the verifier walks its
 * loop once. */
__noinline __u64 hash_text(__u32 length)
{
	struct text_scratch *s = scratch(text_scratch);
	if (!s)
		return 0;
	const __u64 *words = (const __u64 *)s->text;
	__u64 hash = settings.seed + length;
	__u32 i;
	for (i = 0; i < TEXT / 8; i++) {
		if ((i + 1) * 8 > length)
			break;
		hash = mix(hash, words[i]);
	}
	if (i < TEXT / 8 && length & 7)
		hash = mix(hash, words[i] & ((1ULL << (length & 7) * 8) - 1));
	return mix(hash, length);
}

/* What matters in the answer of a call that succeeded; 0 where it cannot be read. For a file's
 * status device, inode, size and time of modification (asm/stat.h, linux/stat.h). */
static __always_inline __u64 fingerprint(__u32 reply, __u64 address, long ret, char *room)
{
	__u64 *words = (__u64 *)room;
	__u64 hash = 1;
	switch (reply) {
	case STAT:
		if (bpf_probe_read_user(words, 104, (void *)address))
			return 0;
		hash = mix(hash, words[0]);
		hash = mix(hash, words[1]);
		hash = mix(hash, words[6]);
		hash = mix(hash, words[11]);
		return mix(hash, words[12]);
	case STATX:
		if (bpf_probe_read_user(words, 144, (void *)address))
			return 0;
		hash = mix(hash, words[4]);
		hash = mix(hash, words[5]);
		hash = mix(hash, words[14]);
		hash = mix(hash, words[15] & 0xffffffff);
		return mix(hash, words[17]);
	case STAT_I386:
	case STAT64_I386:
	case STAT64_ARM:
		/* The whole structure but its time of access would be another at each read. */
		if (bpf_probe_read_user(words, 104, (void *)address))
			return 0;
		if (reply == STAT_I386)
			return mix(mix(mix(hash, words[0]), words[2] >> 32), words[5]);
		hash = mix(hash, words[0]);
		if (reply == STAT64_ARM)
			return mix(mix(mix(hash, words[6]), words[10]), words[12]);
		hash = mix(hash, words[5] >> 32 | words[6] << 32);
		return mix(mix(hash, words[9]), words[11]);
	case LINK: {
		__u32 length = ret & (TEXT - 1);
		if (bpf_probe_read_user(room, length, (void *)address))
			return 0;
		return hash_text(length);
	}
	}
	return 0;
}

static __always_inline __u64 kernel_time(void)
{
	if (!settings.latency)
		return 0;
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *at = bpf_map_lookup_elem(&entered, &tid);
	if (!at)
		return 0;
	__u64 ns = bpf_ktime_get_ns() - *at;
	bpf_map_delete_elem(&entered, &tid);
	return ns;
}

static __always_inline void add(void *map, struct plain_key *key, __u64 kernel_ns, bool last)
{
	struct plain *known = bpf_map_lookup_elem(map, key);
	if (!known) {
		struct plain fresh = { .count = 1, .kernel_ns = kernel_ns };
		if (bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST) == 0)
			return;
		known = bpf_map_lookup_elem(map, key);
	}
	if (known) {
		bump(&known->count);
		if (settings.latency)
			__sync_fetch_and_add(&known->kernel_ns, kernel_ns);
		return;
	}
	if (last) {
		bump(&shared.uncounted);
		return;
	}
	struct plain_key less = *key;
	less.image = 0;
	bump(&shared.folded);
	known = bpf_map_lookup_elem(&folded, &less);
	if (!known) {
		struct plain fresh = {};
		bpf_map_update_elem(&folded, &less, &fresh, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&folded, &less);
	}
	if (!known) {
		bump(&shared.uncounted);
		return;
	}
	bump(&known->count);
	__sync_fetch_and_add(&known->kernel_ns, kernel_ns);
}

static __always_inline __u8 shard(struct task_struct *task)
{
	return task->signal->nr_threads > 1 ? bpf_get_smp_processor_id() % SHARDS : 0;
}

static __always_inline void count_plain(__u32 image, __u16 nr, __u16 err, bool compat, __u8 shard)
{
	struct plain_key key = { .image = image, .nr = nr, .err = err, .compat = compat, .shard = shard };
	add(&plains, &key, kernel_time(), false);
}

/* How many calls a snapshot at the `hit`th stands for, 0: none is taken. At the 2nd, and at each
 * power of 8 with the three that follow: a program may ask from several places in turn. */
static __always_inline __u64 weight(__u64 hit)
{
	if (hit == 2)
		return 2;
	/* A power of two at least, before the loop. */
	if ((hit & ~3ULL) & ((hit & ~3ULL) - 1))
		return 0;
	__u64 before = 2;
	for (__u64 power = 8; power <= 1ULL << 30; power *= 8) {
		if (hit < power)
			return 0;
		if (hit < power + 4) {
			__u64 calls = power + 3 - before;
			return calls / 4 + (hit - power < calls % 4);
		}
		before = power + 3;
	}
	return 0;
}

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task, __u64 address) __weak __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __weak __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __weak __ksym;

/* Puts the path of a `struct file` up to the root of the mount tree into map_scratch, the last component
 * first, and returns its length. Like the two functions below, one of its own so that the verifier walks
 * its loop once; hence the address as a number. */
__noinline __u32 components(__u64 address)
{
	struct file *file = (void *)address;
	struct map_scratch *s = scratch(map_scratch);
	if (!s)
		return 0;
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *vfs = BPF_CORE_READ(file, f_path.mnt);
	struct mount *mount = (void *)vfs - bpf_core_field_offset(struct mount, mnt);
	__u32 used = 0;
	for (int i = 0; i < 32; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
			struct mount *above = BPF_CORE_READ(mount, mnt_parent);
			if (above == mount)
				break;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		long length = bpf_probe_read_kernel_str(s->bytes + (used & (PATH_BYTES - 1)), COMPONENT,
							BPF_CORE_READ(dentry, d_name.name));
		if (length <= 0 || used + length > PATH_BYTES)
			return 0;
		used += length;
		dentry = parent;
	}
	return used;
}

/* Tells what the process has mapped executable, for whoever unwinds its stack may come when it is
 * gone. */
__noinline int tell_mappings(__u32 image)
{
	struct map_scratch *s = scratch(map_scratch);
	if (!s || !bpf_ksym_exists(bpf_iter_task_vma_new))
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	s->head.head.kind = MAPPED;
	s->head.head.image = image;
	s->head.head.at_ns = 0;
	s->head.pid = tgid_here(task);
	s->head.first = 1;
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	bpf_iter_task_vma_new(&it, task, 0);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		/* Read rather than followed: a number, which can be handed on. */
		struct file *file = BPF_CORE_READ(vma, vm_file);
		if (!(vma->vm_flags & 4) /* VM_EXEC */ || !file)
			continue;
		s->head.start = vma->vm_start;
		s->head.end = vma->vm_end;
		s->head.page = vma->vm_pgoff;
		s->head.inode = BPF_CORE_READ(file, f_path.dentry, d_inode, i_ino);
		__u32 length = components((__u64)file);
		s->head.length = length;
		if (!send(s, sizeof(s->head) + (length & (PATH_BYTES - 1))))
			bump(&shared.stacks_lost);
		s->head.first = 0;
	}
	bpf_iter_task_vma_destroy(&it);
	return 0;
}

__noinline int sample(struct registers *at, struct row_key *key, __u64 stands_for)
{
	struct sample_scratch *s = scratch(sample_scratch);
	if (!s || !at || !key)
		return 0;
	s->head.head.kind = SAMPLED;
	s->head.head.image = key->image;
	s->head.head.at_ns = bpf_ktime_get_ns();
	s->head.key = *key;
	s->head.weight = stands_for;
	s->head.at = *at;
	s->head.pid = tgid_here(current_task());
	/* The stack may end before 4 KiB. */
	s->head.length = 0;
	for (int i = 0; i < STACK / 512; i++) {
		if (bpf_probe_read_user(s->bytes + i * 512, 512, (void *)(at->sp + i * 512)))
			break;
		s->head.length += 512;
	}
	if (!send(s, sizeof(*s)))
		bump(&shared.stacks_lost);
	return 0;
}

static __always_inline __u8 decide(const volatile struct call *call, struct pt_regs *regs, bool compat)
{
	__u64 flags = 0;
	switch (call->decider) {
	case OPEN_HOW:
		if (bpf_probe_read_user(&flags, 8, (void *)argument(regs, compat, call->decider_at)))
			return call->ask;
		break;
	case OPEN_FLAGS:
	case AT_FLAGS:
		flags = argument(regs, compat, call->decider_at);
		break;
	default:
		return call->ask;
	}
	if (call->decider == AT_FLAGS)
		return flags & 0x100 /* AT_SYMLINK_NOFOLLOW */ ? ASK_LSTAT : ASK_STAT;
	return flags & (3 | 0100 | 01000) /* O_ACCMODE, O_CREAT, O_TRUNC */ ? ASK_OPEN_WRITE : ASK_OPEN;
}

static __always_inline bool waited(const volatile struct call *call, struct pt_regs *regs, bool compat)
{
	switch (call->when) {
	case NON_ZERO:
		return (__u32)argument(regs, compat, call->when_at) != 0;
	case WITHOUT:
		return !((__u32)argument(regs, compat, call->when_at) & call->when_bits);
	}
	return true;
}

/* Counts a call that names a path; false: it names none, as it turns out. */
static __always_inline bool count_path(struct pt_regs *regs, long ret, __u16 err, const volatile struct call *call,
				       struct proc *proc, __u16 nr, bool compat, __u8 shard)
{
	struct text_scratch *s = scratch(text_scratch);
	if (!s)
		return false;
	__u64 address = argument(regs, compat, call->path);
	if (!address)
		return false;
	long length = bpf_probe_read_user_str(s->text, TEXT, (void *)address);
	if (length <= 0) {
		bump(&shared.unreadable);
		return false;
	}
	length--;	/* the NUL */
	if (length == 0 && call->at_flags != NONE &&
	    argument(regs, compat, call->at_flags) & 0x1000 /* AT_EMPTY_PATH */)
		return false;
	struct row_key key = {
		.path = hash_text(length),
		.image = proc->image,
		.nr = nr,
		.err = err,
		.ask = decide(call, regs, compat),
		.compat = compat,
		.shard = shard,
		.moved = proc->moved != 0,
	};
	/* AT_FDCWD is -100 */
	if (call->dir != NONE)
		key.from_dir_fd = (__s32)argument(regs, compat, call->dir) != -100;
	__u64 now = bpf_ktime_get_ns();
	struct row *row = bpf_map_lookup_elem(&rows, &key);
	if (!row) {
		struct row fresh = {};
		if (bpf_map_update_elem(&rows, &key, &fresh, BPF_NOEXIST) == 0) {
			bump(&shared.rows);
			__u8 *sent = bpf_map_lookup_elem(&texts, &key.path);
			if (!sent) {
				s->head.head.kind = NAMED;
				s->head.head.image = key.image;
				s->head.head.at_ns = now;
				s->head.path = key.path;
				s->head.length = length;
				__u8 one = 1;
				if (send(s, sizeof(s->head) + (length & (TEXT - 1))))
					bpf_map_update_elem(&texts, &key.path, &one, BPF_ANY);
				else
					bump(&shared.texts_lost);
			}
		}
		row = bpf_map_lookup_elem(&rows, &key);
	}
	if (!row) {
		struct plain_key less = { .nr = nr, .err = err, .compat = compat };
		bump(&shared.folded);
		add(&folded, &less, kernel_time(), true);
		return true;
	}
	__u64 print = 0;
	if (call->reply != NO_REPLY && !err)
		print = fingerprint(call->reply, argument(regs, compat, call->reply_at), ret, s->text);
	__u64 changes = shared.changes;
	__u64 count = row->count;
	if (count == 0)
		row->first_ns = now;
	else if (row->changes == changes && row->waits == proc->waits && row->print == print &&
		 now - row->last_ns < settings.within_ns)
		bump(&row->repeated);
	bump(&row->count);
	count++;
	row->last_ns = now;
	row->print = print;
	row->changes = changes;
	row->waits = proc->waits;
	if (settings.latency)
		__sync_fetch_and_add(&row->kernel_ns, kernel_time());
	if (!err) {
		if (key.ask == ASK_OPEN_WRITE || key.ask == ASK_CHANGE)
			bump(&shared.changes);
		if (call->moves != NOTHING)
			moves(proc);
	}
	if (settings.stacks && key.ask <= ASK_READLINK && key.ask != ASK_OPEN_WRITE) {
		__u64 stands_for = weight(count);
		/* A snapshot costs as much as ten calls: programs that put many questions twice, or eight
		 * times, are not slowed down by all of these. */
		if (stands_for && bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > (3 << 19)) {
			/* What is left is for processes and paths. */
			bump(&shared.stacks_lost);
		} else if (stands_for && proc->samples < (count < 8 ? 32 : count < 64 ? 128 : 1024)) {
			proc->samples++;
			struct registers at = { PC(regs), SP(regs), FP(regs), LR(regs) };
			__u16 window = now >> 24 | 1;
			if (proc->mapped != window) {
				proc->mapped = window;
				tell_mappings(key.image);
			}
			sample(&at, &key, stands_for);
		}
	}
	return true;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(returned, struct pt_regs *regs, long ret)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc) {
		proc = first_seen(tgid);
		if (!proc)
			return 0;
	}
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = is_compat(task);
	long nr = number(regs);
	if (nr < 0) {
		/* None: a signal handler returned, and `ret` is what the register held before the signal;
		 * or, with ENOSYS, a call that is none or was called off. */
		if (settings.all && proc->image)
			count_plain(proc->image, ret == -38 ? 0xffff : compat ? SIGRETURN_COMPAT : RT_SIGRETURN,
				    ret == -38 ? 38 : 0, compat, shard(task));
		return 0;
	}
	nr &= ~X32_BIT;
	__u16 err = ret < 0 && ret >= -4095 ? -ret : 0;
	if (!proc->image) {
		/* Nothing counts yet but where the program will start. */
		if (nr < CALLS && !err) {
			const volatile struct call *call = &settings.calls[compat][nr];
			if (call->kind == MOVES || call->moves != NOTHING)
				proc->moved = 1;
		}
		return 0;
	}
	if (nr >= CALLS * 2) {
		count_plain(proc->image, 0xffff, err, compat, shard(task));
		return 0;
	}
	if (nr < CALLS) {
		const volatile struct call *call = &settings.calls[compat][nr];
		switch (call->kind) {
		case PATH:
			if (call->ask == ASK_EXEC && !err)
				return 0;	/* counted by `executed` */
			if (count_path(regs, ret, err, call, proc, nr, compat, shard(task)))
				return 0;
			break;
		case WAIT:
			if (waited(call, regs, compat))
				proc->waits++;
			break;
		case MOVES:
			if (!err)
				moves(proc);
			break;
		case BIRTH:
			if (!ret)
				return 0;	/* in the child: its parent's call */
			break;
		case URING:
			bump(&shared.uring);
			break;
		}
	}
	if (settings.all)
		count_plain(proc->image, nr, err, compat, shard(task));
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(entering, struct pt_regs *regs, long nr)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, tid = id;
	if (!settings.everyone && !bpf_map_lookup_elem(&procs, &tgid))
		return 0;
	__u64 now = bpf_ktime_get_ns();
	bpf_map_update_elem(&entered, &tid, &now, BPF_ANY);
	return 0;
}
