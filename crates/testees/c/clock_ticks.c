/* Converts the time fifty times, ten times a second, until it is killed: a daemon that writes log lines. */
#include <time.h>
#include <unistd.h>

int main(void)
{
	for (;;) {
		time_t now = time(NULL);
		for (int i = 0; i < 50; i++)
			(void)localtime(&now);
		usleep(100000);
	}
}
