/* Random numbers, the same in each run: xorshift. */
static unsigned long long state;
static unsigned below(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 20) % n;
}
