#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# By hand: test-java-replay with every JDK of a root, as it was recorded and with bytes
# changed. replay.sh TEST ROOT [ROUNDS]
test=$1 root=$2 rounds=${3:-300} failed=0
for home in "$root"/usr/lib/jvm/java-*; do
    [ -L "$home" ] && continue
    java=${home#"$root"}/bin/java
    echo "$java"
    GPC_TEST_JAVA=$java GPC_TEST_JAVA_ROOT=$root GPC_TEST_JAVA_ROUNDS=$rounds "$test" >/dev/null 2>&1 ||
        { echo "  failed"; failed=1; }
done
exit $failed
