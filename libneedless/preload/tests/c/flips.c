/* Each function that makes the C library look: with TZ set for this one call, without it, and without descriptors.
 * After each call the zone that the C library has (localtime_r), what localtime says, and errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
size_t __strftime_l(char *, size_t, const char *, const struct tm *, locale_t);
size_t __wcsftime_l(wchar_t *, size_t, const wchar_t *, const struct tm *, locale_t);
static time_t t = 1717243445, far = 1L << 62;
static struct tm tm, unnamed, *ours;
static char b[99];
static wchar_t w[99];
static locale_t c;
#define CALLS(X) X(localtime(&t)) X(localtime(&far)) X(localtime_r(&t, &tm)) X(localtime_r(&t, ours)) X(gmtime(&t)) X(ctime(&t)) \
    X(ctime(&far)) X(ctime_r(&t, b)) X(asctime(&tm)) X(mktime(&tm)) X(timelocal(&tm)) X(timegm(&tm)) X(tzset()) \
    X(strftime(b, 99, "%F %T", &tm)) X(strftime(b, 99, "%s", &tm)) X(strftime(b, 99, "%Z", &unnamed)) X(strftime(b, 3, "%s", &tm)) \
    X(strftime_l(b, 99, "%s", &tm, c)) X(__strftime_l(b, 99, "%Z", &unnamed, c)) X(wcsftime(w, 99, L"%s", &tm)) \
    X(wcsftime_l(w, 99, L"%Z", &unnamed, c)) X(__wcsftime_l(w, 99, L"%s", &tm, c)) X(strptime("99", "%s", &tm)) \
    X(strptime("99", "%s", ours)) X(strptime_l("99", "%s", ours, c)) X(getdate("11:59")) X(getdate("?")) X(getdate_r("11:59", &tm))
static const char *names[] = {
#define NAME(call) #call,
    CALLS(NAME)
};
static void call(int which) {
    int n = 0;
#define CASE(call) if (n++ == which) { call; return; }
    CALLS(CASE)
}
static void show(const char *what) {
    int error = errno;
    struct tm r, *l;
    localtime_r(&t, &r);
    printf("%s %d %02d:%02d %s %s %ld", what, error, r.tm_hour, r.tm_min, r.tm_zone, tzname[0], timezone);
    errno = 7, l = localtime(&t), error = errno;
    printf(" | %d %02d:%02d %s %s %ld", error, l->tm_hour, l->tm_min, l->tm_zone, tzname[0], timezone);
    puts(l == gmtime(&t) ? "" : " of its own");
}
/* A moment that has half a second of its second left, so that a look is still known when it is asked for. */
static void early(void) {
    struct timespec now;
    do clock_gettime(CLOCK_REALTIME, &now); while (now.tv_nsec > 500000000);
}
int main(int argc, char **argv) {
    struct rlimit some, none = {0, 0};
    getrlimit(RLIMIT_NOFILE, &some), none.rlim_max = some.rlim_max;
    c = newlocale(LC_ALL_MASK, "C", 0);
    setenv("DATEMSK", argv[1], 1), setlinebuf(stdout);
    tm.tm_year = 124, tm.tm_mday = 1, tm.tm_zone = "ABC", unnamed.tm_mday = 1;
    ours = gmtime(&t);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        early(), puts(names[i]);
        errno = 7, tzset(), localtime(&t), localtime(&t), show("start");
        setenv("TZ", "ABC-5", 1), errno = 7, call(i), unsetenv("TZ"), show("set");
        errno = 7, call(i), show("unset");
        setenv("TZ", "Nowhere/At_All", 1), tzset(), unsetenv("TZ"), errno = 7, call(i), show("back");
        setrlimit(RLIMIT_NOFILE, &none), setenv("TZ", "EST5", 1), tzset(), unsetenv("TZ"), errno = 7, call(i), setrlimit(RLIMIT_NOFILE, &some), show("full");
    }
    return 0;
}
