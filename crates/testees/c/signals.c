/* Prints each signal that it receives; SIGUSR2 makes it end with status 5. Among them a real-time
 * signal, by its number: C libraries keep one more or one less of the first for themselves. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	sigset_t wanted;
	int last = 0;
	int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, 40};
	sigemptyset(&wanted);
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&wanted, numbers[i]);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (last != SIGUSR2) {
		last = sigwaitinfo(&wanted, NULL);
		if (last > 0)
			printf("signal %d\n", last);
	}
	return 5;
}
