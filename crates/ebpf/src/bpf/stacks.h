/* Where in the program a call is made: snapshots of the stack, and mapped files. */
#pragma once
#include "directory.h"
#include "processes.h"

/* Whether a snapshot may be due at the `hit`th call of a row: a quick "no" for most. weight() decides. */
static __always_inline bool is_of_interest(__u64 hit)
{
	__u64 four = hit & ~3ULL;
	return hit == 2 || (four && !(four & (four - 1)));
}

/* How many calls a snapshot at the `hit`th call stands for; 0: none is taken. One is taken at the 2nd call, and at each
 * power of 8 and the three calls after it: a program may make the same call from several places in turn. */
static __always_inline __u64 weight(__u64 hit)
{
	if (hit == 2)
		return 2;
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

/* Sends the files that the process has mapped executable: it may have ended when its stack is unwound. */
__noinline int send_mappings(__u32 image)
{
	struct map_scratch *s = scratch(map_scratch);
	if (!s || !bpf_ksym_exists(bpf_iter_task_vma_new))
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	s->head.head.kind = MESSAGE_KIND_MAPPING;
	s->head.head.image = image;
	s->head.pid = tgid_here(task);
	s->head.first = 1;
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	bpf_iter_task_vma_new(&it, task, 0);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		/* Read and not followed: the result is a number, which can be passed to a function. */
		struct file *file = BPF_CORE_READ(vma, vm_file);
		if (!(vma->vm_flags & 4) /* VM_EXEC */ || !file)
			continue;
		s->head.start = vma->vm_start;
		s->head.end = vma->vm_end;
		s->head.page = vma->vm_pgoff;
		__u64 path = (__u64)file + bpf_core_field_offset(struct file, f_path);
		__u32 length = components(path);
		if (!length && bpf_core_field_exists(struct backing_file, user_path)) {
			/* In an overlay, as in most containers, a file of one of its layers is mapped: it has no name
			 * outside of the overlay, but the path by which it was opened is behind it. If this is another
			 * file without a name, what is read is no path, and no file has both its name and its inode. */
			path = (__u64)file + bpf_core_field_offset(struct backing_file, user_path);
			length = components(path);
		}
		s->head.inode = BPF_CORE_READ((struct path *)path, dentry, d_inode, i_ino);
		s->head.length = length;
		if (!send(s, sizeof(s->head) + (length & (PATH_BYTES - 1))))
			bump(&shared.stacks_lost);
		s->head.first = 0;
	}
	bpf_iter_task_vma_destroy(&it);
	return 0;
}

/* Sends the message in sample_scratch with the stack from `sp` on. */
__noinline int send_stack(__u64 sp)
{
	struct sample_scratch *s = scratch(sample_scratch);
	if (!s)
		return 0;
	/* The stack may end before 4 KiB. */
	s->head.length = 0;
	for (int i = 0; i < STACK / 512; i++) {
		if (bpf_probe_read_user(s->bytes + i * 512, 512, (void *)(sp + i * 512)))
			break;
		s->head.length += 512;
	}
	if (!send(s, sizeof(*s)))
		bump(&shared.stacks_lost);
	return 0;
}

/* Takes a snapshot at the `hit`th call of the row whose key is in text_scratch, if it is due. It costs as much as ten
 * calls; so there is a limit per process, lower for the first calls of a row, because many rows have few calls. */
__noinline int snapshot(__u64 hit, __u32 tgid)
{
	__u64 stands_for = weight(hit);
	struct text_scratch *call = text_scratch(OF_CALL);
	struct sample_scratch *s = scratch(sample_scratch);
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!stands_for || !call || !s || !proc || proc->samples >= (hit < 8 ? 32 : hit < 64 ? 128 : 1024))
		return 0;
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > RING / 4 * 3) {
		/* The rest is for processes and paths. */
		bump(&shared.stacks_lost);
		return 0;
	}
	__u64 now = bpf_ktime_get_ns();
	proc->samples++;
	s->head.head.kind = MESSAGE_KIND_STACK;
	s->head.head.image = call->key.image;
	s->head.key = call->key;
	s->head.weight = stands_for;
	s->head.at = call->at;
	s->head.pid = tgid_here(current_task());
	__u16 window = now >> 24 | 1;
	if (proc->mapped != window) {
		proc->mapped = window;
		send_mappings(call->key.image);
	}
	return send_stack(call->at.sp);
}
