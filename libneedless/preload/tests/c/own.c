/* A program that defines and exports some of the functions itself: those that it does not define must not call them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
struct tm { int fields[9]; long gmtoff; const char *zone; };
static struct tm nonsense;
long calls;
#define OWN(name, result) __attribute__((visibility("default"))) long name(void) { calls++; return (long)(result); }
OWN(localtime, &nonsense) OWN(localtime_r, &nonsense) OWN(gmtime, &nonsense) OWN(gmtime_r, &nonsense) OWN(mktime, 1) OWN(tzset, 0)
OWN(asctime, "own\n") OWN(asctime_r, "own\n") OWN(strftime_l, 0) OWN(timegm, 1) OWN(malloc_zone, 0)
char *ctime(const long *), *ctime_r(const long *, char *);
size_t strftime(char *, size_t, const char *, const struct tm *);
long timelocal(struct tm *);
int main(void) {
    long t = 1717243445;
    char b[80];
    struct tm tm = {{5, 4, 15, 1, 5, 124, 6, 152, 0}};
    printf("%s", ctime(&t));
    printf("%s", ctime_r(&t, b));
    printf("%ld\n", timelocal(&tm));
    strftime(b, sizeof b, "%s %F %T", &tm), puts(b);
    tm.zone = 0, strftime(b, sizeof b, "%Z", &tm), puts(b);
    printf("%ld calls of its own\n", calls);
    return 0;
}
