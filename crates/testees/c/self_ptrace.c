/* Wants to be traced by its parent, which has a tracer already if it is traced. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>

int main(void)
{
	long result = ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	printf("PTRACE_TRACEME: %s\n", result ? strerror(errno) : "ok");
	return 0;
}
