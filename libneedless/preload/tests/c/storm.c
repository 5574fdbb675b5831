/* argv[1] times the functions that need not ask while TZ is unset. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    long n = atol(argv[1]);
    unsigned long sum = 0;
    for (long i = 0; i < n; i++) {
        time_t t = 1700000000 + i;
        if (i % 3 == 0) sum += ctime(&t)[18];
        else if (i % 3 == 1) tzset();
        sum += localtime(&t)->tm_sec;
    }
    printf("%lu\n", sum);
    return 0;
}
