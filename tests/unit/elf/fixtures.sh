#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links fixture.c and lines.c in many ways: fixtures.sh STAMP SOURCE MAP COMPILER...
set -eu
stamp=$1 source=$2 map=$3
shift 3
out=$(dirname "$stamp")/fixtures
mkdir -p "$out"
link() {
	name=$1
	shift
	"$@" -o "$out/$name"
}
flags="-O1 -g0 -fno-asynchronous-unwind-tables -fno-stack-protector -nostdlib"
id=-Wl,--build-id=0x00112233445566778899aabbccddeeff00112233
shared="$flags $id -shared -fPIC"
link lib.so "$@" $shared -DVERSIONED -Wl,--version-script="$map" -Wl,--hash-style=gnu "$source"
link stripped.so "$@" $shared -DVERSIONED -Wl,--version-script="$map" -s "$source"
link sysv.so "$@" $shared -Wl,--hash-style=sysv "$source"
link bias.so "$@" $shared -Wl,-Ttext-segment=0x10000000 "$source"
link together.so "$@" $shared -Wl,-z,noseparate-code "$source"
link separate.so "$@" $shared -Wl,-z,separate-code "$source"
link noid.so "$@" $flags -shared -fPIC -Wl,--build-id=none "$source"
link plt.so "$@" $shared -DCALLS -fplt -Wl,-z,lazy "$source"
link pltnow.so "$@" $shared -DCALLS -fplt -Wl,-z,now "$source"
link pie "$@" $flags $id -pie -fPIE "$source"
link nopie "$@" $flags $id -no-pie -fno-pie "$source"
link static "$@" $flags $id -static -no-pie -fno-pie "$source"

# Stripped ones, whose symbols are elsewhere; packed and unpacked debug information.
lines=$(dirname "$source")/lines.c
objcopy=${OBJCOPY:-$("$@" -print-prog-name=objcopy)}
"$objcopy" --only-keep-debug "$out/lib.so" "$out/lib.debug"
"$objcopy" --strip-all --add-gnu-debuglink="$out/lib.debug" "$out/lib.so" "$out/linked.so"
"$objcopy" --only-keep-debug "$out/noid.so" "$out/noid.debug"
"$objcopy" --strip-all --add-gnu-debuglink="$out/noid.debug" "$out/noid.so" "$out/crc.so"
xz -c "$out/lib.debug" >"$out/lib.debug.xz"
"$objcopy" --strip-all --add-section=.gnu_debugdata="$out/lib.debug.xz" "$out/lib.so" "$out/mini.so"
debug="-O2 -g -fno-stack-protector -nostdlib $id -shared -fPIC"
for version in 2 3 4 5; do
	link lines$version.so "$@" $debug -gdwarf-$version "$lines"
done
link linesz.so "$@" $debug -gz "$lines"
"$objcopy" --compress-debug-sections=zlib-gnu "$out/lines4.so" "$out/linesgnu.so"
"$objcopy" --compress-debug-sections=zstd "$out/lines5.so" "$out/lineszstd.so" 2>/dev/null ||
	rm -f "$out/lineszstd.so"
for version in 4 5; do
	link split$version.so "$@" $debug -gdwarf-$version -gsplit-dwarf "$lines"
done
link lines64.so "$@" $debug -gdwarf-5 -gdwarf64 "$lines"
: >"$stamp"
