/* A thread, a child, and by argument: an exec by a thread, a child killed in its sleep, waits. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void look(int times) {
    struct stat st;
    while (times-- > 0) stat("/etc/localtime", &st);
}

static void *work(void *what) {
    look(3);
    if (what) execl("/usr/bin/true", "true", (char *)0);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;
    if (!strcmp(what, "waits")) {
        struct timespec little = {0, 1000000};
        look(2);
        poll(0, 0, 0);
        look(1);
        poll(0, 0, 1);
        look(1);
        nanosleep(&little, 0);
        look(2);
        return 0;
    }
    pthread_create(&thread, 0, work, strcmp(what, "exec") ? 0 : argv);
    pthread_join(thread, 0);
    pid_t child = fork();
    if (child == 0) {
        look(2);
        if (!strcmp(what, "kill")) pause();
        _exit(0);
    }
    if (!strcmp(what, "kill")) {
        struct timespec some = {0, 50000000};
        nanosleep(&some, 0);
        kill(child, SIGKILL);
    }
    waitpid(child, 0, 0);
    return 0;
}
