/* How long calls took in the kernel, and what they waited for. */
#pragma once
#include "classes.h"

#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_IFBLK 0060000

struct took {
	__u64 ns;
	__u64 untimed;	/* calls whose duration is not in `ns` */
};

/* What descriptor `fd` is. */
static __always_inline __u32 kind_of(struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);
	if (!file)
		return WAITS_ON_UNKNOWN;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 major = BPF_CORE_READ(inode, i_rdev) >> 20;
	switch (BPF_CORE_READ(inode, i_mode) & S_IFMT) {
	case S_IFIFO:
		return WAITS_ON_PIPE;
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK:
		return WAITS_ON_FILE;
	case S_IFCHR:
		/* linux/major.h: TTY_MAJOR, TTYAUX_MAJOR, and those of Unix98 pseudoterminals */
		return major == 4 || major == 5 || (major >= 136 && major <= 143) ? WAITS_ON_TERMINAL
										  : WAITS_ON_UNKNOWN;
	case S_IFSOCK:
		break;
	default:
		return WAITS_ON_UNKNOWN;
	}
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);
	__u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);
	bool internet = family == 2 /* AF_INET */ || family == 10 /* AF_INET6 */;
	__u8 port[2] = {};
	bpf_core_read(port, sizeof(port), &sock->__sk_common.skc_dport);
	return internet && port[0] == 0 && port[1] == 53 ? WAITS_ON_NAME_SERVER : WAITS_ON_SOCKET;
}

/* Counts a call that waited. Its first argument may be a descriptor, or, of poll, the address of a structure that
 * begins with one; which it is, the reader knows. */
__noinline int note_wait(__u32 image, __u32 outcome, __u32 compat, __u64 ns, __u64 first)
{
	struct task_struct *task = current_task();
	__u32 fd = first;
	if (first >> 20 && bpf_probe_read_user(&fd, sizeof(fd), (void *)first))
		fd = -1;
	struct wait_key key = {
		.image = image,
		.nr = outcome & 0xffff,
		.err = outcome >> 16,
		.compat = compat,
		.on = kind_of(task, fd),
	};
	struct wait fresh = {};
	struct wait *known = bpf_map_lookup_elem(&waits, &key);
	if (!known) {
		bpf_map_update_elem(&waits, &key, &fresh, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&waits, &key);
	}
	if (!known) {
		bump(&shared.untimed);
		return 0;
	}
	bump(&known->calls);
	__sync_fetch_and_add(&known->ns, ns);
	return 0;
}

/* The time of a call that returns now. A call without a path that gave up the CPU has waited, and its time is no cost:
 * it is only among the waits. */
static __always_inline struct took kernel_time(const struct call_ctx *cx, __u32 image, bool path)
{
	struct took took = {};
	if (!settings.latency)
		return took;
	__u32 tid = bpf_get_current_pid_tgid();
	struct entry *entry = bpf_map_lookup_elem(&entries, &tid);
	if (!entry) {
		took.untimed = 1;
		return took;
	}
	took.ns = bpf_ktime_get_ns() - entry->at_ns;
	bool waited = entry->waits != waits_of(cx->task);
	bpf_map_delete_elem(&entries, &tid);
	if (waited) {
		note_wait(image, outcome(cx->nr, cx->err), cx->compat, took.ns, cx->first);
		if (!path) {
			took.ns = 0;
			took.untimed = 1;
		}
	}
	return took;
}
