/* What the same work costs in C written for it alone: the least that a time library could take.
 *
 * Like the preloaded library it looks at TZ in the environment in each localtime and mktime, looks at the clock while TZ
 * is unset, and caches a day for each thread. Unlike it, it knows one zone, the years 1904 to 2090, and nothing of errors,
 * signals, leap seconds or threads that change the environment. */
#include <stdint.h>
#include <string.h>
#include <time.h>

extern char **environ;

enum { FLOOR_SPANS = 4096, FLOOR_SHIFT = 20 };

/* What is in force from a moment on; `next` is the moment at which it ends. */
struct floor_type { int64_t since, next; int offset, isdst; const char *abbr; };

static struct {
    char text[64];                 /* TZ, empty if unset */
    int64_t checked;               /* the second in which the file would have been looked at */
    int64_t base;                  /* the first moment of the table */
    struct floor_type types[1024];
    uint16_t at[FLOOR_SPANS * 2];  /* the type at the start of each span of 2^20 seconds */
    int count;
} floor_zone;

static _Thread_local struct { int64_t start, end; int clock; struct tm tm; } floor_day, floor_utc_day;
static struct tm floor_shared;

static const char *floor_tz(void) {
    for (char **at = environ; *at; at++) {
        const char *entry = *at;
        if (entry[0] == 'T' && entry[1] == 'Z' && entry[2] == '=') return entry + 3;
    }
    return 0;
}

static inline int floor_same(const char *text) {
    const char *known = floor_zone.text;
    while (*known && *known == *text) known++, text++;
    return *known == *text;
}

static __attribute__((noinline)) void floor_changed(void) {
    floor_zone.checked = time(0);
}

static inline void floor_check(void) {
    const char *text = floor_tz();
    if (text ? !floor_same(text) : time(0) != floor_zone.checked) floor_changed();
}

/* The civil date of a day since 1970-01-01, as Neri and Schneider compute it (doi:10.1002/spe.3172), in 32 bits. */
static inline void floor_date(int32_t day, struct tm *tm) {
    const uint32_t n = (uint32_t)(day + 719468), n1 = 4 * n + 3;
    const uint32_t century = n1 / 146097, in_century = n1 % 146097 / 4, n2 = 4 * in_century + 3;
    const uint64_t p2 = 2939745ull * n2;
    const uint32_t year = (uint32_t)(p2 >> 32), in_year = (uint32_t)p2 / 2939745 / 4;
    const uint32_t n3 = 2141 * in_year + 197913, late = in_year >= 306;
    const uint32_t y = 100 * century + year;
    const uint32_t leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    tm->tm_year = (int)(y + late) - 1900;
    tm->tm_mon = (int)(n3 >> 16) - (late ? 13 : 1);
    tm->tm_mday = (int)((n3 & 0xffff) / 2141) + 1;
    tm->tm_yday = (int)(late ? in_year - 306 : in_year + 59 + leap);
    tm->tm_wday = (int)((uint32_t)(day + 719468 + 3) % 7);
}

static inline void floor_clock(uint32_t second, struct tm *tm) {
    const uint32_t minutes = second / 60;
    tm->tm_sec = (int)(second % 60);
    tm->tm_min = (int)(minutes % 60);
    tm->tm_hour = (int)(minutes / 60);
}

static inline const struct floor_type *floor_type(int64_t t) {
    const struct floor_type *type = &floor_zone.types[floor_zone.at[(t - floor_zone.base) >> FLOOR_SHIFT]];
    return t >= type->next ? type + 1 : type;
}

static inline void floor_split(int64_t t, int32_t *day, uint32_t *second) {
    const uint64_t from_0 = (uint64_t)(t + 719468ll * 86400);
    *day = (int32_t)(uint32_t)(from_0 / 86400) - 719468;
    *second = (uint32_t)(from_0 % 86400);
}

static inline struct tm *floor_fill(int64_t t, struct tm *tm) {
    const uint64_t into = (uint64_t)(t - floor_day.start);
    if (into < (uint64_t)(floor_day.end - floor_day.start)) {
        *tm = floor_day.tm;
        floor_clock((uint32_t)into + floor_day.clock, tm);
        return tm;
    }
    const struct floor_type *type = floor_type(t);
    int32_t day;
    uint32_t second;
    floor_split(t + type->offset, &day, &second);
    floor_date(day, tm);
    floor_clock(second, tm);
    tm->tm_isdst = type->isdst;
    tm->tm_gmtoff = type->offset;
    tm->tm_zone = type->abbr;
    static _Thread_local int last;
    if (day == last) {
        const int64_t midnight = t - second;
        floor_day.start = midnight > type->since ? midnight : type->since;
        floor_day.end = midnight + 86400 < type->next ? midnight + 86400 : type->next;
        floor_day.clock = (int)(floor_day.start - midnight);
        floor_day.tm = *tm;
    }
    last = day;
    return tm;
}

