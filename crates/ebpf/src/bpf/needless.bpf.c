/* Counts system calls where they are made: no event per call leaves the kernel.
 *
 * One program runs as each call returns. The arguments are still in the saved registers, so the
 * entry need not be watched; execve, whose arguments are gone by then, is counted by the exec
 * tracepoint. */
#include "kernel.h"
#include <bpf_helpers.h>
#include <bpf_tracing.h>
#include <bpf_core_read.h>
#include "shared.h"
#include "maps.h"
#include "current.h"
#include "processes.h"
#include "questions.h"
#include "stacks.h"
#include "details.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* How many counters a call of a process with threads may have. */
#define SHARDS 8

/* Who makes a call, and how it ended. */
struct made {
	struct task_struct *task;
	__u16 nr;
	__u16 err;	/* 0: it succeeded */
	bool compat;
};

static __always_inline __u8 shard(struct task_struct *task)
{
	return has_threads(task) ? bpf_get_smp_processor_id() % SHARDS : 0;
}

/* How long calls took in the kernel. */
struct spent {
	__u64 ns;
	__u64 untimed;	/* calls of which that is not known: they began before us, or unseen */
};

static __always_inline struct spent kernel_time(void)
{
	struct spent spent = {};
	if (!settings.latency)
		return spent;
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *at = bpf_map_lookup_elem(&entered, &tid);
	if (at) {
		spent.ns = bpf_ktime_get_ns() - *at;
		bpf_map_delete_elem(&entered, &tid);
	} else {
		spent.untimed = 1;
	}
	return spent;
}

/* ---- calls without a path ---- */

/* The counter of `key`, added where it is new; NULL: there is no room. */
static __always_inline struct plain *plain_of(void *map, struct plain_key *key)
{
	struct plain *known = bpf_map_lookup_elem(map, key);
	if (known)
		return known;
	struct plain fresh = {};
	bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

static __always_inline void add(struct plain *to, __u64 n, struct spent spent)
{
	__sync_fetch_and_add(&to->count, n);
	if (settings.latency) {
		__sync_fetch_and_add(&to->kernel_ns, spent.ns);
		__sync_fetch_and_add(&to->untimed, spent.untimed);
	}
}

/* Counts `n` calls for which there is no row of their own; `outcome` is of fold_one(). */
__noinline int fold(__u32 outcome, __u32 compat, __u64 n, __u64 kernel_ns, __u64 untimed)
{
	struct plain_key less = { .nr = outcome & 0xffff, .err = outcome >> 16, .compat = compat };
	struct plain *known = plain_of(&folded, &less);
	struct spent spent = { kernel_ns, untimed };
	__sync_fetch_and_add(&shared.folded, n);
	if (known)
		add(known, n, spent);
	else
		__sync_fetch_and_add(&shared.uncounted, n);
	return 0;
}

static __always_inline __u32 outcome(__u16 nr, __u16 err)
{
	return nr | (__u32)err << 16;
}

static __always_inline void fold_one(const struct made *made, struct spent spent)
{
	fold(outcome(made->nr, made->err), made->compat, 1, spent.ns, spent.untimed);
}

static __always_inline void count_plain(struct proc *proc, const struct made *made)
{
	struct plain_key key = {
		.image = proc->image,
		.nr = made->nr,
		.err = made->err,
		.compat = made->compat,
		.shard = shard(made->task),
	};
	struct plain *known = plain_of(&plains, &key);
	struct spent spent = kernel_time();
	if (known)
		add(known, 1, spent);
	else
		fold_one(made, spent);
}

/* ---- calls that name a path ---- */

/* Sends the text of the path in text_scratch, whose key is there, too, unless that was done; 0: there is no room. */
__noinline int send_text(void)
{
	struct text_scratch *s = scratch(text_scratch);
	if (!s)
		return 0;
	if (bpf_map_lookup_elem(&texts, &s->key.path))
		return 1;
	/* Quickly no: a program may ask again and again while the reader does not get to run. */
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > RING - 2 * TEXT)
		return 0;
	s->head.head.kind = NAMED;
	s->head.head.image = s->key.image;
	s->head.head.at_ns = 0;
	s->head.path = s->key.path;
	if (!send(s, sizeof(s->head) + (s->head.length & (TEXT - 1))))
		return 0;
	__u8 one = 1;
	bpf_map_update_elem(&texts, &s->key.path, &one, BPF_ANY);
	return 1;
}

