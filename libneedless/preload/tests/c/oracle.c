/* Calls the preloaded library and a second C library in the same process, and counts the differences. argv: the least
   number of comparisons, the least number of seconds, the seed, the file of inputs. A line of that file is a class
   ('s': mktime is specified, 'o': it is not), the TZ in hexadecimal ("-": unset), and moments to test. */
#include "second.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct library ours, theirs;
/* Shared by the processes that compare one after the other. */
static struct all {
    uint64_t state, made[20], differ[20], comparisons;
    /* Zones tested, and how many of them the preloaded library left to the C library. */
    uint64_t zones, left;
    int shown[20];
    size_t line;
} *all;
static uint64_t next(void) {
    all->state ^= all->state << 13; all->state ^= all->state >> 7; all->state ^= all->state << 17;
    return all->state * 0x2545f4914f6cdd1dull;
}
static uint64_t below(uint64_t end) { return (next() >> 11) % end; }

/* What is compared. Those from TZSET on must not differ. */
enum what { MKTIME_OPEN, VARIABLES_OVERFLOWN, TZSET, OVERFLOWN, LOCALTIME, GMTIME, VARIABLES, MKTIME, TIMEGM, CTIME, STRFTIME,
            WCSFTIME, ERRNO, KINDS };
static const char *names[KINDS] = {"mktime where it is unspecified", "variables after a conversion that fails",
    "tzset", "struct tm of a conversion that fails", "localtime", "gmtime", "variables", "mktime", "timegm", "ctime", "strftime", "wcsftime", "errno"};
static char tz[4096] = "TZ=", before[4096], last_shown[KINDS][4096];
static char *set[] = {tz, 0}, *unset[] = {0};

static char class;
/* Whether the C library lacks the fix of its bug 29951: then daylight is 0 in zones that abolished daylight saving time. */
static int before_29951;
/* The fields that were converted, if it was fields. */
static const struct tm *asked;
static void show(const char *who, const char *how, int64_t t, const struct tm *tm);

static int differs(enum what what, int same) {
    all->comparisons++;
    all->made[what]++;
    if (same) return 0;
    all->differ[what]++;
    if (all->differ[what] > 400 || !strcmp(last_shown[what], tz)) return 0;
    strcpy(last_shown[what], tz);
    if (all->shown[what]++ >= 8) return 0;
    printf("%s: %s (before it %s)\n", names[what], *ours.environ == set ? tz : "no TZ", before);
    if (asked) show("asked ", "", 0, asked);
    return 1;
}

static const char *text(const char *s) { return s ? s : "(null)"; }
static int same_tm(const struct tm *a, const struct tm *b) {
    return a->tm_sec == b->tm_sec && a->tm_min == b->tm_min && a->tm_hour == b->tm_hour && a->tm_mday == b->tm_mday
        && a->tm_mon == b->tm_mon && a->tm_year == b->tm_year && a->tm_wday == b->tm_wday && a->tm_yday == b->tm_yday
        && a->tm_isdst == b->tm_isdst && a->tm_gmtoff == b->tm_gmtoff && !strcmp(text(a->tm_zone), text(b->tm_zone));
}
static void show(const char *who, const char *how, int64_t t, const struct tm *tm) {
    printf("  %s %s %lld: %d-%d-%d %d:%d:%d w%d y%d dst%d off%ld %s\n", who, how, (long long)t, tm->tm_year, tm->tm_mon,
           tm->tm_mday, tm->tm_hour, tm->tm_min, tm->tm_sec, tm->tm_wday, tm->tm_yday, tm->tm_isdst, tm->tm_gmtoff, text(tm->tm_zone));
}
/* All fields have values that no conversion gives. */
static struct tm filled(void) {
    return (struct tm){.tm_sec = -7, .tm_min = -7, .tm_hour = -7, .tm_mday = -7, .tm_mon = -7, .tm_year = -7, .tm_wday = -7,
                       .tm_yday = -7, .tm_isdst = -7, .tm_gmtoff = -7, .tm_zone = "untouched"};
}
static void clear_errno(void) { *ours.errno_location() = *theirs.errno_location() = 0; }
/* A successful conversion may set errno: glibc does so where it looks for posixrules again, and where mktime searches for
   the other flag beyond the last year. */
