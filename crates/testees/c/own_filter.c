/* own_filter trace: a seccomp filter of its own wants a tracer for getppid and for access of "/missing/…";
 * own_filter strict: asks for seccomp's strict mode, as prctl and, refused, as seccomp have it;
 * own_filter exact-errno, exact-kill: a filter of its own allows clone only with CLONE_UNTRACED, and refuses it
 * or kills otherwise; exact-allow: it allows both. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_SET_MODE_STRICT
#define SECCOMP_SET_MODE_STRICT 0
#endif

static void outcome(const char *call, long result)
{
	printf("%s: %ld errno %d\n", call, result, result < 0 ? errno : 0);
}

static int trace(void)
{
	/* access with F_OK wants a tracer, with R_OK none. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 7),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof code / sizeof *code, .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	outcome("getppid", syscall(SYS_getppid) > 0 ? 1 : -1);
	for (int i = 0; i < 30; i++) {
		long refused = syscall(SYS_faccessat, -100, "/missing/own_filter", F_OK);
		if (i == 0 || refused != -1 || errno != ENOSYS)
			outcome("faccessat F_OK", refused);
		long allowed = syscall(SYS_faccessat, -100, "/missing/own_filter", R_OK);
		if (i == 0 || allowed != -1 || errno != ENOENT)
			outcome("faccessat R_OK", allowed);
	}
	printf("access /missing/own_filter ENOSYS 30\naccess /missing/own_filter ENOENT 30\n");
	return 0;
}

static int strict(void)
{
	const char alive[] = "in strict mode\n", beyond[] = "out of it\n";
	long result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (result < 0)
		result = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	if (write(1, alive, sizeof alive - 1) < 0)
		return 1;
	access("/", F_OK);
	return write(1, beyond, sizeof beyond - 1) < 0;
}

static int exact(unsigned int otherwise)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_UNTRACED, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof code / sizeof *code, .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	long pid = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		access("/missing/own_filter", F_OK);
		_exit(errno == ENOENT ? 7 : 1);
	}
	int status = 0;
	if (pid > 0 && waitpid(pid, &status, 0) != pid)
		return 1;
	outcome("clone", pid > 0 ? WEXITSTATUS(status) : -1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "trace";
	if (!strcmp(what, "strict"))
		return strict();
	if (!strcmp(what, "exact-errno"))
		return exact(SECCOMP_RET_ERRNO | EPERM);
	if (!strcmp(what, "exact-kill"))
		return exact(SECCOMP_RET_KILL_PROCESS);
	if (!strcmp(what, "exact-allow"))
		return exact(SECCOMP_RET_ALLOW);
	return trace();
}
