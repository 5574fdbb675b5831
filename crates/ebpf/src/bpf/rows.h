/* Counts calls that name a path, and those without one that rules ask about, in rows. */
#pragma once
#include "classes.h"
#include "current.h"
#include "directory.h"
#include "maps.h"
#include "plain.h"
#include "queries.h"
#include "stacks.h"
#include "waits.h"

/* Adds a row for the key in text_scratch, and sends the text of its path if it is new; false: there is no room, or
 * another CPU was faster. */
static __always_inline bool add_row(struct text_scratch *s)
{
	struct row fresh = {};
	if (bpf_map_update_elem(&rows, &s->key, &fresh, BPF_NOEXIST))
		return false;
	bump(&shared.rows);
	if (s->key.query != QUERY_NO_PATH && !send_text(OF_CALL)) {
		struct row *row = bpf_map_lookup_elem(&rows, &s->key);
		if (row)
			row->unsent = 1;
	}
	return true;
}

/* Adds what this CPU has counted to the row. If the process has ended, sends it to the reader, which may be
 * removing the row at this moment. */
static __always_inline void flush(struct percpu_row *hot)
{
	struct proc *proc = bpf_map_lookup_elem(&procs, &hot->tgid);
	struct row *row = NULL;
	if (proc && proc->image == hot->key.image)
		row = bpf_map_lookup_elem(&rows, &hot->key);
	if (!row) {
		struct orphan_row orphan = {
			.head = { .kind = MESSAGE_KIND_ORPHAN_ROW, .image = hot->key.image },
			.key = hot->key,
			.row = hot->row,
		};
		if (!send(&orphan, sizeof(orphan)))
			fold(outcome(hot->key.nr, hot->key.err), hot->key.compat,
			     hot->row.others + hot->row.repeated, hot->row.kernel_ns, hot->row.untimed);
		return;
	}
	__sync_fetch_and_add(&row->others, hot->row.others);
	__sync_fetch_and_add(&row->repeated, hot->row.repeated);
	__sync_fetch_and_add(&row->kernel_ns, hot->row.kernel_ns);
	__sync_fetch_and_add(&row->untimed, hot->row.untimed);
	row->last_ns = hot->row.last_ns;
	row->fingerprint = hot->row.fingerprint;
	row->changes = hot->row.changes;
	row->waits = hot->row.waits;
	row->streak = hot->row.streak;
	row->unsent = hot->row.unsent;
}

enum place { NOWHERE, IN_PERCPU_ROW, IN_ROWS };

/* Where to count the call whose key is in text_scratch, when `hot` holds another row: in `rows` the first time; when
 * it is counted again, in `hot` from then on. Rows that are counted once, as most are, do not displace others. */
__noinline int place_of(__u32 at, __u32 tgid)
{
	struct text_scratch *s = text_scratch(OF_CALL);
	struct percpu_row *hot = bpf_map_lookup_elem(&percpu_rows, &at);
	if (!s || !hot)
		return NOWHERE;
	struct row *row = bpf_map_lookup_elem(&rows, &s->key);
	if (!row) {
		if (add_row(s))
			return IN_ROWS;
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
	return IN_PERCPU_ROW;
}

static __always_inline bool same(const struct row_key *a, const struct row_key *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;
	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

/* Counts an answer in its row, as repeated if it is the same as the one before. */
static __always_inline void answered(struct row *row, const struct text_scratch *s, long ret,
				     const struct call_ctx *cx, const volatile struct call *call, struct proc *proc,
				     __u64 epoch)
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
		__u64 answer = epoch;
		if (call->reply != REPLY_NONE && !cx->err)
			answer = fingerprint(call->reply, argument(s, call->reply_at), ret);
		if (again && (answer != row->fingerprint || elapsed >= settings.within_ns)) {
			/* The calls since the last comparison may have been different or late as well. */
			__u32 taken = streak > COMPARED ? COMPARED - 1 : 0;
			row->repeated -= taken;
			row->others += taken;
			again = false;
		}
		row->fingerprint = answer;
		/* If calls are so rare that COMPARED of them take too long, compare each one. */
		if (streak == COMPARED - 1 && elapsed * COMPARED >= settings.within_ns)
			streak--;
	}
	if (again) {
		row->repeated++;	/* only this CPU writes it */
		row->streak = streak + 1;
	} else {
		bump(&row->others);
		row->streak = 0;
		row->changes = changes;
		row->waits = waits;
	}
	if (settings.latency) {
		struct took took = kernel_time(cx, s->key.image, s->key.query != QUERY_NO_PATH);
		__sync_fetch_and_add(&row->kernel_ns, took.ns);
		__sync_fetch_and_add(&row->untimed, (__u32)took.untimed);
	}
}

