/* argv[1] conversions by various functions, with the current TZ. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifndef __GLIBC__
#define timelocal mktime
#endif
int main(int argc, char **argv) {
    long n = atol(argv[1]);
    unsigned long sum = 0;
    char b[64];
    for (long i = 0; i < n; i++) {
        time_t t = 1700000000 + i;
        struct tm tm = *localtime(&t);
        switch (i % 6) {
        case 0: sum += mktime(&tm); break;
        case 1: sum += ctime(&t)[10]; break;
        case 2: tm.tm_zone = 0; sum += strftime(b, sizeof b, "%s %Z", &tm); break;
        case 3: tm.tm_zone = 0; sum += strftime(b, sizeof b, "%A %s %Z", &tm); break;
        case 4: tzset(); sum += timelocal(&tm); break;
        default: sum += tm.tm_sec;
        }
    }
    printf("%lu\n", sum);
    return 0;
}
