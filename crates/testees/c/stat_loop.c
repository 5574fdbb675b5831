/* stat_loop FILE: asks the status of / until SIGTERM, and keeps "ANSWERED FAILED" in FILE. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t over;

static void stop(int number)
{
	over = number;
}

int main(int argc, char **argv)
{
	unsigned long answered = 0, failed = 0;
	struct stat st;
	if (argc < 2)
		return 2;
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return 1;
	signal(SIGTERM, stop);
	while (!over) {
		for (int i = 0; i < 100; i++) {
			if (stat("/", &st))
				failed++;
			else
				answered++;
		}
		char text[64];
		int length = snprintf(text, sizeof text, "%020lu %020lu %d\n", answered, failed, getpid());
		if (pwrite(fd, text, length, 0) != length)
			return 1;
	}
	return failed ? 1 : 0;
}
