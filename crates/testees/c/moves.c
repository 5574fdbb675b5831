/* Asks for relative paths before and after it has moved to another directory, so do its children. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(const char *path)
{
	pid_t pid = fork();
	if (pid == 0) {
		access(path, F_OK);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		access("missing/after_exec", F_OK);
		return 0;
	}
	access("missing/moves", F_OK);
	access("missing/moves", F_OK);
	child("missing/child_before");
	if (chdir("/usr"))
		return 1;
	access("missing/moves", F_OK);
	child("missing/child_after");
	execl(argv[0], argv[0], "after", (char *)NULL);
	return 1;
}
