/* The caller of a system call, and its arguments. */
#pragma once

/* The task that makes the call. From Linux 5.11 on, a helper returns it with its type, and fields can be read in
 * place; a copy is slower. */
#define TYPED bpf_core_enum_value_exists(enum bpf_func_id___here, BPF_FUNC_get_current_task_btf___here)
static __always_inline struct task_struct *current_task(void)
{
	return TYPED ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}
static __always_inline __u32 tgid_of(struct task_struct *current)
{
	return TYPED ? current->tgid : bpf_get_current_pid_tgid() >> 32;
}
static __always_inline __u32 tid_of(struct task_struct *current)
{
	return TYPED ? current->pid : (__u32)bpf_get_current_pid_tgid();
}
static __always_inline bool has_threads(struct task_struct *current)
{
	return (TYPED ? current->signal->nr_threads : BPF_CORE_READ(current, signal, nr_threads)) > 1;
}

/* How often the thread has waited. */
static __always_inline __u64 waits_of(struct task_struct *current)
{
	return TYPED ? current->nvcsw : BPF_CORE_READ(current, nvcsw);
}
/* Counts the execs of the process: another number is another image. */
static __always_inline __u32 execs_of(struct task_struct *current)
{
	return TYPED ? current->self_exec_id : BPF_CORE_READ(current, self_exec_id);
}
/* With its id, it distinguishes a process from a later one. */
static __always_inline __u64 start_of(struct task_struct *current)
{
	return TYPED ? current->group_leader->start_time : BPF_CORE_READ(current, group_leader, start_time);
}

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x0002	/* asm/thread_info.h: a 32-bit call is under way */
static __always_inline bool is_compat(struct task_struct *current)
{
	return (TYPED ? current->thread_info.status : BPF_CORE_READ(current, thread_info.status)) & TS_COMPAT;
}
static __always_inline long number(struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}
static __always_inline void take_arguments(__u64 *to, struct pt_regs *regs, bool compat)
{
	if (compat) {
		to[0] = (__u32)regs->bx;
		to[1] = (__u32)regs->cx;
		to[2] = (__u32)regs->dx;
		to[3] = (__u32)regs->si;
		to[4] = (__u32)regs->di;
		to[5] = (__u32)regs->bp;
		return;
	}
	to[0] = regs->di;
	to[1] = regs->si;
	to[2] = regs->dx;
	to[3] = regs->r10;
	to[4] = regs->r8;
	to[5] = regs->r9;
}
/* The low half of one of the first four arguments: conditions look at no other. */
static __always_inline __u32 argument_at(struct pt_regs *regs, bool compat, __u32 at)
{
	switch (at) {
	case 0:
		return compat ? regs->bx : regs->di;
	case 1:
		return compat ? regs->cx : regs->si;
	case 2:
		return regs->dx;
	default:
		return compat ? regs->si : regs->r10;
	}
}
static __always_inline __u64 first_argument(struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->bx : regs->di;
}
#define PC(regs) ((regs)->ip)
#define SP(regs) ((regs)->sp)
#define FP(regs) ((regs)->bp)
#define LR(regs) 0
/* asm/unistd.h: marks a call of the x32 ABI, which has the numbers of x86-64 except from 512 on. */
#define X32_BIT 0x40000000
#define RT_SIGRETURN 15
#else
#define TIF_32BIT 22	/* asm/thread_info.h */
static __always_inline bool is_compat(struct task_struct *current)
{
	return (TYPED ? current->thread_info.flags : BPF_CORE_READ(current, thread_info.flags)) >> TIF_32BIT & 1;
}
static __always_inline long number(struct pt_regs *regs)
{
	return regs->syscallno;
}
static __always_inline void take_arguments(__u64 *to, struct pt_regs *regs, bool compat)
{
	to[0] = regs->orig_x0;	/* the result is in x0 by now */
	to[1] = regs->regs[1];
	to[2] = regs->regs[2];
	to[3] = regs->regs[3];
	to[4] = regs->regs[4];
	to[5] = regs->regs[5];
}
static __always_inline __u32 argument_at(struct pt_regs *regs, bool compat, __u32 at)
{
	switch (at) {
	case 0:
		return regs->orig_x0;
	case 1:
		return regs->regs[1];
	case 2:
		return regs->regs[2];
	default:
		return regs->regs[3];
	}
}
static __always_inline __u64 first_argument(struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->orig_x0 : regs->orig_x0;
}
#define PC(regs) ((regs)->pc)
#define SP(regs) ((regs)->sp)
#define FP(regs) ((regs)->regs[29])
#define LR(regs) ((regs)->regs[30])
#define X32_BIT 0
#define RT_SIGRETURN 139
#endif

/* The caller and the outcome of a call. */
struct call_ctx {
	struct task_struct *task;
	__u64 first;	/* its first argument, where every call is counted */
	__u64 returned;	/* 0 where it failed */
	__u16 nr;
	__u16 err;	/* 0: it succeeded */
	bool compat;
};

static __always_inline __u32 outcome(__u16 nr, __u16 err)
{
	return nr | (__u32)err << 16;
}

/* sigreturn of i386 and arm; at the exit of the call it looks the same as rt_sigreturn. */
#define SIGRETURN_COMPAT 119
