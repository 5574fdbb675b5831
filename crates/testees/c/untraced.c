/* untraced HOW: a child of clone (HOW "clone") or clone3 ("clone3") with CLONE_UNTRACED asks for the
 * status of a missing file and prints; the arguments and the registers of the call stay as they were.
 * "vfork": it shares our memory, and we wait; "const": the arguments are in memory that nobody may write;
 * "shared": and that others map, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* struct clone_args of linux/sched.h, as long as Linux 5.3 had it. */
struct arguments {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static const struct arguments constant = { .flags = CLONE_UNTRACED, .exit_signal = SIGCHLD };

/* The call without a C library between: what it was given is checked in both processes. */
static long call(long number, unsigned long first, unsigned long second, int *kept)
{
	long result;
#if defined(__x86_64__)
	unsigned long a = first, b = second;
	register long c __asm__("r10") = 0;
	register long d __asm__("r8") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result), "+D"(a), "+S"(b)
			 : "0"(number), "d"(0L), "r"(c), "r"(d)
			 : "rcx", "r11", "memory");
	*kept = a == first && b == second;
#elif defined(__i386__)
	unsigned long a = first, b = second;
	__asm__ volatile("int $0x80"
			 : "=a"(result), "+b"(a), "+c"(b)
			 : "0"(number), "d"(0L), "S"(0L), "D"(0L)
			 : "memory");
	*kept = a == first && b == second;
#else
	result = syscall(number, first, second, 0L, 0L, 0L);
	*kept = 1;
#endif
	return result;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "clone";
	struct arguments own = constant;
	const struct arguments *given = &own;
	struct stat st;
	int kept = 0, status;
	long pid;

	if (!strcmp(how, "vfork"))
		own.flags |= CLONE_VFORK;
	if (!strcmp(how, "const"))
		given = &constant;
	if (!strcmp(how, "shared")) {
		int fd = memfd_create("arguments", 0);
		if (fd < 0 || write(fd, &own, sizeof own) != sizeof own)
			return 1;
		given = mmap(NULL, sizeof own, PROT_READ, MAP_SHARED, fd, 0);
		if (given == MAP_FAILED)
			return 1;
	}
	struct arguments before = *given;
	if (!strcmp(how, "clone"))
		pid = call(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, &kept);
	else
		pid = call(SYS_clone3, (unsigned long)given, sizeof *given, &kept);
	int same = !memcmp(&before, given, sizeof before);
	if (pid < 0)
		return 3;
	if (pid == 0) {
		int missing = stat("/missing/untraced", &st) ? errno : 0;
		int root = stat("/", &st) ? errno : 0;
		printf("child: missing %d root %d kept %d same %d\n", missing, root, kept, same);
		fflush(stdout);
		_exit(missing == ENOENT ? 7 : 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 4;
	printf("parent: status %d kept %d same %d\n", WEXITSTATUS(status), kept, same);
	printf("stat /missing/untraced ENOENT 1\n");
	return 0;
}
