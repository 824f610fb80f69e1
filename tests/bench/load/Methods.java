// SPDX-License-Identifier: Apache-2.0
// Loads COUNT copies of a class with two methods of use, each under a name of its own, and
// calls them in turn for ever. Usage: Methods COUNT. Says "round" whenever all were called.
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

public class Methods {
    public interface Work {
        long work(long n);
    }

    // The name is as long as those of the copies.
    public static class Copy000000 implements Work {
        public long work(long n) {
            long sum = 0;
            for (int i = 0; i < 20; i++) {
                sum += step(n + i);
            }
            return sum;
        }

        static long step(long n) {
            long x = n;
            for (int i = 0; i < 1000; i++) {
                x = x * 6364136223846793005L + 1442695040888963407L;
            }
            return x;
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static byte[] load() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (InputStream in = Methods.class.getResourceAsStream("Methods$Copy000000.class")) {
            for (int b = in.read(); b >= 0; b = in.read()) {
                out.write(b);
            }
        }
        return out.toByteArray();
    }

    static byte[] named(byte[] bytes, int number) {
        byte[] from = "Copy000000".getBytes(StandardCharsets.US_ASCII);
        byte[] to = String.format("Copy%06d", number).getBytes(StandardCharsets.US_ASCII);
        byte[] ret = bytes.clone();
        for (int i = 0; i + from.length <= ret.length; i++) {
            int n = 0;
            while (n < from.length && bytes[i + n] == from[n]) {
                n++;
            }
            if (n == from.length) {
                System.arraycopy(to, 0, ret, i, n);
            }
        }
        return ret;
    }

    static volatile long sink;

    public static void main(String[] args) throws Exception {
        byte[] bytes = load();
        Work[] all = new Work[Integer.parseInt(args[0])];
        Loader loader = new Loader();
        for (int i = 0; i < all.length; i++) {
            all[i] = (Work) loader.define(named(bytes, i)).getDeclaredConstructor().newInstance();
        }
        while (true) {
            System.out.println("round");
            for (Work w : all) {
                sink += w.work(sink);
            }
        }
    }
}
