/* Prints all that a program can see of how it was started. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void print_file(const char *name)
{
	char text[256];
	int fd = open(name, O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	text[got > 0 ? got : 0] = 0;
	printf("%s: %s\n", name, text);
	close(fd);
}

int main(int argc, char **argv)
{
	/* First, before anything opens a descriptor. */
	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD), status = fcntl(fd, F_GETFL);
		struct stat st;
		if (flags < 0)
			continue;
		if (fstat(fd, &st))
			return 1;
		fprintf(stderr, "fd %d: flags %x status %x dev %lx ino %lx mode %o\n", fd, flags, status,
			(long)st.st_dev, (long)st.st_ino, st.st_mode);
	}
	for (int i = 0; i < argc; i++)
		printf("argv[%d]: %s\n", i, argv[i]);
	for (char **e = environ; *e; e++)
		printf("env: %s\n", *e);
	for (int r = 0; r < RLIM_NLIMITS; r++) {
		struct rlimit limit;
		if (!getrlimit(r, &limit))
			printf("limit %d: %lld %lld\n", r, (long long)limit.rlim_cur,
			       (long long)limit.rlim_max);
	}
	mode_t mask = umask(0);
	umask(mask);
	printf("umask: %o\n", mask);
	sigset_t blocked, pending;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&pending);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction action;
		if (sigaction(s, NULL, &action))
			continue;
		printf("signal %d: %s%s%s\n", s,
		       action.sa_handler == SIG_DFL   ? "default"
		       : action.sa_handler == SIG_IGN ? "ignored"
						      : "handled",
		       sigismember(&blocked, s) == 1 ? " blocked" : "",
		       sigismember(&pending, s) == 1 ? " pending" : "");
	}
	char cwd[4096];
	printf("cwd: %s\n", getcwd(cwd, sizeof cwd) ? cwd : strerror(errno));
	printf("group %d, session %d, terminal's %d\n", getpgrp(), getsid(0), tcgetpgrp(0));
	printf("uid %d %d gid %d %d\n", getuid(), geteuid(), getgid(), getegid());
	printf("nice %d, scheduler %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
	cpu_set_t cpus;
	sched_getaffinity(0, sizeof cpus, &cpus);
	printf("cpus %d\n", CPU_COUNT(&cpus));
	printf("personality %x\n", personality(0xffffffff));
	int death = -1;
	prctl(PR_GET_PDEATHSIG, &death);
	printf("dumpable %d, keep caps %d, death signal %d, timer slack %d, subreaper\n",
	       prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS), death, prctl(PR_GET_TIMERSLACK));
	stack_t stack;
	sigaltstack(NULL, &stack);
	printf("alternate stack flags %x\n", stack.ss_flags);
	print_file("/proc/self/oom_score_adj");
	print_file("/proc/self/comm");
	print_file("/proc/self/coredump_filter");
	return 0;
}