static void same_errno(const char *how, int64_t t, int failed) {
    int64_t years_17 = 17ll * 366 * 86400, last = 67768036191676799, first = -67768040609740800;
    if (!failed && (class == 'o' || t > last - years_17 || t < first + years_17)) return;
    int a = *ours.errno_location(), b = *theirs.errno_location();
    if (differs(ERRNO, a == b)) printf("  %s %lld: ours %d theirs %d\n", how, (long long)t, a, b);
}
static void same_variables(enum what what, const char *how, int64_t t) {
    int same = !strcmp(ours.tzname[0], theirs.tzname[0]) && !strcmp(ours.tzname[1], theirs.tzname[1])
        && *ours.timezone == *theirs.timezone && (before_29951 || *ours.daylight == *theirs.daylight);
    if (differs(what, same))
        printf("  after %s %lld: ours %s %s %ld %d\n  theirs %s %s %ld %d\n", how, (long long)t, ours.tzname[0], ours.tzname[1],
               *ours.timezone, *ours.daylight, theirs.tzname[0], theirs.tzname[1], *theirs.timezone, *theirs.daylight);
}

static int broken_down(const char *how, int64_t t, int reentrant, int local, struct tm *a) {
    struct tm b = filled(), *x, *y;
    time_t at = t;
    *a = filled();
    clear_errno();
    if (reentrant) {
        x = local ? ours.localtime_r(&at, a) : ours.gmtime_r(&at, a);
        y = local ? theirs.localtime_r(&at, &b) : theirs.gmtime_r(&at, &b);
    } else {
        x = local ? ours.localtime(&at) : ours.gmtime(&at);
        y = local ? theirs.localtime(&at) : theirs.gmtime(&at);
        if (x) *a = *x;
        if (y) b = *y;
    }
    enum what what = x ? local ? LOCALTIME : GMTIME : OVERFLOWN;
    if (differs(what, !x == !y && same_tm(a, &b))) {
        if (!x != !y) printf("  %s %lld: ours %s, theirs %s\n", how, (long long)t, x ? "converts" : "fails", y ? "converts" : "fails");
        show("ours  ", how, t, a);
        show("theirs", how, t, &b);
    }
    same_errno(how, t, !x);
    same_variables(x ? VARIABLES : VARIABLES_OVERFLOWN, how, t);
    return x && y;
}

static void back(enum what what, const char *how, time_t (*f)(struct tm *), time_t (*g)(struct tm *), struct tm tm) {
    struct tm a = tm, b = tm;
    asked = &tm;
    clear_errno();
    int64_t x = f(&a), y = g(&b);
    int same = x == y && same_tm(&a, &b);
    if (differs(what, same)) {
        show("ours  ", how, x, &a);
        show("theirs", how, y, &b);
    }
    if (same) {
        /* -1 is a moment, too. */
        same_errno(how, x, x == -1 && (*ours.errno_location() == EOVERFLOW || *theirs.errno_location() == EOVERFLOW));
        same_variables(x == -1 && *theirs.errno_location() ? VARIABLES_OVERFLOWN : VARIABLES, how, x);
    }
    asked = 0;
}

static void same_text(enum what what, const char *how, int64_t t, const char *x, const char *y) {
    if (differs(what, !x == !y && !strcmp(text(x), text(y))))
        printf("  %s %lld: ours %s\n  theirs %s\n", how, (long long)t, text(x), text(y));
    same_errno(how, t, !x);
}

/* A format as in the manual page, now and then an invalid one. No %s with flags: see the book. */
static void format(char *f) {
    int parts = below(3) ? 1 + below(3) : 1 + below(12);
    while (parts--) {
        if (!below(4)) { *f++ = " -:/.,Tx\t\n"[below(10)]; continue; }
        *f++ = '%';
        int plain = below(2);
        for (int i = plain ? 0 : below(3); i > 0; i--) *f++ = "_-0^#+"[below(6)];
        if (!plain && !below(3)) f += sprintf(f, "%d", (int)below(below(20) ? 14 : 300));
        if (!plain && !below(3)) *f++ = "EO"[below(2)];
        char conversion = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%YmdHMSsZz+Nvfq!"[below(57)];
        *f++ = plain || conversion != 's' ? conversion : 'S';
    }
    if (!below(30)) *f++ = '%';
    *f = 0;
}

