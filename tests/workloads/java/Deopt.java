// SPDX-License-Identifier: Apache-2.0
// What the compiler assumed about a call turns out wrong, each time with a new class.
class Deopt {
    static long use(Split.Work w, long n) {
        long sum = 0;
        for (int i = 0; i < 50; i++) {
            sum += w.work(n % 20);
        }
        return sum;
    }

    static long round(int round) throws Exception {
        Split.Work w = round % 100 == 0 ? fresh() : Split.PAIR[round % 2];
        return use(w, round);
    }

    static Split.Work fresh() throws Exception {
        if (Churn.bytes == null) {
            Churn.bytes = Churn.load();
        }
        Class<?> c = new Churn.Loader().define(Churn.bytes);
        return (Split.Work) c.getDeclaredConstructor().newInstance();
    }
}
