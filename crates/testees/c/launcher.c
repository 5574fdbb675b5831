/* launcher VAR=VALUE PROGRAM [ARG…]: sets the variable, or removes it (VAR), and executes the program: a
   launcher as rustup's is, compiled and called by another name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strchr(argv[1], '='))
		putenv(argv[1]);
	else
		unsetenv(argv[1]);
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