/* Writes the key of a call that names a path; false: this one names none. */
static __always_inline bool path_key(struct text_scratch *s, const struct call_ctx *cx, const volatile struct call *call,
				     struct proc *proc)
{
	bool compat = cx->compat;
	__u64 address = argument(s, call->path);
	if (!address)
		return false;
	long length = bpf_probe_read_user_str(s->text, TEXT, (void *)address);
	if (length < 0) {
		bump(&shared.unreadable);
		return false;
	}
	/* The NUL. Linux 5.10, 6.1 and 6.12 return 0 for an empty text, 6.18 returns 1. */
	if (length)
		length--;
	else
		s->text[0] = 0;
	if (length == 0 && call->at_flags != NONE &&
	    argument(s, call->at_flags) & 0x1000 /* AT_EMPTY_PATH */)
		return false;
	/* In the map: the verifier would follow each length of a local variable separately. */
	s->head.length = length;
	/* AT_FDCWD is -100 */
	bool from_dir_fd = call->dir != NONE && (__s32)argument(s, call->dir) != -100;
	struct row_key *key = &s->key;
	__builtin_memset(key, 0, sizeof(*key));
	key->path = hash_text();
	s->head.directory = 0;
	if (length && s->text[0] != '/' && !from_dir_fd) {
		s->head.directory = directory_of(proc, cx, call);
		key->path = hash_below(s->head.directory, key->path);
	}
	key->image = proc->image;
	key->nr = cx->nr;
	key->err = cx->err;
	key->query = decide(call, s);
	key->compat = compat;
	key->from_dir_fd = from_dir_fd;
	return true;
}

/* The same for a call without a path; false: rules do not ask about it. */
static __always_inline bool class_key(struct text_scratch *s, const struct call_ctx *cx,
				      const volatile struct call *call, struct proc *proc, __u64 *epoch)
{
	__u8 class = class_of(call, s, proc, cx->task, epoch);
	if (class == NONE)
		return false;
	struct row_key *key = &s->key;
	__builtin_memset(key, 0, sizeof(*key));
	key->path = class + 1;
	key->image = proc->image;
	key->nr = cx->nr;
	key->err = cx->err;
	key->query = QUERY_NO_PATH;
	key->compat = cx->compat;
	return true;
}

/* Counts the call whose key is in text_scratch; false: that was not possible. */
static __always_inline bool count_row(struct pt_regs *regs, struct text_scratch *s, long ret, const struct call_ctx *cx,
				      const volatile struct call *call, struct proc *proc, __u64 epoch)
{
	struct row_key *key = &s->key;
	__u32 at = (key->path ^ key->image ^ key->nr << 4 ^ key->err) % PERCPU_ROWS;
	struct percpu_row *hot = bpf_map_lookup_elem(&percpu_rows, &at);
	if (!hot)
		return false;
	struct row *row = &hot->row;
	__u64 before = hot->before;
	if (!same(&hot->key, key)) {
		int place = place_of(at, tgid_of(cx->task));
		if (place == IN_ROWS) {
			row = bpf_map_lookup_elem(&rows, key);
			before = 0;
		} else {
			before = hot->before;
		}
		if (place == NOWHERE || !row) {
			fold_one(cx, kernel_time(cx, proc->image, call->kind == ACTION_PATH));
			return true;
		}
	}
	/* Before answered(), which may overwrite the text with the answer. */
	if (row->unsent && send_text(OF_CALL))
		row->unsent = 0;
	answered(row, s, ret, cx, call, proc, epoch);
	if (!cx->err) {
		if (key->query == QUERY_OPEN_WRITE || key->query == QUERY_CHANGE)
			bump(&shared.changes);
		if (call->moves != MOVES_NOTHING)
			moves(proc);
	}
	if (settings.stacks && key->query <= QUERY_READLINK && key->query != QUERY_OPEN_WRITE) {
		__u64 hit = before + row->others + row->repeated;
		if (is_of_interest(hit)) {
			s->at.pc = PC(regs);
			s->at.sp = SP(regs);
			s->at.fp = FP(regs);
			s->at.lr = LR(regs);
			snapshot(hit, tgid_of(cx->task));
		}
	}
	return true;
}
