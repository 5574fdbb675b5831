/* What a call asks, and what it is told. */
#pragma once
#include "current.h"
#include "maps.h"

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Of the text in text_scratch. A function of its own, so that the verifier walks its loop once; and not
 * more often than need be. */
__noinline __u64 hash_long(void)
{
	struct text_scratch *s = scratch(text_scratch);
	if (!s)
		return 0;
	const __u64 *words = (const __u64 *)s->text;
	__u32 length = s->head.length;
	__u64 hash = settings.seed + length;
	__builtin_memset(s->text + (length & (TEXT - 1)), 0, STRIDE);
	for (__u32 i = 0; i < TEXT / STRIDE; i++) {
		if (i * STRIDE >= length)
			break;
#pragma unroll
		for (__u32 word = 0; word < STRIDE / 8; word++)
			hash = mix(hash, words[i * STRIDE / 8 + word]);
	}
	return hash;
}

/* The same for most paths, without a loop and a call. */
#define SHORT 48
static __always_inline __u64 hash_text(const struct text_scratch *s)
{
	__u32 length = s->head.length;
	if (length > SHORT)
		return hash_long();
	const __u64 *words = (const __u64 *)s->text;
	__u64 hash = settings.seed + length;
#pragma unroll
	for (__u32 i = 0; i < SHORT / 8; i++)
		if (i * 8 + 8 <= length)
			hash = mix(hash, words[i]);
	/* Masked rather than padded: to load what was just stored in two pieces takes time. */
	if (length & 7)
		hash = mix(hash, words[length / 8 & 7] & ((1ULL << (length & 7) * 8) - 1));
	return hash;
}

/* A question put again and again gets each of its first answers compared, then one in so many: when that
 * is another, none since the last comparison counts as repeated. */
#define COMPARED 8

/* What matters in the answer of a call that succeeded, `length` bytes long where it is a text; 0 where it
 * cannot be read. Takes the place of the path in text_scratch. For a file's status device, inode, size and time of modification (asm/stat.h, linux/stat.h). */
__noinline __u64 fingerprint(__u32 reply, __u64 address, __u32 length)
{
	struct text_scratch *s = scratch(text_scratch);
	if (!s)
		return 0;
	__u64 *words = (__u64 *)s->text;
	__u64 hash = 1;
	switch (reply) {
	case STAT:
		if (bpf_probe_read_user(words, 104, (void *)address))
			return 0;
		hash = mix(hash, words[0]);
		hash = mix(hash, words[1]);
		hash = mix(hash, words[6]);
		hash = mix(hash, words[11]);
		return mix(hash, words[12]);
	case STATX:
		if (bpf_probe_read_user(words, 144, (void *)address))
			return 0;
		hash = mix(hash, words[4]);
		hash = mix(hash, words[5]);
		hash = mix(hash, words[14]);
		hash = mix(hash, words[15] & 0xffffffff);
		return mix(hash, words[17]);
	case STAT_I386:
	case STAT64_I386:
	case STAT64_ARM:
		/* The whole structure but its time of access would be another at each read. */
		if (bpf_probe_read_user(words, 104, (void *)address))
			return 0;
		if (reply == STAT_I386)
			return mix(mix(mix(hash, words[0]), words[2] >> 32), words[5]);
		hash = mix(hash, words[0]);
		if (reply == STAT64_ARM)
			return mix(mix(mix(hash, words[6]), words[10]), words[12]);
		hash = mix(hash, words[5] >> 32 | words[6] << 32);
		return mix(mix(hash, words[9]), words[11]);
	case LINK:
		length &= TEXT - 1;
		if (bpf_probe_read_user(s->text, length, (void *)address))
			return 0;
		s->head.length = length;
		return hash_long();
	}
	return 0;
}

static __always_inline __u64 argument(const struct text_scratch *s, __u32 at)
{
	return s->arguments[at & 7];
}

static __always_inline __u8 decide(const volatile struct call *call, const struct text_scratch *s)
{
	__u64 flags = 0;
	switch (call->decider) {
	case OPEN_HOW:
		if (bpf_probe_read_user(&flags, 8, (void *)argument(s, call->decider_at)))
			return call->ask;
		break;
	case OPEN_FLAGS:
	case AT_FLAGS:
		flags = argument(s, call->decider_at);
		break;
	default:
		return call->ask;
	}
	if (call->decider == AT_FLAGS)
		return flags & 0x100 /* AT_SYMLINK_NOFOLLOW */ ? ASK_LSTAT : ASK_STAT;
	return flags & (3 | 0100 | 01000) /* O_ACCMODE, O_CREAT, O_TRUNC */ ? ASK_OPEN_WRITE : ASK_OPEN;
}

/* Whether the condition on its arguments holds. */
static __always_inline bool holds(const volatile struct call *call, const struct text_scratch *s)
{
	switch (call->when) {
	case NON_ZERO:
		return (__u32)argument(s, call->when_at) != 0;
	case WITH:
		return (__u32)argument(s, call->when_at) & call->when_bits;
	case WITHOUT:
		return !((__u32)argument(s, call->when_at) & call->when_bits);
	case AT_LEAST:
		return (__u32)argument(s, call->when_at) >= call->when_bits;
	case STREAM:
		return (__u32)argument(s, 0) == call->when_at && (__u32)argument(s, 2) < call->when_bits;
	case ONE_OF: {
		__u32 value = argument(s, call->when_at);
		return value < 32 && call->when_bits >> value & 1;
	}
	}
	return true;
}
