import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Load for a JVM: threads that allocate, throw, use null (a signal), ask for files, lock and interrupt each other, while
 * collections and compilations stop them at safepoints (signals, too). Arguments: seconds. Each round has one sum; a
 * round with another one is an error. Prints the sum and, on standard error, how many rounds there were.
 */
public class Load {
    static final AtomicLong rounds = new AtomicLong();
    static Object nothing;

    static long round() {
        long sum = 0;
        HashMap<Integer, String> map = new HashMap<>();
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            map.put(i * 31 % 5_000, "v" + i);
            if (i % 20 == 0) kept.add(new byte[i % 4_096]);
            if (i % 100 == 0) {
                try {
                    sum += nothing.hashCode();
                } catch (NullPointerException e) {
                    sum += 3;
                }
                try {
                    sum += deep(i % 200);
                } catch (IllegalStateException e) {
                    sum += e.getMessage().length();
                }
            }
            if (i % 400 == 0) {
                if (new File("/etc/passwd").length() > 0) sum += 5;
                if (!new File("/etc/none/" + i).exists()) sum += 7;
            }
        }
        for (String value : map.values()) sum = sum * 31 + value.hashCode();
        for (byte[] bytes : kept) sum += bytes.length;
        return sum;
    }

    static int deep(int depth) {
        if (depth == 0) throw new IllegalStateException("the end");
        return 1 + deep(depth - 1);
    }

    public static void main(String[] arguments) throws Exception {
        long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        long expected = round();
        List<Thread> threads = new ArrayList<>();
        for (int n = 0; n < 6; n++) {
            Thread thread = new Thread(() -> {
                while (System.nanoTime() < until) {
                    long sum = round();
                    if (sum != expected) {
                        System.out.println("WRONG: " + sum);
                        System.exit(3);
                    }
                    rounds.incrementAndGet();
                    // Somebody interrupts this.
                    try {
                        Thread.sleep(1);
                    } catch (InterruptedException e) {
                        Thread.interrupted();
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        while (System.nanoTime() < until) {
            Thread.sleep(50);
            for (Thread thread : threads) thread.interrupt();
            Thread.getAllStackTraces();
            if (rounds.get() % 7 == 0) System.gc();
        }
        for (Thread thread : threads) thread.join();
        System.out.println("sum " + expected);
        System.err.println(rounds.get() + " rounds");
    }
}
