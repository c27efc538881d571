#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make dist: packs the sources of the commit that is checked out, or of an unpacked archive, into
# gpusort-VERSION.tar.gz. Both give the same bytes: the archive has a list of its files, MANIFEST, the
# commit that they are from, COMMIT, and the time of that commit as the time of all files.
#
#   scripts/make_dist.sh VERSION SCRATCH-DIR
set -euo pipefail
cd "$(dirname "$0")/.."
name=gpusort-$1
top=$2/dist/$name
export LC_ALL=C

rm -rf "$2/dist"
mkdir -p "$top"
if [ -f MANIFEST ]; then
    tar -c -T MANIFEST | tar -x -C "$top"
elif [ -e .git ]; then
    git archive HEAD | tar -x -C "$top"
    git rev-parse HEAD >"$top/COMMIT"
    touch -d "@$(git log -1 --format=%ct)" "$top/COMMIT"
    touch "$top/MANIFEST"
    (cd "$top" && find . -type f -printf '%P\n' | sort) >"$2/dist/MANIFEST"
    mv "$2/dist/MANIFEST" "$top/MANIFEST"
else
    echo 'make dist: this is neither a git checkout nor an unpacked archive' >&2
    exit 1
fi
tar -c -C "$2/dist" --format=gnu --sort=name --owner=root:0 --group=root:0 --mode=u=rwX,go=rX \
    --mtime="@$(stat -c %Y "$top/COMMIT")" "$name" | gzip -9n >"$name.tar.gz"
rm -rf "$2/dist"