static __attribute__((noinline)) struct tm *floor_localtime_r(const time_t *t, struct tm *tm) { return floor_fill(*t, tm); }

static __attribute__((noinline)) struct tm *floor_localtime(const time_t *t) {
    floor_check();
    return floor_fill(*t, &floor_shared);
}

static __attribute__((noinline)) struct tm *floor_gmtime_r(const time_t *time, struct tm *tm) {
    const int64_t t = *time;
    const uint64_t into = (uint64_t)(t - floor_utc_day.start);
    if (into < (uint64_t)(floor_utc_day.end - floor_utc_day.start)) {
        *tm = floor_utc_day.tm;
        floor_clock((uint32_t)into, tm);
        return tm;
    }
    int32_t day;
    uint32_t second;
    floor_split(t, &day, &second);
    floor_date(day, tm);
    floor_clock(second, tm);
    tm->tm_isdst = 0;
    tm->tm_gmtoff = 0;
    tm->tm_zone = "GMT";
    static _Thread_local int last;
    if (day == last) {
        floor_utc_day.start = t - second;
        floor_utc_day.end = floor_utc_day.start + 86400;
        floor_utc_day.tm = *tm;
    }
    last = day;
    return tm;
}

/* The day since 1970-01-01 of the fields; the month is in its range. */
static inline int64_t floor_day_of(const struct tm *tm) {
    const int32_t early = tm->tm_mon < 2, y = tm->tm_year + 1900 - early, century = y / 100;
    const int32_t m = tm->tm_mon + 1 + (early ? 12 : 0);
    return (int64_t)(1461 * y / 4 - century + century / 4 + (979 * m - 2919) / 32 + tm->tm_mday - 1) - 719468;
}

static __attribute__((noinline)) time_t floor_mktime(struct tm *tm) {
    floor_check();
    const int64_t wall = floor_day_of(tm) * 86400 + tm->tm_hour * 3600 + tm->tm_min * 60 + tm->tm_sec;
    /* Read with the offset before and after: where both agree, the clock is shown once. */
    const struct floor_type *type = floor_type(wall);
    const int64_t t = wall - type->offset;
    const struct floor_type *there = t >= type->since && t < type->next ? type : floor_type(t);
    const int64_t moment = wall - there->offset;
    floor_fill(moment, tm);
    return moment;
}

/* Reads the zone out of the C library: its types in the years that the table covers. */
static void floor_read(struct tm *(*libc)(const time_t *, struct tm *)) {
    const char *text = floor_tz();
    strcpy(floor_zone.text, text ? text : "");
    floor_zone.base = -2082844800; /* 1904-01-01 */
    struct tm tm;
    time_t t = floor_zone.base;
    libc(&t, &tm);
    struct floor_type type = {INT64_MIN, INT64_MAX, (int)tm.tm_gmtoff, tm.tm_isdst, tm.tm_zone};
    for (int span = 0; span < 5600; span++) {
        floor_zone.at[span] = (uint16_t)floor_zone.count;
        time_t low = floor_zone.base + ((int64_t)span << FLOOR_SHIFT), high = low + (1 << FLOOR_SHIFT);
        libc(&high, &tm);
        if (tm.tm_gmtoff == type.offset && tm.tm_isdst == type.isdst && !strcmp(tm.tm_zone, type.abbr)) continue;
        while (high - low > 1) {
            const time_t middle = low + (high - low) / 2;
            libc(&middle, &tm);
            if (tm.tm_gmtoff == type.offset && tm.tm_isdst == type.isdst && !strcmp(tm.tm_zone, type.abbr)) low = middle;
            else high = middle;
        }
        libc(&high, &tm);
        type.next = high;
        floor_zone.types[floor_zone.count++] = type;
        type = (struct floor_type){high, INT64_MAX, (int)tm.tm_gmtoff, tm.tm_isdst, tm.tm_zone};
    }
    floor_zone.types[floor_zone.count] = type;
}
