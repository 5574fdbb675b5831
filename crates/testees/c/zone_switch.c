/* zone_switch FILE: in a mount namespace of its own puts FILE over /etc/localtime between two
   conversions: the second must read it again. Ends with 77 where it may not do that. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <time.h>

int main(int argc, char **argv)
{
	time_t t = 1700000000;
	if (argc < 2)
		return 2;
	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return 77;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	localtime(&t);
	localtime(&t);
	if (mount(argv[1], "/etc/localtime", NULL, MS_BIND, NULL))
		return 77;
	localtime(&t);
	localtime(&t);
	printf("stat /etc/localtime ok 3\n");
	printf("open /etc/localtime ok 2\n");
	return 0;
}