/* For %Z with an empty name the C library reads the zone again, so that its first call differs from its second. */
static void formatted_errno(const char *f, size_t length) {
    if (*theirs.tzname[0] && *theirs.tzname[1]) same_errno(f, length, 0);
    /* %s of fields that are not a moment, or without room for it: the library computes it before it knows. */
    int no_room = !length && strchr(f, 's');
    same_variables(*theirs.errno_location() || no_room ? VARIABLES_OVERFLOWN : VARIABLES, f, length);
}

/* Whether mktime is unspecified: in TZ strings, corrupted files, and at a leap second with a flag that contradicts the
   zone. */
static int is_open(const struct tm *tm) {
    int at_the_minute = tm->tm_sec <= 1 || tm->tm_sec >= 59;
    return class == 'o' || (strstr(tz, "right/") && at_the_minute && tm->tm_isdst >= 0);
}

static int is_ascii(const char *s) {
    while (s && *s) if (*s++ & 0x80) return 0;
    return 1;
}

static void formatted(struct tm tm) {
    char f[700], a[700], b[700];
    wchar_t wf[700], wa[700], wb[700];
    format(f);
    /* Where mktime is unspecified, %s is, too. */
    for (char *s = f; is_open(&tm) && (s = strstr(s, "%s")); ) s[1] = 'S';
    /* An empty name, as some corrupted files have, cannot be passed to the C library. With posixrules a zone has
       another name after each tzset, which the library calls before it knows whether %c uses the name. */
    if (class == 'o' && (!tm.tm_zone || !*tm.tm_zone)) tm.tm_zone = "GMT";
    /* Without room for the text before %s the C library does not read the zone. */
    size_t room = below(3) || strstr(f, "%s") ? 600 : below(below(2) ? 12 : 60), x, y;
    int with_locale = !below(4);
    clear_errno();
    struct tm before = tm;
    asked = &before;
    if (with_locale) {
        x = ours.strftime_l(a, room, f, &tm, ours.locale);
        y = theirs.strftime_l(b, room, f, &tm, theirs.locale);
    } else {
        x = ours.strftime(a, room, f, &tm);
        y = theirs.strftime(b, room, f, &tm);
    }
    int same = x == y && (!x || !memcmp(a, b, x + 1)) && same_tm(&tm, &before);
    if (differs(STRFTIME, same))
        printf("  \"%s\" in %zu: ours %zu \"%s\", theirs %zu \"%s\"\n", f, room, x, x ? a : "", y, y ? b : "");
    formatted_errno(f, x);
    /* glibc 2.36 overwrites its stack if wcsftime gets a name that is invalid in the locale. */
    int wide = is_ascii(tm.tm_zone) && is_ascii(theirs.tzname[0]) && is_ascii(theirs.tzname[1]);
    if (below(4) || !wide) { asked = 0; return; }
    for (size_t i = 0; (wf[i] = (unsigned char)f[i]); i++);
    clear_errno();
    x = with_locale ? ours.wcsftime_l(wa, room, wf, &tm, ours.locale) : ours.wcsftime(wa, room, wf, &tm);
    y = with_locale ? theirs.wcsftime_l(wb, room, wf, &tm, theirs.locale) : theirs.wcsftime(wb, room, wf, &tm);
    if (differs(WCSFTIME, x == y && (!x || !wmemcmp(wa, wb, x + 1))))
        printf("  \"%s\" in %zu: ours %zu \"%ls\", theirs %zu \"%ls\"\n", f, room, x, x ? wa : L"", y, y ? wb : L"");
    formatted_errno(f, x);
    asked = 0;
}

static int odd(void) { return below(2) ? (int)below(70) - 3 : (int)((int32_t)next() >> below(31)); }

