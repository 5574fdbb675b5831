/* title HOW: writes a title over its words and over the environment behind them, as setproctitle of nginx,
 * PostgreSQL and sshd does, and stays until its input ends. HOW "all": NULs to the end of the block; "some": the
 * title alone, what is behind it stays; "equals": the same, with an equals sign in it; "none": nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "all";
	const int all = !strcmp(how, "all"), none = !strcmp(how, "none");
	const char fill = !strcmp(how, "equals") ? '=' : 'x';
	char *start = argv[0], *block = environ[0], *end = start;

	for (char **one = environ; *one; one++)
		end = *one + strlen(*one) + 1;
	if (!none && block > start && end > block + 10) {
		if (all)
			memset(start, 0, end - start);
		/* Some bytes into the first variable. */
		memset(start, 'x', block + 8 - start);
		memcpy(start, "title: ", 7);
		block[4] = fill;
		block[3] = ' ';
		block[8] = '\0';
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
