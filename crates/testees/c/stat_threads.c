/* stat_threads T N: T threads ask for the status of one file and of a missing one, N times each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static long n;

static void *work(void *unused)
{
	struct stat st;
	for (long i = 0; i < n; i++) {
		stat("/etc", &st);
		stat("/missing/stat_threads", &st);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int t = argc > 1 ? atoi(argv[1]) : 4;
	n = argc > 2 ? atol(argv[2]) : 100;
	if (t > 64)
		return 2;
	for (int i = 0; i < t; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < t; i++)
		pthread_join(threads[i], NULL);
	printf("stat /etc ok %ld\n", t * n);
	printf("stat /missing/stat_threads ENOENT %ld\n", t * n);
	return 0;
}
