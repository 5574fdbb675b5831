/* Loads argv[1] into a namespace of its own, and into one that has a C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv) {
    if (!dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW)) { printf("%s\n", dlerror()); return 1; }
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    Lmid_t there;
    if (!libc || dlinfo(libc, RTLD_DI_LMID, &there)) { printf("%s\n", dlerror()); return 2; }
    void *beside = dlmopen(there, argv[1], RTLD_NOW);
    if (!beside) { printf("%s\n", dlerror()); return 1; }
    struct tm *(*convert)(const time_t *, struct tm *) = dlsym(beside, "gmtime_r"), tm;
    time_t t = 1700000000;
    if (!convert || (convert(&t, &tm) && tm.tm_year != 123)) { puts("wrong"); return 1; }
    puts("loaded");
    return 0;
}
