/* repeats HOW N FILE FLAG: asks the status of FILE N times on one CPU, and between two looks does what
   HOW says. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	const char *how = argv[1], *file = argv[3];
	long n = atol(argv[2]), answered = 0;
	struct stat st;
	struct timespec moment = {0, 1};
	int own = open(file, O_WRONLY | O_APPEND);
	int flag = open(argv[4], O_RDWR);
	volatile unsigned char *turn = mmap(NULL, 2, PROT_READ | PROT_WRITE, MAP_SHARED, flag, 0);
	cpu_set_t cpu;
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (own < 0 || turn == MAP_FAILED || n > 255 || sched_setaffinity(0, sizeof cpu, &cpu))
		return 1;
	for (long i = 1; i <= n; i++) {
		answered += !stat(file, &st);
		if (!strcmp(how, "handshake")) {
			/* Whoever started us does something now; no call of ours tells of it. */
			turn[0] = i;
			while (turn[1] != i)
				;
		} else if (!strcmp(how, "append")) {
			if (write(own, "x", 1) != 1)
				return 1;
		} else if (!strcmp(how, "create")) {
			close(open(argv[4], O_WRONLY | O_CREAT, 0600));
		} else if (!strcmp(how, "chdir")) {
			if (chdir("/"))
				return 1;
		} else if (!strcmp(how, "nanosleep")) {
			nanosleep(&moment, NULL);
		} else if (!strcmp(how, "poll")) {
			poll(NULL, 0, 1);
		} else if (!strcmp(how, "poll-at-once")) {
			poll(NULL, 0, 0);
		} else if (!strcmp(how, "fork")) {
			if (fork() == 0)
				_exit(0);
			while (waitpid(-1, NULL, WNOHANG) == 0)
				;
		} else if (!strcmp(how, "getppid")) {
			getppid();
		}
	}
	printf("stat %s ok %ld\n", file, answered);
	return 0;
}
