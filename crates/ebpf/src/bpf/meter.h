/* What the programs themselves take, where the reader asks for it: the kernel's own statistics (BPF_ENABLE_STATS) need
 * CAP_SYS_ADMIN, and slow down every program of the machine. */
#pragma once
#include "maps.h"

/* One run of so many is timed: a prime, so that few loops of programs are in step with it. */
#define METER_EVERY 61

/* To be called first in a program. The start is kept in the map, where the verifier does not follow it: else it would
 * walk the rest of the program twice. */
static __always_inline struct meter *meter_start(__u32 program)
{
	if (!settings.metered)
		return NULL;
	struct meter *meter = bpf_map_lookup_elem(&meters, &program);
	if (meter && ++meter->runs % METER_EVERY == 0)
		meter->start = bpf_ktime_get_ns();
	return meter;
}

static __always_inline void meter_stop(struct meter *meter)
{
	if (!meter || !meter->start)
		return;
	meter->ns += bpf_ktime_get_ns() - meter->start;
	meter->timed++;
	meter->start = 0;
}
