/* Years that do not fit tm_year: prints the structure, tzname and, after a failure, errno. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void show(const char *what, struct tm *(*convert)(const time_t *, struct tm *), time_t t) {
    struct tm tm;
    memset(&tm, 0x55, sizeof tm);
    errno = 0;
    struct tm *done = convert(&t, &tm);
    printf("%s %ld %s errno %d: %x %x %x %x %x %x %x %x %x %lx %s | %s %s %ld %d\n", what, t, done ? "done" : "null", done ? 0 : errno,
        tm.tm_sec, tm.tm_min, tm.tm_hour, tm.tm_mday, tm.tm_mon, tm.tm_year, tm.tm_wday, tm.tm_yday, tm.tm_isdst, tm.tm_gmtoff,
        (long)tm.tm_zone == 0x5555555555555555 ? "as before" : tm.tm_zone, tzname[0], tzname[1], timezone, daylight);
}
int main(void) {
    static const char *zones[] = {"Europe/Athens", "JST-9", "Asia/Tokyo", "right/Europe/Athens", "Africa/Casablanca",
        "EET-2EEST,M3.5.0/3,M10.5.0/4", "EST5", "America/New_York", "CET-1CEST", "Africa/Accra"};
    const long first = -67768040609740800L, last = 67768036191676799L;
    const time_t times[] = {last, last + 1, last - 7000, last - 40000, last + 20000, first, first - 1, first + 5000, first - 20000,
        1L << 62, -(1L << 62), 0x7fffffffffffffff, -0x7fffffffffffffff - 1, 449184456691984353, 1700000000};
    for (unsigned z = 0; z < sizeof zones / sizeof *zones; z++) {
        setenv("TZ", zones[z], 1);
        tzset();
        puts(zones[z]);
        for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
            show("local", localtime_r, times[i]);
            show("utc", gmtime_r, times[i]);
        }
    }
    return 0;
}
