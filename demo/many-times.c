/*
 * Asks N times what the local time is: ten-times.c with enough to do for its time to be measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 10;
	long hours = 0;

	for (long i = 0; i < times; i++) {
		time_t then = i * 3600;

		hours += localtime(&then)->tm_hour;
	}
	printf("%ld\n", hours);
	return 0;
}
