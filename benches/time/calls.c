/* Measures the C library's time functions and those of the preloaded library: in one process, in turn, on the same
 * times. Prints nanoseconds per call, the least of many short runs, and the ratio; of some also what C written for this
 * work alone takes (floor.h), and how many times that the library takes. `cargo xtask bench` runs it.
 *
 * calls rows        one thread; the zone is that of TZ
 * calls threads     two threads at once
 * calls first       the first localtime of the process, of the library that is linked or preloaded
 * calls count N     N conversions, for a tracer to count */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "floor.h"
#include "times.h"

enum { CHUNK = 200, ROUNDS = 300 };

static struct tm *(*localtimes[3])(const time_t *);
static struct tm *(*localtime_rs[3])(const time_t *, struct tm *), *(*gmtime_rs[3])(const time_t *, struct tm *);
static time_t (*mktimes[3])(struct tm *), (*timegms[3])(struct tm *);
static size_t (*strftimes[3])(char *, size_t, const char *, const struct tm *);
static char *(*ctime_rs[3])(const time_t *, char *);
static void (*tzsets[3])(void);

static volatile long sink;

/* All in turn; of each the fastest chunk, which was not interrupted. */
#define MEASURE(best, arms, body)                                                                   \
    double best[3] = {1e18, 1e18, 1e18};                                                            \
    for (int k = 0; k < arms * ROUNDS; k++) {                                                       \
        int w = k % arms;                                                                           \
        double start = now();                                                                       \
        for (long i = 0; i < CHUNK; i++) { long n = (long)k * CHUNK + i; (void)n; body; }           \
        double took = (now() - start) / CHUNK;                                                      \
        if (took < best[w]) best[w] = took;                                                         \
    }

/* Both libraries. */
#define ROW(name, body)                                                                             \
    do {                                                                                            \
        MEASURE(best, 2, body)                                                                      \
        printf("  %-32s %9.1f %9.1f %8.1f\n", name, best[0], best[1], best[0] / best[1]);           \
    } while (0)

/* Both libraries and the floor. */
#define FLOOR_ROW(name, body)                                                                       \
    do {                                                                                            \
        MEASURE(best, 3, body)                                                                      \
        printf("  %-32s %9.1f %9.1f %8.1f %9.1f %8.2f\n", name, best[0], best[1], best[0] / best[1],  \
               best[2], best[1] / best[2]);                                                         \
    } while (0)

/* Ends the program if the floor does something else than the libraries. */
static void same_answers(void) {
    for (int i = 0; i < 1024; i++) {
        const time_t *lists[] = {&a_year[i], &a_century[i]};
        for (int l = 0; l < 2; l++) {
            struct tm tm[3], utc[3];
            for (int w = 0; w < 3; w++) {
                memset(&tm[w], 0, sizeof tm[w]), memset(&utc[w], 0, sizeof utc[w]);
                localtime_rs[w](lists[l], &tm[w]), gmtime_rs[w](lists[l], &utc[w]);
                size_t fields = offsetof(struct tm, tm_zone);
                struct tm back = tm[w];
                if (memcmp(&tm[w], &tm[0], fields) || strcmp(tm[w].tm_zone, tm[0].tm_zone) || memcmp(&utc[w], &utc[0], fields)
                    || mktimes[w](&back) != *lists[l]) {
                    printf("%d of libc, preloaded, floor has another answer for %ld\n", w, (long)*lists[l]);
                    exit(1);
                }
            }
        }
    }
}

