#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh STAMP SOURCE_ROOT CC...: the processes that tests of core/proc read, free
# of sanitizers, whose shadow would be most of their memory. Those for musl are
# left out where musl-gcc is missing.
set -eu

stamp=$1 root=$2
shift 2
here=$root/tests/unit/proc/targets
out=$(cd "$(dirname "$stamp")" && pwd)/targets
mkdir -p "$out"
build() {
    "$@" -g -O1 -fno-omit-frame-pointer -pthread
}
build "$@" -shared -fPIC -DLINKED -o "$out/liblinked.so" "$here/library.c"
build "$@" -shared -fPIC -o "$out/libopened.so" "$here/library.c"
build "$@" -DLINKED -Wl,--build-id=sha1 -o "$out/target" "$here/target.c" "$out/liblinked.so" \
    -Wl,-rpath,"$out" -ldl
build "$@" -no-pie -fno-pie -Wl,--build-id=none -o "$out/fixed" "$here/target.c" -ldl
build "$@" -o "$out/interp" "$root/tests/workloads/interp.c"
if command -v musl-gcc >/dev/null; then
    build musl-gcc -o "$out/musl" "$here/target.c"
    build musl-gcc -DFILLER=5000 -o "$out/musl-large" "$here/target.c"
fi
: >"$stamp"
