/* The times that every program here converts, and a clock. */
#include <stdint.h>
#include <time.h>

static time_t a_year[1024], a_century[1024];

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static inline void fill_times(void) {
    for (int i = 0; i < 1024; i++) a_year[i] = 1700000000 + (time_t)(next() % 31556952);
    for (int i = 0; i < 1024; i++) a_century[i] = -1577923200 + (time_t)(next() % 4733539200u);
}

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
