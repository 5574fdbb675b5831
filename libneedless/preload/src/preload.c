/*
 * libneedless_localtime.so: the C library's time functions, without its question for /etc/localtime in each call.
 *
 * While TZ is unset, localtime(3) of glibc looks at /etc/localtime each time; localtime_r(3), which does the same
 * conversion, does not look. Where a look of this second was made with TZ unset, this library has localtime_r do the
 * work of localtime and ctime, and tzset(3) has nothing to do. It passes every other call on, and answers nothing itself.
 *
 * Invariants:
 * - No lock, no allocation, no system call, and no look-up of a symbol once the library is loaded.
 * - A look is remembered only if TZ was unset before and after it, if it succeeded, and if no other call may have
 *   changed the C library's zone meanwhile.
 * - Only names that are reserved to the implementation are imported, all of them weak and without a version.
 * - Where the C library is not glibc, or another library replaces one of these functions, everything is passed on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <wchar.h>

#ifndef __LP64__
#error "a time_t has two sizes here, and each function two names"
#endif

#define WEAK __attribute__((weak))
#define COLD __attribute__((cold, noinline))
#define EXPORTED __attribute__((visibility("default")))

extern char **__environ WEAK;
extern int *__errno_location(void) WEAK;
/* The dynamic linker's list of loaded objects: glibc's, and musl's pointer to its own. */
extern struct r_debug _r_debug WEAK;
extern struct r_debug *_dl_debug_addr WEAK;
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The next definitions of the functions, in the order of `NAMES`. */
static struct {
	struct tm *(*localtime)(const time_t *);
	struct tm *(*localtime_r)(const time_t *, struct tm *);
	char *(*ctime)(const time_t *);
	char *(*asctime)(const struct tm *);
	time_t (*mktime)(struct tm *);
	void (*tzset)(void);
	size_t (*strftime)(char *, size_t, const char *, const struct tm *);
	size_t (*strftime_l)(char *, size_t, const char *, const struct tm *, locale_t);
	size_t (*wcsftime)(wchar_t *, size_t, const wchar_t *, const struct tm *);
	size_t (*wcsftime_l)(wchar_t *, size_t, const wchar_t *, const struct tm *, locale_t);
	char *(*strptime)(const char *, const char *, struct tm *);
	char *(*strptime_l)(const char *, const char *, struct tm *, locale_t);
	struct tm *(*getdate)(const char *);
	int (*getdate_r)(const char *, struct tm *);
	int (*clock_gettime)(clockid_t, struct timespec *);
} next;

static const char NAMES[] =
	"localtime\0localtime_r\0ctime\0asctime\0mktime\0tzset\0strftime\0strftime_l\0wcsftime\0wcsftime_l\0"
	"strptime\0strptime_l\0getdate\0getdate_r\0clock_gettime\0";

/* Whether `next` is filled in, and whether it is glibc that defines all of it. */
static atomic_bool ready;
static int is_glibc;

/* ---- The next definitions. dlsym(3) could find them, but before glibc 2.34 it is in a library of its own. ---- */

struct object {
	ElfW(Addr) base;
	const char *strings;
	const ElfW(Sym) *symbols;
	const uint32_t *hash, *gnu_hash;
};

static int is_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The tables of an object's dynamic section. glibc has replaced the file's addresses there; musl has not. */
static struct object tables(const struct link_map *map)
{
	struct object o = {.base = map->l_addr};
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		ElfW(Addr) at = d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr : d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			o.strings = (const char *)at;
		else if (d->d_tag == DT_SYMTAB)
			o.symbols = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_HASH)
			o.hash = (const uint32_t *)at;
		else if (d->d_tag == DT_GNU_HASH)
			o.gnu_hash = (const uint32_t *)at;
	}
	return o;
}

/* The address of the symbol `index` if it is the function of that name; else null. */
static void *named(const struct object *o, uint32_t index, const char *name)
{
	const ElfW(Sym) *s = o->symbols + index;
	if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !is_equal(o->strings + s->st_name, name))
		return 0;
	return (void *)(o->base + s->st_value);
}

