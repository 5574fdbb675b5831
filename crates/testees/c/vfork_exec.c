/* vfork_exec N: N times vfork and exec, and N times posix_spawn, of itself. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	if (n == 0) {
		access("/missing/vfork_exec", F_OK);
		return 0;
	}
	char *child[] = {argv[0], "0", NULL};
	for (int i = 0; i < n; i++) {
		pid_t pid = vfork();
		if (pid == 0) {
			execv("/missing/program", child);
			execv(argv[0], child);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		if (posix_spawn(&pid, argv[0], NULL, NULL, child, environ))
			return 1;
		waitpid(pid, NULL, 0);
	}
	printf("access /missing/vfork_exec ENOENT %d\n", 2 * n);
	printf("exec /missing/program ENOENT %d\n", n);
	printf("exec %s ok %d\n", argv[0], 2 * n + 1);
	return 0;
}