/* Compares some of the functions for one moment, in random order. */
static void moment(int64_t t) {
    struct tm tm, copy;
    time_t at = t;
    char a[200], b[200];
    int r = below(64);
    if (!broken_down(r & 1 ? "localtime" : "localtime_r", t, !(r & 1), 1, &tm)) {
        broken_down("gmtime_r", t, r & 2, 0, &tm);
        if (r & 12) return;
        clear_errno();
        strcpy(a, "before"); strcpy(b, "before");
        const char *x = ours.ctime_r(&at, a), *y = theirs.ctime_r(&at, b);
        same_text(CTIME, "ctime_r", t, x, y);
        clear_errno();
        x = ours.ctime(&at); y = theirs.ctime(&at);
        same_text(CTIME, "ctime", t, x, y);
        return;
    }
    copy = tm;
    clear_errno();
    switch (r >> 1 & 7) {
    case 0: broken_down("gmtime_r", t, r & 16, 0, &copy); formatted(copy); break;
    case 1: {
        const char *x = ours.ctime_r(&at, a), *y = theirs.ctime_r(&at, b);
        same_text(CTIME, "ctime_r", t, x, y);
        break;
    }
    case 2: {
        const char *x = ours.ctime(&at), *y = theirs.ctime(&at);
        same_text(CTIME, "ctime", t, x, y);
        break;
    }
    case 3:
    case 4:
    case 5: {
        if (!below(3)) {
            if (below(2)) copy.tm_hour += odd() % 99, copy.tm_mday += odd() % 99;
            copy.tm_sec += odd() % 9999;
        }
        if (!below(9)) copy.tm_mon = odd();
        if (!below(20)) copy.tm_sec = odd(), copy.tm_min = odd(), copy.tm_year = odd();
        copy.tm_isdst = below(5) ? below(3) ? -1 : tm.tm_isdst : odd();
        int summer = copy.tm_isdst >= 0 && !copy.tm_isdst != !tm.tm_isdst;
        /* With a flag that contradicts the zone glibc searches for a tenth of a millisecond. */
        if (summer && below(8)) copy.tm_isdst = -1;
        /* In corrupted files whose leap seconds jump, its answer depends on the one before, as mktime's does. */
        if (!below(4)) { back(class == 'o' ? MKTIME_OPEN : TIMEGM, "timegm", ours.timegm, theirs.timegm, copy); break; }
        int which = below(2);
        back(is_open(&copy) ? MKTIME_OPEN : MKTIME, "mktime", which ? ours.mktime : ours.timelocal, which ? theirs.mktime : theirs.timelocal, copy);
        break;
    }
    default:
        if (!below(4)) copy.tm_isdst = (int)below(3) - 1;
        if (!below(8)) copy.tm_zone = below(2) ? 0 : "";
        if (!below(8)) {
            copy = (struct tm){.tm_sec = odd(), .tm_min = odd(), .tm_hour = odd(), .tm_mday = odd(), .tm_mon = odd(), .tm_year = odd(),
                .tm_wday = odd(), .tm_yday = odd(), .tm_isdst = (int)below(3) - 1, .tm_gmtoff = below(2) ? 0 : odd(), .tm_zone = below(2) ? 0 : "ABC"};
        }
        formatted(copy);
    }
}

static int64_t random_moment(void) {
    switch (below(5)) {
    case 0: return (int64_t)next() >> 8;
    case 1: return (int64_t)(below(1ull << 34)) - (1ll << 33);
    case 2: return 946684800 + (int64_t)below(1ull << 32) - (1ll << 31);
    case 3: return 67767976233000000 + (int64_t)below(4000000) - 2000000;
    default: return (int64_t)next() >> below(63);
    }
}

static void enter(const char *hex) {
    static int was_open;
    char value[4096] = "";
    snprintf(before, sizeof before, "%s", *ours.environ == set ? tz : "no TZ");
    int is_set = *hex != '-';
    if (is_set) {
        size_t n = strlen(hex) / 2;
        for (size_t i = 0; i < n; i++) { unsigned byte; sscanf(hex + 2 * i, "%2x", &byte); value[i] = (char)byte; }
    }
    int clear = class == 'o' || !below(4);
    /* A zone without transitions clears what glibc keeps of the zone before. */
    if (clear) {
        strcpy(tz, "TZ=Etc/UTC");
        *ours.environ = *theirs.environ = set;
        ours.tzset(); theirs.tzset();
    }
    snprintf(tz, sizeof tz, "TZ=%.4000s", value);
    *ours.environ = *theirs.environ = is_set ? set : unset;
    struct tm tm;
    /* localtime_r does not check whether TZ changed. */
    if (!clear && !below(4)) broken_down("localtime_r before tzset", random_moment(), 1, 1, &tm);
    ours.tzset(); theirs.tzset();
    if (clear) ours.tzset(), theirs.tzset();
    /* mktime keeps the offset of its last answer from UTC, which differs where it is unspecified. */
    if (was_open && class != 'o') {
        struct tm noon = {.tm_year = 101, .tm_mday = 15, .tm_hour = 12, .tm_isdst = -1}, too = noon;
        ours.mktime(&noon); theirs.mktime(&too);
        ours.tzset(); theirs.tzset();
    }
    was_open = class == 'o';
    same_variables(TZSET, "tzset", 0);
}

