/*
 * Asks ten times what the local time is, as a server does that writes a line of its log.
 *
 * With TZ unset, the GNU C library looks before each answer, from the second on, whether
 * /etc/localtime is still the same file. See
 * https://blog.packagecloud.io/set-environment-variable-save-thousands-of-system-calls/
 */
#include <time.h>

int main(void)
{
	int hours = 0;

	for (int i = 0; i < 10; i++) {
		time_t now = time(NULL);

		hours += localtime(&now)->tm_hour;
	}
	return hours < 0; /* never: it keeps the compiler from dropping the work */
}
