/* Counts calls without a path: per CPU, and per process and outcome. */
#pragma once
#include "current.h"
#include "maps.h"
#include "waits.h"

/* From so many calls on, their descriptor is looked at, each time that their number has doubled. */
#define LOOK_FROM 64
/* So many descriptors of one poll are looked at. */
#define POLLED 8

/* The counter of `key`, added if it is new; NULL: there is no room. */
static __always_inline struct counter *counter_of(void *map, struct counter_key *key)
{
	struct counter *known = bpf_map_lookup_elem(map, key);
	if (known)
		return known;
	struct counter fresh = {};
	if (bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST) == 0)
		bump(&shared.rows);
	return bpf_map_lookup_elem(map, key);
}

static __always_inline void add(struct counter *to, __u64 n, struct took took)
{
	__sync_fetch_and_add(&to->count, n);
	if (settings.latency) {
		__sync_fetch_and_add(&to->kernel_ns, took.ns);
		__sync_fetch_and_add(&to->untimed, took.untimed);
	}
}

/* Adds how the calls of `from` followed one another. */
static __always_inline void add_sequence(struct counter *to, const struct counter *from)
{
	__sync_fetch_and_add(&to->returned, from->returned);
	__sync_fetch_and_add(&to->zero, from->zero);
	__sync_fetch_and_add(&to->same, from->same);
	__sync_fetch_and_add(&to->next, from->next);
	__sync_fetch_and_add(&to->at_once, from->at_once);
	to->first = from->first;
	if (from->on) {
		to->fd = from->fd;
		to->events = from->events;
		to->on = from->on;
	}
}

/* Counts `n` calls that have no room for their own row; `outcome` is what outcome() returns. */
__noinline int fold(__u32 outcome, __u32 compat, __u64 n, __u64 kernel_ns, __u64 untimed)
{
	struct counter_key less = { .nr = outcome & 0xffff, .err = outcome >> 16, .compat = compat };
	struct counter *known = counter_of(&folded, &less);
	struct took took = { kernel_ns, untimed };
	__sync_fetch_and_add(&shared.folded, n);
	if (known)
		add(known, n, took);
	else
		__sync_fetch_and_add(&shared.uncounted, n);
	return 0;
}

static __always_inline void fold_one(const struct call_ctx *cx, struct took took)
{
	fold(outcome(cx->nr, cx->err), cx->compat, 1, took.ns, took.untimed);
}

/* Where each CPU counts calls of this kind; it may count another kind there at the moment. */
static __always_inline __u32 percpu_counter(const struct call_ctx *cx)
{
	return (tgid_of(cx->task) * 31 + cx->nr * 7 + cx->err) % PERCPU_COUNTERS;
}

/* Looks at the descriptor of a call: its first argument, or the first one that poll has found ready. */
__noinline int look_at(__u32 at, __u64 first)
{
	struct percpu_counter *here = bpf_map_lookup_elem(&percpu_counters, &at);
	if (!here)
		return 0;
	struct { __u32 fd; __u16 events, revents; } polled = { .fd = first };
	for (int i = 0; first >> 20 && i < POLLED; i++) {
		if (bpf_probe_read_user(&polled, sizeof(polled), (void *)(first + i * sizeof(polled))))
			return 0;
		if (polled.revents)
			break;
	}
	here->counter.fd = polled.fd;
	here->counter.events = polled.revents;
	here->counter.on = SEEN | kind_of(current_task(), polled.fd);
	return 0;
}

static __always_inline void add_here(struct percpu_counter *here, const struct call_ctx *cx)
{
	struct took took = kernel_time(cx, here->key.image, false);
	here->counter.count++;	/* only this CPU writes it */
	here->counter.kernel_ns += took.ns;
	here->counter.untimed += took.untimed;
	/* As Sequence of needless_model does it. */
	struct counter *sums = &here->counter;
	__u64 waits = waits_of(cx->task);
	__u32 tid = tid_of(cx->task);
	if (sums->count > 1) {
		sums->same += cx->first == sums->first;
		sums->next += cx->first == sums->first + 1;
		/* Threads of a pool may have waited equally often. */
		sums->at_once += tid == here->tid && waits == here->waits;
	}
	sums->first = cx->first;
	here->waits = waits;
	here->tid = tid;
	if (sums->count >= LOOK_FROM && !(sums->count & (sums->count - 1)))
		look_at(percpu_counter(cx), cx->first);
	if (!cx->returned)
		sums->zero++;
	else if (cx->returned <= LARGEST_RESULT)
		sums->returned += cx->returned;
}

/* Counts a call without a path like the last one of its kind on this CPU, without a search for its process; false: it
 * is of another process, or there was none. A separate function, so that the verifier walks it once. */
__noinline int count_again(__u32 outcome, __u32 compat, __u64 first, __u64 returned)
{
	struct call_ctx call = {
		.task = current_task(),
		.first = first,
		.returned = returned,
		.nr = outcome,
		.err = outcome >> 16,
	};
	const struct call_ctx *cx = &call;
	call.compat = compat;
	__u32 at = percpu_counter(cx);
	struct percpu_counter *here = bpf_map_lookup_elem(&percpu_counters, &at);
	if (!here || here->tgid != tgid_of(cx->task) || here->key.nr != cx->nr || here->key.err != cx->err ||
	    here->key.compat != cx->compat || here->execs != execs_of(cx->task) ||
	    here->start != start_of(cx->task))
		return false;
	add_here(here, cx);
	return true;
}

/* Adds what this CPU has counted of another kind of call to its counter. */
__noinline int give_back(__u32 at)
{
	struct percpu_counter *here = bpf_map_lookup_elem(&percpu_counters, &at);
	if (!here || !here->counter.count)
		return 0;
	struct counter_key key = here->key;
	struct counter *known = counter_of(&counters, &key);
	struct took took = { here->counter.kernel_ns, here->counter.untimed };
	if (known) {
		add(known, here->counter.count, took);
		add_sequence(known, &here->counter);
	} else {
		fold(outcome(key.nr, key.err), key.compat, here->counter.count, took.ns, took.untimed);
	}
	return 0;
}

static __always_inline void count_plain(struct proc *proc, const struct call_ctx *cx)
{
	if (count_again(outcome(cx->nr, cx->err), cx->compat, cx->first, cx->returned))
		return;
	__u32 at = percpu_counter(cx);
	give_back(at);
	struct percpu_counter *here = bpf_map_lookup_elem(&percpu_counters, &at);
	if (!here)
		return;
	struct percpu_counter fresh = {
		.key = { .image = proc->image, .nr = cx->nr, .err = cx->err, .compat = cx->compat },
		.tgid = tgid_of(cx->task),
		.execs = execs_of(cx->task),
		.start = start_of(cx->task),
	};
	*here = fresh;
	add_here(here, cx);
}
