/* watcher N: watches /etc/localtime itself, by stat(), and never converts a time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100;
	struct stat st;
	for (long i = 0; i < n; i++)
		if (stat("/etc/localtime", &st))
			return 1;
	printf("stat /etc/localtime ok %ld\n", n);
	return 0;
}
