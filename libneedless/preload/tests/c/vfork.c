/* Children of vfork, which share the parent's memory, convert times in zones of their own; the parent's zone stays. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static void show(const char *who, time_t t) {
    struct tm tm, *shared = localtime(&t);
    char line[300], text[26];
    int n = snprintf(line, sizeof line, "%s %ld %02d:%02d %s", who, (long)t, shared->tm_hour, shared->tm_min, shared->tm_zone);
    tm = *shared;
    n += snprintf(line + n, sizeof line - n, " %ld %s", (long)mktime(&tm), ctime_r(&t, text));
    if (write(1, line, n) != n) _exit(9);
}
int main(void) {
    static char *of_child[] = {"TZ=Asia/Tokyo", 0}, *another[] = {"TZ=EST5EDT,M3.2.0,M11.1.0", 0};
    char **own = environ;
    for (int i = 0; i < 200; i++) {
        time_t t = 1700000000 + i * 86400l;
        show("parent", t);
        pid_t child = vfork();
        if (!child) {
            environ = i & 1 ? of_child : another;
            show("child", t);
            _exit(0);
        }
        int status = -1;
        if (waitpid(child, &status, 0) != child || status) { printf("child ended with %d\n", status); return 1; }
        environ = own;
        show("after", t);
    }
    return 0;
}
