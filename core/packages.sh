# SPDX-License-Identifier: Apache-2.0
# Sourced by quickstart and tests/run: installs the packages that lists name.

# The packages of the list files that are not installed.
packages_missing() {
    local line name
    sed -e 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sort -u | while read -r line; do
        [ -n "$line" ] || continue
        # a|b: whatever name the release has. A foreign architecture's name has the
        # form libelf-dev:arm64.
        for name in ${line//|/ }; do
            dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null |
                grep -qx installed && continue 2
        done
        printf '%s\n' "$line"
    done
}

# Of the names a|b the first that can be installed here.
packages_choose() {
    local line name
    for line in "$@"; do
        for name in ${line//|/ }; do
            apt-cache show "$name" >/dev/null 2>&1 && break
        done
        printf '%s ' "$name"
    done
}

# Installs what is missing of the lists. Says what it does; needs root only when
# something is missing.
packages_install() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        echo "packages: this is neither Debian nor Ubuntu; install what ${*##*/} name" >&2
        return 1
    fi
    missing=$(packages_missing "$@" | tr '\n' ' ')
    [ -n "${missing// /}" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "packages: these are missing and only root may install them: $missing" >&2
        return 1
    fi
    echo "packages: installing $missing"
    packages_apt update -qq || return 1
    # shellcheck disable=SC2086
    missing=$(packages_choose $missing)
    # shellcheck disable=SC2086
    packages_apt install -qq -y --no-install-recommends $missing
}

# apt-get without questions; its output only when it fails.
packages_apt() {
    local out status=0
    out=$(DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null 2>&1) || status=$?
    [ "$status" = 0 ] || printf '%s\n' "$out" >&2
    return "$status"
}
