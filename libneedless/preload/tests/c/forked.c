/* Children of a process in which another thread has the loader's lock: each converts for the first time. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int visit(struct dl_phdr_info *of, size_t size, void *data) {
    for (volatile int i = 0; i < 2000; i++);
    return 0;
}
static void *walk(void *none) { for (;;) dl_iterate_phdr(visit, 0); }
int main(void) {
    pthread_t thread;
    int hung = 0;
    pthread_create(&thread, 0, walk, 0);
    for (int i = 0; i < 40 && !hung; i++) {
        pid_t child = fork();
        if (!child) {
            time_t t = 1700000000;
            struct tm tm = {.tm_mday = 1};
            char text[64];
            alarm(20);
            strftime(text, sizeof text, "%F", &tm), localtime_r(&t, &tm), localtime(&t), tzset(), mktime(&tm), ctime(&t);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        hung = status;
    }
    puts(hung ? "a child hangs" : "none hangs");
    fflush(stdout);
    _exit(0);
}
