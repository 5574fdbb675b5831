/* Threads and a signal handler write localtime's shared structure all the time: its contents are then undefined, but
 * localtime_r must stay right. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static atomic_int stop, wrong, signals;
static void handler(int s) {
    static time_t t = 1000000000;
    t += 86400;
    localtime(&t), localtime(&t), gmtime(&t);
    signals++;
}
/* Two days in turn, so that each is cached again; the right answers are computed before the threads start. */
static const time_t days[] = {1700000000, 1600000000};
static struct tm right[2], right_utc[2];
static void *worker(void *mine) {
    for (long i = 0; !stop; i++) {
        int day = i / 8 % 2;
        time_t other = 1500000000 + (long)mine * 86400 * 7 + i % 64 * 86400;
        struct tm local, utc;
        localtime(&days[day]), localtime(&other), gmtime(&days[day]);
        localtime(&days[day]), localtime(&days[day]), gmtime(&days[day]);
        localtime_r(&days[day], &local);
        gmtime_r(&days[day], &utc);
        if (local.tm_yday != right[day].tm_yday || local.tm_year != right[day].tm_year || local.tm_hour != right[day].tm_hour
            || utc.tm_yday != right_utc[day].tm_yday || utc.tm_year != right_utc[day].tm_year) wrong++;
    }
    return 0;
}
int main(int argc, char **argv) {
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    for (int i = 0; i < 2; i++) localtime_r(&days[i], &right[i]), gmtime_r(&days[i], &right_utc[i]);
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 100}, {0, 100}};
    for (long i = 0; i < 2; i++) pthread_create(threads + i, 0, worker, (void *)i);
    setitimer(ITIMER_REAL, &timer, 0);
    for (int left = atoi(argv[1]); left > 0; left--) {
        time_t t = 1400000000 + left * 86400L;
        for (int i = 0; i < 1000; i++) localtime(&t);
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, 0);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    if (!signals) puts("no signal came");
    if (wrong) printf("%d wrong\n", wrong);
    puts("done");
    return 0;
}
