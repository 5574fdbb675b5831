/* A thread that is not the first one execs, while the first waits and a third asks questions. */
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *self;

static void *execute(void *unused)
{
	usleep(20000);
	execl(self, self, "after", (char *)NULL);
	return unused;
}

static void *ask(void *unused)
{
	for (;;) {
		access("/missing/before_exec", F_OK);
		usleep(100);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct stat st;
	pthread_t a, b;
	if (argc > 1) {
		stat("/missing/after_exec", &st);
		printf("stat /missing/after_exec ENOENT 1\n");
		return 3;
	}
	self = argv[0];
	access("/missing/first_image", F_OK);
	pthread_create(&a, NULL, execute, NULL);
	pthread_create(&b, NULL, ask, NULL);
	for (;;)
		pause();
}
