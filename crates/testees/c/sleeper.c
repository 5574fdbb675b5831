/* Sets TZ anew after its start and stays: /proc/PID/environ has the old value, getenv() the new one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    setenv("TZ", "UTC", 1);
    puts("ready");
    fflush(stdout);
    sleep(100);
    return 0;
}
