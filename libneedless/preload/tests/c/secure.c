/* Prints what each TZ of the arguments means to a set-user-ID program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
int main(int argc, char **argv) {
    Dl_info of = {0};
    int ours = dladdr((void *)localtime, &of) && strstr(of.dli_fname, "libneedless_localtime.so");
    if (ours != !strcmp(argv[1], "ours")) { printf("localtime is of %s\n", of.dli_fname); return 1; }
    printf("secure %lu\n", getauxval(AT_SECURE));
    time_t t = 1720000000;
    for (int i = 2; i < argc; i++) {
        setenv("TZ", argv[i], 1);
        struct tm *tm = localtime(&t);
        printf("%s: %02d:%02d %s %ld | %s %s %ld %d\n", argv[i], tm->tm_hour, tm->tm_min, tm->tm_zone, tm->tm_gmtoff, tzname[0], tzname[1], timezone, daylight);
    }
    return 0;
}
