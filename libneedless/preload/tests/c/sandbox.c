/* No system call for the time, and none besides those of the C library: a filter kills who makes one. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
int main(void) {
    const int allowed[] = {SYS_newfstatat, SYS_openat, SYS_read, SYS_close, SYS_lseek, SYS_brk, SYS_write, SYS_exit_group
#ifdef SYS_fstat
        , SYS_fstat
#endif
    };
    struct sock_filter code[40];
    int n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {n, code};
    puts("sandboxed"), fflush(stdout);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) perror("seccomp");
    for (int i = 0; i < 5; i++) {
        time_t t = 1717243445;
        struct tm tm = *localtime(&t);
        printf("%s%ld %s\n", ctime(&t), (long)mktime(&tm), localtime_r(&t, &tm)->tm_zone), tzset();
        if (i == 2) setenv("TZ", "Asia/Tokyo", 1);
    }
    return 0;
}
