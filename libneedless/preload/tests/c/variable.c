/* Changes TZ in every way that a program can, and prints the answer of the next call. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static time_t t = 1700000000;
static void show(const char *how) {
    struct tm tm = {.tm_year = 123, .tm_mday = 1}, r;
    printf("%s: %s", how, localtime(&t)->tm_zone);
    printf(" %s %ld", tzname[0], (long)mktime(&tm));
    tzset();
    printf(" %s %s %s %ld %d %s", localtime_r(&t, &r)->tm_zone, tzname[0], tzname[1], timezone, daylight, ctime(&t));
}
int main(void) {
    static char own[32] = "TZ=EST5EDT,M3.2.0,M11.1.0";
    struct tm r;
    setenv("TZ", "JST-9", 1); show("setenv");
    setenv("TZ", "IST-5:30", 1); localtime_r(&t, &r); show("setenv after localtime_r");
    setenv("TZ", "Europe/Athens", 1); show("setenv a file");
    putenv(own); show("putenv");
    strcpy(own, "TZ=XXX3"); show("written over");
    own[5] = 'Q'; show("one letter");
    unsetenv("TZ"); show("unsetenv");
    setenv("TZ", "Asia/Tokyo", 1); show("added");
    char *mine[] = {"A=b", "TZ=:America/New_York", 0};
    environ = mine; show("another array");
    mine[1] = "TZ=Asia/Kolkata"; show("another entry");
    mine[1] = 0; show("array cut short");
    mine[1] = "TZ=ABC-3"; show("array grown");
    mine[0] = 0; show("emptied in place");
    mine[0] = "A=b"; show("filled again");
    clearenv(); show("clearenv");
    for (int i = 0; i < 300; i++) { char n[16]; sprintf(n, "V%d", i); setenv(n, "x", 1); localtime(&t); }
    show("many others");
    setenv("TZ", "DEF-4", 1); show("the last");
    for (int i = 0; i < 300; i += 3) { char n[16]; sprintf(n, "V%d", i); unsetenv(n); localtime(&t); }
    show("moved down");
    unsetenv("TZ"); show("none"); unsetenv("V299"); setenv("TZ", "GHI-5", 1); show("in place of the last");
    for (int i = 0; i < 2000; i++) {
        char z[32]; sprintf(z, "A%c%c%d:%d", 'A' + i % 26, 'A' + i / 26 % 26, i % 12, i % 60);
        setenv("TZ", z, 1); show(z);
    }
    setenv("TZ", "", 1); show("empty");
    if (!chroot("/proc/self/fdinfo")) { setenv("TZ", "Asia/Seoul", 1); show("after chroot"); setenv("TZ", "JST-9", 1); show("after chroot"); }
    return 0;
}
