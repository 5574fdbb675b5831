/* Counts system calls in the kernel: no event per call leaves it.
 *
 * One program runs when a call returns. The arguments are still in the saved registers, so no program
 * is needed at the entry; execve, whose arguments are gone by then, is counted by the program at
 * sched_process_exec. */
#include "kernel.h"
#include <bpf_helpers.h>
#include <bpf_tracing.h>
#include <bpf_core_read.h>
#include "maps.h"
#include "current.h"
#include "meter.h"
#include "processes.bpf.h"
#include "plain.h"
#include "rows.h"
#include "waits.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Counts what returned without a number. */
static __always_inline void count_unnumbered(struct proc *proc, struct call_ctx *cx, long ret)
{
	/* A signal handler returned, and `ret` is what the register held before the signal; or, with ENOSYS, the
	 * number was invalid or a tracer cancelled the call. */
	bool invalid = ret == -38;
	cx->nr = invalid ? 0xffff : cx->compat ? SIGRETURN_COMPAT : RT_SIGRETURN;
	cx->err = invalid ? 38 : 0;
	count_plain(proc, cx);
}

static __always_inline int call_returned(struct pt_regs *regs, long ret)
{
	struct call_ctx cx = { .task = current_task() };
	cx.compat = is_compat(cx.task);
	cx.err = ret < 0 && ret >= -4095 ? -ret : 0;
	long nr = number(regs);
	const volatile struct call *call = NULL;
	if (nr >= 0) {
		nr &= ~X32_BIT;
		if (nr < CALLS) {
			/* Or clang computes the address before it compares, which the verifier refuses on aarch64. */
			asm volatile("" : "+r"(nr));
			call = &settings.calls[cx.compat][nr];
		}
	}
	/* No rule asks about most calls of a machine: leave before anything that takes time. */
	if (!settings.all && (!call || call->kind == ACTION_PLAIN || call->kind == ACTION_SPAWN))
		return 0;
	if (call && call->kind == ACTION_CLASSIFY && !holds(call, regs, cx.compat)) {
		if (!settings.all)
			return 0;
		call = NULL;
	}
	if (settings.all || settings.latency)
		cx.first = first_argument(regs, cx.compat);
	cx.returned = ret > 0 ? ret : 0;
	if (settings.all && nr >= 0 && (!call || call->kind == ACTION_PLAIN)) {
		cx.nr = nr < 2 * CALLS ? nr : 0xffff;
		if (count_again(outcome(cx.nr, cx.err), cx.compat, cx.first, cx.returned))
			return 0;
	}
	__u32 tgid = tgid_of(cx.task);
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc) {
		proc = first_seen(tgid);
		if (!proc)
			return 0;
	}
	if (!proc->image) {
		/* Not counted yet; but its working directory matters for the program it will execute. */
		if (call && !cx.err && (call->kind == ACTION_MOVES || call->moves != MOVES_NOTHING))
			moves(proc);
		return 0;
	}
	if (nr < 0) {
		count_unnumbered(proc, &cx, ret);
		return 0;
	}
	cx.nr = nr < 2 * CALLS ? nr : 0xffff;
	struct text_scratch *s = text_scratch(OF_CALL);
	if (!s)
		return 0;
	if (call) {
		__u64 epoch = 0;
		if (call->kind == ACTION_PATH || call->kind == ACTION_CLASSIFY)
			take_arguments(s->arguments, regs, cx.compat);
		bool counted = false;
		if (call->kind == ACTION_PATH) {
			if (call->query_or_class == QUERY_EXEC && !cx.err) {
				/* Counted by sched_process_exec. The program may leave its directory before it asks for
				 * a relative path. */
				if (!proc->directory)
					proc->directory = working_directory();
				return 0;
			}
			counted = path_key(s, &cx, call, proc);
		} else if (call->kind == ACTION_CLASSIFY) {
			counted = class_key(s, &cx, call, proc, &epoch);
		}
		if (counted && count_row(regs, s, ret, &cx, call, proc, epoch))
			return 0;
		switch (call->kind) {
		case ACTION_WAIT:
			if (holds(call, regs, cx.compat))
				__sync_fetch_and_add(&proc->waits, 1);
			break;
		case ACTION_MOVES:
			if (!cx.err)
				moves(proc);
			break;
		case ACTION_SPAWN:
			if (!ret)
				return 0;	/* in the child: it is the parent's call */
			break;
		case ACTION_URING:
			bump(&shared.uring);
			break;
		}
	}
	if (settings.all)
		count_plain(proc, &cx);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	struct meter *meter = meter_start(PROGRAM_SYS_EXIT);
	call_returned(regs, ret);
	meter_stop(meter);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long nr)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, tid = id;
	if (!settings.everyone && !bpf_map_lookup_elem(&procs, &tgid))
		return 0;
	struct entry entry = { .at_ns = bpf_ktime_get_ns(), .waits = waits_of(current_task()) };
	if (bpf_map_update_elem(&entries, &tid, &entry, BPF_ANY))
		bump(&shared.untimed);
	return 0;
}
