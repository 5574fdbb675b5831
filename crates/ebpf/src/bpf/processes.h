/* Processes and their images. */
#pragma once
#include "cgroups.h"
#include "current.h"
#include "maps.h"

#define NOFILE 7	/* RLIMIT_NOFILE, asm-generic/resource.h */

/* The number of `pid` in the pid namespace of needless; 0 if it has none there. */
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

/* CPU time and page faults of a process whose only thread is `task`. */
static __always_inline void times(struct process_message *event, struct proc *proc, struct task_struct *task)
{
	event->utime = proc->utime + task->utime;
	event->stime = proc->stime + task->stime;
	event->runtime = proc->runtime + task->se.sum_exec_runtime;
	event->minor_faults = proc->minor_faults + task->min_flt;
	event->major_faults = proc->major_faults + task->maj_flt;
	event->given_back = proc->given_back;
}

static __always_inline bool shares_root(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, nsproxy, mnt_ns) == shared.own_mnt_ns &&
	       (__u64)BPF_CORE_READ(task, fs, root.dentry) == shared.own_root;
}

static __always_inline void fill(struct process_message *event, __u32 kind, __u32 image, struct task_struct *task)
{
	event->head.kind = kind;
	event->head.image = image;
	event->cgroup = cgroup_of_caller(kind);
	event->shares_root = shares_root(task);
	event->pid = tgid_here(task);
	event->open_files = BPF_CORE_READ(task, signal, rlim[NOFILE].rlim_cur);
}

/* The name of the process of `task`: that of its first thread. */
static __always_inline void name(struct process_message *event, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	bpf_core_read_str(event->command, sizeof(event->command), &leader->comm);
}

/* A unique number for a process image, never 0. Once no number is left, settings.last_image, whose calls are counted
 * without a process. */
static __always_inline __u32 new_image(void)
{
	__u32 zero = 0;
	__u32 *numbers = bpf_map_lookup_elem(&image_numbers, &zero);
	__u64 cpu = bpf_get_smp_processor_id();
	if (!numbers || cpu >= settings.cpus)
		return settings.last_image;
	__u64 number = (__u64)*numbers * settings.cpus + cpu + 1;
	if (number >= settings.last_image)
		return settings.last_image;
	*numbers += 1;
	return number;
}

/* Sends a message about a process, or counts that it was lost. */
static __always_inline void announce(struct message_head *event, __u32 size)
{
	if (event->image == settings.last_image || !send(event, size))
		bump(&shared.events_lost);
}

/* A process that ran before the observation makes its first call. */
static __noinline struct proc *first_seen(__u32 tgid)
{
	struct task_struct *task = current_task();
	if (!shared.own_root && tgid_here(task) == settings.self_pid) {
		shared.own_root = (__u64)BPF_CORE_READ(task, fs, root.dentry);
		shared.own_mnt_ns = (__u64)BPF_CORE_READ(task, nsproxy, mnt_ns);
	}
	struct proc fresh = {};
	if (settings.translate) {
		__u32 here = tgid_here(task);
		__u32 *image = bpf_map_lookup_elem(&chosen_pids, &here);
		if (!image)
			return NULL;
		fresh.image = *image;
		bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST);
		struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
		if (proc)
			bpf_map_delete_elem(&chosen_pids, &here);
		else
			bump(&shared.uncounted);
		return proc;
	}
	if (!settings.everyone || tgid_here(task) == settings.self_pid)
		return NULL;
	fresh.image = new_image();
	if (bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST) == 0) {
		struct process_message event = {};
		fill(&event, MESSAGE_KIND_SEEN, fresh.image, task);
		name(&event, task);
		announce(&event.head, sizeof(event));
	}
	/* Another thread may have been faster. */
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc)
		bump(&shared.uncounted);
	return proc;
}
