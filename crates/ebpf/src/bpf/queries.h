/* The query of a call, and its answer. */
#pragma once
#include "current.h"
#include "maps.h"

/* The hash of a path's text: SipHash-1-3 (Aumasson and Bernstein, 2012). Paths with the same hash are counted as one
 * path, so a program must not be able to choose collisions. No attack on this function is known that is better than
 * to guess among 2^64. The key is random in each run and only needless knows it: its map cannot be read without CAP_BPF
 * or CAP_SYS_ADMIN, and no hash leaves needless. A sum of products with secret numbers would be faster and as good
 * against one guess, but a program that measures the duration of its calls could learn the numbers bit by bit. */
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

/* `last` holds the length, so that two texts differ even if one is the start of the other. */
static __always_inline __u64 sip_end(struct sip *s, __u64 last)
{
	sip_take(s, last);
	s->c ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->a ^ s->b ^ s->c ^ s->d;
}

/* Takes one stride of the text in a text_scratch. A separate function, so that the verifier walks it once. */
__noinline int hash_stride(__u32 of, __u32 at)
{
	struct text_scratch *s = text_scratch(of);
	if (!s)
		return 0;
	const __u64 *words = (const __u64 *)(s->text + (at & (TEXT - STRIDE)));
	struct sip sip = s->sip;
#pragma unroll
	for (__u32 word = 0; word < STRIDE / 8; word++)
		sip_take(&sip, words[word]);
	s->sip = sip;
	return 0;
}

/* The hash of the text in a text_scratch, which is padded with zeros. */
__noinline __u64 hash_long(__u32 of)
{
	struct text_scratch *s = text_scratch(of);
	if (!s)
		return 0;
	__u32 length = s->head.length;
	s->sip = sip_begin();
	__builtin_memset(s->text + (length & (TEXT - 1)), 0, STRIDE);
	for (__u32 at = 0; at < TEXT; at += STRIDE) {
		if (at >= length)
			break;
		hash_stride(of, at);
	}
	return sip_end(&s->sip, length);
}

/* The same for the path of a call, most of which are short: without a loop. As in the definition of SipHash, the last word holds the rest of
 * the text and the length. A short and a long text differ in the length. */
#define SHORT 48
__noinline __u64 hash_text(void)
{
	const struct text_scratch *s = text_scratch(OF_CALL);
	if (!s)
		return 0;
	__u32 length = s->head.length;
	if (length > SHORT)
		return hash_long(OF_CALL);
	const __u64 *words = (const __u64 *)s->text;
	struct sip sip = sip_begin();
#pragma unroll
	for (__u32 i = 0; i < SHORT / 8; i++)
		if (i * 8 + 8 <= length)
			sip_take(&sip, words[i]);
	/* Masked and not padded: a load of bytes that were just stored in two pieces is slow. */
	__u64 rest = words[length / 8 & 7] & ((1ULL << (length & 7) * 8) - 1);
	return sip_end(&sip, rest | (__u64)length << 56);
}

/* The key of a path that is relative to a working directory. */
__noinline __u64 hash_below(__u64 directory, __u64 path)
{
	struct sip sip = sip_begin();
	sip_take(&sip, directory);
	return sip_end(&sip, path);
}

/* For answers of the kernel. It is not the key of a count: two answers with the same hash are taken for the same
 * answer. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* The first answers to a repeated question are all compared, then one in so many: if that one differs, the calls since
 * the last comparison do not count as repeated. */
#define COMPARED 8

/* A hash of what matters in the answer of a call that succeeded; 0 if it cannot be read. `length` is that of an answer
 * that is a text. Overwrites the path in text_scratch. Of a file's status: device, inode, size and time of
 * modification (asm/stat.h, linux/stat.h). */
__noinline __u64 fingerprint(__u32 reply, __u64 address, __u32 length)
{
	struct text_scratch *s = text_scratch(OF_CALL);
	if (!s)
		return 0;
	__u64 *words = (__u64 *)s->text;
	__u64 hash = 1;
	switch (reply) {
	case REPLY_STAT:
		if (bpf_probe_read_user(words, 104, (void *)address))
			return 0;
		hash = mix(hash, words[0]);
		hash = mix(hash, words[1]);
		hash = mix(hash, words[6]);
		hash = mix(hash, words[11]);
		return mix(hash, words[12]);
	case REPLY_STATX:
		if (bpf_probe_read_user(words, 144, (void *)address))
			return 0;
		hash = mix(hash, words[4]);
		hash = mix(hash, words[5]);
		hash = mix(hash, words[14]);
		hash = mix(hash, words[15] & 0xffffffff);
		return mix(hash, words[17]);
	case REPLY_STAT32:
	case REPLY_STAT64_I386:
	case REPLY_STAT64_ARM:
		/* Only some fields: the time of access may change at each read. */
		if (bpf_probe_read_user(words, 104, (void *)address))
			return 0;
		if (reply == REPLY_STAT32)
			return mix(mix(mix(hash, words[0]), words[2] >> 32), words[5]);
		hash = mix(hash, words[0]);
		if (reply == REPLY_STAT64_ARM)
			return mix(mix(mix(hash, words[6]), words[10]), words[12]);
		hash = mix(hash, words[5] >> 32 | words[6] << 32);
		return mix(mix(hash, words[9]), words[11]);
	case REPLY_LINK:
		length &= TEXT - 1;
		if (bpf_probe_read_user(s->text, length, (void *)address))
			return 0;
		s->head.length = length;
		return hash_long(OF_CALL);
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
	case DECIDER_OPEN_HOW:
		if (bpf_probe_read_user(&flags, 8, (void *)argument(s, call->decider_at)))
			return call->query_or_class;
		break;
	case DECIDER_OPEN_FLAGS:
	case DECIDER_AT_FLAGS:
		flags = argument(s, call->decider_at);
		break;
	default:
		return call->query_or_class;
	}
	if (call->decider == DECIDER_AT_FLAGS)
		return flags & 0x100 /* AT_SYMLINK_NOFOLLOW */ ? QUERY_LSTAT : QUERY_STAT;
	return flags & (3 | 0100 | 01000) /* O_ACCMODE, O_CREAT, O_TRUNC */ ? QUERY_OPEN_WRITE : QUERY_OPEN;
}

/* Whether the condition on its arguments holds. */
static __always_inline bool holds(const volatile struct call *call, struct pt_regs *regs, bool compat)
{
	__u32 bits = call->when_bits;
	if (call->when == WHEN_STREAM)
		return argument_at(regs, compat, 0) == call->when_at && argument_at(regs, compat, 2) < bits;
	if (call->when == WHEN_ALWAYS)
		return true;
	__u32 value = argument_at(regs, compat, call->when_at);
	switch (call->when) {
	case WHEN_NON_ZERO:
		return value != 0;
	case WHEN_WITH:
		return value & bits;
	case WHEN_WITHOUT:
		return !(value & bits);
	case WHEN_AT_LEAST:
		return value >= bits;
	default: /* WHEN_ONE_OF */
		return value < 32 && bits >> value & 1;
	}
}
