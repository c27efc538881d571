#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make deb: makes a Debian package of the build, gpusort_VERSION_ARCHITECTURE.deb, in the top folder of
# the sources. Its timestamp is SOURCE_DATE_EPOCH, or the current time.
#
#   scripts/make_deb.sh VERSION BUILD-DIR
set -euo pipefail
cd "$(dirname "$0")/.."
command -v dpkg-deb >/dev/null || { echo 'make deb: there is no dpkg-deb' >&2; exit 1; }
version=$1
work=$2/deb
root=$work/root
doc=$root/usr/share/doc/gpusort
maintainer="${DEBFULLNAME:-The gpusort authors} <${DEBEMAIL:-authors@gpusort.invalid}>"
# machine_of FILE: prints the number of the processor that an ELF file is for.
machine_of() { od -A n -t u2 -j 18 -N 2 "$1"; }
if [ -z "${DEB_HOST_ARCH:-}" ] && [ "$(machine_of "$2/gpusort")" != "$(machine_of /bin/sh)" ]; then
    echo 'make deb: the program is for another processor: set DEB_HOST_ARCH, such as arm64' >&2
    exit 1
fi
architecture=${DEB_HOST_ARCH:-$(dpkg --print-architecture)} # dpkg-shlibdeps reads DEB_HOST_ARCH too
epoch=${SOURCE_DATE_EPOCH:-$(date +%s)}
export SOURCE_DATE_EPOCH=$epoch
umask 022

rm -rf "$work"
trap 'rm -rf "$work"' EXIT
make --no-print-directory install-strip BUILD="$2" DESTDIR="$(realpath -m "$root")" prefix=/usr \
    zsh_dir=/usr/share/zsh/vendor-completions
gzip -9n "$root/usr/share/man/man1/gpusort.1"

# Debian has one copy of the Apache License for all packages.
rm "$doc/LICENSE"
cat >"$doc/copyright" <<COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: gpusort

Files: *
Copyright: $(sed -n 's/^ *Copyright \(.*\)/\1/p' LICENSE | tail -n 1)
License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0. The file NOTICE beside this one names
 the licenses of the libraries that are linked statically.
COPYRIGHT
gzip -9n >"$doc/changelog.gz" <<CHANGELOG
gpusort ($version) unstable; urgency=medium

  * Version $version. Its changes are in CHANGELOG.md of the sources.

 -- $maintainer  $(date -u -R -d "@$epoch")
CHANGELOG

mkdir -p "$work/debian" "$root/DEBIAN"
printf 'Source: gpusort\n\nPackage: gpusort\nArchitecture: any\n' >"$work/debian/control"
# The program runs without the libraries of MPI, which the plugin needs.
plugin=root/usr/libexec/gpusort/mpi.so
[ -f "$work/$plugin" ] || { plugin='' && echo 'make deb: without mpi.so for several MPI ranks (no mpicc, or MPI=0)' >&2; }
depends='libc6, libzstd1' suggests=''
if command -v dpkg-shlibdeps >/dev/null; then
    (cd "$work" && dpkg-shlibdeps -O -eroot/usr/bin/gpusort ${plugin:+-dSuggests -e$plugin}) >"$work/depends"
    depends=$(sed -n 's/^shlibs:Depends=//p' "$work/depends")
    suggests=$(sed -n 's/^shlibs:Suggests=/Suggests: /p' "$work/depends")
fi
cat >"$root/DEBIAN/control" <<CONTROL
Package: gpusort
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)${depends:+
Depends: $depends}${suggests:+
$suggests}
Section: utils
Priority: optional
Description: sort numbers and lines, on a GPU where that is faster
 gpusort sorts files of numbers (raw binary, NumPy .npy and text, plain or
 compressed with zstd), and lines of text with the options of sort(1), to the
 same bytes. It uses all processors, and an NVIDIA GPU if there is one and it
 was built with the CUDA Toolkit.
CONTROL
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$root" "gpusort_${version}_$architecture.deb"