/* The address of a function that the object defines; null where it does not. */
static void *function(const struct object *o, const char *name)
{
	void *found = 0;
	if (!o->symbols || !o->strings)
		return 0;
	if (o->gnu_hash) {
		const uint32_t count = o->gnu_hash[0], first = o->gnu_hash[1];
		const uint32_t *buckets = o->gnu_hash + 4 + o->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
		const uint32_t *hashes = buckets + count;
		uint32_t wanted = 5381, hash = 0;
		for (const char *c = name; *c; c++)
			wanted = wanted * 33 + (unsigned char)*c;
		uint32_t index = count ? buckets[wanted % count] : 0;
		/* The symbols before `first` are in no chain. The last hash of a chain has its lowest bit set. */
		for (; index >= first && !found && !(hash & 1); index++) {
			hash = hashes[index - first];
			if ((hash | 1) == (wanted | 1))
				found = named(o, index, name);
		}
		return found;
	}
	/* This table counts the symbols. */
	for (uint32_t index = 0; o->hash && index < o->hash[1] && !found; index++)
		found = named(o, index, name);
	return found;
}

/* The list of loaded objects that has this library in it: a namespace of dlmopen(3) has a list of its own. Before glibc
 * 2.35 only the program's is known. */
static const struct link_map *loaded_objects(void)
{
	const struct r_debug *list = &_r_debug ? &_r_debug : &_dl_debug_addr ? _dl_debug_addr : 0;
	const struct link_map *of_program = list ? list->r_map : 0;
	/* From glibc 2.35 on, lists of version 2 have a pointer to the next behind them. */
	struct extended { struct r_debug base; const struct r_debug *next; };
	for (; list; list = list->r_version < 2 ? 0 : ((const struct extended *)list)->next)
		for (const struct link_map *m = list->r_map; m; m = m->l_next)
			if (m->l_ld == _DYNAMIC)
				return list->r_map;
	return of_program;
}

static long absent(void)
{
	errno = ENOSYS;
	return 0;
}

/* Fills in `next`: of each function, the definition in the first object after this library, or in the C library where
 * dlopen(3) loaded this one after it. */
static void look_up(void)
{
	int is_after = 0, glibc = 0, others = 0;
	void **const to = (void **)&next;
	for (const struct link_map *m = loaded_objects(); m; m = m->l_next) {
		const struct object o = tables(m);
		/* Which glibc alone defines. */
		const int is_libc = function(&o, "_IO_puts") != 0;
		glibc |= is_libc;
		is_after |= m->l_ld == _DYNAMIC;
		if (m->l_ld == _DYNAMIC || !(is_after || is_libc))
			continue;
		unsigned i = 0;
		for (const char *name = NAMES; *name; name++, i++) {
			/* The clock is the C library's: another may stand still, and that of glibc 2.33's librt is a remnant. */
			if (!to[i] && (is_libc || &to[i] != (void **)&next.clock_gettime) && (to[i] = function(&o, name)))
				others |= !is_libc;
			while (*name)
				name++;
		}
	}
	/* Another library's localtime need not look. */
	is_glibc = glibc && !others && next.clock_gettime;
	for (unsigned i = 0; i < sizeof next / sizeof *to; i++)
		if (!to[i])
			to[i] = (void *)absent;
	atomic_store_explicit(&ready, 1, memory_order_release);
}

/* ---- What is known of the C library's zone. ---- */

/* The last look, in one word: a count of the times that one was forgotten, then the second, then one of these. */
enum { NOTHING, LOOKING, READ, ABSENT, KIND = 3 };
#define COUNT ((uint64_t)1 << 34)
#define NEVER UINT64_MAX
static _Atomic uint64_t last_look;

/* The structure that the C library's localtime returns; null until it has returned it. */
static struct tm *_Atomic shared;

static int tz_is_set(void)
{
	/* From the first entry each time: programs rewrite the array, and free what was in it. */
	if (__environ)
		for (char **e = __environ; *e; e++)
			if ((*e)[0] == 'T' && (*e)[1] == 'Z' && (*e)[2] == '=')
				return 1;
	return 0;
}

/* The second of the wall clock, as it is in the word. Only equal seconds count, so a clock that is set back does no harm. */
static uint64_t this_second(void)
{
	struct timespec now;
	if (next.clock_gettime(CLOCK_REALTIME_COARSE, &now))
		return NEVER;
	return (uint64_t)(uint32_t)now.tv_sec << 2;
}

