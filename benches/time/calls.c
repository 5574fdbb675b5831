/* Nanoseconds of CPU-bound calls of the C library's time functions: of each the least of 300 runs of 200 calls, so that no
 * interrupt counts. `cargo xtask bench time` runs it with TZ unset and set, with needless preload and without.
 *
 * calls             a line for each function
 * calls N           N conversions, for a tracer to count */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 200, RUNS = 300 };

static volatile long sink;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

#define ROW(name, body)                                                        \
	do {                                                                   \
		double best = 1e18;                                            \
		for (int run = 0; run < RUNS; run++) {                         \
			double start = now();                                  \
			for (int i = 0; i < CALLS; i++) {                      \
				time_t t = 1700000000 + i * 86413L;            \
				(void)t;                                       \
				body;                                          \
			}                                                      \
			double took = (now() - start) / CALLS;                 \
			if (took < best)                                       \
				best = took;                                   \
		}                                                              \
		printf("%s\t%.1f\n", name, best);                              \
	} while (0)

int main(int argc, char **argv)
{
	struct tm tm = {.tm_year = 124, .tm_mday = 1}, r;
	char text[64];
	if (argc > 1) {
		for (long n = atol(argv[1]), i = 0; i < n; i++) {
			time_t t = 1700000000 + i;
			sink += localtime(&t)->tm_sec;
		}
		return 0;
	}
	ROW("localtime", sink += localtime(&t)->tm_sec);
	ROW("localtime_r", sink += localtime_r(&t, &r)->tm_sec);
	ROW("ctime", sink += ctime(&t)[0]);
	ROW("tzset", tzset());
	ROW("mktime", sink += mktime(&tm));
	ROW("strftime %F %T", sink += strftime(text, sizeof text, "%F %T", &tm));
	ROW("strftime %s", sink += strftime(text, sizeof text, "%s", &tm));
	return 0;
}
