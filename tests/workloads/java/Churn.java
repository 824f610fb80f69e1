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
            return Split.spin(n % 50);
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
        Class<?> c = new Loader().define(bytes);
        Split.Work w = (Split.Work) c.getDeclaredConstructor().newInstance();
        long sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += w.work(i);
        }
        return sum;
    }
}