/* Called after the C library may have read a TZ. A thread that is in a look then does not remember it. */
static void forget(void)
{
	uint64_t old = atomic_load(&last_look);
	while (old & KIND && !atomic_compare_exchange_weak(&last_look, &old, (old / COUNT + 1) * COUNT))
		;
}

/* A call that is passed on, and may make the C library look. */
struct call {
	uint64_t before, second;
	int is_unset, error;
};

static struct call begin(int looks)
{
	struct call c = {.before = atomic_load(&last_look), .second = NEVER, .error = errno};
	/* So that `forget` finds something to forget; where TZ stays set, the word is not written. */
	while (looks && !(c.before & KIND) && !tz_is_set()) {
		uint64_t looking = (c.before / COUNT + 1) * COUNT | LOOKING;
		if (atomic_compare_exchange_weak(&last_look, &c.before, looking))
			c.before = looking;
	}
	/* After the word was read: who sets TZ from now on, and converts, changes it. */
	c.is_unset = !looks || (c.before & KIND && !tz_is_set());
	if (looks && c.is_unset)
		c.second = this_second();
	errno = 0;
	return c;
}

/* A look that failed says so in errno. Where the file does not exist the zone is UTC, and glibc says so each time. */
static void end(const struct call *c, int looks)
{
	int error = errno;
	if (!error)
		errno = c->error;
	if (!c->is_unset || tz_is_set() || (error && !(looks && error == ENOENT))) {
		forget();
	} else if (c->second != NEVER) {
		uint64_t before = c->before, known = before / COUNT * COUNT | c->second | (error ? ABSENT : READ);
		atomic_compare_exchange_strong(&last_look, &before, known);
	}
}

/* ---- The functions. ---- */

#define PREPARE() if (!atomic_load_explicit(&ready, memory_order_acquire)) look_up()

/* The kind of the last look, if its zone holds: it was made in this second, and TZ is unset. */
static inline int known(void)
{
	uint64_t look = atomic_load(&last_look);
	if ((look & KIND) < READ || tz_is_set() || (look % COUNT & ~(uint64_t)KIND) != this_second())
		return NOTHING;
	return look & KIND;
}

/* localtime of a moment in a zone that is known; null where the C library has to look. */
static inline struct tm *convert(const time_t *at)
{
	struct tm *to = atomic_load_explicit(&shared, memory_order_relaxed);
	int kind = to ? known() : NOTHING;
	struct tm tm;
	/* Into a structure of ours: for its own, the C library would look. */
	if (kind == NOTHING || !next.localtime_r(at, &tm))
		return 0;
	*to = tm;
	if (kind == ABSENT)
		errno = ENOENT;
	return to;
}

static COLD struct tm *look(const time_t *at)
{
	struct call c = begin(1);
	struct tm *tm = next.localtime(at);
	end(&c, 1);
	if (tm)
		atomic_store_explicit(&shared, tm, memory_order_relaxed);
	return tm;
}

EXPORTED struct tm *localtime(const time_t *at)
{
	PREPARE();
	if (!is_glibc)
		return next.localtime(at);
	struct tm *tm = convert(at);
	return tm ? tm : look(at);
}

EXPORTED struct tm *localtime_r(const time_t *at, struct tm *tm)
{
	PREPARE();
	/* glibc recognises its own structure, and does what localtime does. */
	if (is_glibc && tm && tm == atomic_load_explicit(&shared, memory_order_relaxed)) {
		struct tm *answer = convert(at);
		return answer ? answer : look(at);
	}
	return next.localtime_r(at, tm);
}

/* Passes a call on: `looks` is whether the C library looks for sure, and `may` whether it may. */
#define PASS_ON(name, looks, may, ...) \
	PREPARE(); \
	if (!is_glibc || !(may)) \
		return next.name(__VA_ARGS__); \
	struct call c = begin(looks); \
	__auto_type answer = next.name(__VA_ARGS__); \
	end(&c, looks); \
	return answer

EXPORTED char *ctime(const time_t *at)
{
	PREPARE();
	struct tm *tm = is_glibc ? convert(at) : 0;
	if (tm)
		return next.asctime(tm);
	PASS_ON(ctime, 1, 1, at);
}

