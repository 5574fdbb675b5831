/* Edits the environment in place, and prints the zone of the next call. Usage: environ WHICH, with a few variables
 * set. Entries that are freed or cut off must not be read: also run under valgrind. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
extern char **environ;
static void show(void) {
    time_t t = 1700000000;
    struct tm tm, m = {.tm_year = 123, .tm_mday = 1};
    printf("%s", localtime(&t)->tm_zone);
    printf(" %ld %s\n", (long)mktime(&m), localtime_r(&t, &tm)->tm_zone);
}
/* Emptied, and the trusted variables put back: the C library moves its array to a smaller block. */
static void emptied(void) {
    setenv("STARTED_BY", "test", 1), setenv("TZ", "Asia/Tokyo", 1), show();
    environ[0] = NULL, setenv("PATH", "/usr/bin", 1), show();
    for (int s = 16; s < 400; s += 8) for (int i = 0; i < 9; i++) memset(malloc(s), 'A', s);
    show();
    setenv("TZ", "JST-9", 1), show();
    environ[0] = NULL, show();
}
/* An array of the program's own, cut off after its first entry. */
static void cut(void) {
    char *mine[] = {"A=b", "TZ=JST-9", NULL};
    environ = mine, show();
    mine[1] = NULL, show();
    char *three[] = {"A=b", "C=d", "TZ=JST-9", NULL};
    environ = three, show();
    three[1] = NULL, show(), show();
    char **small = malloc(2 * sizeof *small);
    small[0] = "A=b", small[1] = NULL, environ = small, show();
    small = realloc(small, sizeof *small), small[0] = NULL, environ = small, show();
}
/* Rewritten in the middle: the array, the number of entries and the last entry stay the same. */
static void rewritten(void) {
    char *mine[] = {"A=b", "C=d", "E=f", "G=h", NULL};
    environ = mine, show();
    mine[1] = "TZ=JST-9", show();
    mine[1] = "C=d", show();
    mine[0] = "TZ=EST5", show();
    mine[0] = "TZ", show();
    mine[2] = "TZ=", show();
    mine[2] = "TZA=JST-9", mine[3] = strdup("T"), show();
    mine[3] = strdup("TZ=JST-9"), show();
}
/* The kernel's own vector, overwritten as setproctitle() does. */
static void kernels(void) {
    show();
    char *last = *environ;
    environ[0] = "TZ=JST-9", show();
    environ[0] = last, environ[1] = NULL, show();
    environ = NULL, show();
}
int main(int argc, char **argv) {
    static void (*const all[])(void) = {emptied, cut, rewritten, kernels};
    all[atoi(argv[1])]();
    return 0;
}
