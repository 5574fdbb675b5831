/* Sets this process's clock to any second, by overwriting the functions in its own copy of the vDSO. On other
 * architectures the clock is not changed, which suffices for comparing two answers. */
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
static long fake_second;
static int fake_gettime(int clock, struct timespec *at) { at->tv_sec = fake_second, at->tv_nsec = 0; return 0; }
static time_t fake_time(time_t *at) { if (at) *at = fake_second; return fake_second; }
#ifndef __x86_64__
static int fake_clock(void) { return 2; }
#else
static int fake_clock(void) {
    char *base = (char *)getauxval(AT_SYSINFO_EHDR);
    if (!base) return 0;
    Elf64_Ehdr *e = (void *)base;
    Elf64_Shdr *s = (void *)(base + e->e_shoff);
    int found = 0;
    mprotect(base, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int i = 0; i < e->e_shnum; i++) {
        if (s[i].sh_type != SHT_DYNSYM) continue;
        Elf64_Sym *y = (void *)(base + s[i].sh_offset);
        char *names = base + s[s[i].sh_link].sh_offset;
        for (unsigned k = 0; k < s[i].sh_size / sizeof *y; k++) {
            void *to = !strcmp(names + y[k].st_name, "__vdso_clock_gettime") ? (void *)fake_gettime
                     : !strcmp(names + y[k].st_name, "__vdso_time") ? (void *)fake_time : 0;
            if (!to) continue;
            unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
            memcpy(code + 2, &to, 8);
            memcpy(base + y[k].st_value, code, 12);
            found++;
        }
    }
    return found;
}
#endif
