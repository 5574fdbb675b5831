/* many_paths N TIMES MORE STOPS: asks for N paths that are not there, all of them TIMES times in turn, then
   once for MORE others. With STOPS it stops itself after each of the TIMES. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100, times = argc > 2 ? atol(argv[2]) : 1;
	long more = argc > 3 ? atol(argv[3]) : 0;
	int stops = argc > 4;
	char path[64];
	for (long t = 0; t < times; t++) {
		for (long i = 0; i < n; i++) {
			snprintf(path, sizeof path, "/missing/many/%ld", i);
			access(path, F_OK);
		}
		if (stops)
			raise(SIGSTOP);
	}
	for (long i = 0; i < more; i++) {
		snprintf(path, sizeof path, "/missing/more/%ld", i);
		access(path, F_OK);
	}
	printf("access /missing/many/0 ENOENT %ld\n", times);
	return 0;
}
