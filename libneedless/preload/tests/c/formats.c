/* Compares strftime, strftime_l, wcsftime and wcsftime_l with the C library's own, which dlsym finds, for random formats,
 * structures and buffer sizes. Usage: formats LOCALE COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include "random.h"
/* Up to four conversions, with all flags, widths and modifiers, and some text between them. */
static void some_format(char *at) {
    static const char conversions[] = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%+QvfEO";
    for (unsigned left = 1 + below(4); left; left--) {
        if (!below(3)) *at++ = "-: ,x"[below(5)];
        *at++ = '%';
        for (unsigned flags = below(4) ? 0 : 1 + !below(5); flags; flags--) *at++ = "-_0^#"[below(5)];
        if (!below(12)) at += sprintf(at, "%u", below(15));
        if (!below(12)) *at++ = "EO"[below(2)];
        *at++ = conversions[below(sizeof conversions - 1)];
    }
    *at = 0;
}
/* Mostly the fields of a moment; now and then with one field that contradicts it. */
static struct tm some_time(void) {
    time_t t = below(3) ? 1700000000 + (long)below(1u << 31) - (1 << 30) : (long)below(1u << 31) * below(400) - (1L << 38);
    struct tm tm = *(below(2) ? localtime(&t) : gmtime(&t));
    if (!below(6)) tm.tm_wday = below(9) - 1;
    if (!below(10)) tm.tm_yday = below(370) - 2;
    if (!below(10)) tm.tm_isdst = below(4) - 1;
    /* Without a name the C library looks one up. */
    if (!below(6)) tm.tm_zone = below(2) ? 0 : "";
    if (!below(20)) tm.tm_hour = below(30) - 3;
    if (!below(20)) tm.tm_mon = below(16) - 2;
    if (!below(20)) tm.tm_mday = below(50) - 5;
    if (!below(20)) tm.tm_year = below(12000) - 2000;
    /* Years without four digits, and weeks that belong to another year. */
    if (!below(40)) tm.tm_year = below(2) ? 8098 + below(3) : -901 + (int)below(3), tm.tm_yday = below(2) ? below(4) : 361 + below(5);
    if (!below(20)) tm.tm_gmtoff = (long)below(200000) - 100000;
    return tm;
}
static size_t (*plain)(char *, size_t, const char *, const struct tm *);
static size_t (*with_locale)(char *, size_t, const char *, const struct tm *, locale_t);
static size_t (*wide)(wchar_t *, size_t, const wchar_t *, const struct tm *);
static size_t (*wide_with_locale)(wchar_t *, size_t, const wchar_t *, const struct tm *, locale_t);
static locale_t locale;
/* Whether the bytes are the same. */
static int same_bytes(const char *format, const struct tm *tm, size_t room) {
    char theirs[300] = "", ours[300] = "";
    int by_locale = below(2);
    /* A `%s` changes what a later `%Z` finds: both are called in the same state. */
    char *names[] = {tzname[0], tzname[1]};
    size_t want = by_locale ? with_locale(theirs, room, format, tm, locale) : plain(theirs, room, format, tm);
    tzname[0] = names[0], tzname[1] = names[1];
    size_t got = by_locale ? strftime_l(ours, room, format, tm, locale) : strftime(ours, room, format, tm);
    if (want == got && (!want || !memcmp(theirs, ours, want + 1))) return 1;
    printf("%zu \"%.*s\", ours %zu \"%.*s\"", want, (int)want, theirs, got, (int)got, ours);
    return 0;
}
/* Whether the wide characters are the same. */
static int same_letters(const char *format, const struct tm *tm, size_t room) {
    wchar_t theirs[300] = L"", ours[300] = L"", letters[80];
    mbstowcs(letters, format, 80);
    int by_locale = below(2);
    char *names[] = {tzname[0], tzname[1]};
    size_t want = by_locale ? wide_with_locale(theirs, room, letters, tm, locale) : wide(theirs, room, letters, tm);
    tzname[0] = names[0], tzname[1] = names[1];
    size_t got = by_locale ? wcsftime_l(ours, room, letters, tm, locale) : wcsftime(ours, room, letters, tm);
    if (want == got && (!want || !wmemcmp(theirs, ours, want + 1))) return 1;
    printf("%zu \"%ls\", ours %zu \"%ls\" of wide characters", want, want ? theirs : L"", got, got ? ours : L"");
    return 0;
}
int main(int argc, char **argv) {
    if (!setlocale(LC_ALL, argv[1])) { printf("no locale %s\n", argv[1]); return 2; }
    locale = newlocale(LC_ALL_MASK, argv[1], 0);
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    plain = dlsym(libc, "strftime"), with_locale = dlsym(libc, "strftime_l");
    wide = dlsym(libc, "wcsftime"), wide_with_locale = dlsym(libc, "wcsftime_l");
    if (plain == strftime) { puts("strftime is not another one"); return 2; }
    long differences = 0, count = atol(argv[2]);
    state = 88172645463325252ull + count;
    for (long i = 0; i < count && differences < 10; i++) {
        char format[80];
        some_format(format);
        struct tm tm = some_time();
        size_t room = below(4) ? 300 : below(30);
        if (below(2) ? same_bytes(format, &tm, room) : same_letters(format, &tm, room)) continue;
        differences++;
        printf(": \"%s\" room %zu year %d month %d day %d hour %d wday %d yday %d isdst %d\n",
            format, room, tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_wday, tm.tm_yday, tm.tm_isdst);
    }
    printf("%ld differences\n", differences);
    return differences != 0;
}
