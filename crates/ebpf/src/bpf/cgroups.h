/* Names of control groups. They are sent at once: a group may be removed as soon as its last process has ended, and
 * then only its id is left. */
#pragma once
#include "current.h"
#include "maps.h"

static __always_inline struct kernfs_node *above(struct kernfs_node *node)
{
	return bpf_core_field_exists(node->__parent) ? BPF_CORE_READ(node, __parent) : BPF_CORE_READ(node, parent);
}

/* Writes the components of a group's path, the last one first, to the scratch of `kind`, and returns their length; 0: it
 * is too long. */
__noinline __u32 cgroup_components(__u32 kind)
{
	struct cgroup_scratch *s = bpf_map_lookup_elem(&cgroup_scratches, &kind);
	if (!s)
		return 0;
	struct kernfs_node *node = BPF_CORE_READ(current_task(), cgroups, dfl_cgrp, kn);
	__u32 used = 0;
	for (int i = 0; i < 32; i++) {
		struct kernfs_node *parent = above(node);
		if (!parent || BPF_CORE_READ(node, id) == settings.cgroup_root) {
			if (!used)
				s->bytes[used++] = 0;	/* the root itself */
			return used;
		}
		long length = bpf_probe_read_kernel_str(s->bytes + used, COMPONENT, BPF_CORE_READ(node, name));
		if (length <= 0 || used + length >= PATH_BYTES)
			return 0;
		used = (used + length) & (PATH_BYTES - 1);
		node = parent;
	}
	return 0;
}

/* The id of the caller's group in cgroup v2, whose name is sent if it is new. `kind`: of the message that has the id. */
__noinline __u64 cgroup_of_caller(__u32 kind)
{
	__u64 id = bpf_get_current_cgroup_id();
	/* Ids are inode numbers, in steps of the number of files in a group. */
	__u32 at = id * 0x9e3779b97f4a7c15 >> (64 - SENT_CGROUPS_BITS);
	__u64 *sent = bpf_map_lookup_elem(&sent_cgroups, &at);
	struct cgroup_scratch *s = bpf_map_lookup_elem(&cgroup_scratches, &kind);
	if (!sent || *sent == id || !s)
		return id;
	__u32 length = cgroup_components(kind);
	s->head.head.kind = MESSAGE_KIND_CGROUP;
	s->head.path = id;
	s->head.length = length;
	if (!length || send(s, sizeof(s->head) + (length & (PATH_BYTES - 1))))
		*sent = id;
	return id;
}
