/* Converts the time fifty times, ten times a second or after as many microseconds as its argument says, until
   it is killed: a daemon that writes log lines. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	useconds_t pause = argc > 1 ? (useconds_t)atoi(argv[1]) : 100000;
	for (;;) {
		time_t now = time(NULL);
		for (int i = 0; i < 50; i++)
			(void)localtime(&now);
		usleep(pause);
	}
}
