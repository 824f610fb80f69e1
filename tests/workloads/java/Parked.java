// SPDX-License-Identifier: Apache-2.0
// A stack that stays as it is: main, down six times, sleep. Says "ready" first.
public class Parked {
    static void down(int n) throws Exception {
        if (n > 0) {
            down(n - 1);
            return;
        }
        System.out.println("ready");
        Thread.sleep(100000);
    }

    public static void main(String[] args) throws Exception {
        down(5);
    }
}
