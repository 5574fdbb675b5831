/* getdate_r as it is called here beside the C library's own: random templates, texts and presents.
 * Usage: getdate FOLDER COUNT SEED. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include "clock.h"
#include "random.h"
/* Up to five conversions, and a text that mostly fits them. */
static void some(char *template, char *text) {
    static const char *conversions[] = {"%Y", "%m", "%d", "%H", "%M", "%S", "%a", "%A", "%B", "%b", "%y", "%C", "%I %p",
        "%j", "%e", "%D", "%T", "%R", "%U", "%W", "%u", "%w", "%Z", "%z", "%s", "%k", "%n", "%t", "%h", "%F", "%c", "%x", "%X", "%r", "%G", "%V"};
    struct tm tm = {.tm_year = 70 + below(140), .tm_mon = below(12), .tm_mday = 1 + below(31), .tm_hour = below(24),
        .tm_min = below(60), .tm_sec = below(60), .tm_isdst = -1};
    if (below(4)) { time_t t = timegm(&tm); gmtime_r(&t, &tm); }
    *template = 0, *text = 0;
    if (!below(8)) strcat(text, " \t");
    for (int left = 1 + below(5); left; left--) {
        const char *c = conversions[below(sizeof conversions / sizeof *conversions)];
        char part[200] = "";
        strcat(template, c), strftime(part, sizeof part, c, &tm), strcat(text, part);
        if (left > 1) strcat(template, "/"), strcat(text, "/");
    }
    if (!below(30)) strcat(text, "x");
    if (!below(8)) strcat(text, "  \n");
}
int main(int argc, char **argv) {
    long count = atol(argv[2]), differences = 0, found = 0, invalid = 0;
    int (*theirs)(const char *, struct tm *) = dlsym(dlopen("libc.so.6", RTLD_NOW), "getdate_r");
    if (theirs == getdate_r) { puts("getdate_r is not another one"); return 2; }
    if (fake_clock() < 2) { puts("no clock to set"); return 2; }
    setlocale(LC_ALL, "");
    char mask[4096];
    snprintf(mask, sizeof mask, "%s/templates", argv[1]);
    setenv("DATEMSK", mask, 1);
    state = 88172645463325252ull ^ atol(argv[3]);
    for (long i = 0; i < count; i++) {
        char templates[4][400], texts[4][1200];
        FILE *file = fopen(mask, "w");
        int lines = 1 + below(4);
        for (int k = 0; k < lines; k++) some(templates[k], texts[k]), fprintf(file, "%s%s", templates[k], k + 1 < lines || below(3) ? "\n" : "");
        fclose(file);
        for (int k = 0; k < lines; k++) {
            /* Days on which months, years and the clock change among them. */
            struct tm present = {.tm_year = 75 + below(100), .tm_mon = below(12), .tm_mday = below(3) ? 1 + below(28) : below(4),
                .tm_hour = below(24), .tm_min = below(60), .tm_sec = below(60)};
            fake_second = timegm(&present);
            struct tm want, got;
            memset(&want, 0x55, sizeof want), memset(&got, 0x55, sizeof got);
            int theirs_says = theirs(texts[k], &want), ours_says = getdate_r(texts[k], &got);
            found += !theirs_says, invalid += theirs_says == 8;
            int same = theirs_says == ours_says && (theirs_says || (want.tm_year == got.tm_year && want.tm_mon == got.tm_mon
                && want.tm_mday == got.tm_mday && want.tm_hour == got.tm_hour && want.tm_min == got.tm_min && want.tm_sec == got.tm_sec
                && want.tm_wday == got.tm_wday && want.tm_yday == got.tm_yday && want.tm_isdst == got.tm_isdst
                && want.tm_gmtoff == got.tm_gmtoff && !strcmp(want.tm_zone, got.tm_zone)));
            if (same || differences++ >= 10) continue;
            printf("now %ld \"%s\" by \"%s\": %d %d-%d-%d %d:%d:%d wday %d, ours %d %d-%d-%d %d:%d:%d wday %d\n", fake_second, texts[k], templates[k],
                theirs_says, want.tm_year, want.tm_mon, want.tm_mday, want.tm_hour, want.tm_min, want.tm_sec, want.tm_wday,
                ours_says, got.tm_year, got.tm_mon, got.tm_mday, got.tm_hour, got.tm_min, got.tm_sec, got.tm_wday);
        }
    }
    if (found < count / 2 || invalid < count / 50) printf("%ld dates, %ld invalid\n", found, invalid);
    printf("%ld differences\n", differences);
    return differences != 0;
}
