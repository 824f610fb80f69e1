// SPDX-License-Identifier: Apache-2.0
// A Java program whose shares and call graph are known. Usage: Split SECONDS MODE...
// Each mode is a thread of its own, named after it:
//   pair     two methods behind one interface, 70 to 30 of the same loop
//   recurse  300 calls of one method, the last one does that
//   deep     the same, 1500 calls
//   abyss    the same, 3000 calls
//   lambda   two lambdas, 70 to 30
//   virtual  pair in a virtual thread (21 and later)
//   yield    a virtual thread that steps aside, twenty calls deep (21 and later)
//   files    reads /dev/zero: system calls from Java
//   jni      native code that calls back into Java (libsplit.so)
//   churn    classes are loaded, compiled and dropped
//   deopt    a call site whose receivers change again and again
//   garbage  allocates
import java.io.RandomAccessFile;
import java.util.function.LongUnaryOperator;

public class Split {
    public interface Work {
        long work(long n);
    }

    static final class Hot implements Work {
        public long work(long n) {
            return spin(7 * n);
        }
    }

    static final class Cold implements Work {
        public long work(long n) {
            return spin(3 * n);
        }
    }

    static volatile long sink;
    static volatile boolean stop;

    // Small enough to be inlined everywhere; its loop is where time goes.
    public static long spin(long n) {
        long x = n;
        for (long i = 0; i < n; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    static final Work[] PAIR = {new Hot(), new Cold()};

    static long pair(int round) {
        long sum = 0;
        // Not in step with anything: the length of a round varies.
        long n = 2000 + round * 7919L % 4001;
        for (Work w : PAIR) {
            sum += w.work(n);
        }
        return sum;
    }

    static int turn;

    static long recurse(int depth) {
        if (depth == 0) {
            return pair(turn++);
        }
        return recurse(depth - 1) + depth;
    }

    static long lambda(int round) {
        LongUnaryOperator hot = n -> spin(7 * n) + round;
        LongUnaryOperator cold = n -> spin(3 * n) + round;
        long n = 2000 + round * 7919L % 4001;
        return hot.applyAsLong(n) + cold.applyAsLong(n);
    }

    static long aside(int depth) {
        if (depth == 0) {
            Thread.yield();
            return spin(20000);
        }
        return aside(depth - 1) + spin(500);
    }

    static long files(RandomAccessFile zero, byte[] buffer) throws Exception {
        return zero.read(buffer);
    }

    static native long down(int depth);

    // Called by native code.
    static long up(int depth) {
        return depth == 0 ? spin(20000) : down(depth - 1);
    }

    static long garbage(int round) {
        byte[][] kept = new byte[64][];
        for (int i = 0; i < 2000; i++) {
            kept[i % 64] = new byte[512 + i % 100];
        }
        return kept[round % 64].length;
    }

    static void run(String mode) throws Exception {
        RandomAccessFile zero = new RandomAccessFile("/dev/zero", "r");
        byte[] buffer = new byte[1 << 16];
        for (int round = 1; !stop; round++) {
            switch (mode) {
            case "pair":
            case "virtual":
                sink += pair(round);
                break;
            case "recurse":
                sink += recurse(300);
                break;
            case "deep":
                sink += recurse(1500);
                break;
            case "abyss":
                sink += recurse(3000);
                break;
            case "lambda":
                sink += lambda(round);
                break;
            case "yield":
                sink += aside(20);
                break;
            case "files":
                sink += files(zero, buffer);
                break;
            case "jni":
                sink += up(6);
                break;
            case "churn":
                sink += Churn.round(round);
                break;
            case "deopt":
                sink += Deopt.round(round);
                break;
            case "garbage":
                sink += garbage(round);
                break;
            default:
                throw new IllegalArgumentException(mode);
            }
        }
    }

    static void start(String mode) throws Exception {
        Runnable body = () -> {
            try {
                run(mode);
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        };
        if (mode.equals("virtual") || mode.equals("yield")) {
            // By reflection: the source is compiled for 8.
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
            return;
        }
        Thread t = new Thread(body, mode);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 1; i < args.length; i++) {
            if (args[i].equals("jni")) {
                System.loadLibrary("split");
            }
            start(args[i]);
        }
        Thread.sleep(1000 * Long.parseLong(args[0]));
        stop = true;
    }
}
