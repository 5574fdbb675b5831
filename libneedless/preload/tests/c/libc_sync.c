/* Functions of the C library that use its own zone see a TZ that changes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
int main(void) {
    static const char *zones[] = {"EST5", "JST-9", "Europe/Athens", "UTC0"};
    time_t t = 1700000000;
    openlog("step", LOG_PERROR, LOG_USER);
    for (int i = 0; i < 4; i++) {
        setenv("TZ", zones[i], 1);
        printf("%s", ctime(&t));
        struct tm tm;
        memset(&tm, 0, sizeof tm);
        strptime("1700000000", "%s", &tm);
        printf("%d:%d %d %s %ld\n", tm.tm_hour, tm.tm_min, tm.tm_mday, tzname[0], timezone);
        /* Arguments in all kinds of registers, and on the stack. */
        syslog(LOG_INFO, "%d %s %f %f %Lf %d %d %d %d %g", i, "two", 3.5, 4.25, 5.125L, 6, 7, 8, 9, 10.5);
    }
    return 0;
}
