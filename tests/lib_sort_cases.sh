# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib_sort_cases.sh - sourced by tests/sort_cases_*.sh, which hold the rules of the text orders: what
# gpusort makes of a few lines is what sort(1) of this machine makes of them in the C locale, and
# what we reckoned by hand. The literal shows that the rule was understood, sort(1) that there is
# such a rule.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# given FILE TEXT: a file with what printf %b makes of TEXT.
given() { printf %b "$2" >"$1"; }

# The other claims go through this one. compare NAME STATUS EXPECTED ARGUMENT...: `gpusort
# ARGUMENT...` ends so and prints EXPECTED, as sort(1) does. Where EXPECTED is `=` only sort(1)
# knows; $by_sort is no where sort(1) does not, and $message is empty where both are to be quiet.
by_sort=yes
message=''
compare() {
    local name=$1 expected_status=$2 expected=$3 status=0 sort_status=0
    shift 3
    gpusort "$@" >"$work/log/got" 2>"$work/log/got_said" || status=$?
    [ "$expected" = = ] || printf %b "$expected" >"$work/log/literal"
    {
        [ "$status" -eq "$expected_status" ] || echo "exit status $status of gpusort $*"
        if [ "$by_sort" = yes ]; then
            sort "$@" >"$work/log/sort" 2>"$work/log/sort_said" || sort_status=$?
            [ "$sort_status" -eq "$expected_status" ] || echo "exit status $sort_status of sort $*"
            [ "$expected" != = ] || cp "$work/log/sort" "$work/log/literal"
            cmp -s "$work/log/sort" "$work/log/literal" || {
                echo "sort(1) does not do as we reckoned: sort $*"
                describe_difference "$work/log/sort" "$work/log/literal"
            }
        fi
        cmp -s "$work/log/got" "$work/log/literal" || {
            echo "gpusort $*"
            describe_difference "$work/log/got" "$work/log/literal"
        }
        if [ -n "$message" ] || [ -s "$work/log/got_said" ]; then message_problems; fi
    } >"$work/log/problems" 2>&1
    pass_unless_said "$name" "$work/log/problems"
}

# How standard error differs from $message, for sort(1) but for the name of the program.
message_problems() {
    printf %b "$message" >"$work/log/message"
    if [ "$by_sort" = yes ]; then
        sed 's/^sort: /gpusort: /' "$work/log/sort_said" >"$work/log/sort_says"
        cmp -s "$work/log/sort_says" "$work/log/message" ||
            describe_difference "$work/log/sort_says" "$work/log/message"
    fi
    cmp -s "$work/log/got_said" "$work/log/message" ||
        describe_difference "$work/log/got_said" "$work/log/message"
}

# sorts NAME INPUT EXPECTED OPTION...
sorts() {
    given in "$2"
    compare "$1" 0 "$3" "${@:4}" in
}

# sorts_so NAME INPUT EXPECTED OPTION...: where sort(1) has no such rule, or versions differ.
sorts_so() {
    local by_sort=no
    sorts "$@"
}

# gives NAME EXPECTED ARGUMENT...: of files that are there.
gives() { compare "$1" 0 "${@:2}"; }

# in_order NAME INPUT OPTION...: -c and -C find it so.
in_order() {
    given in "$2"
    compare "$1, -c" 0 '' -c "${@:3}" in
    compare "$1, -C" 0 '' -C "${@:3}" in
}

# disorder NAME INPUT LINE:TEXT OPTION...: -c says that the line is not in order, -C nothing.
disorder() {
    local message="gpusort: in:${3%%:*}: disorder: ${3#*:}"
    given in "$2"
    compare "$1, -c" 1 '' -c "${@:4}" in
    message=''
    compare "$1, -C" 1 '' -C "${@:4}" in
}

# repeat COUNT TEXT: the text so many times.
repeat() {
    local spaces
    printf -v spaces "%$1s" ''
    echo "${spaces// /$2}"
}
