/* What daemons do after they have used the zone: change the root directory, forbid themselves system calls, lose the
 * zone file. Usage: daemon HOW FOLDER, where /etc/localtime leads to FOLDER/zone. Prints the answers afterwards. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
static const time_t t = 1717243445;
static int log_socket = -1;
/* Functions in which glibc reads no zone file if one has been read. */
static void settled(const char *when) {
    struct tm tm, utc;
    char b[80], c[80];
    localtime_r(&t, &tm), strftime(b, sizeof b, "%F %T %Z %z %a", &tm);
    gmtime_r(&t, &utc), asctime_r(&utc, c);
    printf("%s: %s %ld | %ld %s", when, b, tm.tm_gmtoff, (long)timegm(&utc), c);
    printf("%s", ctime_r(&t, c));
    utc = *gmtime(&t), strftime(b, sizeof b, "%c", &utc), puts(b);
    memset(&tm, 0, sizeof tm);
    strptime("1717243445", "%s", &tm);
    printf("strptime %d:%d %s\n", tm.tm_hour, tm.tm_min, tm.tm_zone);
}
/* How far the clock in syslog's lines is ahead of UTC. */
static void logged(void) {
    char line[200] = "";
    struct tm at = {0};
    time_t now = time(0);
    struct tm *utc = gmtime(&now);
    int hour = utc->tm_hour;
    syslog(LOG_INFO, "hello");
    if (recv(log_socket, line, sizeof line - 1, 0) < 0) perror("recv");
    strptime(strchr(line, '>') + 1, "%b %e %T", &at);
    printf("syslog is %d hours ahead\n", (at.tm_hour - hour + 24) % 24);
}
static void leave(const char *folder) {
    struct sockaddr_un at = {AF_UNIX};
    char dev[100];
    snprintf(dev, sizeof dev, "%s/root", folder), mkdir(dev, 0755);
    if (chdir(dev) || (mkdir("dev", 0755), 0)) perror("chdir");
    strcpy(at.sun_path, "dev/log"), unlink(at.sun_path);
    log_socket = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (bind(log_socket, (void *)&at, sizeof at) || chroot(".")) perror("chroot");
}
static void filter(int kill_others, const int *calls, int count) {
    struct sock_filter code[60];
    int n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, kill_others ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, kill_others ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    fflush(stdout);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) perror("seccomp");
}
/* Whether fstat(3) of the C library makes the system call fstat: glibc does since 2.39; older ones ask newfstatat about
 * the descriptor. A child that may not make the call finds out. */
static int calls_fstat(void) {
    const int call[] = {SYS_fstat};
    struct stat st;
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) filter(0, call, 1), fstat(0, &st), _exit(0);
    if (child < 0 || waitpid(child, &status, 0) < 0) perror("child");
    return WIFSIGNALED(status);
}
static void another_second(void) { for (time_t now = time(0); time(0) <= now + 1;) usleep(10000); }
int main(int argc, char **argv) {
    char zone[200], old[200];
    int looks = atoi(argv[1]) % 10, how = atoi(argv[1]) / 10;
    snprintf(zone, sizeof zone, "%s/zone", argv[2]), snprintf(old, sizeof old, "%s/athens", argv[2]);
    openlog("daemon", 0, LOG_USER);
    /* Once, often within a second, by a function that reads the file only because none has been read, or never. */
    struct tm tm;
    if (looks == 0) localtime_r(&t, &tm);
    else if (looks == 1) tzset();
    else if (looks == 2) for (int i = 0; i < 3; i++) tzset(), localtime(&t), ctime(&t);
    else if (looks == 3) setenv("TZ", "Asia/Tokyo", 1), localtime(&t), setenv("TZ", "Europe/Athens", 1), tzset();
    if (how == 0) {
        leave(argv[2]), settled("in another root"), another_second(), settled("later"), logged();
        printf("who looks finds %s\n", localtime(&t)->tm_zone);
        settled("afterwards"), logged();
    } else if (how == 1) {
        /* No system call on files. */
        const int calls[] = {SYS_newfstatat, SYS_openat, SYS_read, SYS_close, SYS_lseek, SYS_mmap, SYS_munmap
#ifdef SYS_stat
            , SYS_stat, SYS_open, SYS_fstat, SYS_access
#endif
        };
        printf(" "), strftime(zone, sizeof zone, "%F", localtime(&t));
        filter(0, calls, sizeof calls / sizeof *calls);
        settled("sandboxed"), another_second(), settled("later");
    } else if (how == 2) {
        /* Those with which the C library reads a zone, and a few for printing. The last is for the size of an open file; it
         * stays forbidden if the C library does without. */
        const int calls[] = {SYS_newfstatat, SYS_openat, SYS_read, SYS_close, SYS_lseek, SYS_brk, SYS_write, SYS_exit_group, SYS_fstat};
        int count = sizeof calls / sizeof *calls - !calls_fstat();
        printf(" ");
        filter(1, calls, count);
        const char *zones[] = {"America/New_York", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST", "Nowhere", ":Asia/Tokyo", ""};
        for (int i = 0; i < 6; i++) setenv("TZ", zones[i], 1), printf("%s: %s", zones[i], ctime(&t)), settled("allowed");
        unsetenv("TZ"), printf("unset: %s", ctime(&t));
    } else if (how == 4) {
        /* The same, if no zone has been read: glibc then asks about the open file only, not about a path. */
        const int calls[] = {SYS_openat, SYS_read, SYS_close, SYS_lseek, SYS_brk, SYS_write, SYS_exit_group, calls_fstat() ? SYS_fstat : SYS_newfstatat};
        setenv("TZ", looks == 5 ? "Asia/Tokyo" : "EST5EDT4,M3.2.0,M11.1.0", 1), printf(" ");
        filter(1, calls, sizeof calls / sizeof *calls);
        settled("first"), localtime(&t), tzset(), settled("again");
    } else {
        /* The file changes, and only functions that do not check it are called. */
        unlink(zone), symlink(old, zone), settled("another file"), another_second(), settled("later");
        unlink(zone), settled("no file"), another_second(), settled("later");
        tzset(), settled("looked");
    }
    return 0;
}
