// SPDX-License-Identifier: Apache-2.0
// Loads its own inner class again and again in class loaders that are then dropped.
import java.io.ByteArrayOutputStream;
import java.io.InputStream;

class Churn {
    public static class Body implements Split.Work {
        public long work(long n) {
            long sum = 0;
            for (int i = 0; i < 200; i++) {
                sum += step(n + i);
            }
            return sum;
        }

        static long step(long n) {
            return Split.spin(n % 50) + mix(n);
        }

        // Too large to be inlined: kilobytes of code for each class.
        static long mix(long n) {
            long x = n;
            x ^= x << 7; x ^= x >>> 3; x += n * 31; x ^= x << 11;
            x ^= x << 8; x ^= x >>> 4; x += n * 33; x ^= x << 12;
            x ^= x << 9; x ^= x >>> 5; x += n * 35; x ^= x << 13;
            x ^= x << 10; x ^= x >>> 6; x += n * 37; x ^= x << 14;
            x ^= x << 11; x ^= x >>> 7; x += n * 39; x ^= x << 15;
            x ^= x << 12; x ^= x >>> 8; x += n * 41; x ^= x << 11;
            x ^= x << 13; x ^= x >>> 9; x += n * 43; x ^= x << 12;
            x ^= x << 14; x ^= x >>> 3; x += n * 45; x ^= x << 13;
            x ^= x << 15; x ^= x >>> 4; x += n * 47; x ^= x << 14;
            x ^= x << 7; x ^= x >>> 5; x += n * 49; x ^= x << 15;
            x ^= x << 8; x ^= x >>> 6; x += n * 51; x ^= x << 11;
            x ^= x << 9; x ^= x >>> 7; x += n * 53; x ^= x << 12;
            x ^= x << 10; x ^= x >>> 8; x += n * 55; x ^= x << 13;
            x ^= x << 11; x ^= x >>> 9; x += n * 57; x ^= x << 14;
            x ^= x << 12; x ^= x >>> 3; x += n * 59; x ^= x << 15;
            x ^= x << 13; x ^= x >>> 4; x += n * 61; x ^= x << 11;
            x ^= x << 14; x ^= x >>> 5; x += n * 63; x ^= x << 12;
            x ^= x << 15; x ^= x >>> 6; x += n * 65; x ^= x << 13;
            x ^= x << 7; x ^= x >>> 7; x += n * 67; x ^= x << 14;
            x ^= x << 8; x ^= x >>> 8; x += n * 69; x ^= x << 15;
            x ^= x << 9; x ^= x >>> 9; x += n * 71; x ^= x << 11;
            x ^= x << 10; x ^= x >>> 3; x += n * 73; x ^= x << 12;
            x ^= x << 11; x ^= x >>> 4; x += n * 75; x ^= x << 13;
            x ^= x << 12; x ^= x >>> 5; x += n * 77; x ^= x << 14;
            return x;
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static byte[] bytes;

    static byte[] load() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (InputStream in = Churn.class.getResourceAsStream("Churn$Body.class")) {
            for (int b = in.read(); b >= 0; b = in.read()) {
                out.write(b);
            }
        }
        return out.toByteArray();
    }

    static long round(int round) throws Exception {
        if (bytes == null) {
            bytes = load();
        }
        if (round % 40 == 0) {
            System.gc(); // unloads those of before
        }
        Class<?> c = new Loader().define(bytes);
        Split.Work w = (Split.Work) c.getDeclaredConstructor().newInstance();
        long sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += w.work(i);
        }
        return sum;
    }
}
