/* ISO C reserves none of these names: a program may use them for something else. */
/* Which -pthread defines, and which adds names to the headers. */
#undef _REENTRANT
#include <stdio.h>
#include <time.h>
static int calls;
int before = 1234567, timezone = 7, between = 1234567, daylight = 77, after = 1234567;
char tzname[8] = "mine", **environ;
#define OWN(name) long name(void) { calls++; return 0; }
OWN(syscall) OWN(clock_gettime) OWN(gettimeofday) OWN(getauxval) OWN(secure_getenv) OWN(setenv) OWN(dlsym) OWN(dladdr)
OWN(dl_iterate_phdr) OWN(gnu_get_libc_version) OWN(stat) OWN(fstat) OWN(open) OWN(read) OWN(close) OWN(mmap) OWN(bcmp)
OWN(localtime_r) OWN(gmtime_r) OWN(ctime_r) OWN(asctime_r) OWN(tzset) OWN(timegm) OWN(timelocal) OWN(strptime) OWN(getdate)
OWN(strftime_l) OWN(wcsftime_l)
int main(void) {
    time_t t = 1717243445;
    char text[64];
    for (int i = 0; i < 3; i++) {
        struct tm tm = *localtime(&t);
        strftime(text, sizeof text, "%F %T %Z", &tm);
        printf("%s %ld %s", text, (long)mktime(&tm), ctime(&t));
    }
    printf("%d %d %d %d %d %s %p, %d calls\n", before, timezone, between, daylight, after, tzname, (void *)environ, calls);
    return 0;
}
