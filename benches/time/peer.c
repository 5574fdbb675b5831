/* localtime_r of the C library that this is linked with, or of a preloaded library. Prints nanoseconds per call in the
 * zone of TZ. */
#include <stdio.h>
#include "times.h"

int main(void) {
    struct tm tm;
    long sum = 0;
    double best = 1e18;
    fill_times();
    tzset();
    for (int round = 0; round < 400; round++) {
        double start = now();
        for (int i = 0; i < 1024; i++) {
            localtime_r(&a_year[i], &tm);
            sum += tm.tm_year + tm.tm_yday + tm.tm_mon + tm.tm_mday + tm.tm_wday + tm.tm_hour + tm.tm_min + tm.tm_sec + tm.tm_gmtoff;
        }
        double took = (now() - start) / 1024;
        if (took < best) best = took;
    }
    printf("%.1f %ld\n", best, sum);
    return 0;
}
