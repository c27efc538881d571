# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib_sort_cases.sh - sourced by tests/lines/sort_cases_*.sh, which test the rules of the text orders. The output of
# gpusort for a few lines is that of sort(1) of this machine in the C locale, and is the literal of the test. The
# literal shows that the rule was understood; sort(1) shows that the rule exists.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# given FILE TEXT: writes TEXT (printf %b escapes) to FILE.
given() { printf %b "$2" >"$1"; }

# compare NAME STATUS EXPECTED ARGUMENT...: `gpusort ARGUMENT...` exits with STATUS and prints EXPECTED, as sort(1)
# does. The other claims use it. If EXPECTED is `=`, the output of sort(1) is expected. If $by_sort is no, sort(1) is
# not compared with a literal: without a GPU the same test does that. $message is the expected message, empty for none.
by_sort=yes
[ "${GPUSORT_DEVICE:-cpu}" = cpu ] || by_sort=no
message=''
compare() {
    local name=$1 expected_status=$2 expected=$3 status=0 sort_status=0
    shift 3
    gpusort "$@" >"$work/log/got" 2>"$work/log/got_said" || status=$?
    [ "$expected" = = ] || printf %b "$expected" >"$work/log/literal"
    {
        [ "$status" -eq "$expected_status" ] || echo "exit status $status of gpusort $*"
        if [ "$by_sort" = yes ] || [ "$expected" = = ]; then
            (exec -a gpusort sort "$@") >"$work/log/sort" 2>"$work/log/sort_said" || sort_status=$?
            [ "$sort_status" -eq "$expected_status" ] || echo "exit status $sort_status of sort $*"
            [ "$expected" != = ] || cp "$work/log/sort" "$work/log/literal"
            describe_difference "$work/log/sort" "$work/log/literal"
        fi
        describe_difference "$work/log/got" "$work/log/literal"
        if [ -n "$message" ] || [ -s "$work/log/got_said" ]; then message_problems; fi
    } >"$work/log/problems" 2>&1
    [ ! -s "$work/log/problems" ] || echo "arguments: $*" >>"$work/log/problems"
    pass_unless_said "$name" "$work/log/problems"
}

# Prints how standard error differs from $message.
message_problems() {
    printf %b "$message" >"$work/log/message"
    [ "$by_sort" = no ] || describe_difference "$work/log/sort_said" "$work/log/message"
    describe_difference "$work/log/got_said" "$work/log/message"
}

# sorts NAME INPUT EXPECTED OPTION...: the text INPUT is sorted to EXPECTED.
sorts() {
    given in "$2"
    compare "$1" 0 "$3" "${@:4}" in
}

# orders NAME EXPECTED OPTION...: the lines of EXPECTED, the last one first, are sorted to EXPECTED.
orders() {
    printf %b "$2" | tac >in
    compare "$1" 0 "${@:2}" in
}

# sorts_so NAME INPUT EXPECTED OPTION...: like sorts, where sort(1) has no such rule or its versions differ.
sorts_so() {
    local by_sort=no
    sorts "$@"
}

# gives NAME EXPECTED ARGUMENT...: prints EXPECTED for files that exist.
gives() { compare "$1" 0 "${@:2}"; }

# in_order NAME INPUT OPTION...: -c and -C find INPUT sorted.
in_order() {
    given in "$2"
    compare "$1, -c" 0 '' -c "${@:3}" in
    compare "$1, -C" 0 '' -C "${@:3}" in
}

# disorder NAME INPUT LINE:TEXT OPTION...: -c reports this line as out of order, and -C reports nothing.
disorder() {
    local message="gpusort: in:${3%%:*}: disorder: ${3#*:}"
    given in "$2"
    compare "$1, -c" 1 '' -c "${@:4}" in
    message=''
    compare "$1, -C" 1 '' -C "${@:4}" in
}

# repeat COUNT TEXT: prints TEXT COUNT times.
repeat() {
    local spaces
    printf -v spaces "%$1s" ''
    echo "${spaces// /$2}"
}
