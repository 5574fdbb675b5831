/* What a call asks, and what it is told. */
#pragma once
#include "current.h"
#include "maps.h"

/* The hash of a path's text, SipHash-1-3 (Aumasson and Bernstein, 2012): paths with one hash would be counted as one.
 * Nobody is known to tell it from a random function without its key, so that a program can do no better than to guess
 * among 2^64. The key is drawn anew in each run and is known to needless alone: its map cannot be read without CAP_BPF
 * or CAP_SYS_ADMIN, and no hash leaves needless. A sum of products with secret numbers would be faster and as good
 * against one guess, but a program that measures how long its calls take could learn the numbers bit by bit. */
struct sip {
	__u64 a, b, c, d;
};

static __always_inline __u64 turned(__u64 word, __u32 by)
{
	return word << by | word >> (64 - by);
}

static __always_inline void sip_round(struct sip *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = turned(s->b, 13) ^ s->a;
	s->d = turned(s->d, 16) ^ s->c;
	s->a = turned(s->a, 32);
	s->c += s->b;
	s->a += s->d;
	s->b = turned(s->b, 17) ^ s->c;
	s->d = turned(s->d, 21) ^ s->a;
	s->c = turned(s->c, 32);
}

static __always_inline struct sip sip_begin(void)
{
	return (struct sip){
		.a = settings.key[0] ^ 0x736f6d6570736575ULL,
		.b = settings.key[1] ^ 0x646f72616e646f6dULL,
		.c = settings.key[0] ^ 0x6c7967656e657261ULL,
		.d = settings.key[1] ^ 0x7465646279746573ULL,
	};
}

static __always_inline void sip_take(struct sip *s, __u64 word)
{
	s->d ^= word;
	sip_round(s);
	s->a ^= word;
}

/* `last` holds the length, so that no text is the beginning of another. */
static __always_inline __u64 sip_end(struct sip *s, __u64 last)
{
	sip_take(s, last);
	s->c ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->a ^ s->b ^ s->c ^ s->d;
}

/* Of the text in text_scratch, which is padded with zeros. A function of its own, so that the verifier walks its
 * loop once; and not more often than need be. */
__noinline __u64 hash_long(void)
{
	struct text_scratch *s = scratch(text_scratch);
	if (!s)
		return 0;
	const __u64 *words = (const __u64 *)s->text;
	__u32 length = s->head.length;
	struct sip sip = sip_begin();
	__builtin_memset(s->text + (length & (TEXT - 1)), 0, STRIDE);
	for (__u32 i = 0; i < TEXT / STRIDE; i++) {
		if (i * STRIDE >= length)
			break;
#pragma unroll
		for (__u32 word = 0; word < STRIDE / 8; word++)
			sip_take(&sip, words[i * STRIDE / 8 + word]);
	}
	return sip_end(&sip, length);
}

/* The same for most paths, without a loop and a call: as SipHash is defined, the rest of the text and its length in
 * the last word. What is short and what is long differ in the length. */
#define SHORT 48
static __always_inline __u64 hash_text(const struct text_scratch *s)
{
	__u32 length = s->head.length;
	if (length > SHORT)
		return hash_long();
	const __u64 *words = (const __u64 *)s->text;
	struct sip sip = sip_begin();
#pragma unroll
	for (__u32 i = 0; i < SHORT / 8; i++)
		if (i * 8 + 8 <= length)
			sip_take(&sip, words[i]);
	/* Masked rather than padded: to load what was just stored in two pieces takes time. */
	__u64 rest = words[length / 8 & 7] & ((1ULL << (length & 7) * 8) - 1);
	return sip_end(&sip, rest | (__u64)length << 56);
}

/* Of answers of the kernel. Nothing is counted by it: two that have one hash would be taken for the same answer. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
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
