// SPDX-License-Identifier: Apache-2.0
// Threads at the end of 2,000 call paths of 100 Java methods. Usage: Deep THREADS
public class Deep {
    abstract static class Step {
        abstract long go(int depth, long path);

        static Step next(long path) {
            return STEPS[(int) (path >>> 33 & 7)];
        }

        static long turn(long path) {
            return path * 6364136223846793005L + 1442695040888963407L;
        }
    }

    static final class A extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 1 + next(p).go(n - 1, turn(p)); }
    }

    static final class B extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 2 + next(p).go(n - 1, turn(p)); }
    }

    static final class C extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 3 + next(p).go(n - 1, turn(p)); }
    }

    static final class D extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 4 + next(p).go(n - 1, turn(p)); }
    }

    static final class E extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 5 + next(p).go(n - 1, turn(p)); }
    }

    static final class F extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 6 + next(p).go(n - 1, turn(p)); }
    }

    static final class G extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 7 + next(p).go(n - 1, turn(p)); }
    }

    static final class H extends Step {
        long go(int n, long p) { return n == 0 ? spin(p) : 8 + next(p).go(n - 1, turn(p)); }
    }

    static final Step[] STEPS = {new A(), new B(), new C(), new D(), new E(), new F(), new G(), new H()};
    static final int PATHS = 2000, DEPTH = 97; // with run(), spin() and the thread's own: 100
    static volatile long sink;

    static long spin(long path) {
        long x = path;
        for (int i = 0; i < 20000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    static void run() {
        for (long i = 0;; i++) {
            long path = Step.turn(Step.turn(i % PATHS + 1));
            sink += Step.next(path).go(DEPTH - 1, Step.turn(path));
        }
    }

    public static void main(String[] args) {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            new Thread(Deep::run).start();
        }
    }
}
