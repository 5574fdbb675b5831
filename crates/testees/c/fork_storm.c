/* fork_storm N [M]: N children, up to 16 at a time, each asks one question, M times, and ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, m = argc > 2 ? atoi(argv[2]) : 1, alive = 0;
	for (int i = 0; i < n; i++) {
		if (alive == 16) {
			wait(NULL);
			alive--;
		}
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			for (int k = 0; k < m; k++)
				access("/missing/fork_storm", F_OK);
			_exit(0);
		}
		alive++;
	}
	while (wait(NULL) > 0)
		;
	printf("access /missing/fork_storm ENOENT %d\n", n * m);
	return 0;
}
