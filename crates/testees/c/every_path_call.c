/* One of each call that names a path, with a path that is not there, absolute, relative and
   relative to a descriptor; then the forms that name none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

int main(void)
{
	const char *m = "/missing/x", *r = "missing/relative";
	char buffer[4096];
	struct stat st;
	struct statfs fs;
	struct statx stx;
	struct open_how how = {.flags = O_RDONLY};
	int dir = open("/etc", O_RDONLY | O_DIRECTORY);
	char *argv[] = {"x", NULL};
	if (chdir("/usr"))
		return 1;
#ifdef SYS_open
	syscall(SYS_open, m, O_RDONLY);
	syscall(SYS_open, m, O_WRONLY | O_CREAT, 0600);
	syscall(SYS_creat, m, 0600);
	syscall(SYS_access, m, F_OK);
	syscall(SYS_readlink, m, buffer, sizeof buffer);
	syscall(SYS_unlink, m);
	syscall(SYS_rename, m, m);
	syscall(SYS_link, m, m);
	syscall(SYS_symlink, "target", m);
	syscall(SYS_mkdir, m, 0700);
	syscall(SYS_rmdir, m);
	syscall(SYS_mknod, m, S_IFIFO, 0);
	syscall(SYS_chmod, m, 0600);
	syscall(SYS_chown, m, 0, 0);
	syscall(SYS_lchown, m, 0, 0);
	syscall(SYS_utime, m, NULL);
	syscall(SYS_utimes, m, NULL);
	syscall(SYS_futimesat, dir, r, NULL);
#endif
	syscall(SYS_openat, AT_FDCWD, r, O_RDONLY);
	syscall(SYS_openat, dir, r, O_RDONLY);
	syscall(SYS_openat2, AT_FDCWD, m, &how, sizeof how);
	how.flags = O_WRONLY | O_CREAT;
	how.mode = 0600;
	syscall(SYS_openat2, dir, m, &how, sizeof how);
	stat(r, &st);
	lstat(m, &st);
	fstatat(dir, r, &st, 0);
	syscall(SYS_statx, dir, r, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx);
	syscall(SYS_faccessat, AT_FDCWD, r, F_OK);
#ifdef SYS_faccessat2
	syscall(SYS_faccessat2, dir, r, F_OK, 0);
#endif
	readlinkat(dir, r, buffer, sizeof buffer);
	unlinkat(dir, r, 0);
	renameat(dir, r, dir, r);
	syscall(SYS_renameat2, dir, r, dir, r, 0);
	linkat(dir, r, dir, r, 0);
	symlinkat("target", dir, r);
	mkdirat(dir, r, 0700);
	mknodat(dir, r, S_IFIFO, 0);
	fchmodat(dir, r, 0600, 0);
	fchownat(dir, r, 0, 0, 0);
	utimensat(dir, r, NULL, 0);
	truncate(m, 0);
	chdir(m);
	chroot(m);
	statfs(m, &fs);
	mount("none", m, "tmpfs", 0, NULL);
	umount2(m, 0);
	swapon(m, 0);
	swapoff(m);
	inotify_add_watch(-1, m, IN_OPEN);
	getxattr(m, "user.x", buffer, sizeof buffer);
	lgetxattr(m, "user.x", buffer, sizeof buffer);
	setxattr(m, "user.x", "1", 1, 0);
	lsetxattr(m, "user.x", "1", 1, 0);
	listxattr(m, buffer, sizeof buffer);
	llistxattr(m, buffer, sizeof buffer);
	removexattr(m, "user.x");
	lremovexattr(m, "user.x");
	execve(m, argv, argv);
	syscall(SYS_execveat, dir, r, argv, argv, 0);
	/* No path: the descriptor itself, a null pointer, an unreadable address. */
	fstat(dir, &st);
	syscall(SYS_statx, dir, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx);
	futimens(-1, NULL);
	stat(NULL, &st);
	stat((const char *)1, &st);
	/* An empty path without AT_EMPTY_PATH names one. */
	stat("", &st);
	return 0;
}
