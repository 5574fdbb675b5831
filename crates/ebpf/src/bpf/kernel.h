/* The few types and constants of the kernel that needless.bpf.c uses. Field offsets are not taken
 * from here but from the running kernel's BTF (CO-RE): a structure lists only what is read. */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false, true };
#define NULL ((void *)0)

/* linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp, bx, r10, r8, r9, ax, cx, dx, si, di, orig_ax, ip, sp;
};
struct thread_info {
	__u32 status;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno;
};
struct thread_info {
	unsigned long flags;
};
#else
#error "the registers of this architecture are not known"
#endif

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	unsigned int level;
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct mnt_namespace {
	struct ns_common ns;
};
struct nsproxy {
	struct mnt_namespace *mnt_ns;
};
struct qstr {
	const unsigned char *name;
};
struct inode {
	__u16 i_mode;
	__u32 i_rdev;
	unsigned long i_ino;
};
struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};
struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};
/* What is mapped of a file in an overlay; its path, from Linux 6.7. */
struct backing_file {
	struct path user_path;
};
struct sock_common {
	__be16 skc_dport;
	unsigned short skc_family;
};
struct sock {
	struct sock_common __sk_common;
};
struct socket {
	struct sock *sk;
};
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
};
struct fs_struct {
	struct path root, pwd;
};
struct mm_struct {
	unsigned long env_start, env_end;
};
struct sched_entity {
	__u64 sum_exec_runtime;
};
struct rlimit {
	unsigned long rlim_cur;
};
struct signal_struct {
	atomic_t live;
	struct rlimit rlim[16];
	int nr_threads;
	int group_exit_code;
	__u64 utime, stime;
	unsigned long long sum_sched_runtime;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
/* Of a directory in a cgroup file system. */
struct kernfs_node {
	struct kernfs_node *__parent;
	struct kernfs_node *parent;	/* the same before Linux 6.15 */
	const char *name;
	__u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;	/* of cgroup v2 */
};
struct task_io_accounting {
	/* Bytes read, and calls that read something; absent without CONFIG_TASK_XACCT. */
	__u64 rchar;
	__u64 syscr;
};
struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	struct mm_struct *mm;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 utime, stime;
	unsigned long nvcsw;	/* how often it gave up the CPU by itself: it waited */
	unsigned long min_flt, maj_flt;
	__u64 self_exec_id;	/* counts its execs */
	__u64 start_time;
	unsigned int __state;
	long state;	/* the same before Linux 5.14 */
	struct fs_struct *fs;
	struct files_struct *files;
	struct task_io_accounting ioac;
	struct nsproxy *nsproxy;
	struct css_set *cgroups;
	struct signal_struct *signal;
	char comm[16];
};
struct linux_binprm {
	unsigned int secureexec : 1;
	const char *filename;
	const char *interp;
	const char *fdpath;
};

#pragma clang attribute pop

/* linux/bpf.h, to ask whether the running kernel has it: from Linux 5.11. */
enum bpf_func_id___here {
	BPF_FUNC_get_current_task_btf___here = 158,
};

/* From Linux 6.7; absent before. */
struct bpf_iter_task_vma {
	__u64 opaque[1];
};
