/* The time functions of one library: those that this program is linked with, or a second C library's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

struct library {
    struct tm *(*localtime)(const time_t *), *(*gmtime)(const time_t *);
    struct tm *(*localtime_r)(const time_t *, struct tm *), *(*gmtime_r)(const time_t *, struct tm *);
    time_t (*mktime)(struct tm *), (*timelocal)(struct tm *), (*timegm)(struct tm *);
    char *(*ctime)(const time_t *), *(*ctime_r)(const time_t *, char *);
    size_t (*strftime)(char *, size_t, const char *, const struct tm *);
    size_t (*strftime_l)(char *, size_t, const char *, const struct tm *, locale_t);
    size_t (*wcsftime)(wchar_t *, size_t, const wchar_t *, const struct tm *);
    size_t (*wcsftime_l)(wchar_t *, size_t, const wchar_t *, const struct tm *, locale_t);
    void (*tzset)(void);
    char **tzname;
    long *timezone;
    int *daylight;
    char ***environ;
    int *(*errno_location)(void);
    char *(*setlocale)(int, const char *);
    locale_t (*newlocale)(int, const char *, locale_t);
    locale_t locale;
};

static void *symbol(void *in, const char *name) {
    void *found = dlsym(in, name);
    if (!found) { fprintf(stderr, "%s: %s\n", name, dlerror()); exit(2); }
    return found;
}

static void load(struct library *l, void *in) {
    l->localtime = symbol(in, "localtime"); l->gmtime = symbol(in, "gmtime");
    l->localtime_r = symbol(in, "localtime_r"); l->gmtime_r = symbol(in, "gmtime_r");
    l->mktime = symbol(in, "mktime"); l->timelocal = symbol(in, "timelocal"); l->timegm = symbol(in, "timegm");
    l->ctime = symbol(in, "ctime"); l->ctime_r = symbol(in, "ctime_r");
    l->strftime = symbol(in, "strftime"); l->strftime_l = symbol(in, "strftime_l");
    l->wcsftime = symbol(in, "wcsftime"); l->wcsftime_l = symbol(in, "wcsftime_l");
    l->tzset = symbol(in, "tzset");
    l->tzname = symbol(in, "tzname"); l->timezone = symbol(in, "timezone"); l->daylight = symbol(in, "daylight");
    l->environ = symbol(in, "environ"); l->errno_location = symbol(in, "__errno_location");
    l->setlocale = symbol(in, "setlocale"); l->newlocale = symbol(in, "newlocale");
}

/* Loads both, and checks that the first is the preloaded one and the second is not. */
static void load_both(struct library *ours, struct library *theirs) {
    load(ours, RTLD_DEFAULT);
    void *second = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    if (!second) { fprintf(stderr, "no second C library: %s\n", dlerror()); exit(2); }
    load(theirs, second);
    Dl_info of = {0};
    int found = dladdr((void *)ours->localtime, &of);
    if (!found || !strstr(of.dli_fname, "libneedless_localtime.so")) {
        fprintf(stderr, "localtime is of %s\n", found ? of.dli_fname : "no library");
        exit(2);
    }
    if (theirs->localtime == ours->localtime || theirs->tzname == ours->tzname) {
        fputs("the second C library is the first\n", stderr);
        exit(2);
    }
}