/* Adds the row of the key in text_scratch, and sends the text of its path, which is there, too, where that is
 * new; false: there is no room, or another CPU was faster. */
static __always_inline bool add_row(struct text_scratch *s)
{
	struct row fresh = {};
	if (bpf_map_update_elem(&rows, &s->key, &fresh, BPF_NOEXIST))
		return false;
	bump(&shared.rows);
	if (s->key.ask != ASK_NO_PATH && !send_text()) {
		struct row *row = bpf_map_lookup_elem(&rows, &s->key);
		if (row)
			row->untold = 1;
	}
	return true;
}

/* Adds what was counted in `hot` to its row; where its process has ended, tells the reader, who may be taking
 * the row out. */
static __always_inline void flush(struct hot *hot)
{
	struct proc *proc = bpf_map_lookup_elem(&procs, &hot->tgid);
	struct row *row = NULL;
	if (proc && proc->image == hot->key.image)
		row = bpf_map_lookup_elem(&rows, &hot->key);
	if (!row) {
		struct late late = { .head = { .kind = LATE, .image = hot->key.image } };
		late.key = hot->key;
		late.row = hot->row;
		if (!send(&late, sizeof(late)))
			fold(outcome(hot->key.nr, hot->key.err), hot->key.compat,
			     hot->row.others + hot->row.repeated, hot->row.kernel_ns, hot->row.untimed);
		return;
	}
	__sync_fetch_and_add(&row->others, hot->row.others);
	__sync_fetch_and_add(&row->repeated, hot->row.repeated);
	__sync_fetch_and_add(&row->kernel_ns, hot->row.kernel_ns);
	__sync_fetch_and_add(&row->untimed, hot->row.untimed);
	row->last_ns = hot->row.last_ns;
	row->print = hot->row.print;
	row->changes = hot->row.changes;
	row->waits = hot->row.waits;
	row->streak = hot->row.streak;
	row->untold = hot->row.untold;
}

enum place { NOWHERE, AT_HAND, ROWS };

/* Where a call is counted whose key is in text_scratch and that this CPU has not at hand: there from now on, if
 * it is counted again. Rows that are counted once, as most are, take no place from others. */
__noinline int place_of(__u32 at, __u32 tgid)
{
	struct text_scratch *s = scratch(text_scratch);
	struct hot *hot = bpf_map_lookup_elem(&hots, &at);
	if (!s || !hot)
		return NOWHERE;
	struct row *row = bpf_map_lookup_elem(&rows, &s->key);
	if (!row) {
		if (add_row(s))
			return ROWS;
		row = bpf_map_lookup_elem(&rows, &s->key);
		if (!row)
			return NOWHERE;
	}
	if (hot->key.image)
		flush(hot);
	hot->key = s->key;
	hot->tgid = tgid;
	hot->row = *row;
	hot->before = row->others + row->repeated;
	hot->row.others = hot->row.repeated = hot->row.kernel_ns = hot->row.untimed = 0;
	return AT_HAND;
}

