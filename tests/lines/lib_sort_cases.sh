# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib_sort_cases.sh - sourced by tests/lines/sort_cases_*.sh, which test the rules of the text orders. The output of
# gpusort for a few lines is that of sort(1) of this machine in the C locale, and the literal of the test, unless that
# is `=`. The literal shows that the rule was understood; sort(1) shows that the rule exists.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# is_in_turn: true, but with little data only every third time: on the stand-in. The test of the CPU takes all.
turn=0
is_in_turn() { [ "$test_size" != small ] || [ $((turn++ % 3)) -eq 0 ]; }

# given FILE TEXT: writes TEXT (printf %b escapes) to FILE.
given() { printf %b "$2" >"$1"; }

# compare NAME EXPECTED ARGUMENT...: `gpusort ARGUMENT...` prints EXPECTED without a message, as sort(1) does. The other
# claims use it. If EXPECTED is `=`, the output of sort(1) is expected. If $by_sort is no, sort(1) is not compared with
# a literal: without a GPU the same test does that.
by_sort=yes
[ "${GPUSORT_DEVICE:-cpu}" = cpu ] || by_sort=no
compare() {
    local name=$1 expected=$2
    shift 2
    {
        gpusort "$@" >"$work/log/got" || echo "exit status $? of gpusort $*"
        [ "$expected" = = ] || printf %b "$expected" >"$work/log/literal"
        if [ "$by_sort" = yes ] || [ "$expected" = = ]; then
            sort "$@" >"$work/log/sort" || echo "exit status $? of sort $*"
            [ "$expected" != = ] || cp "$work/log/sort" "$work/log/literal"
            describe_difference "$work/log/sort" "$work/log/literal"
        fi
        describe_difference "$work/log/got" "$work/log/literal"
    } >"$work/log/problems" 2>&1
    [ ! -s "$work/log/problems" ] || echo "arguments: $*" >>"$work/log/problems"
    pass_unless_said "$name" "$work/log/problems"
}

# sorts NAME INPUT EXPECTED OPTION...: the text INPUT is sorted to EXPECTED.
sorts() {
    given in "$2"
    compare "$1" "$3" "${@:4}" in
}

# sorts_so NAME INPUT EXPECTED OPTION...: like sorts, where sort(1) has no such rule or its versions differ.
sorts_so() {
    local by_sort=no
    sorts "$@"
}

# repeat COUNT TEXT: prints TEXT COUNT times.
repeat() {
    local spaces
    printf -v spaces "%$1s" ''
    echo "${spaces// /$2}"
}
