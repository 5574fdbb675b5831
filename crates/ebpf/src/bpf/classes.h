/* Calls without a path that rules ask about: their class, by their arguments. */
#pragma once
#include "current.h"
#include "maps.h"
#include "queries.h"

/* proc.stdio */
#define LOOKED 1
#define TERMINAL 2	/* standard output is one */
#define DISCARDED 8	/* standard output is /dev/null */
#define PARTNER 4	/* standard input is a pipe or a socket: its writer may wait for our output */

#define S_IFMT 0170000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define S_IFSOCK 0140000
#define NULL_DEVICE (1 << 20 | 3)

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = NULL;
	if (fd >= BPF_CORE_READ(table, max_fds) || !files || bpf_probe_read_kernel(&file, sizeof(file), &files[fd]))
		return NULL;
	return file;
}

static __always_inline struct inode *stream(struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);
	return file ? BPF_CORE_READ(file, f_inode) : NULL;
}

/* A separate function, like peer(), so that the verifier walks it once. */
__noinline __u32 streams(void)
{
	struct task_struct *task = current_task();
	struct inode *in = stream(task, 0), *out = stream(task, 1);
	__u32 known = LOOKED;
	if (!out)
		known |= TERMINAL;
	else if ((BPF_CORE_READ(out, i_mode) & S_IFMT) == S_IFCHR)
		known |= BPF_CORE_READ(out, i_rdev) == NULL_DEVICE ? DISCARDED : TERMINAL;
	__u32 kind = in ? BPF_CORE_READ(in, i_mode) & S_IFMT : 0;
	if (kind == S_IFIFO || kind == S_IFSOCK)
		known |= PARTNER;
	return known;
}

/* The class of a connect by its peer, or NONE: struct sockaddr_un, sockaddr_in, sockaddr_in6. */
__noinline __u32 peer(__u64 address)
{
	struct { __u16 family; __u8 rest[10]; } to = {};
	if (bpf_probe_read_user(&to, sizeof(to), (void *)address))
		return NONE;
	const char log[] = "/dev/log";
	switch (to.family) {
	case 1: /* AF_UNIX */
#pragma unroll
		for (int i = 0; i < sizeof(log); i++)
			if (to.rest[i] != log[i])
				return NONE;
		return ARG_CLASS_SYSTEM_LOG;
	case 2: /* AF_INET */
	case 10: /* AF_INET6 */
		return to.rest[0] == 0 && to.rest[1] == 53 ? ARG_CLASS_NAME_SERVER : NONE;
	}
	return NONE;
}

/* What the process has read: its first thread, and the one that writes now. Returns whether that is known. */
static __always_inline bool look_at_reads(struct task_struct *task, __u64 *calls, __u64 *bytes)
{
	if (!bpf_core_field_exists(task->ioac.syscr))
		return false;
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	*calls = BPF_CORE_READ(task, ioac.syscr);
	*bytes = BPF_CORE_READ(task, ioac.rchar);
	if (BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid)) {
		*calls += BPF_CORE_READ(leader, ioac.syscr);
		*bytes += BPF_CORE_READ(leader, ioac.rchar);
	}
	return true;
}

/* The epoch of a write to standard output: Answers of needless_model. */
static __always_inline __u64 epoch_of_write(struct proc *proc, struct task_struct *task)
{
	__u64 reads = 0, bytes = 0;
	if (!look_at_reads(task, &reads, &bytes))
		return 1;
	__u64 calls = reads - proc->reads, read = bytes - proc->read_bytes;
	proc->reads = reads;
	proc->read_bytes = bytes;
	if (calls) {
		__u32 fresh = ANSWER;
		if ((!read || read >= calls * QUESTION) && calls < ANSWER)
			fresh = calls;
		if (proc->answer < fresh)
			proc->answer = fresh;
	}
	if (proc->answer) {
		proc->answer--;
		proc->epoch++;
	}
	return proc->epoch + 1;
}

/* The class of a call, or NONE; and in `epoch` a number that differs if the call does not repeat the one before. */
static __always_inline __u8 class_of(const volatile struct call *call, const struct text_scratch *s,
				     struct proc *proc, struct task_struct *task, __u64 *epoch)
{
	__u64 before, now;
	*epoch = 1;
	switch (call->decider) {
	case DECIDER_OUTPUT:
		if (!proc->stdio) {
			proc->stdio = streams();
			look_at_reads(task, &proc->reads, &proc->read_bytes);
		}
		if (proc->stdio & TERMINAL)
			return NONE;
		if (proc->stdio & PARTNER)
			*epoch = epoch_of_write(proc, task);
		return proc->stdio & DISCARDED ? ARG_CLASS_DISCARDED_OUTPUT : ARG_CLASS_SMALL_OUTPUT;
	case DECIDER_HEAP:
		before = proc->heap;
		now = argument(s, 0);
		proc->heap = now;
		if (now >= before)
			return ARG_CLASS_HEAP_GROWS;
		__sync_fetch_and_add(&proc->given_back, before - now);
		return ARG_CLASS_HEAP_SHRINKS;
	case DECIDER_MAPPED:
		return argument(s, 2) == 3 /* PROT_READ | PROT_WRITE */ &&
		       argument(s, 3) == 0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */ ? ARG_CLASS_BLOCK_MAPPED : NONE;
	case DECIDER_UNMAPPED:
		__sync_fetch_and_add(&proc->given_back, argument(s, 1));
		return ARG_CLASS_BLOCK_UNMAPPED;
	case DECIDER_PEER:
		return peer(argument(s, 1));
	}
	return call->query_or_class;
}
