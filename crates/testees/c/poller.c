/* poller N: waits for a file that never comes, a tenth of a millisecond between two looks. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100;
	struct timespec pause = {0, 100000};
	for (long i = 0; i < n; i++) {
		access("/missing/poller", F_OK);
		nanosleep(&pause, NULL);
	}
	printf("access /missing/poller ENOENT %ld\n", n);
	return 0;
}