static const int around[] = {0, 1, -1, 2, -2, 3599, -3599, 3600, -3600, 3601, -3601, 86400, -86400};

/* Whether the preloaded library answers: then the name of the zone is in its memory. */
static int is_ours(void) {
    time_t noon = 1000000000;
    struct tm tm;
    Dl_info of = {0};
    /* Both are checked, since the answer is visible in tzname. */
    theirs.localtime_r(&noon, &tm);
    return ours.localtime_r(&noon, &tm) && dladdr(tm.tm_zone, &of) && strstr(of.dli_fname, "libneedless_localtime.so");
}

/* Compares the zone and moments of one line of the file, for the first time or again. */
static void ask(const char *line, int first) {
    class = line[0];
    char hex[8192];
    int used = 0;
    if (sscanf(line + 1, " %8191s%n", hex, &used) != 1) { printf("a line of another form: %s\n", line); exit(2); }
    enter(hex);
    all->zones++;
    all->left += !is_ours();
    for (char *at = line + 1 + used, *rest; *at; at = rest) {
        int64_t t = strtoll(at, &rest, 10);
        if (rest == at) break;
        if (!first && below(8)) continue;
        for (size_t k = 0; k < sizeof around / sizeof *around; k++) moment((int64_t)((uint64_t)t + around[k]));
    }
    for (int k = below(first ? 100 : 2000); k >= 0; k--) moment(random_moment());
}

int main(int argc, char **argv) {
    uint64_t least = strtoull(argv[1], 0, 10);
    time_t (*clock_of)(time_t *) = time;
    time_t end = clock_of(0) + atol(argv[2]);
    all = mmap(0, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    all->state = strtoull(argv[3], 0, 10) * 0x9e3779b97f4a7c15u + 1;
    load_both(&ours, &theirs);
    FILE *f = fopen(argv[4], "r");
    if (!f) { perror(argv[4]); return 2; }
    static char *lines[100000];
    size_t n = 0, room = 0;
    for (char *line = 0; n < 100000 && getline(&line, &room, f) > 0; line = 0, room = 0) line[strcspn(line, "\n")] = 0, lines[n++] = line;
    fclose(f);
    if (!n) { fprintf(stderr, "%s is empty\n", argv[4]); return 2; }
    const char *locale = argc > 5 ? argv[5] : "C";
    ours.locale = ours.newlocale(LC_ALL_MASK, locale, 0);
    theirs.locale = theirs.newlocale(LC_ALL_MASK, locale, 0);
    if (!ours.setlocale(LC_ALL, locale) || !theirs.setlocale(LC_ALL, locale) || !ours.locale || !theirs.locale) {
        fprintf(stderr, "no locale %s\n", locale);
        return 2;
    }
    strcpy(tz, "TZ=America/Whitehorse");
    *theirs.environ = set;
    theirs.tzset();
    before_29951 = !strcmp(theirs.tzname[0], "MST") && !*theirs.daylight;
    if (before_29951) puts("the C library lacks the correction of its bug 29951: daylight is not compared");
    *ours.environ = *theirs.environ = unset;
    ours.tzset(); theirs.tzset();
    /* Each line once, in random order, then random lines. */
    for (size_t i = 0; i < n; i++) { size_t k = i + below(n - i); char *line = lines[i]; lines[i] = lines[k]; lines[k] = line; }
    /* The library has room for some 50 zones of files and leaves others to the C library: a new process for every 40. */
    while (all->line < n || all->comparisons < least || clock_of(0) < end) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            for (int k = 0; k < 40; k++) ask(all->line < n ? lines[all->line] : lines[below(n)], all->line < n), all->line++;
            fflush(stdout);
            _exit(0);
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status) { printf("a process ended with %x\n", status); return 2; }
    }
    printf("%llu of %llu zones were left to the C library\n", (unsigned long long)all->left, (unsigned long long)all->zones);
    if (all->left * 20 > all->zones) return 1;
    for (int i = 0; i < KINDS; i++) printf("%12llu  %8llu differ  %s\n", (unsigned long long)all->made[i], (unsigned long long)all->differ[i], names[i]);
    printf("%llu comparisons\n", (unsigned long long)all->comparisons);
    for (int i = TZSET; i < KINDS; i++) if (all->differ[i]) return 1;
    return 0;
}
