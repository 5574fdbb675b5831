/* Names of files and directories that the kernel holds, and the working directory. */
#pragma once
#include "current.h"
#include "maps.h"
#include "queries.h"

#define NO_NAME -1
#define AT_ROOT -2

/* Appends the component at which components() is to map_scratch, and goes up; its length, 0 at the root of a mount, or
 * one of the above. `used` bytes are there. */
__noinline int component(__u32 used)
{
	struct map_scratch *s = scratch(map_scratch);
	if (!s)
		return NO_NAME;
	struct fs_struct *fs = BPF_CORE_READ(current_task(), fs);
	struct dentry *dentry = s->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct mount *mount = s->mount;
	if (dentry == BPF_CORE_READ(fs, root.dentry) &&
	    (void *)mount + bpf_core_field_offset(struct mount, mnt) == BPF_CORE_READ(fs, root.mnt))
		return AT_ROOT;
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
		s->mount = BPF_CORE_READ(mount, mnt_parent);
		s->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		return s->mount == mount ? NO_NAME : 0;
	}
	if (!BPF_CORE_READ(dentry, d_hash.pprev))
		return NO_NAME;	/* deleted */
	used &= PATH_BYTES - 1;
	long length = bpf_probe_read_kernel_str(s->bytes + used, COMPONENT, BPF_CORE_READ(dentry, d_name.name));
	s->dentry = parent;
	return length <= 0 || used + length >= PATH_BYTES ? NO_NAME : length;
}

/* Writes the name that `at`, the address of a `struct path`, has for the caller into map_scratch, the last component
 * first, and returns its length; 0: it has none below the caller's root, or it is too long. Like component() and the
 * functions below it is separate so that the verifier walks it once; such a function takes an address as a number. */
__noinline __u32 components(__u64 at)
{
	struct path *path = (void *)at;
	struct map_scratch *s = scratch(map_scratch);
	if (!s)
		return 0;
	s->dentry = BPF_CORE_READ(path, dentry);
	s->mount = (void *)BPF_CORE_READ(path, mnt) - bpf_core_field_offset(struct mount, mnt);
	__u32 used = 0;
	for (int i = 0; i < 48; i++) {
		int length = component(used);
		if (length == AT_ROOT && !used)
			s->bytes[used++] = 0;	/* the root itself */
		if (length < 0)
			return length == AT_ROOT ? used : 0;
		used += length;
	}
	return 0;
}

/* Sends the text in a text_scratch, with the key there, unless it was sent before; 0: there is no room. */
__noinline int send_text(__u32 of)
{
	struct text_scratch *s = text_scratch(of);
	if (!s)
		return 0;
	__u64 path = s->key.path;
	__u32 at = path % SENT_PATHS;
	__u64 *sent = bpf_map_lookup_elem(&sent_paths, &at);
	if (sent && *sent == path)
		return 1;
	/* A quick answer: a program may ask many times while the reader does not run. */
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > RING - 2 * TEXT)
		return 0;
	s->head.head.kind = of == OF_CALL ? MESSAGE_KIND_PATH : MESSAGE_KIND_DIRECTORY;
	s->head.head.image = s->key.image;
	s->head.path = path;
	if (!send(s, sizeof(s->head) + (s->head.length & (TEXT - 1))))
		return 0;
	if (sent)
		*sent = path;
	return 1;
}

/* A thread with a directory of its own, or a directory without a name. */
#define NAMELESS 1

/* Whether the working directory of the caller is that of its process: clone(2), CLONE_FS. */
__noinline int shares_directory(void)
{
	struct task_struct *task = current_task();
	__u64 id = bpf_get_current_pid_tgid();
	return id >> 32 == (__u32)id || BPF_CORE_READ(task, fs) == BPF_CORE_READ(task, group_leader, fs);
}

/* The number of the caller's working directory, whose name is sent if it is new: a hash of the name. 0: there is no
 * room for that now. */
__noinline __u64 working_directory(void)
{
	struct map_scratch *from = scratch(map_scratch);
	struct text_scratch *s = text_scratch(OF_DIRECTORY);
	if (!from || !s)
		return 0;
	struct fs_struct *fs = BPF_CORE_READ(current_task(), fs);
	__u32 length = components((__u64)fs + bpf_core_field_offset(struct fs_struct, pwd)) & (PATH_BYTES - 1);
	if (!length || bpf_probe_read_kernel(s->text, length, from->bytes))
		return NAMELESS;
	s->head.length = length;
	s->key.path = hash_long(OF_DIRECTORY);
	return send_text(OF_DIRECTORY) ? s->key.path : 0;
}

/* The number of the directory that a call which returns now started from; 0: it is not known. */
static __always_inline __u64 directory_of(struct proc *proc, const struct call_ctx *cx, const volatile struct call *call)
{
	if (!shares_directory())
		return NAMELESS;
	if (!proc->directory && (call->moves == MOVES_NOTHING || cx->err))
		proc->directory = working_directory();
	return proc->directory;
}

/* From here on, the working directory or the root of a process may differ. */
static __always_inline void moves(struct proc *proc)
{
	__sync_fetch_and_add(&proc->waits, 1);
	if (shares_directory())
		proc->directory = working_directory();
}
