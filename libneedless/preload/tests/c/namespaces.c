/* Loads argv[1] by dlopen, into a new namespace, and into one with a C library: its functions always answer as
   this program's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static int wrong;

static void *symbol(void *in, const char *name) {
    void *found = dlsym(in, name);
    if (!found) { printf("%s\n", dlerror()); exit(1); }
    return found;
}

static void same(const char *where, const char *name, const char *ours, const char *theirs) {
    if (ours && !strcmp(ours, theirs)) return;
    printf("%s: %s: %s, and not %s\n", where, name, ours ? ours : "nothing", theirs);
    wrong = 1;
}

static void ask(const char *where, void *in) {
    if (!in) { printf("%s: %s\n", where, dlerror()); exit(1); }
    char *(*in_letters)(const time_t *) = symbol(in, "ctime");
    char *(*in_letters_r)(const time_t *, char *) = symbol(in, "ctime_r");
    struct tm *(*convert)(const time_t *) = symbol(in, "localtime");
    time_t (*back)(struct tm *) = symbol(in, "mktime");
    size_t (*format)(char *, size_t, const char *, const struct tm *) = symbol(in, "strftime");
    size_t (*wide)(wchar_t *, size_t, const wchar_t *, const struct tm *) = symbol(in, "wcsftime");
    char *(*parse)(const char *, const char *, struct tm *) = symbol(in, "strptime");

    time_t t = 1700000000;
    struct tm tm = *localtime(&t), read = {0};
    char ours[64] = "", theirs[64], expected[64];
    wchar_t letters[64] = L"";

    strcpy(expected, ctime(&t));
    same(where, "ctime", in_letters(&t), expected);
    same(where, "ctime_r", in_letters_r(&t, ours), expected);
    struct tm *local = convert(&t);
    same(where, "localtime and asctime", local ? asctime_r(local, ours) : 0, expected);
    strftime(theirs, sizeof theirs, "%c %Z %s", &tm);
    same(where, "strftime", format(ours, sizeof ours, "%c %Z %s", &tm) ? ours : 0, theirs);
    wide(letters, 64, L"%c %Z %s", &tm);
    snprintf(ours, sizeof ours, "%ls", letters);
    same(where, "wcsftime", ours, theirs);
    char *end = parse("2023-11-14 rest", "%Y-%m-%d", &read);
    same(where, "strptime", end, " rest");
    snprintf(ours, sizeof ours, "%ld", (long)back(&tm));
    same(where, "mktime", ours, "1700000000");
}

int main(int argc, char **argv) {
    ask("dlopen", dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
    ask("a namespace of its own", dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW));
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    Lmid_t there;
    if (!libc || dlinfo(libc, RTLD_DI_LMID, &there)) { printf("%s\n", dlerror()); return 2; }
    ask("beside a C library", dlmopen(there, argv[1], RTLD_NOW));
    if (!wrong) puts("loaded");
    return wrong;
}
