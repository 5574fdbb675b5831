import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneRules;

/** java.time: converts moments to all fields. Prints nanoseconds per call in the zone that is its argument. */
class Peer {
    public static void main(String[] args) {
        ZoneRules rules = ZoneId.of(args[0]).getRules();
        long state = 88172645463325252L;
        long[] times = new long[1024];
        for (int i = 0; i < times.length; i++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            times[i] = 1700000000L + Long.remainderUnsigned(state, 31556952L);
        }
        double best = 1e18;
        long sum = 0;
        for (int round = 0; round < 400; round++) {
            long start = System.nanoTime();
            for (long at : times) {
                ZoneOffset offset = rules.getOffset(Instant.ofEpochSecond(at));
                LocalDateTime t = LocalDateTime.ofEpochSecond(at, 0, offset);
                sum += t.getYear() - 1900 + t.getDayOfYear() - 1 + t.getMonthValue() - 1 + t.getDayOfMonth()
                    + t.getDayOfWeek().getValue() % 7 + t.getHour() + t.getMinute() + t.getSecond() + offset.getTotalSeconds();
            }
            best = Math.min(best, (System.nanoTime() - start) / 1024.0);
        }
        System.out.printf("%.1f %d%n", best, sum);
    }
}
