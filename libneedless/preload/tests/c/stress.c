/* Threads, forks, signals and changes of TZ at once: each answer must be that of one of the zones, nothing may hang. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static char *one[] = {"TZ=JST-9", 0}, *two[] = {"TZ=Europe/Athens", 0}, *three[] = {"X=y", "TZ=XYZ7", 0}, *none[] = {0};
static char **all[] = {one, two, three, none};
static atomic_int stop, wrong, signals;
/* Whether hour and zone belong together. */
static int is_consistent(const struct tm *tm) {
    return tm && ((!strcmp(tm->tm_zone, "JST") && tm->tm_hour == 7) || (!strcmp(tm->tm_zone, "EET") && tm->tm_hour == 0)
        || (!strcmp(tm->tm_zone, "XYZ") && tm->tm_hour == 15) || (!strcmp(tm->tm_zone, "UTC") && tm->tm_hour == 22));
}
static void check(void) {
    time_t t = 1700000000;
    struct tm tm;
    if (!is_consistent(localtime_r(&t, &tm))) wrong++;
    tzset();
    struct tm m = {.tm_year = 123, .tm_mon = 10, .tm_mday = 14, .tm_hour = 22};
    time_t back = mktime(&m);
    if (back == -1 || back % 3600) wrong++;
}
static void handler(int s) { check(); signals++; }
static void *worker(void *x) { while (!stop) check(); return 0; }
static void *flipper(void *x) { for (unsigned i = 0; !stop; i++) { environ = all[i % 4]; check(); } return 0; }
int main(int argc, char **argv) {
    int forks = atoi(argv[1]);
    pthread_t threads[5];
    /* For a new zone the library makes the C library read it, too, with its locks. */
    for (int k = 0; k < 4; k++) environ = all[k], check();
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    for (int i = 0; i < 5; i++) pthread_create(threads + i, 0, i < 2 ? flipper : worker, 0);
    struct itimerval timer = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &timer, 0);
    for (int i = 0; i < forks; i++) {
        pid_t child = fork();
        if (!child) { for (int k = 0; k < 200; k++) { environ = all[k % 4]; check(); } _exit(wrong != 0); }
        int status = -1;
        while (waitpid(child, &status, 0) < 0);
        if (status) wrong++;
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, 0);
    stop = 1;
    for (int i = 0; i < 5; i++) pthread_join(threads[i], 0);
    if (!signals) puts("no signal came");
    if (wrong) printf("%d wrong\n", wrong);
    puts("done");
    return 0;
}
