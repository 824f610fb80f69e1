#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh [BUILD_DIR]: every plugin exports gpc_module_entry and nothing else,
# and asks for no symbol of the core; libgpc.so exports what core/gpc.map lists.
set -eu
build=${1:-${GPC_BUILD_RELEASE:?usage: symbols.sh BUILD_DIR}}
map=${GPC_MAP:-$(cd "$(dirname "$0")/../.." && pwd)/core/gpc.map}
failed=0

fail() {
	echo "$*" >&2
	failed=1
}

# Names without versions; the three marks that older linkers export are no leak.
exported() {
	nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
		grep -vxE '_edata|_end|__bss_start' | LC_ALL=C sort -u
}

check_plugin() {
	names=$(exported "$1" | tr '\n' ' ')
	[ "$names" = "gpc_module_entry " ] ||
		fail "$1 exports: $names(should be gpc_module_entry alone)"
	needed=$(nm -D --undefined-only "$1" | awk '$NF ~ /^gpc_/ { print $NF }' | tr '\n' ' ')
	[ -z "$needed" ] || fail "$1 needs symbols of the core: $needed"
}

check_library() {
	listed=$(grep -oE '^[[:space:]]+gpc_[a-z0-9_]+;' "$map" | tr -d ' \t;' |
		LC_ALL=C sort -u)
	# A version node of the map (GPC_0.1) shows up as a symbol of its own.
	names=$(exported "$1" | grep -vE '^GPC_[0-9.]+$' || true)
	[ "$names" = "$listed" ] && return
	fail "$1 and $map differ: in the library"
	printf '%s\n--- in the map\n%s\n' "$names" "$listed" >&2
}

plugins=$(find "$build/plugins" "$build/sdk/examples" -name '*.so' 2>/dev/null | LC_ALL=C sort)
n=0
for plugin in $plugins; do
	check_plugin "$plugin"
	n=$((n + 1))
done
[ $n -gt 0 ] || fail "no plugin in $build"

library=$build/core/libgpc.so
if [ -e "$map" ]; then
	if [ -e "$library" ]; then
		check_library "$library"
	else
		fail "$library is not built"
	fi
fi
[ $failed -eq 0 ] && echo "$n plugins export what they should"
exit $failed
