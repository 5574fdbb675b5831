/* Changes the zone file while the program runs, and checks when each function sees it. Run in a mount namespace
   where /etc/localtime is a link to the link argv[1]/zone; argv[1]/tokyo and argv[1]/athens are its targets. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char zone[300], temporary[300];

/* Returns the second from which on every function that checks the file must see the change. */
static time_t point(const char *to) {
    unlink(temporary);
    if (symlink(to, temporary) || rename(temporary, zone)) { perror("change"); exit(2); }
    return time(0);
}
static void later(time_t than) { while (time(0) <= than) usleep(1000); }
static void want(const char *what, const char *got, const char *wanted) {
    if (!strcmp(got, wanted)) return;
    printf("%s: %s instead of %s\n", what, got, wanted);
    exit(1);
}

int main(int argc, char **argv) {
    snprintf(zone, sizeof zone, "%s/zone", argv[1]);
    snprintf(temporary, sizeof temporary, "%s/zone.new", argv[1]);
    time_t t = 1700000000;
    struct tm tm;
    char b[32];
    for (int i = 3; i < 256; i++) close(i);
    later(point("tokyo"));
    want("localtime at first", localtime(&t)->tm_zone, "JST");
    want("tzname", tzname[0], "JST");

    time_t changed = point("athens");
    later(changed);
    want("localtime", localtime(&t)->tm_zone, "EET");
    want("tzname", tzname[1], "EEST");

    /* tzset() sees the change in a later second; afterwards localtime_r() only is called. */
    later(point("tokyo"));
    tzset();
    want("localtime_r after tzset", localtime_r(&t, &tm)->tm_zone, "JST");

    /* Without tzset, localtime_r keeps the zone, however often other functions checked before. */
    localtime(&t), localtime(&t), tzset();
    later(point("athens"));
    want("localtime_r by itself", localtime_r(&t, &tm)->tm_zone, "JST");

    later(point("tokyo"));
    memset(&tm, 0, sizeof tm);
    tm.tm_year = 100; tm.tm_mday = 1;
    if (mktime(&tm) != 946652400) { printf("mktime\n"); return 1; }
    later(point("athens"));
    want("ctime", strncmp(ctime(&t) + 11, "00:13:20", 8) ? "other" : "EET", "EET");
    later(point("tokyo"));
    memset(&tm, 0, sizeof tm);
    strftime(b, sizeof b, "%Z", &tm);
    want("strftime %Z", b, "JST");

    /* The file is removed: UTC. It comes back: seen. */
    unlink(zone);
    later(time(0));
    want("localtime without a file", localtime(&t)->tm_zone, "UTC");
    later(point("tokyo"));
    want("localtime with a file again", localtime(&t)->tm_zone, "JST");
    for (int i = 3; i < 256; i++)
        if (!close(i)) { printf("descriptor %d was open\n", i); return 1; }
    puts("seen");
    return 0;
}
