/* Calls a function that the preloaded library defines and this program's C library does not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
int main(void) {
    struct tm tm = {0};
    char *(*parse)(const char *, const char *, struct tm *, void *) = dlsym(RTLD_DEFAULT, "strptime_l");
    if (!parse) { puts("not loaded"); return 1; }
    errno = 0;
    char *end = parse("2023", "%Y", &tm, 0);
    printf("%s: %s\n", end ? "answered" : "nothing", strerror(errno));
    return 0;
}