static void rows(void) {
    const time_t t = 1700000000;
    struct tm tm, copy;
    char text[64];
    localtimes[0](&t);
    localtimes[1](&t);
    floor_read(localtime_rs[0]);
    same_answers();
    FLOOR_ROW("localtime, constant", sink += localtimes[w](&t)->tm_sec);
    FLOOR_ROW("localtime, advancing", time_t at = t + n; sink += localtimes[w](&at)->tm_sec);
    FLOOR_ROW("localtime, random in a year", sink += localtimes[w](&a_year[i])->tm_sec);
    FLOOR_ROW("localtime, random in 1920-2070", sink += localtimes[w](&a_century[i])->tm_sec);
    FLOOR_ROW("localtime_r, constant", localtime_rs[w](&t, &tm); sink += tm.tm_sec);
    FLOOR_ROW("localtime_r, advancing", time_t at = t + n; localtime_rs[w](&at, &tm); sink += tm.tm_sec);
    FLOOR_ROW("localtime_r, random in a year", localtime_rs[w](&a_year[i], &tm); sink += tm.tm_sec);
    FLOOR_ROW("localtime_r, random in 1920-2070", localtime_rs[w](&a_century[i], &tm); sink += tm.tm_sec);
    FLOOR_ROW("gmtime_r, constant", gmtime_rs[w](&t, &tm); sink += tm.tm_sec);
    FLOOR_ROW("gmtime_r, advancing", time_t at = t + n; gmtime_rs[w](&at, &tm); sink += tm.tm_sec);
    FLOOR_ROW("gmtime_r, random in a year", gmtime_rs[w](&a_year[i], &tm); sink += tm.tm_sec);
    ROW("timegm", copy = tm; sink += timegms[w](&copy));
    localtime_rs[0](&t, &tm);
    FLOOR_ROW("mktime, constant", copy = tm; copy.tm_isdst = -1; sink += mktimes[w](&copy));
    FLOOR_ROW("mktime, each day of 200", copy = tm; copy.tm_mday += i; copy.tm_isdst = -1; sink += mktimes[w](&copy));
    ROW("strftime %Y-%m-%d %H:%M:%S", sink += strftimes[w](text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm));
    ROW("strftime %s", sink += strftimes[w](text, sizeof text, "%s", &tm));
    ROW("ctime_r", sink += ctime_rs[w](&t, text)[5]);
    ROW("tzset", tzsets[w](); sink += i);
    ROW("tzset + localtime_r", tzsets[w](); localtime_rs[w](&t, &tm); sink += tm.tm_sec);
    ROW("TZ flipped, texts + localtime", setenv("TZ", i & 1 ? "JST-9" : "EST5", 1); sink += localtimes[w](&t)->tm_sec);
    ROW("TZ flipped, files + localtime", setenv("TZ", i & 1 ? "Europe/Athens" : "Asia/Tokyo", 1); sink += localtimes[w](&t)->tm_sec);
}

static int arm;
static pthread_barrier_t together;
static double each[2];

static void *convert(void *which) {
    struct tm tm;
    time_t t = 1700000000;
    double best = 1e18;
    for (int round = 0; round < 60; round++) {
        pthread_barrier_wait(&together);
        double start = now();
        for (int i = 0; i < 4000; i++) {
            t++;
            if (*(int *)which & 2) localtime_rs[arm](&t, &tm);
            else localtimes[arm](&t);
        }
        double took = (now() - start) / 4000;
        if (took < best) best = took;
    }
    each[*(int *)which & 1] = best;
    return 0;
}

static void threads(void) {
    pthread_barrier_init(&together, 0, 2);
    for (int r = 0; r < 2; r++) {
        double ns[2];
        for (arm = 0; arm < 2; arm++) {
            pthread_t thread[2];
            int which[2] = {r * 2, r * 2 + 1};
            for (int i = 0; i < 2; i++) pthread_create(&thread[i], 0, convert, &which[i]);
            for (int i = 0; i < 2; i++) pthread_join(thread[i], 0);
            ns[arm] = (each[0] + each[1]) / 2;
        }
        printf("  %-32s %9.1f %9.1f %8.1f\n", r ? "localtime_r, two threads" : "localtime, two threads", ns[0], ns[1], ns[0] / ns[1]);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "rows";
    if (!strcmp(what, "first")) {
        time_t t = 1700000000;
        double start = now();
        sink += localtime(&t)->tm_sec;
        printf("%.0f\n", now() - start);
        return 0;
    }
    if (!strcmp(what, "count")) {
        for (long i = argc > 2 ? atol(argv[2]) : 0; i > 0; i--) {
            time_t t = 1700000000 + i;
            sink += localtime(&t)->tm_sec;
        }
        return 0;
    }
    void *libc = dlopen("libc.so.6", RTLD_NOW);
#define BOTH(name) name##s[0] = (__typeof__(name##s[0]))dlsym(libc, #name), name##s[1] = name
    BOTH(localtime), BOTH(localtime_r), BOTH(gmtime_r), BOTH(mktime), BOTH(timegm), BOTH(strftime), BOTH(ctime_r), BOTH(tzset);
    localtimes[2] = floor_localtime, localtime_rs[2] = floor_localtime_r, gmtime_rs[2] = floor_gmtime_r, mktimes[2] = floor_mktime;
    if (localtimes[0] == localtimes[1]) { puts("both functions are the C library's: preload libneedless_localtime.so"); return 2; }
    fill_times();
    if (!strcmp(what, "threads")) threads();
    else rows();
    return 0;
}
