/* Threads look all the time while another sets TZ, converts, and unsets it again: from then on it has the machine's zone. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
extern char **environ;
static char *with[] = {"TZ=ABC-9", 0}, *without[] = {"X=y", 0};
static atomic_int stop;
static const time_t t = 1717243445;
static void *worker(void *none) {
    char text[64];
    struct tm tm = {.tm_mday = 1};
    while (!stop) localtime(&t), strftime(text, sizeof text, "%s", &tm), mktime(&tm), tzset();
    return 0;
}
int main(void) {
    pthread_t threads[3];
    int wrong = 0;
    environ = without;
    for (int i = 0; i < 3; i++) pthread_create(threads + i, 0, worker, 0);
    for (int i = 0; i < 20000; i++) {
        struct tm tm;
        environ = with;
        if (i & 1) tzset(); else localtime(&t);
        environ = without;
        localtime(&t), localtime_r(&t, &tm);
        wrong += !strcmp(tm.tm_zone, "ABC");
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    printf("%d wrong\n", wrong);
    return 0;
}
