/* Swaps the link argv[1]/zone argv[2] times between tokyo and athens, at random moments within a second, and
   measures when localtime sees it. Run where /etc/localtime leads to that link. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int argc, char **argv) {
    char zone[300], temporary[310];
    snprintf(zone, sizeof zone, "%s/zone", argv[1]);
    snprintf(temporary, sizeof temporary, "%s.new", zone);
    int swaps = atoi(argv[2]);
    double sum = 0, worst = 0;
    time_t t = 1700000000;
    for (int i = 0; i < swaps; i++) {
        const char *wanted = i & 1 ? "JST" : "EET";
        double until = now() + rand() % 1000 / 1000.;
        while (now() < until) localtime(&t);
        unlink(temporary);
        if (symlink(i & 1 ? "tokyo" : "athens", temporary) || rename(temporary, zone)) { perror("swap"); return 2; }
        double start = now(), took;
        do {
            took = now() - start;
            if (took > 60) { printf("swap %d is not seen\n", i); return 1; }
        } while (strcmp(localtime(&t)->tm_zone, wanted));
        sum += took;
        if (took > worst) worst = took;
    }
    printf("%d swaps of the link seen after %.3f s on average, %.3f s at worst\n", swaps, sum / swaps, worst);
    return 0;
}
