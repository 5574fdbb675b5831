/* Loads argv[1] by dlopen, into a new namespace, and into one that has a C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void ask(const char *where, void *in) {
    time_t t = 1700000000;
    if (!in) { printf("%s: %s\n", where, dlerror()); exit(1); }
    struct tm *(*local)(const time_t *) = dlsym(in, "localtime");
    time_t (*back)(struct tm *) = dlsym(in, "mktime");
    size_t (*format)(char *, size_t, const char *, const struct tm *) = dlsym(in, "strftime");
    char text[64], *(*in_letters)(const time_t *) = dlsym(in, "ctime");
    for (int i = 0; i < 3; i++) {
        struct tm tm = *local(&t);
        format(text, sizeof text, "%F %T %Z %s", &tm);
        printf("%s %ld %s", text, (long)back(&tm), in_letters(&t));
    }
}
int main(int argc, char **argv) {
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    Lmid_t there = LM_ID_NEWLM;
    if (libc) dlinfo(libc, RTLD_DI_LMID, &there);
    ask("by dlopen", dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
    ask("in a namespace", dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW));
    ask("beside a C library", dlmopen(there, argv[1], RTLD_NOW));
    return 0;
}