static __always_inline bool same(const struct row_key *a, const struct row_key *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;
	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

/* Counts an answer in its row, and whether it repeats the one before. */
static __always_inline void answered(struct row *row, const struct text_scratch *s, long ret,
				     const struct made *made, const volatile struct call *call, struct proc *proc,
				     __u64 turn)
{
	__u64 changes = shared.changes;
	__u32 waits = proc->waits;
	__u32 streak = row->streak;
	bool again = row->first_ns && row->changes == changes && row->waits == waits;
	if (!again || streak < COMPARED || streak % COMPARED == 0) {
		__u64 now = bpf_ktime_get_ns();
		__u64 elapsed = now - row->last_ns;
		if (!row->first_ns)
			row->first_ns = now;
		row->last_ns = now;
		__u64 print = turn;
		if (call->reply != NO_REPLY && !made->err)
			print = fingerprint(call->reply, argument(s, call->reply_at), ret);
		if (again && (print != row->print || elapsed >= settings.within_ns)) {
			/* Those since the last comparison may have been different, too, or late. */
			__u32 taken = streak > COMPARED ? COMPARED - 1 : 0;
			row->repeated -= taken;
			row->others += taken;
			again = false;
		}
		row->print = print;
		/* Where calls come so slowly that a few take too long, each is compared. */
		if (streak == COMPARED - 1 && elapsed * COMPARED >= settings.within_ns)
			streak--;
	}
	if (again) {
		row->repeated++;	/* the row is this CPU's own */
		row->streak = streak + 1;
	} else {
		bump(&row->others);
		row->streak = 0;
		row->changes = changes;
		row->waits = waits;
	}
	if (settings.latency) {
		struct spent spent = kernel_time();
		__sync_fetch_and_add(&row->kernel_ns, spent.ns);
		__sync_fetch_and_add(&row->untimed, (__u32)spent.untimed);
	}
}

/* Writes the key of a call that names a path; false: it names none, as it turns out. */
static __always_inline bool path_key(struct text_scratch *s, const struct made *made, const volatile struct call *call,
				     struct proc *proc)
{
	bool compat = made->compat;
	__u64 address = argument(s, call->path);
	if (!address)
		return false;
	long length = bpf_probe_read_user_str(s->text, TEXT, (void *)address);
	if (length <= 0) {
		bump(&shared.unreadable);
		return false;
	}
	length--;	/* the NUL */
	if (length == 0 && call->at_flags != NONE &&
	    argument(s, call->at_flags) & 0x1000 /* AT_EMPTY_PATH */)
		return false;
	/* Kept where the verifier does not follow each length by itself. */
	s->head.length = length;
	struct row_key *key = &s->key;
	__builtin_memset(key, 0, sizeof(*key));
	key->path = hash_text(s);
	key->image = proc->image;
	key->nr = made->nr;
	key->err = made->err;
	key->ask = decide(call, s);
	key->compat = compat;
	key->moved = proc->moved != 0;
	/* AT_FDCWD is -100 */
	if (call->dir != NONE)
		key->from_dir_fd = (__s32)argument(s, call->dir) != -100;
	return true;
}

/* The same for a call without a path; false: it is none that rules ask about. */
static __always_inline bool detail_key(struct text_scratch *s, const struct made *made,
				       const volatile struct call *call, struct proc *proc, __u64 *turn)
{
	__u8 detail = detail_of(call, s, proc, made->task, turn);
	if (detail == NONE)
		return false;
	struct row_key *key = &s->key;
	__builtin_memset(key, 0, sizeof(*key));
	key->path = detail + 1;
	key->image = proc->image;
	key->nr = made->nr;
	key->err = made->err;
	key->ask = ASK_NO_PATH;
	key->compat = made->compat;
	return true;
}

/* Counts a call whose key is in text_scratch; false: it could not. */
static __always_inline bool count_row(struct pt_regs *regs, struct text_scratch *s, long ret, const struct made *made,
				      const volatile struct call *call, struct proc *proc, __u64 turn)
{
	struct row_key *key = &s->key;
	__u32 at = (key->path ^ key->image ^ key->nr << 4 ^ key->err) % HOT;
	struct hot *hot = bpf_map_lookup_elem(&hots, &at);
	if (!hot)
		return false;
	struct row *row = &hot->row;
	__u64 before = hot->before;
	if (!same(&hot->key, key)) {
		int place = place_of(at, tgid_of(made->task));
		if (place == ROWS) {
			row = bpf_map_lookup_elem(&rows, key);
			before = 0;
		} else {
			before = hot->before;
		}
		if (place == NOWHERE || !row) {
			fold_one(made, kernel_time());
			return true;
		}
	}
	/* Before answered(), which may read the answer to where the text is. */
	if (row->untold && send_text())
		row->untold = 0;
	answered(row, s, ret, made, call, proc, turn);
	if (!made->err) {
		if (key->ask == ASK_OPEN_WRITE || key->ask == ASK_CHANGE)
			bump(&shared.changes);
		if (call->moves != NOTHING)
			moves(proc);
	}
	if (settings.stacks && key->ask <= ASK_READLINK && key->ask != ASK_OPEN_WRITE) {
		__u64 hit = before + row->others + row->repeated;
		if (is_of_interest(hit)) {
			s->at.pc = PC(regs);
			s->at.sp = SP(regs);
			s->at.fp = FP(regs);
			s->at.lr = LR(regs);
			snapshot(hit, tgid_of(made->task));
		}
	}
	return true;
}

/* ---- hooks ---- */

/* Counts what returned without a number. */
static __always_inline void count_odd(struct proc *proc, struct made *made, long ret)
{
	/* None: a signal handler returned, and `ret` is what the register held before the signal; or, with
	 * ENOSYS, a call that is none or was called off. */
	bool none = ret == -38;
	made->nr = none ? 0xffff : made->compat ? SIGRETURN_COMPAT : RT_SIGRETURN;
	made->err = none ? 38 : 0;
	count_plain(proc, made);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(returned, struct pt_regs *regs, long ret)
{
	struct made made = { .task = current_task() };
	made.compat = is_compat(made.task);
	made.err = ret < 0 && ret >= -4095 ? -ret : 0;
	long nr = number(regs);
	const volatile struct call *call = NULL;
	if (nr >= 0) {
		nr &= ~X32_BIT;
		if (nr < CALLS)
			call = &settings.calls[made.compat][nr];
	}
	/* Of most calls on a machine no rule asks: before all that takes time. */
	if (!settings.all && (!call || call->kind == PLAIN || call->kind == BIRTH))
		return 0;
	struct text_scratch *s = NULL;
	if (call && call->kind == TELLS) {
		s = scratch(text_scratch);
		if (!s)
			return 0;
		take_arguments(s->arguments, regs, made.compat);
		if (!holds(call, s)) {
			if (!settings.all)
				return 0;
			call = NULL;
		}
	}
	__u32 tgid = tgid_of(made.task);
	struct proc *proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc) {
		proc = first_seen(tgid);
		if (!proc)
			return 0;
	}
	if (!proc->image) {
		/* Nothing counts yet but where the program will start. */
		if (call && !made.err && (call->kind == MOVES || call->moves != NOTHING))
			proc->moved = 1;
		return 0;
	}
	if (nr < 0) {
		count_odd(proc, &made, ret);
		return 0;
	}
	made.nr = nr < 2 * CALLS ? nr : 0xffff;
	if (!s)
		s = scratch(text_scratch);
	if (!s)
		return 0;
	if (call) {
		__u64 turn = 0;
		if (call->kind == PATH || call->kind == WAIT)
			take_arguments(s->arguments, regs, made.compat);
		bool counted = false;
		if (call->kind == PATH) {
			if (call->ask == ASK_EXEC && !made.err)
				return 0;	/* counted by `executed` */
			counted = path_key(s, &made, call, proc);
		} else if (call->kind == TELLS) {
			counted = detail_key(s, &made, call, proc, &turn);
		}
		if (counted && count_row(regs, s, ret, &made, call, proc, turn))
			return 0;
		switch (call->kind) {
		case WAIT:
			if (holds(call, s))
				__sync_fetch_and_add(&proc->waits, 1);
			break;
		case MOVES:
			if (!made.err)
				moves(proc);
			break;
		case BIRTH:
			if (!ret)
				return 0;	/* in the child: its parent's call */
			break;
		case URING:
			bump(&shared.uring);
			break;
		}
	}
	if (settings.all)
		count_plain(proc, &made);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(entering, struct pt_regs *regs, long nr)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, tid = id;
	if (!settings.everyone && !bpf_map_lookup_elem(&procs, &tgid))
		return 0;
	__u64 now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&entered, &tid, &now, BPF_ANY))
		bump(&shared.untimed);
	return 0;
}
