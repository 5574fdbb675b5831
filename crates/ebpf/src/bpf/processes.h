/* Processes as they come, exec and go. */
#pragma once
#include "current.h"
#include "maps.h"

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
	event->open_files = BPF_CORE_READ(task, signal, rlim[NOFILE].rlim_cur);
}

/* The name of the process that `task` is of: its first thread's. */
static __always_inline void name(struct process *event, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	bpf_core_read_str(event->command, sizeof(event->command), &leader->comm);
}

/* A number for a process image that no other has; once there is none left, settings.last_image, whose calls are
 * counted without a process. 0 is none. */
static __always_inline __u32 new_image(void)
{
	__u32 zero = 0;
	__u32 *numbers = bpf_map_lookup_elem(&numbered, &zero);
	__u64 cpu = bpf_get_smp_processor_id();
	if (!numbers || cpu >= settings.cpus)
		return settings.last_image;
	__u64 number = (__u64)*numbers * settings.cpus + cpu + 1;
	if (number >= settings.last_image)
		return settings.last_image;
	*numbers += 1;
	return number;
}

/* Sends what became of a process, or counts that nobody will know. */
static __always_inline void announce(struct event *event, __u32 size)
{
	if (event->image == settings.last_image || !send(event, size))
		bump(&shared.events_lost);
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
		struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
		if (proc)
			bpf_map_delete_elem(&wanted, &here);
		else
			bump(&shared.uncounted);
		return proc;
	}
	if (!settings.everyone || tgid_here(task) == settings.self)
		return NULL;
	fresh.image = new_image();
	if (bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST) == 0) {
		struct process event = {};
		head(&event, SEEN, fresh.image, task);
		name(&event, task);
		announce(&event.head, sizeof(event));
	}
	/* Another thread may have been faster. */
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc)
		bump(&shared.uncounted);
	return proc;
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
	struct proc fresh = { .threads = 1 };
	if (!known) {
		if (!settings.launch || shared.launched || tgid_here(parent) != settings.self)
			return 0;
		/* Our own child, which becomes the command when it execs. */
		shared.launched = true;
		bpf_map_update_elem(&procs, &tgid, &fresh, BPF_ANY);
		return 0;
	}
	__sync_fetch_and_add(&known->waits, 1);
	if (!known->image)
		return 0;
	fresh.image = new_image();
	fresh.moved = known->moved;
	struct process event = { .former = known->image, .moved = known->moved };
	head(&event, FORKED, fresh.image, child);
	if (bpf_map_update_elem(&procs, &tgid, &fresh, BPF_ANY))
		bump(&shared.events_lost);
	else
		announce(&event.head, sizeof(event));
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
	__sync_fetch_and_add(&proc->waits, 1);
	proc->stdio = 0;
	proc->heap = 0;
	head(event, EXECUTED, proc->image, task);
	name(event, task);
	times(event, proc, task);
	event->moved = proc->moved;
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
	announce(&event->head, (sizeof(*event) + used + size) & (2 * ENVIRON - 1));
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
	__sync_fetch_and_add(&proc->waits, 1);
	if (proc->moved)
		return;
	proc->moved = 1;
	struct event event = { .kind = MOVED, .image = proc->image, .at_ns = bpf_ktime_get_ns() };
	if (!send(&event, sizeof(event)))
		bump(&shared.events_lost);
}
