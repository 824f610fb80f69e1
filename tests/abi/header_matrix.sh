#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin headers in every language version that it promises, with every
# compiler here, without a warning or a byte of padding; then the smallest
# plugin, built the way an outsider does.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings='-Wall -Wextra -Wpedantic -Wpadded -Werror'

cat >"$work/header.c" <<'SOURCE'
#include <gpc/plugin.h>
#include <gpc/plugin.h>

static const struct gpc_module mod = {
	sizeof(struct gpc_module), GPC_ABI_MAJOR, GPC_ABI_MINOR, 0, 0, 0,
	"matrix", "1", "", NULL, NULL, NULL,
};
GPC_MODULE(matrix, 0, mod)

int uses_the_inlines(struct gpc_writer *w, const struct gpc_sample *s, const gpc_frame *f);
int uses_the_inlines(struct gpc_writer *w, const struct gpc_sample *s, const gpc_frame *f)
{
	return GPC_HAS(w, frame) && gpc_write(w, s, f, 1) == GPC_OK;
}
SOURCE
sed '/^GPC_MODULE/s/.*/extern "C" { & }/' "$work/header.c" >"$work/header.cc"

tried=0
try() { # compiler standard file
	command -v "$1" >/dev/null || return 0
	echo "$1 -std=$2"
	# shellcheck disable=SC2086
	"$1" -std="$2" $warnings -I"$root/sdk/include" -c "$3" -o "$work/header.o"
	tried=$((tried + 1))
}

for std in c99 c11 c17; do
	try gcc $std "$work/header.c"
	try clang $std "$work/header.c"
done
for std in c++11 c++17 c++20; do
	try g++ $std "$work/header.cc"
	try clang++ $std "$work/header.cc"
done
for part in "$root"/sdk/include/gpc/ext/*.h; do
	echo "#include <gpc/ext/${part##*/}>" >"$work/part.c"
	try gcc c99 "$work/part.c"
done
if [ $tried -eq 0 ]; then
	echo "no compiler here" >&2
	exit 77
fi

# The entry must not get a C++ name.
if command -v g++ >/dev/null; then
	echo "g++: a plugin"
	g++ -fPIC -shared -fvisibility=hidden -I"$root/sdk/include" "$work/header.cc" -o "$work/cxx.so"
	nm -D --defined-only "$work/cxx.so" | grep -q ' gpc_module_entry$' || {
		echo "g++: the plugin does not export gpc_module_entry" >&2
		exit 1
	}
fi

for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	echo "$cc: the smallest plugin"
	$cc -std=gnu11 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-z,defs \
		-I"$root/sdk/include" "$root/sdk/examples/minimal/minimal.c" -o "$work/minimal.so"
	readelf -n "$work/minimal.so" | grep -q '^ *gpc ' || {
		echo "$cc: minimal.so has no gpc note" >&2
		exit 1
	}
done
