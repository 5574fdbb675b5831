/* Prints the answers of every function for many moments: argv[1] = how many, argv[2] = seed. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static uint64_t state;
static uint64_t next(void) {
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return state;
}

static void show(const char *what, long long t, const struct tm *tm) {
    if (!tm) { printf("%s %lld null errno=%d\n", what, t, errno); return; }
    printf("%s %lld %d-%d-%d %d:%d:%d w%d y%d dst%d off%ld %s | %s %s %ld %d\n", what, t, tm->tm_year, tm->tm_mon,
           tm->tm_mday, tm->tm_hour, tm->tm_min, tm->tm_sec, tm->tm_wday, tm->tm_yday, tm->tm_isdst, tm->tm_gmtoff,
           tm->tm_zone ? tm->tm_zone : "(null)", tzname[0], tzname[1], timezone, daylight);
}

static const char *formats[] = {
    "%Y-%m-%d %H:%M:%S", "%c", "%x %X %p", "%s", "%s|%A|%-5s|%Z", "%Z%z", "%e%k%l%I%M", "%U %W %V %G %g %u %w %j",
    "%D %F %T %R %n%t%%", "%C%y", "%_Y %05d %^a %#Z %10Z", "%Ey %Od %EY", "%", "%!", "plain", "%Q%Y", "%r", "%h %b %B",
};

static void text(long long t, const struct tm *tm, unsigned pick) {
    char b[200]; wchar_t w[200], wf[64];
    const char *f = formats[pick % (sizeof formats / sizeof *formats)];
    size_t room = pick % 5 == 0 ? pick / 7 % 40 : sizeof b;
    memset(b, 0, sizeof b);
    size_t n = strftime(b, room, f, tm);
    printf("strftime %lld %s %zu: %zu %s\n", t, f, room, n, n ? b : "");
    for (size_t i = 0; (wf[i] = f[i]); i++);
    n = wcsftime(w, 200, wf, tm);
    printf("wcsftime %zu %ls\n", n, n ? w : L"");
}

int main(int argc, char **argv) {
    long count = atol(argv[1]);
    state = strtoull(argv[2], 0, 10) * 0x9e3779b97f4a7c15u + 1;
    for (long i = 0; i < count; i++) {
        uint64_t r = next();
        long long t;
        switch (i % 6) {
        case 0: t = (long long)(r % 8000000000u) - 3000000000LL; break;
        case 1: t = (long long)(r % 200000000u) + 1600000000; break;
        case 2: t = (long long)r >> (r >> 7) % 40; break;
        case 3: t = (long long)(r << 8) >> 8 + 8; break;
        case 4: t = ((long long)(r % 9000) - 3000) * 1800 * 240; break;
        default: t = i; break;
        }
        time_t tt = t;
        struct tm tm, copy;
        char line[26];
        memset(&tm, 0, sizeof tm);
        show("localtime", t, localtime(&tt));
        show("localtime_r", t, localtime_r(&tt, &tm) ? &tm : 0);
        if (localtime_r(&tt, &tm)) {
            copy = tm;
            text(t, &copy, r >> 20);
            copy.tm_isdst = (int)(r >> 13) % 3 - 1;
            time_t back = mktime(&copy);
            if (back == -1) printf("mktime -1 errno=%d\n", errno);
            else show("mktime", back, &copy);
            copy = tm;
            copy.tm_mon += (int)(r >> 17 & 63) - 32; copy.tm_mday += (int)(r >> 25 & 255) - 128;
            copy.tm_hour += (int)(r >> 33 & 511) - 256; copy.tm_sec -= r >> 40 & 8191;
            copy.tm_isdst = tm.tm_isdst;
            back = timelocal(&copy);
            if (back == -1) printf("timelocal -1 errno=%d\n", errno);
            else show("timelocal", back, &copy);
            copy = tm; copy.tm_hour += 30; copy.tm_mon -= 5;
            back = timegm(&copy);
            if (back == -1) printf("timegm -1 errno=%d\n", errno);
            else show("timegm", back, &copy);
            printf("asctime %s", asctime(&tm));
        }
        char *c = ctime(&tt);
        printf("ctime %s", c ? c : "null\n");
        errno = 0;
        c = ctime_r(&tt, line);
        printf("ctime_r %s errno=%d\n", c ? c : "null", errno);
        /* tzname after a failed conversion is not compared. */
        if (!localtime_r(&tt, &tm)) { time_t zero = 0; localtime_r(&zero, &tm); }
        show("gmtime", t, gmtime(&tt));
        show("gmtime_r", t, gmtime_r(&tt, &tm) ? &tm : 0);
        if (gmtime_r(&tt, &tm)) text(t, &tm, r >> 30);
        struct tm odd = {.tm_mday = (int)(r % 33), .tm_mon = (int)(r >> 9) % 14, .tm_hour = 7, .tm_year = (int)(r >> 20) % 3000,
                         .tm_wday = (int)(r >> 31) % 9, .tm_isdst = (int)(r >> 37) % 2};
        text(t, &odd, r >> 40);
        printf("asctime %s", asctime(&odd));
        errno = 0;
        c = asctime_r(&odd, line);
        printf("asctime_r %s errno=%d\n", c ? c : "null", errno);
    }
    struct tm last = {.tm_year = 0x7fffffff, .tm_mday = 1};
    errno = 0;
    printf("%p %d\n", (void *)asctime(&last), errno);
    printf("%p %d\n", (void *)asctime(0), errno);
    tzset();
    printf("%s %s %ld %d\n", tzname[0], tzname[1], timezone, daylight);
    return 0;
}
