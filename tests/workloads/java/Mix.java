// SPDX-License-Identifier: Apache-2.0
// Much of the JDK's own code at once, for a comparison of profilers: no method takes
// most of the time. Usage: Mix SECONDS THREADS
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.Deflater;

public class Mix {
    static final Pattern WORD = Pattern.compile("(\\w+)=(\\d+|\"[^\"]*\")");
    static volatile long sink;
    static volatile boolean stop;

    final Random random = new Random(7);
    final byte[] noise = new byte[1 << 13];
    final String[] words = new String[500];

    Mix() {
        random.nextBytes(noise);
        for (int i = 0; i < words.length; i++) {
            words[i] = "w" + random.nextInt(100000);
        }
    }

    long sort() {
        List<String> list = new ArrayList<>(Arrays.asList(words));
        list.sort((a, b) -> a.length() != b.length() ? a.length() - b.length() : a.compareTo(b));
        int[] numbers = random.ints(2000).toArray();
        Arrays.sort(numbers);
        return list.get(0).length() + numbers[0];
    }

    long count() {
        Map<String, Integer> hash = new HashMap<>();
        Map<String, Integer> tree = new TreeMap<>();
        for (int i = 0; i < 1000; i++) {
            String w = words[random.nextInt(words.length)];
            hash.merge(w, 1, Integer::sum);
            tree.put(w, i);
        }
        return hash.size() + tree.size();
    }

    long match() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            text.append(words[i]).append(i % 2 == 0 ? "=\"" : "=").append(i).append(i % 2 == 0 ? "\" " : " ");
        }
        Matcher m = WORD.matcher(text);
        long n = 0;
        while (m.find()) {
            n += m.group(2).length();
        }
        return n;
    }

    long digest() throws Exception {
        MessageDigest d = MessageDigest.getInstance("SHA-256");
        d.update(noise);
        return d.digest()[0];
    }

    long deflate() {
        Deflater d = new Deflater(6);
        byte[] out = new byte[noise.length * 2];
        d.setInput(noise);
        d.finish();
        long n = d.deflate(out);
        d.end();
        return n;
    }

    long text() {
        long sum = 0;
        for (int i = 0; i < 300; i++) {
            sum += Double.toString(random.nextDouble() * 1000).length();
            sum += (long) Double.parseDouble("3." + random.nextInt(1 << 30));
        }
        return sum;
    }

    long stream() {
        return Arrays.stream(words).filter(w -> w.length() > 3).map(String::toUpperCase)
            .collect(Collectors.groupingBy(String::length, Collectors.counting())).size();
    }

    long big() {
        BigInteger base = new BigInteger(256, random);
        BigInteger modulus = new BigInteger(256, random).setBit(0).setBit(255);
        return base.modPow(BigInteger.valueOf(65537), modulus).bitLength();
    }

    static double[][] square(int n) {
        double[][] m = new double[n][n];
        for (int i = 0; i < n; i++) {
            Arrays.fill(m[i], i + 0.5);
        }
        return m;
    }

    long multiply() {
        int n = 48;
        double[][] a = square(n), b = square(n);
        double sum = 0;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                for (int k = 0; k < n; k++) {
                    sum += a[i][k] * b[k][j];
                }
            }
        }
        return (long) sum;
    }

    static final class Node {
        final Node left, right;

        Node(int depth) {
            left = depth > 0 ? new Node(depth - 1) : null;
            right = depth > 0 ? new Node(depth - 1) : null;
        }

        long count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    long tree() {
        return new Node(11).count();
    }

    void run() throws Exception {
        while (!stop) {
            long sum = sort() + count() + match() + match() + text() + stream() + multiply() + tree();
            for (int i = 0; i < 4; i++) {
                sum += digest() + big();
            }
            sink += sum + deflate();
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            Thread t = new Thread(() -> {
                try {
                    new Mix().run();
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "mix-" + i);
            t.setDaemon(true);
            t.start();
        }
        Thread.sleep(1000 * Long.parseLong(args[0]));
        stop = true;
    }
}
