/* The programs at the start, exec and end of a process. */
#pragma once
#include "directory.h"
#include "meter.h"
#include "processes.h"

static __always_inline int process_forked(struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = child->tgid, from = parent->tgid;
	struct proc *known = bpf_map_lookup_elem(&procs, &from);
	if (tgid == from) {
		if (known && known->threads)
			__sync_fetch_and_add(&known->threads, 1);
		return 0;
	}
	struct proc fresh = { .threads = 1 };
	if (!known) {
		if (!settings.launch || shared.launched || tgid_here(parent) != settings.self_pid)
			return 0;
		/* The child of needless, which becomes the command when it execs. */
		shared.launched = true;
		bpf_map_update_elem(&procs, &tgid, &fresh, BPF_ANY);
		return 0;
	}
	__sync_fetch_and_add(&known->waits, 1);
	if (!known->image)
		return 0;
	fresh.image = new_image();
	fresh.directory = shares_directory() ? known->directory : 0;
	struct process_message event = { .former = known->image };
	fill(&event, MESSAGE_KIND_FORKED, fresh.image, child);
	if (bpf_map_update_elem(&procs, &tgid, &fresh, BPF_ANY))
		bump(&shared.events_lost);
	else
		announce(&event.head, sizeof(event));
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct meter *meter = meter_start(PROGRAM_FORK);
	process_forked(parent, child);
	meter_stop(meter);
	return 0;
}

static __always_inline int process_executes(struct task_struct *task, struct linux_binprm *binprm)
{
	__u32 tgid = task->tgid;
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	struct exec_scratch *s = scratch(exec_scratch);
	if (!proc || !s)
		return 0;
	struct process_message *event = &s->head;
	__builtin_memset(event, 0, sizeof(*event));
	event->former = proc->image;
	proc->image = new_image();
	__sync_fetch_and_add(&proc->waits, 1);
	proc->stdio = 0;
	proc->heap = 0;
	fill(event, MESSAGE_KIND_EXECUTED, proc->image, task);
	name(event, task);
	times(event, proc, task);
	event->directory = proc->directory;
	__u64 user = bpf_get_current_uid_gid();
	event->uid = user;
	event->gid = user >> 32;
	event->secure = BPF_CORE_READ_BITFIELD(binprm, secureexec);
	event->by_descriptor = bpf_core_field_exists(binprm->fdpath) && binprm->fdpath != NULL;
	__u32 used = 0;
	long length = bpf_probe_read_kernel_str(s->bytes, TEXT, binprm->filename);
	if (length > 0)
		used = length;
	event->file_length = used;
	length = bpf_probe_read_kernel_str(s->bytes + (used & (2 * TEXT - 1)), INTERPRETER, binprm->interp);
	if (length > 0)
		used += length;
	event->interpreter_length = used - event->file_length;
	__u64 start = BPF_CORE_READ(task, mm, env_start), end = BPF_CORE_READ(task, mm, env_end);
	__u64 whole = end > start ? end - start : 0;
	__u32 size = whole < ENVIRON - 1 ? whole : ENVIRON - 1;
	event->environ_whole = whole > 0xffffffff ? 0xffffffff : whole;
	if (bpf_probe_read_user(s->bytes + (used & (2 * TEXT - 1)), size & (ENVIRON - 1), (void *)start) == 0)
		event->environ_length = size;
	else
		size = 0;
	bump(&shared.changes);
	announce(&event->head, (sizeof(*event) + used + size) & (2 * ENVIRON - 1));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	struct meter *meter = meter_start(PROGRAM_EXEC);
	process_executes(task, binprm);
	meter_stop(meter);
	return 0;
}

static __always_inline int thread_ends(struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	if (settings.latency)
		bpf_map_delete_elem(&entries, &tid);	/* exit does not return */
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc)
		return 0;
	__sync_fetch_and_add(&proc->utime, task->utime);
	__sync_fetch_and_add(&proc->stime, task->stime);
	__sync_fetch_and_add(&proc->runtime, task->se.sum_exec_runtime);
	__sync_fetch_and_add(&proc->minor_faults, task->min_flt);
	__sync_fetch_and_add(&proc->major_faults, task->maj_flt);
	if (proc->image) {
		struct ending ending = { .image = proc->image, .runtime = task->se.sum_exec_runtime };
		bpf_map_update_elem(&endings, &tid, &ending, BPF_ANY);
	}
	if (!proc->threads) {
		if (BPF_CORE_READ(task, signal, live.counter) != 0)
			return 0;	/* other threads go on */
	} else {
		/* signal->live is 0 for each of several threads that end at once; the last of them sends the time
		 * of all. */
		__sync_fetch_and_add(&proc->threads, -1);
		if (proc->threads)
			return 0;
	}
	struct process_message event = {};
	fill(&event, MESSAGE_KIND_EXITED, proc->image, task);
	event.utime = proc->utime;
	event.stime = proc->stime;
	event.runtime = proc->runtime;
	event.minor_faults = proc->minor_faults;
	event.major_faults = proc->major_faults;
	event.given_back = proc->given_back;
	event.exit_code = BPF_CORE_READ(task, signal, group_exit_code) ?: task->exit_code;
	if (bpf_map_delete_elem(&procs, &tgid))
		return 0;	/* another thread sends it */
	if (!send(&event, sizeof(event)))
		bump(&shared.events_lost);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct meter *meter = meter_start(PROGRAM_EXIT);
	thread_ends(task);
	meter_stop(meter);
	return 0;
}

#define TASK_DEAD 0x80	/* linux/sched.h */

static __always_inline bool is_dead(struct task_struct *task)
{
	return bpf_core_field_exists(task->__state) ? task->__state & TASK_DEAD : task->state & TASK_DEAD;
}

/* The scheduler adds to the CPU time of a thread at its ticks and when it leaves its CPU. For most threads the end is
 * the first of these. */
static __always_inline int leaves_processor(struct task_struct *prev)
{
	if (!is_dead(prev))
		return 0;
	__u32 tid = prev->pid;
	struct ending *ending = bpf_map_lookup_elem(&endings, &tid);
	if (!ending)
		return 0;
	struct spent spent = {
		.head = { .kind = MESSAGE_KIND_SPENT, .image = ending->image },
		.runtime = prev->se.sum_exec_runtime - ending->runtime,
	};
	bpf_map_delete_elem(&endings, &tid);
	if (!send(&spent, sizeof(spent)))
		bump(&shared.events_lost);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct meter *meter = meter_start(PROGRAM_SWITCH);
	leaves_processor(prev);
	meter_stop(meter);
	return 0;
}
