/* A plugin that binds to the C library itself (RTLD_DEEPBIND) has the zone that the program has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int hour(time_t t) {
    struct tm tm;
    return localtime_r(&t, &tm)->tm_hour;
}
#ifndef PLUGIN
int main(int argc, char **argv) {
    const char *zones[] = {"Asia/Tokyo", "UTC", "Asia/Tokyo", 0, "UTC", 0, "EST5", "Asia/Tokyo", 0};
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
    int (*of_plugin)(time_t) = plugin ? dlsym(plugin, "hour") : 0;
    if (!of_plugin) { puts(dlerror()); return 1; }
    for (int i = 0; i < 9; i++) {
        time_t t = 1717243445;
        if (zones[i]) setenv("TZ", zones[i], 1); else unsetenv("TZ");
        tzset();
        printf("%s program %d plugin %d shared %d\n", zones[i] ? zones[i] : "unset", hour(t), of_plugin(t), localtime(&t)->tm_hour);
    }
    return 0;
}
#endif
