/* busy MS THREADS HOW: each of THREADS further threads takes MS milliseconds of CPU time, in user mode;
   HOW the process then ends: "join", "exit" (while the others still take time), "leave" (the first
   thread takes its own MS, then is gone before the others). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long goal;
static atomic_int done;
static int for_ever;

static void take(void)
{
	struct timespec now;
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000000000LL + now.tv_nsec < goal);
}

static void *work(void *unused)
{
	take();
	done++;
	while (for_ever)
		;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	if (argc < 4)
		return 2;
	int n = atoi(argv[2]);
	goal = atoll(argv[1]) * 1000000;
	for_ever = !strcmp(argv[3], "exit");
	for (int i = 0; i < n && i < 16; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	if (!strcmp(argv[3], "leave")) {
		take();
		pthread_exit(NULL);
	}
	if (for_ever) {
		while (done < n)
			usleep(1000);
		_exit(0);
	}
	if (n == 0)
		take();
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
