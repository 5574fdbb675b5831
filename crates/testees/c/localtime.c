/* localtime FUNCTION N: one of the functions that convert times, N times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *function = argv[1];
	long n = atol(argv[2]), stats = 0;
	struct tm tm;
	char text[64];
	time_t t = 1700000000;
	if (!strcmp(function, "localtime")) {
		for (long i = 0; i < n; i++)
			localtime(&t);
		stats = n - 1;
	} else if (!strcmp(function, "localtime_r")) {
		/* Looks at the zone once: POSIX does not ask it to call tzset. */
		for (long i = 0; i < n; i++)
			localtime_r(&t, &tm);
	} else if (!strcmp(function, "mktime")) {
		memset(&tm, 0, sizeof tm);
		tm.tm_year = 100;
		tm.tm_mday = 1;
		for (long i = 0; i < n; i++) {
			struct tm copy = tm;
			mktime(&copy);
		}
		stats = n - 1;
	} else if (!strcmp(function, "strftime")) {
		/* gmtime_r looks at the zone once, strftime each time it converts to seconds. */
		gmtime_r(&t, &tm);
		for (long i = 0; i < n; i++)
			strftime(text, sizeof text, "%s", &tm);
		stats = n;
	} else if (!strcmp(function, "gmtime")) {
		for (long i = 0; i < n; i++)
			gmtime(&t);
	} else {
		return 2;
	}
	if (getenv("TZ") || stats < 0)
		stats = 0;
#ifndef __GLIBC__
	stats = 0;
#endif
	printf("stat /etc/localtime ok %ld\n", stats);
	return 0;
}
