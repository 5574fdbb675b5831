/* Prints which user it runs as: a set-user-ID copy shows whether it got its privilege. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	printf("effective user %d\n", geteuid());
	return 0;
}
