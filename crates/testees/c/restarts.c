/* Calls that a signal interrupts and the kernel starts again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int number)
{
	(void)number;
}

int main(void)
{
	int pipes[2];
	char byte;
	if (pipe(pipes))
		return 1;
	struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, NULL);
	pid_t parent = getpid(), child = fork();
	if (child == 0) {
		struct timespec wait = {0, 100000000};
		nanosleep(&wait, NULL);
		kill(parent, SIGUSR1);
		nanosleep(&wait, NULL);
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		_exit(0);
	}
	if (read(pipes[0], &byte, 1) != 1)
		return 1;
	waitpid(child, NULL, 0);
	/* Stopped and continued in the middle of a sleep: restart_syscall. */
	child = fork();
	if (child == 0) {
		struct timespec wait = {0, 300000000};
		nanosleep(&wait, NULL);
		_exit(0);
	}
	struct timespec wait = {0, 100000000};
	nanosleep(&wait, NULL);
	kill(child, SIGSTOP);
	waitpid(child, NULL, WUNTRACED);
	kill(child, SIGCONT);
	waitpid(child, NULL, 0);
	return 0;
}
