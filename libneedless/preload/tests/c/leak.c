/* Prints by how many kB the program grew during argv[1] changes of TZ among argv[2] values. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
extern char **environ;
static long resident(void) {
    long pages = 0; char line[200];
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f)) if (sscanf(line, "VmRSS: %ld", &pages) == 1) break;
    fclose(f);
    return pages;
}
int main(int argc, char **argv) {
    long flips = atol(argv[1]), values = atol(argv[2]);
    static char text[64];
    char *mine[] = {text, 0};
    environ = mine;
    strcpy(text, "TZ=A"); 
    time_t t = 1700000000;
    localtime(&t);
    long before = resident();
    for (long i = 0; i < flips; i++) {
        long v = i % values;
        sprintf(text, "TZ=A%c%c%c%ld:%02ld", 'A' + (int)(v % 26), 'A' + (int)(v / 26 % 26), 'A' + (int)(v / 676 % 26), v % 12, v / 12 % 60);
        if (!localtime(&t)) return 1;
    }
    printf("%ld\n", resident() - before);
    return 0;
}
