#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The style of the sources: directions of includes, format of code, scripts, manual page. The manual page names
# every long option, and links between the pages lead to files and headings that exist.
. "$(dirname "$0")/lib.sh"
[ "$test_size" = full ] || skip_all 'looked at with the full build'
cd "$tests_dir/.."

# checked PROGRAM CLAIM NAME WORD...: makes the claim, or skips it if PROGRAM is not installed.
checked() { if command -v "$1" >/dev/null; then "${@:2}"; else skip "$3" "no $1"; fi; }

ok 'includes run one way' scripts/check_includes.sh
# Ignored: scripts in quotes for `bash -c`, literal formats of printf, a name that is read and not written.
checked shellcheck ok 'shellcheck finds nothing in the scripts' \
    shellcheck -x -P SCRIPTDIR -e SC2016,SC2059,SC2094 scripts/*.sh tests/*.sh completions/*.sh .ci/run
# These source lib.sh, which sets -e and variables. To read it again for each takes 20 s of processor
# time. -u finds what is never set. Options of a row are several words, and not in quotes (SC2086).
checked shellcheck ok 'shellcheck finds nothing in the tests' \
    shellcheck -e SC1091,SC2016,SC2034,SC2059,SC2086,SC2094,SC2103,SC2154,SC2164 tests/*/*.sh
# Other pages may not be installed, or be newer than mandoc's list of them.
checked mandoc ok_prints 'mandoc finds nothing in the manual page, not even a long line' '' -- bash -c \
    'mandoc -Tlint -Wstyle man/gpusort.1 2>&1 | grep -vE "outdated mandoc.db|manual not found" || true'
checked mandoc ok_prints 'no word of a macro is printed, nor a blank before a comma' '' -- bash -c \
    'grep -nE "^[^.].*( [;.,:]( |$)| No [a-z])" man/gpusort.1 || true'
checked groff ok_prints 'groff warns of nothing in it' '' -- groff -mandoc -ww -rLL=80n -Tutf8 -z man/gpusort.1
ok 'the foot of the manual page has the version' \
    grep -qxF ".Os $("$GPUSORT" --version | sed -n 1p | cut -d ' ' -f 1,2)" man/gpusort.1
"$GPUSORT" --help | grep -oE -e '--[a-z][a-z0-9-]+' | sort -u >"$work/options"
ok_prints 'the manual page has every long option' '' -- bash -c 'while read -r option; do
        grep -qE "^\.It.* ${option#-}( |\$)" man/gpusort.1 || echo "$option"
    done <"$0"' "$work/options"
ok_prints 'the manual page has every type, format, codec and device' '' -- bash -c \
    '"$0" --list | sed -nE "s/^  ([^ ]+).*/\1/p" | while read -r word; do
        grep -qw -e "$word" man/gpusort.1 || echo "$word"
    done' "$GPUSORT"
# The anchor of a heading: in small letters, with hyphens for blanks, without punctuation.
ok_prints 'links between the pages lead to files and headings' '' -- bash -c 'for page in *.md docs/*.md; do
        grep -oE "\]\([^): ]+\)" "$page" | sed "s/^](//; s/.$//" | while IFS="#" read -r file anchor; do
            target=$page
            [ -z "$file" ] || target=$(dirname "$page")/$file
            [ -e "$target" ] || echo "$page: $file"
            [ -z "$anchor" ] || sed -nE "s/^#+ //p" "$target" | tr A-Z a-z | sed -E "s/[^a-z0-9 _-]//g; s/ /-/g" |
                grep -qxF -e "$anchor" || echo "$page: #$anchor"
        done
    done'
ok_prints 'every source has a place in architecture.md, algorithms.md or the README.md of its folder' '' -- bash -c \
    'places=$(cat docs/{architecture,algorithms,extending}.md */README.md */*/README.md)
    find cli job core formats cpu cuda -type f ! -name README.md | while read -r file; do
        name=${file##*/}
        [[ $places =~ (^|[^[:alnum:]_])"${name%.*}"([^[:alnum:]_]|$) ]] || echo "$file"
    done'
folders=(cli job core formats cpu cuda bench scripts tests)
ok_prints 'no folder has more than 40 files, or more than ten without a README.md' '' -- bash -c \
    'find "$@" -type d ! -name __pycache__ | while read -r folder; do
        most=10
        [ ! -e "$folder/README.md" ] || most=40
        [ "$(find "$folder" -maxdepth 1 -type f | wc -l)" -le $most ] || echo "$folder"
    done' bash "${folders[@]}"
# Versions of clang-format differ in a few lines; the sources are as version 14 formats them.
mapfile -t sources < <(find cli job core formats cpu cuda bench mpi tests -type f \
    \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) | sort)
checked clang-format-14 ok 'clang-format changes nothing in the sources' clang-format-14 --dry-run -Werror "${sources[@]}"
ok_prints 'kernels of radix begin with a wait for the one in front, and load nothing before it' '' -- awk '
    /__global__/ { kernel = FILENAME ":" FNR }
    kernel && /__restrict__/ { print kernel }
    kernel && /^{/ { getline; if (!/thread_wait_for_dependency\(\);/) print kernel; kernel = "" }' \
    cuda/radix/*.cuh cuda/radix/radix_digit_sort.cu
ok_prints 'no source is longer than 800 lines' '' -- bash -c \
    'find cli job core formats cpu cuda bench tests/simt -type f -exec wc -l {} + |
        awk "\$1 > 800 && \$2 != \"total\" { print \$2 }"'
ok_prints 'every source names its license' '' -- bash -c \
    '! find Makefile .ci/run man cli job core formats cpu cuda bench mpi completions/*.sh scripts tests -type f \
        ! -path "*/__pycache__/*" -exec \
        grep -L "SPDX-License-Identifier: Apache-2\.0" {} + | grep .'
ok_prints 'no line ends in a blank' '' -- \
    bash -c "! grep -rnI '[[:blank:]]\$' Makefile README.md CHANGELOG.md cli job core formats cpu cuda \
        bench completions docs man scripts tests .ci"

done_testing
