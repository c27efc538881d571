#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install_packages.sh PACKAGE...: installs the Debian packages that are missing, with sudo if the user
# is not root. On a system without apt it prints the names and succeeds: a build shows what is really
# missing. If INSTALL_PACKAGES is `no`, it names the missing packages in one line and fails.
set -euo pipefail

if ! command -v apt-get >/dev/null; then
    echo "$0: no apt-get here; what is needed is what Debian calls: $*" >&2
    exit 0
fi

missing=()
for package in "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
        missing+=("$package")
    fi
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "${INSTALL_PACKAGES:-yes}" = no ]; then
    echo "missing packages: ${missing[*]}; --install installs them" >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "$0: install as root, as there is no sudo: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=("${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}")
if ! "${install[@]}"; then # the lists of packages may be missing, or old
    "${as_root[@]}" apt-get update -q
    "${install[@]}"
fi
