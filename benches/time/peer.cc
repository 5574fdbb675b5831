// abseil: converts moments to all fields. Prints nanoseconds per call in the zone that is its argument.
#include <cstdio>
#include "absl/time/time.h"
extern "C" {
#include "times.h"
}

int main(int, char **argv) {
    absl::TimeZone zone;
    if (!absl::LoadTimeZone(argv[1], &zone)) return 2;
    long sum = 0;
    double best = 1e18;
    fill_times();
    for (int round = 0; round < 400; round++) {
        double start = now();
        for (int i = 0; i < 1024; i++) {
            const auto at = zone.At(absl::FromUnixSeconds(a_year[i]));
            sum += at.cs.year() - 1900 + absl::GetYearDay(absl::CivilDay(at.cs)) - 1 + at.cs.month() - 1 + at.cs.day()
                + (static_cast<int>(absl::GetWeekday(absl::CivilDay(at.cs))) + 1) % 7 + at.cs.hour() + at.cs.minute() + at.cs.second() + at.offset;
        }
        double took = (now() - start) / 1024;
        if (took < best) best = took;
    }
    printf("%.1f %ld\n", best, sum);
}
