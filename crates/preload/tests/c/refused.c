/* What getdate says of a DATEMSK that is missing, strange or fine, and of texts with blanks or of great length. Usage:
 * refused FOLDER. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv) {
    static const char *masks[] = {0, "", "/nonexistent", ".", "/dev/null", "lines", "nul", "junk", "long", "secret"};
    static char far[3000];
    memset(far, 'x', sizeof far - 1);
    strcpy(far + sizeof far - 4, "  ");
    const char *texts[] = {"2/3", "  ", "13", " 13 ", "2/30", "", far};
    if (chdir(argv[1])) return 2;
    for (unsigned m = 0; m < sizeof masks / sizeof *masks; m++) {
        if (masks[m]) setenv("DATEMSK", masks[m], 1);
        else unsetenv("DATEMSK");
        for (unsigned t = 0; t < sizeof texts / sizeof *texts; t++) {
            struct tm tm = {0};
            getdate_err = 0, errno = 0;
            int code = getdate_r(texts[t], &tm);
            /* What a failure leaves in it is nobody's. */
            if (code) tm = (struct tm){0};
            struct tm *date = getdate(texts[t]);
            printf("%s %.9s: %d %d %d, year %d month %d\n", masks[m] ? masks[m] : "unset", texts[t], code, getdate_err,
                date ? date->tm_mday : -1, tm.tm_year, tm.tm_mon);
        }
    }
    return 0;
}
