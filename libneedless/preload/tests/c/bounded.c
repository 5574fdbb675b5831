/* Prints by how many kB the program grows through zones that are new to it, and a sum over the answers. Usage: bounded
 * WHAT COUNT FILE. WHAT is one (TZ strings of one offset), rules (TZ strings with rules), zones (all of tzdata), or
 * touched: TZ unset, and FILE, which is /etc/localtime, touched in each second of a fast clock. */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "clock.h"
static unsigned long sum;
static long resident(void) {
    long kb = 0; char line[200];
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (fgets(line, sizeof line, f)) if (sscanf(line, "Private_Dirty: %ld", &kb) == 1) break;
    fclose(f);
    return kb;
}
static void ask(void) {
    for (time_t t = 1700000000; t < 1720000000; t += 9000000) {
        struct tm *tm = localtime(&t);
        sum = sum * 31 + tm->tm_hour * 60 + tm->tm_min + tm->tm_zone[0] + tm->tm_isdst;
    }
}
static int each(const char *path, const struct stat *s, int kind) {
    if (kind == FTW_F) setenv("TZ", path, 1), ask();
    return 0;
}
int main(int argc, char **argv) {
    long count = atol(argv[2]);
    char text[100];
    if (argv[1][0] == 't') fake_second = time(0), fake_clock();
    setenv("TZ", "UTC0", 1), ask(), unsetenv("TZ"), ask();
    long before = resident();
    for (long i = 0; i < count; i++) switch (argv[1][0]) {
        case 'o': sprintf(text, "A%c%c%c%ld:%02ld", 'A' + (int)(i % 26), 'A' + (int)(i / 26 % 26), 'A' + (int)(i / 676 % 26), i % 12, i / 12 % 60);
            setenv("TZ", text, 1), ask(); break;
        case 'r': sprintf(text, "AAA%ldBBB,M%ld.2.0/%ld,M%ld.1.0/%ld", i % 12, 1 + i % 5, i % 24, 6 + i % 7, i / 24 % 160);
            setenv("TZ", text, 1), ask(); break;
        case 'z': if (ftw("/usr/share/zoneinfo", each, 20)) return 1; break;
        case 't': fake_second++;
            if (utimensat(0, argv[3], (struct timespec[]){{i}, {i}}, 0)) perror("touch"), exit(1);
            ask(); break;
    }
    printf("%ld kB\n%lu\n", resident() - before, sum);
    return 0;
}