EXPORTED void tzset(void)
{
	PREPARE();
	/* perl and bash call it before each conversion. Where the file is as it was, it changes nothing. */
	if (is_glibc && known() == READ)
		return;
	struct call c = {0};
	if (is_glibc)
		c = begin(1);
	next.tzset();
	if (is_glibc)
		end(&c, 1);
}

EXPORTED time_t mktime(struct tm *tm) { PASS_ON(mktime, 1, 1, tm); }

/* These look for `%s`, and for `%Z` of a structure that names no zone. */
#define STRFTIME(name, type) \
	EXPORTED size_t name(type *to, size_t max, const type *format, const struct tm *tm) \
	{ PASS_ON(name, 0, 1, to, max, format, tm); }
#define STRFTIME_L(name, type) \
	EXPORTED size_t name(type *to, size_t max, const type *format, const struct tm *tm, locale_t locale) \
	{ PASS_ON(name, 0, 1, to, max, format, tm, locale); }
STRFTIME(strftime, char)
STRFTIME(wcsftime, wchar_t)
STRFTIME_L(strftime_l, char)
STRFTIME_L(wcsftime_l, wchar_t)

/* Second names, as in glibc. */
#define ALIAS(of) __attribute__((visibility("default"), nothrow, leaf, alias(#of)))
time_t timelocal(struct tm *) ALIAS(mktime);
size_t __strftime_l(char *, size_t, const char *, const struct tm *, locale_t) ALIAS(strftime_l);
size_t __wcsftime_l(wchar_t *, size_t, const wchar_t *, const struct tm *, locale_t) ALIAS(wcsftime_l);

/* Their `%s` is a localtime_r. */
EXPORTED char *strptime(const char *text, const char *format, struct tm *tm)
{
	PASS_ON(strptime, 0, tm == atomic_load_explicit(&shared, memory_order_relaxed), text, format, tm);
}

EXPORTED char *strptime_l(const char *text, const char *format, struct tm *tm, locale_t locale)
{
	PASS_ON(strptime_l, 0, tm == atomic_load_explicit(&shared, memory_order_relaxed), text, format, tm, locale);
}

EXPORTED struct tm *getdate(const char *text) { PASS_ON(getdate, 0, 1, text); }
EXPORTED int getdate_r(const char *text, struct tm *tm) { PASS_ON(getdate_r, 0, 1, text, tm); }

/* ---- NEEDLESS_PRELOAD_ONCE=1: the library is for this process only, not for its children. ---- */

static char *value(char *entry, const char *name)
{
	while (*name && *entry == *name)
		entry++, name++;
	return *name == 0 && *entry == '=' ? entry + 1 : 0;
}

/* In place, since a program may use the array as main's third argument. */
static void remove_entry(char **entry)
{
	do
		entry[0] = entry[1];
	while (*entry++);
}

/* Removes this library from a list of libraries; true if nothing is left in it. */
static int without_us(char *list)
{
	static const char name[] = "libneedless_localtime.so";
	char *from = list, *to = list;
	while (*from) {
		char *file = from, *start = from;
		for (; *from && *from != ':' && *from != ' '; from++)
			if (*from == '/')
				file = from + 1;
		int is_ours = from - file == sizeof name - 1;
		for (unsigned i = 0; is_ours && i < sizeof name - 1; i++)
			is_ours = file[i] == name[i];
		from += *from != 0;
		while (!is_ours && start < from)
			*to++ = *start++;
	}
	while (to > list && (to[-1] == ':' || to[-1] == ' '))
		to--;
	*to = 0;
	return to == list;
}

static __attribute__((constructor)) void load(void)
{
	char **option = 0, **preload = 0;
	PREPARE();
	for (char **e = &__environ ? __environ : 0; e && *e; e++) {
		char *once = value(*e, "NEEDLESS_PRELOAD_ONCE");
		if (once && once[0] == '1' && !once[1])
			option = e;
		else if (value(*e, "LD_PRELOAD"))
			preload = e;
	}
	if (!option)
		return;
	/* The later entry first, so that the other stays where it is. */
	int is_empty = preload && without_us(value(*preload, "LD_PRELOAD"));
	if (is_empty && preload > option)
		remove_entry(preload);
	remove_entry(option);
	if (is_empty && preload < option)
		remove_entry(preload);
}
