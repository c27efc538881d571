#!/usr/bin/env bash
# The text orders, a rule at a time: what gpusort makes of a few lines is what sort(1) of this
# machine makes of them in the C locale, and what we reckoned by hand. The literal shows that the
# rule was understood, sort(1) that there is such a rule.
. "$(dirname "$0")/lib.sh"

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

zeros_40=$(repeat 40 0)
nines_40=$(repeat 40 9)
threes_59=$(repeat 59 3)

# ---- -n ------------------------------------------------------------------------------------------

sorts '-n: by value, not by bytes' '10\n9\n2\n1\n' '1\n2\n9\n10\n' -n
sorts '-n: negative numbers' '1\n-1\n0\n-10\n-2\n' '-10\n-2\n-1\n0\n1\n' -n
sorts '-n: equal values go by the bytes of the line' '1.0\n01\n1\n1.\n 1\n' ' 1\n01\n1\n1.\n1.0\n' -n
sorts '-n: a plus sign is no part of a number' '1\n+5\n-1\n' '-1\n+5\n1\n' -n
sorts '-n: what is no number is 0' 'b\n1\n-1\na\n0\n' '-1\n0\na\nb\n1\n' -n
sorts '-n: an empty line is 0' '1\n\n-1\n' '-1\n\n1\n' -n
sorts '-n: -0 is 0' '0\n-0\n0.0\n-0.00\n' '0\n-0\n0.0\n-0.00\n' -n -s
sorts '-n: -0 is 0, the last resort decides' '0\n-\n-0\n-.0\n-x\n' '-\n-.0\n-0\n-x\n0\n' -n
sorts '-n: a minus with nothing behind it is 0' '1\n-\n-1\n' '-1\n-\n1\n' -n
sorts '-n: blanks before the minus, not behind it' '- 5\n -5\n\t-6\n1\n' '\t-6\n -5\n- 5\n1\n' -n
sorts '-n: two minus signs are no number' '--1\n-1\n1\n' '-1\n--1\n1\n' -n
sorts '-n: a fraction alone' '.5\n0.4\n.45\n-.5\n' '-.5\n0.4\n.45\n.5\n' -n
sorts '-n: a point with nothing behind it' '5.\n5.1\n4.9\n' '4.9\n5.\n5.1\n' -n
sorts '-n: a point alone is 0' '1\n.\n-1\n' '-1\n.\n1\n' -n
sorts '-n: two points: the second ends the number' '1.5.9\n1.5.1\n1.6\n1.4.9\n' \
    '1.4.9\n1.5.1\n1.5.9\n1.6\n' -n
sorts '-n: the number ends at a blank' '1 2\n1 1\n12\n2\n' '1 1\n1 2\n2\n12\n' -n
sorts '-n: there is no separator of thousands' '1,000\n2\n1,5\n' '1,000\n1,5\n2\n' -n
sorts '-n: there are no exponents' '1e5\n2\n1e1\n' '1e1\n1e5\n2\n' -n
sorts '-n: there is no hex' '0x10\n1\n0\n' '0\n0x10\n1\n' -n
sorts '-n: inf and nan are no numbers' '1\ninf\nnan\n-1\n' '-1\ninf\nnan\n1\n' -n
sorts '-n: leading zeros' '010\n9\n0009\n08\n' '08\n0009\n9\n010\n' -n
sorts '-n: leading zeros of negative numbers' '-010\n-9\n-0009\n-08\n' '-010\n-0009\n-9\n-08\n' -n
sorts '-n: trailing zeros of a fraction' '1.50\n1.5\n1.49\n1.500001\n' '1.49\n1.5\n1.50\n1.500001\n' -n
sorts '-n: fractions go digit by digit' '0.10\n0.9\n0.1\n0.09\n' '0.09\n0.1\n0.10\n0.9\n' -n
sorts '-n: fractions of negative numbers' '-0.10\n-0.9\n-0.09\n-1\n' '-1\n-0.9\n-0.10\n-0.09\n' -n
sorts '-n: 40 digits' "1${zeros_40}1\n1${zeros_40}0\n$nines_40\n1${zeros_40}2\n" \
    "$nines_40\n1${zeros_40}0\n1${zeros_40}1\n1${zeros_40}2\n" -n
sorts '-n: 40 digits, negative' "-1${zeros_40}1\n-1${zeros_40}0\n-$nines_40\n-1${zeros_40}2\n" \
    "-1${zeros_40}2\n-1${zeros_40}1\n-1${zeros_40}0\n-$nines_40\n" -n
sorts '-n: the length decides before the digits' "9\n10\n$nines_40\n1$zeros_40\n" \
    "9\n10\n$nines_40\n1$zeros_40\n" -n
sorts '-n: leading zeros have no length' "${zeros_40}9\n10\n0${zeros_40}8\n" \
    "0${zeros_40}8\n${zeros_40}9\n10\n" -n
sorts '-n: fractions that differ in the 60th place' \
    "0.${threes_59}4\n0.${threes_59}2\n0.${threes_59}3\n0.$threes_59\n" \
    "0.$threes_59\n0.${threes_59}2\n0.${threes_59}3\n0.${threes_59}4\n" -n
sorts '-n: fractions that differ in the 60th place, negative' \
    "-0.${threes_59}4\n-0.${threes_59}2\n-0.${threes_59}3\n-0.$threes_59\n" \
    "-0.${threes_59}4\n-0.${threes_59}3\n-0.${threes_59}2\n-0.$threes_59\n" -n
sorts '-n: long integers with fractions' "$nines_40.2\n$nines_40.10\n$nines_40.1\n$nines_40\n" \
    "$nines_40\n$nines_40.1\n$nines_40.10\n$nines_40.2\n" -n
sorts '-n: neighbours of 2^53' '9007199254740993\n9007199254740992\n9007199254740991\n' \
    '9007199254740991\n9007199254740992\n9007199254740993\n' -n
sorts '-n: neighbours of 2^63' '9223372036854775808\n9223372036854775807\n9223372036854775809\n' \
    '9223372036854775807\n9223372036854775808\n9223372036854775809\n' -n
sorts '-n: neighbours of -2^63' '-9223372036854775808\n-9223372036854775807\n-9223372036854775809\n' \
    '-9223372036854775809\n-9223372036854775808\n-9223372036854775807\n' -n
sorts '-n: neighbours of 2^64' '18446744073709551616\n18446744073709551615\n18446744073709551617\n' \
    '18446744073709551615\n18446744073709551616\n18446744073709551617\n' -n
sorts '-n: neighbours of 10^18 to 10^20' \
    "1$(repeat 20 0)\n$(repeat 20 9)\n1$(repeat 19 0)\n$(repeat 19 9)\n1$(repeat 18 0)\n$(repeat 18 9)\n" \
    "$(repeat 18 9)\n1$(repeat 18 0)\n$(repeat 19 9)\n1$(repeat 19 0)\n$(repeat 20 9)\n1$(repeat 20 0)\n" -n
sorts '-n: 16 digits and a fraction' '1234567890123456.7\n1234567890123456.65\n1234567890123456\n' \
    '1234567890123456\n1234567890123456.65\n1234567890123456.7\n' -n
sorts '-n: 1000 digits' "$(repeat 1000 7)1\n$(repeat 1000 7)0\n$(repeat 1000 7)\n" \
    "$(repeat 1000 7)\n$(repeat 1000 7)0\n$(repeat 1000 7)1\n" -n
sorts '-n: 1000 zeros of a fraction' "0.$(repeat 1000 0)1\n0.$(repeat 1000 0)\n-0.$(repeat 1000 0)1\n" \
    "-0.$(repeat 1000 0)1\n0.$(repeat 1000 0)\n0.$(repeat 1000 0)1\n" -n
sorts '-n: vertical tab, form feed and CR are no blanks' '2\n\v3\n\f4\n\r5\n-1\n' \
    '-1\n\v3\n\f4\n\r5\n2\n' -n
sorts '-n: letters behind a number' '2x\n1z\n1y\n10a\n' '1y\n1z\n2x\n10a\n' -n
sorts '-n: what differs behind the number goes by bytes' '1b\n1a\n1\n1\x00\n1\xff\n' \
    '1\n1\x00\n1a\n1b\n1\xff\n' -n
sorts '-n: colons and slashes are no digits' '1:\n1/\n2\n/\n:\n' '/\n:\n1/\n1:\n2\n' -n
sorts '-nr' '10\n9\n-1\nx\n\n' '10\n9\nx\n\n-1\n' -nr
sorts '-n -r: the last resort is turned too' '1\n01\n1.0\n' '1.0\n1\n01\n' -n -r

# ---- -g ------------------------------------------------------------------------------------------

sorts '-g: exponents' '1e3\n999\n1e-3\n1E2\n-1e3\n' '-1e3\n1e-3\n1E2\n999\n1e3\n' -g
sorts '-g: a plus sign is a sign' '+5\n4\n6\n' '4\n+5\n6\n' -g
sorts '-g: no number, then numbers' '1\nabc\n-1e9\n\n0\n' '\nabc\n-1e9\n0\n1\n' -g
sorts '-g: no number, NaN, -inf, numbers, inf' 'inf\n1\nx\n-inf\nnan\n-1\n' \
    'x\nnan\n-inf\n-1\n1\ninf\n' -g
sorts '-g: the same, turned round' 'inf\n1\nx\n-inf\nnan\n-1\n' 'inf\n1\n-1\n-inf\nnan\nx\n' -gr
sorts '-g: what is no number goes by bytes' 'b\na\n\xff\n\n-\n+\n.\ne5\n' \
    '\n+\n-\n.\na\nb\ne5\n\xff\n' -g
sorts '-g: signs and points alone are no numbers' '-1\n-\n+\n.\n-.\n+.e1\n' \
    '+\n+.e1\n-\n-.\n.\n-1\n' -g
sorts '-g: -0 equals 0' '0\n-0\n+0\n0.0\n-1\n1\n' '-1\n+0\n-0\n0\n0.0\n1\n' -g
sorts '-g: -0 equals 0, in the order of the input' '0\n-0\n+0\n-1\n' '-1\n0\n-0\n+0\n' -gs
sorts '-g: infinities however they are spelt' 'inf\nINFINITY\n-Inf\n1e4931\ninfinite\n' \
    '-Inf\n1e4931\nINFINITY\ninf\ninfinite\n' -g
sorts '-g: infinities are equal to what overflows' '1e5000\ninf\n1e9999\n-inf\n-1e5000\n' \
    '-1e5000\n-inf\n1e5000\n1e9999\ninf\n' -g
sorts_so '-g: NaNs of one value are equal' 'nan\nNAN\nNaN\nnan\n1\n' 'nan\nNAN\nNaN\nnan\n1\n' -gs
sorts_so '-g: NaNs of one value go by their bytes' 'nan\nNAN\nNaN\n1\nx\n' 'x\nNAN\nNaN\nnan\n1\n' -g
sorts '-g: a NaN with something in parentheses' 'nan(1)\n1\n-inf\nx\n' 'x\nnan(1)\n-inf\n1\n' -g
sorts '-g: a NaN with a parenthesis that is not closed' 'nan(1\n1\n-inf\nx\n' \
    'x\nnan(1\n-inf\n1\n' -g
sorts_so '-g: NaNs go by sign, then by their bytes' \
    'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\nnan(1)\n-NaN\nx\n' \
    'x\n-NaN\n-nan\n-nan(1)\nNAN\nnan\nnan(1)\nnan(2)\n0\n' -g
sorts_so '-g: NaNs of one sign are equal' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\n' \
    '-nan(1)\n-nan\nnan(2)\nnan\nNAN\n0\n' -gs
sorts_so '-g: of NaNs of one sign the first is kept' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\n' \
    '-nan(1)\nnan(2)\n0\n' -gu
sorts '-g: na and in are no numbers' '1\nna\nin\n-1\nnull\n' 'in\nna\nnull\n-1\n1\n' -g
sorts '-g: white space of all kinds before a number' ' 3\n\t2\n\v1\n\f4\n\r0\nx\n' \
    'x\n\r0\n\v1\n\t2\n 3\n\f4\n' -g
sorts '-g: blanks behind the sign: no number' '- 5\n-5\n1\n' '- 5\n-5\n1\n' -g
sorts '-g: a number ends where it is none any more' '1x\n1 2\n1,5\n1.2.3\n2\n1\n' \
    '1\n1 2\n1,5\n1x\n1.2.3\n2\n' -g
sorts '-g: an exponent without digits is none' '1e\n1e+\n2\n1\n1ex\n1e-\n' \
    '1\n1e\n1e+\n1e-\n1ex\n2\n' -g
sorts '-g: an exponent alone is no number' 'e5\n-1\nE1\n0\n' 'E1\ne5\n-1\n0\n' -g
sorts '-g: points' '5.\n.5\n5.5\n.\n0.5\n' '.\n.5\n0.5\n5.\n5.5\n' -g
sorts '-g: leading zeros' '010\n9\n00000000000000000000000000000009.5\n' \
    '9\n00000000000000000000000000000009.5\n010\n' -g
sorts '-g: hex integers' '0x10\n15\n17\n0X0f\n-0x1\n' '-0x1\n0X0f\n15\n0x10\n17\n' -g
sorts '-g: hex fractions and exponents' '0x1.8\n0x1p1\n0x1p-1\n1\n0x.8p2\n0xAp0\n' \
    '0x1p-1\n1\n0x1.8\n0x.8p2\n0x1p1\n0xAp0\n' -g
sorts '-g: 0x alone is 0' '0x\n1\n-1\n0xg\n0x.\n0xp1\n' '-1\n0x\n0x.\n0xg\n0xp1\n1\n' -g
sorts '-g: a hex exponent without digits is none' '0x1p\n2\n0x1p+\n1\n0x1pz\n' \
    '0x1p\n0x1p+\n0x1pz\n1\n2\n' -g
sorts '-g: e is a digit of hex' '0x1e1\n480\n482\n' '480\n0x1e1\n482\n' -g
sorts '-g: signs before hex' '-0x2\n+0x2\n1\n-1\n' '-0x2\n-1\n1\n+0x2\n' -g
sorts '-g: hex of 16 and more digits' \
    '0xffffffffffffffff\n0xfffffffffffffffe\n0x10000000000000000\n18446744073709551615\n' \
    '0xfffffffffffffffe\n0xffffffffffffffff\n18446744073709551615\n0x10000000000000000\n' -g
sorts '-g: hex that has to be rounded to even' \
    '0x1.00000000000000010\n0x1\n0x1.00000000000000020\n0x1.00000000000000011\n' \
    '0x1\n0x1.00000000000000010\n0x1.00000000000000011\n0x1.00000000000000020\n' -g
sorts '-g: hex that has to be rounded to even, equal ones in place' \
    '0x1.00000000000000010\n0x1\n0x1.00000000000000020\n0x1.00000000000000011\n' \
    '0x1.00000000000000010\n0x1\n0x1.00000000000000020\n0x1.00000000000000011\n' -gs
sorts '-g: neighbours of 2^53' \
    '9007199254740993\n9007199254740992\n9007199254740994\n9007199254740991\n' \
    '9007199254740991\n9007199254740992\n9007199254740993\n9007199254740994\n' -g
sorts '-g: neighbours of 2^53 stay apart, turned round' \
    '9007199254740992\n9007199254740993\n9007199254740991\n' \
    '9007199254740993\n9007199254740992\n9007199254740991\n' -gsr
sorts '-g: the last digits of 64 bits' \
    '18446744073709551615\n18446744073709551613\n18446744073709551614\n18446744073709551616\n' \
    '18446744073709551613\n18446744073709551614\n18446744073709551615\n18446744073709551616\n' -gs
sorts '-g: 2^64 and the next integer are one number' \
    '18446744073709551617\n18446744073709551616\n18446744073709551618\n18446744073709551615\n' \
    '18446744073709551615\n18446744073709551617\n18446744073709551616\n18446744073709551618\n' -gs
sorts '-g: 2^64 + 1 is rounded to even, 2^64 + 3 up' \
    '18446744073709551619\n18446744073709551617\n18446744073709551620\n18446744073709551616\n' \
    '18446744073709551617\n18446744073709551616\n18446744073709551619\n18446744073709551620\n' -gs
sorts '-g: a digit far behind the half decides' \
    "18446744073709551617.${zeros_40}1\n18446744073709551617.$zeros_40\n18446744073709551618\n" \
    "18446744073709551617.$zeros_40\n18446744073709551617.${zeros_40}1\n18446744073709551618\n" -gs
sorts '-g: negative numbers of 64 bits' \
    '-18446744073709551613\n-18446744073709551615\n-18446744073709551614\n' \
    '-18446744073709551615\n-18446744073709551614\n-18446744073709551613\n' -gs
sorts '-g: fractions beyond a double' '0.1000000000000000001\n0.1\n0.1000000000000000000001\n' \
    '0.1\n0.1000000000000000000001\n0.1000000000000000001\n' -gs
sorts '-g: fractions that differ in the 60th place are one number' \
    "0.${threes_59}4\n0.${threes_59}2\n0.${threes_59}3\n" \
    "0.${threes_59}4\n0.${threes_59}2\n0.${threes_59}3\n" -gs
sorts '-g: exponents beyond a double' '1e4000\n1e400\n1e-4000\n0\n-1e4000\n1e-400\n' \
    '-1e4000\n0\n1e-4000\n1e-400\n1e400\n1e4000\n' -g
sorts '-g: the least number and half of it' '4e-4951\n3e-4951\n2e-4951\n1e-4951\n0\n-2e-4951\n' \
    '-2e-4951\n1e-4951\n0\n4e-4951\n3e-4951\n2e-4951\n' -gs
sorts '-g: underflow is 0' '1e-5000\n0\n-1e-5000\n1e-99999999999\n' \
    '1e-5000\n0\n-1e-5000\n1e-99999999999\n' -gs
sorts '-g: the greatest number' '1.18973149535723176502e+4932\n1.1897314953572317649e4932\ninf\n1.2e4932\n' \
    '1.1897314953572317649e4932\n1.18973149535723176502e+4932\ninf\n1.2e4932\n' -gs
sorts '-g: exponents that do not fit into an integer' \
    '1e99999999999999999999\n1\n1e-99999999999999999999\n0e99999999999999999999\n-1\n' \
    '-1\n1e-99999999999999999999\n0e99999999999999999999\n1\n1e99999999999999999999\n' -gs
sorts '-g: a long fraction and an exponent undo each other' \
    "0.$(repeat 500 0)1e501\n1\n1$(repeat 500 0)e-500\n2\n0.5\n" \
    "0.5\n0.$(repeat 500 0)1e501\n1\n1$(repeat 500 0)e-500\n2\n" -gs
sorts '-g: 1000 digits' "$(repeat 1000 7)\n1e999\n1e1000\n8e999\n" \
    "1e999\n$(repeat 1000 7)\n8e999\n1e1000\n" -g
sorts '-g: equal numbers go by bytes' '1\n1.0\n1e0\n10e-1\n0x1\n01\n+1\n 1\n' \
    ' 1\n+1\n01\n0x1\n1\n1.0\n10e-1\n1e0\n' -g
sorts '-g: equal numbers go by bytes, -r' '1\n1.0\n1e0\n10e-1\n0x1\n01\n+1\n 1\n' \
    '1e0\n10e-1\n1.0\n1\n0x1\n01\n+1\n 1\n' -g -r
sorts '-g: a comma is no decimal point' '1,9\n1.5\n' '1,9\n1.5\n' -g
sorts '-g: suffixes of C are no part of a number' '1f\n1L\n1\n2u\n' '1\n1L\n1f\n2u\n' -g

# ---- -h ------------------------------------------------------------------------------------------

sorts '-h: suffixes before values' '1M\n1023K\n2\n1G\n999\n' '2\n999\n1023K\n1M\n1G\n' -h
sorts '-h: every suffix' '1Y\n1Z\n1E\n1P\n1T\n1G\n1M\n1K\n1\n' '1\n1K\n1M\n1G\n1T\n1P\n1E\n1Z\n1Y\n' -h
sorts '-h: k is K' '2K\n1k\n3k\n1K\n' '1K\n1k\n2K\n3k\n' -h
sorts '-h: k is K, in the order of the input' '1k\n1K\n0.5K\n' '0.5K\n1k\n1K\n' -hs
sorts '-h: the other suffixes are capitals' '1m\n1M\n1g\n2\n' '1g\n1m\n2\n1M\n' -h
sorts '-h: suffixes go before values even where the value is less' '1024K\n0.5M\n2048K\n1M\n' \
    '1024K\n2048K\n0.5M\n1M\n' -h
sorts '-h: a zero has no suffix' '0K\n0\n0G\n0.0M\n1\n-1\n' '-1\n0\n0.0M\n0G\n0K\n1\n' -h
sorts '-h: zeros are equal' '0K\n0\n0G\n-0T\n1\n-1\n' '-1\n0K\n0\n0G\n-0T\n1\n' -hs
sorts '-h: negative numbers the other way round' '-1K\n-1\n-1M\n-2\n1\n0\n-2K\n' \
    '-1M\n-2K\n-1K\n-2\n-1\n0\n1\n' -h
sorts '-h: an unknown suffix is none' '1X\n1K\n2\n1\n1B\n' '1\n1B\n1X\n2\n1K\n' -h
sorts '-h: only the first letter of a suffix counts' '1KiB\n1K\n1KB\n2K\n1M\n' \
    '1K\n1KB\n1KiB\n2K\n1M\n' -h
sorts '-h: a blank before a suffix: there is none' '1 K\n2\n1K\n' '1 K\n2\n1K\n' -h
sorts '-h: fractions' '1.5K\n1.49K\n1.50K\n.5K\n2\n' '2\n.5K\n1.49K\n1.50K\n1.5K\n' -h
sorts '-h: a point and nothing behind it, then a suffix' '1.K\n2\n1K\n3\n' '2\n3\n1.K\n1K\n' -h
sorts '-h: a suffix alone is 0' 'K\n1\n-1\nM\n' '-1\nK\nM\n1\n' -h
sorts '-h: a minus and a suffix are 0' '-K\n1\n-1\n0\n' '-1\n-K\n0\n1\n' -h
sorts '-h: a plus sign is no part of a number' '+1K\n1\n-1K\n' '-1K\n+1K\n1\n' -h
sorts '-h: blanks before a number' ' 1K\n2\n\t3K\n1M\n' '2\n 1K\n\t3K\n1M\n' -h
sorts '-h: exact at any length' "1${zeros_40}1K\n1${zeros_40}0K\n${nines_40}M\n1${zeros_40}2K\n" \
    "1${zeros_40}0K\n1${zeros_40}1K\n1${zeros_40}2K\n${nines_40}M\n" -h
sorts '-h: a digit that is not 0 far behind the point' "0.${zeros_40}1K\n0.${zeros_40}0K\n1\n" \
    "0.${zeros_40}0K\n1\n0.${zeros_40}1K\n" -h
sorts '-h: two suffixes: the first counts' '1MK\n1KM\n2K\n' '1KM\n2K\n1MK\n' -h
sorts '-h: exponents are unknown suffixes' '1e3\n2\n1E\n1\n' '1\n1e3\n2\n1E\n' -h
sorts '-h: no separator of thousands' '1,000K\n2\n1K\n' '1,000K\n2\n1K\n' -h
sorts '-hr' '1K\n1\n-1K\n0K\n1M\nx\n' '1M\n1K\n1\nx\n0K\n-1K\n' -hr
sorts '-h: leading zeros' '001K\n1K\n0002\n02K\n' '0002\n001K\n1K\n02K\n' -h
given ronna '1R\n2Y\n'
if [ "$(sort -h ronna)" = $'2Y\n1R' ]; then
    sorts '-h: R and Q' '1Q\n1R\n9Y\n1\n-1R\n-1Q\n' '-1Q\n-1R\n1\n9Y\n1R\n1Q\n' -h
else
    sorts_so '-h: R and Q' '1Q\n1R\n9Y\n1\n-1R\n-1Q\n' '-1Q\n-1R\n1\n9Y\n1R\n1Q\n' -h
    skip '-h: R and Q as sort(1) has them' 'this sort(1) does not know them'
fi

# Where char is signed, sort(1) takes the byte 0x80 for a separator of thousands in the C locale: what
# it means to be no char at all is one of unsigned char.
given separator '2\n\x8011\n'
if sort -C -n separator; then sorts_0x80=sorts; else sorts_0x80=sorts_so; fi
$sorts_0x80 '-n: 0x80 is skipped before and between digits' '\x8011\n2\n3\x801\n\x80\x8007\n' \
    '2\n\x80\x8007\n\x8011\n3\x801\n' -n
$sorts_0x80 '-n: 0x80 is skipped behind a minus, not before it' '-\x805\n-4\n\x80-9\n1\n-4\x80\x800\n' \
    '-4\x80\x800\n-\x805\n-4\n\x80-9\n1\n' -n
$sorts_0x80 '-n: 0x80 is skipped before a point, not behind it' '5\x80.5\n5.4\n5.\x806\n6\n5\n' \
    '5\n5.\x806\n5.4\n5\x80.5\n6\n' -n
$sorts_0x80 '-n: 0x80 has no length' '1\x80\x80\x802\n13\n11\n100\n' '11\n1\x80\x80\x802\n13\n100\n' -n
$sorts_0x80 '-n: 0x80 and what is no number' 'x\n\x80\n1\n-1\n\x80x\n' '-1\nx\n\x80\n\x80x\n1\n' -n
$sorts_0x80 '-h: 0x80 parts the number from its suffix' \
    '\x805K\n6\n4\n1\x80000K\n999\n1001\n1K\n0\x805K\n-1\x800K\n-11\n' \
    '-11\n-1\x800K\n4\n0\x805K\n\x805K\n6\n999\n1\x80000K\n1001\n1K\n' -h
sorts '-g: 0x80 is a byte like others' '\x8011\n2\n3\x801\n20\n' '\x8011\n2\n3\x801\n20\n' -g

# ---- bytes ---------------------------------------------------------------------------------------

sorts 'bytes: capitals before small letters' 'b\nB\na\nA\n' 'A\nB\na\nb\n' -k1
sorts 'bytes: numbers as text' '10\n9\n1\n' '1\n10\n9\n' -k1
sorts 'bytes: a prefix first' 'ab\na\nabc\n\n' '\na\nab\nabc\n' -k1
sorts 'bytes: they are unsigned' 'a\n\xff\n\x80\n\x7f\n\x01\n' '\x01\na\n\x7f\n\x80\n\xff\n' -k1
sorts 'bytes: NUL is less than all others' 'a\x01\na\x00\na\na\x00b\n\x00\n' \
    '\x00\na\na\x00\na\x00b\na\x01\n' -k1
sorts 'bytes: CR, VT and FF are bytes like others' 'a\r\na\v\na\f\na\na \na\t\n' \
    'a\na\t\na\v\na\f\na\r\na \n' -k1
sorts 'bytes: -r' 'b\n\na\nab\n' 'b\nab\na\n\n' -r -k1
sorts 'bytes: more than 8 in common' 'abcdefghijb\nabcdefghija\nabcdefghij\nabcdefgh\n' \
    'abcdefgh\nabcdefghij\nabcdefghija\nabcdefghijb\n' -k1
sorts 'bytes: 7, 8 and 9 NULs' "\x00\x00\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\x00\n\n" \
    "\n\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\n" -k1
sorts 'bytes: a thousand in common' "$(repeat 1000 x)b\n$(repeat 1000 x)a\n$(repeat 1000 x)\n" \
    "$(repeat 1000 x)\n$(repeat 1000 x)a\n$(repeat 1000 x)b\n" -k1
sorts 'bytes: only those of the key, then those of the line' 'b 1\na 2\na 1\nb 0\n' \
    'a 1\na 2\nb 0\nb 1\n' -k1,1
sorts 'bytes: only those of the key, -s' 'b 1\na 2\na 1\nb 0\n' 'a 2\na 1\nb 1\nb 0\n' -s -k1,1
sorts 'bytes: the end of a key is less than any byte' 'ab\na\x00\na b\naa\n' \
    'a b\na\x00\naa\nab\n' -s -k1,1

# ---- fields --------------------------------------------------------------------------------------

sorts 'the second field as a number' 'a 10\nb 9\nc 1\n' 'c 1\nb 9\na 10\n' -k2n
sorts 'the second field by blanks of all widths' 'a    10\nb\t9\nc \t 1\n' 'c \t 1\nb\t9\na    10\n' -k2n
sorts 'a field begins with its blanks' 'a  b\na b\na c\n' 'a  b\na b\na c\n' -k2
sorts 'a field begins with its blanks, unless -b' 'x  b\ny a\nz c\n' 'y a\nx  b\nz c\n' -b -k2
sorts 'blanks before the first field are its own' ' b\na\n  c\n' '  c\n b\na\n' -k1,1
sorts 'blanks before the first field: the second is the second word' ' b 1\na 3\n  c 2\n' \
    ' b 1\n  c 2\na 3\n' -k2n
sorts 'a key runs to the end of the line' 'x a 2\ny a 1\nz a 3\n' 'y a 1\nx a 2\nz a 3\n' -k2
sorts 'a key ends with its last field' 'x a 2\ny a 1\nz a 3\n' 'x a 2\ny a 1\nz a 3\n' -s -k2,2
sorts 'a key over two fields' 'x b 1\ny a 2\nz a 1\n' 'z a 1\ny a 2\nx b 1\n' -k2,3
sorts 'a number over two fields is that of the first' 'x 2 1\ny 1 9\nz 10 0\n' 'y 1 9\nx 2 1\nz 10 0\n' -k2,3n
sorts 'fields that are missing are empty' 'a 1\nb\nc -1\n\n' 'c -1\n\nb\na 1\n' -k2n
sorts 'fields that are missing are no numbers' 'a -1\nb\nc -inf\n\n' '\nb\nc -inf\na -1\n' -k2g
sorts 'fields that are missing, as bytes' 'a 1\nb\nc\n' 'b\nc\na 1\n' -k2
sorts 'a field far behind the line' 'b\na\nc\n' 'a\nb\nc\n' -k100n
sorts 'a field far behind the line, in the order of the input' 'b\na\nc\n' 'b\na\nc\n' -s -k100n
sorts 'a field whose number does not fit into an integer' 'b\na\n' 'b\na\n' -s -k99999999999999999999999
sorts 'the end of a key far behind the line' 'x 2\ny 1\n' 'y 1\nx 2\n' -k2,100n
sorts 'end before begin: the key is empty' 'b 1\na 2\nc 0\n' 'b 1\na 2\nc 0\n' -s -k2,1
sorts 'end before begin, as a number: 0' 'b 1\na 2\nc 0\n' 'a 2\nb 1\nc 0\n' -k2,1n
sorts 'end before begin, within a field' 'ab\naa\n' 'ab\naa\n' -s -k1.3,1.2
sorts 'end before begin, then a second key' 'b 1\na 2\nc 0\n' 'c 0\nb 1\na 2\n' -k2,1 -k2n
sorts 'two keys' 'b 1\na 2\na 1\nb 0\n' 'a 1\na 2\nb 0\nb 1\n' -k1,1 -k2n
sorts 'two keys, the second turned round' 'b 1\na 2\na 10\nb 0\n' 'a 10\na 2\nb 1\nb 0\n' -k1,1 -k2nr
sorts 'two keys, the first turned round' 'b 1\na 2\na 10\nb 0\n' 'b 0\nb 1\na 2\na 10\n' -k1,1r -k2n
sorts 'three keys' 'a 1 2\na 1 1\nb 0 0\na 0 9\n' 'a 0 9\na 1 1\na 1 2\nb 0 0\n' -k1,1 -k2,2n -k3,3n
sorts 'five keys of all orders' \
    '1 1k 1 x b\n1 1k 1 x a\n1 1k 1 w z\n1 1k 2 a a\n1 2 9 9 9\n0x1 1 1 1 1\n0 9 9 9 9\n' \
    '0 9 9 9 9\n0x1 1 1 1 1\n1 2 9 9 9\n1 1k 1 w z\n1 1k 1 x b\n1 1k 1 x a\n1 1k 2 a a\n' \
    -k1,1g -k2,2h -k3,3n -k4,4 -k5,5r
sorts 'keys one after the other, not by their places' 'a 2\nb 1\nc 2\nd 1\n' 'd 1\nb 1\nc 2\na 2\n' \
    -k2,2n -k1,1r
sorts 'the same key twice' 'a 2\nb 1\n' 'b 1\na 2\n' -k2n -k2nr
sorts 'a key of the first field only' '2 a\n10 b\n1 c\n' '1 c\n2 a\n10 b\n' -k1,1n
sorts 'a -k that stands by itself' 'a 2\nb 1\n' 'b 1\na 2\n' -k 2n
sorts 'a -k with its end behind a comma' 'a 2\nb 1\n' 'b 1\na 2\n' -k 2n,2
sorts 'letters behind the end' 'a 10\nb 9\n' 'b 9\na 10\n' -k 2,2n
sorts 'letters behind both' 'a 10\nb 9\n' 'a 10\nb 9\n' -k 2n,2r

# ---- what keys inherit ---------------------------------------------------------------------------

sorts 'a key without letters is as the global ones' 'a 10\nb 9\n' 'b 9\na 10\n' -n -k2
sorts 'a global letter behind the key' 'a 10\nb 9\n' 'b 9\na 10\n' -k2 -n
sorts 'a key without letters inherits -r too' 'a 10\nb 9\n' 'a 10\nb 9\n' -nr -k2
sorts 'a key with a letter inherits nothing' 'a 10\nb 9\n' 'b 9\na 10\n' -r -k2n
sorts 'a key with r alone is no number' 'a 10\nb 9\n' 'b 9\na 10\n' -n -k2r
sorts 'a key with b alone is no number' 'a  10\nb 9\n' 'a  10\nb 9\n' -n -k2b
sorts 'a key with b alone does not inherit -r' 'a  1\nb 2\n' 'a  1\nb 2\n' -r -k2b
sorts 'one key inherits, the other does not' '1 1\n10 2\n9 2\n9 10\n' \
    '1 1\n9 2\n9 10\n10 2\n' -n -k1,1 -k2,2r -s
sorts 'a key of its own order beside a global one' 'a 1K 2\nb 2 1\nc 1K 1\n' 'b 2 1\nc 1K 1\na 1K 2\n' \
    -n -k2,2h -k3
sorts 'a global -b is inherited' 'x   b\ny  a\n' 'y  a\nx   b\n' -b -k2,2
sorts 'a global -b is not inherited by a key with a letter' 'x   b\ny  c\nz a\n' 'z a\ny  c\nx   b\n' \
    -b -k2,2r
sorts 'the last resort is turned by -r, whatever the keys have' 'a 1\nb 1\nc 2\n' 'b 1\na 1\nc 2\n' \
    -r -k2n
sorts 'the last resort is not turned by a key' 'a 1\nb 1\nc 2\n' 'c 2\na 1\nb 1\n' -k2nr
sorts '-r twice is -r' '1\n2\n' '2\n1\n' -n -r -r
sorts 'letters in any order' 'a 2\nb 10\n' 'b 10\na 2\n' -k2rn
sorts 'letters twice' 'a 2\nb 10\n' 'a 2\nb 10\n' -k2nn,2n

# ---- characters ----------------------------------------------------------------------------------

sorts 'from the second character' 'a2\nb1\nc3\n' 'b1\na2\nc3\n' -k1.2
sorts 'from the second character, as numbers' 'x10\nx9\ny1\n' 'y1\nx9\nx10\n' -k1.2n
sorts 'from one character to another' 'ab1z\nac0y\nad1a\n' 'ac0y\nab1z\nad1a\n' -s -k1.3,1.3
sorts 'a number cut off' '199\n21\n150\n' '150\n199\n21\n' -k1.1,1.1n
sorts 'a number cut off within its exponent' '1e99\n1e2\n1e10\n2\n' '2\n1e10\n1e2\n1e99\n' -k1.1,1.3g
sorts 'a hex number cut off' '0x1ff\n17\n0x100\n15\n16\n' '0x1ff\n0x100\n15\n16\n17\n' -s -k1.1,1.3g
sorts 'a suffix cut off' '1K\n2M\n3\n' '1K\n2M\n3\n' -k1.1,1.1h
sorts 'a minus cut off' '-3\n-1\n-2\n' '-1\n-2\n-3\n' -k1.2n
sorts 'characters count from the blanks of a field' 'a  b1\na bb0\n' 'a  b1\na bb0\n' -k2.2
sorts 'characters count behind the blanks, with b' 'a  b1\na b0\n' 'a b0\na  b1\n' -k2.2b
sorts 'the end counts behind the blanks, with b there' 'x  ab\ny   aa\nz ac\n' 'x  ab\ny   aa\nz ac\n' \
    -s -k2b,2.1b
sorts 'the end counts from the blanks, without b there' 'x  ab\ny   aa\nz ac\n' 'y   aa\nx  ab\nz ac\n' \
    -s -k2b,2.3
sorts 'b at the begin does not hold at the end' 'x   bc\ny a\n' 'x   bc\ny a\n' -s -k2.1b,2.2
sorts 'b at the end does not hold at the begin' 'x   b\ny a\n' 'x   b\ny a\n' -k2,2.1b
sorts 'characters behind the field count on into the next' 'a b2\na b1\n' 'a b1\na b2\n' -k1.4,1.4 -s
sorts 'an end behind the field' 'ab 2\nab 1\n' 'ab 1\nab 2\n' -s -k1.1,1.4
sorts 'a begin behind the line' 'ab\naa\nabc0\n' 'ab\naa\nabc0\n' -s -k1.4
sorts 'a begin behind the line, as numbers' 'ab\naa\nabc-5\n' 'abc-5\nab\naa\n' -s -k1.4n
sorts 'an end behind the line' 'b\na\n' 'a\nb\n' -k1.1,1.99
sorts 'an end of .0 is the end of the field' 'ab z\naa y\n' 'aa y\nab z\n' -s -k1.2,1.0
sorts 'an end of .0 with a separator' 'ab,z\naa,y\nab,a\n' 'aa,y\nab,z\nab,a\n' -s -t, -k1.2,1.0
sorts 'an end in the next field' 'a,b2\na,b1\n' 'a,b1\na,b2\n' -s -t, -k1,2.2
sorts 'characters of the second field, with a separator' 'x,a2\ny,b1\n' 'y,b1\nx,a2\n' -t, -k2.2
sorts 'characters behind a field run over the separator' 'a,2\nb,1\n' 'b,1\na,2\n' -t, -k1.3n
sorts 'the end of a key counts on over the separator' 'a,2z\na,1z\n' 'a,1z\na,2z\n' -s -t, -k1.1,1.3

# ---- separators ----------------------------------------------------------------------------------

sorts '-t: the second field' 'a,10\nb,9\n' 'b,9\na,10\n' -t, -k2n
sorts '-t: by itself' 'a:10\nb:9\n' 'b:9\na:10\n' -t : -k2n
sorts '-t: fields may be empty' 'a,,1\nb,x,0\n,,2\n' 'b,x,0\na,,1\n,,2\n' -t, -k3n
sorts '-t: an empty field goes first' 'a,b,1\na,,2\n' 'a,,2\na,b,1\n' -t, -k2,2
sorts '-t: every separator begins a field' 'a  2\nb  1\n' 'b  1\na  2\n' '-t ' -k3n
sorts '-t: with blank, the second of two is empty' 'x  b\ny a\n' 'x  b\ny a\n' '-t ' -k2,2
sorts '-t: tab' 'a b\t2\nc\t1\n' 'c\t1\na b\t2\n' -t$'\t' -k2n
sorts '-t: blanks are part of fields then' 'a, b\nb,a\n' 'a, b\nb,a\n' -t, -k2
sorts '-t: blanks are part of fields, unless -b' 'a, b\nb,a\n' 'b,a\na, b\n' -t, -b -k2
sorts '-t: a key does not hold the separator at its end' 'a,2\na\x2b,1\n' 'a,2\na\x2b,1\n' -s -t, -k1,1
sorts '-t: a key over fields holds the separators between' 'a,b\na-b\naab\n' 'a,b\na-b\naab\n' -t, -k1,2
sorts '-t: separators at the ends' ',b,\n,a,\n,,\n' ',,\n,a,\n,b,\n' -t, -k2,2
sorts '-t: NUL' 'a\x002\nb\x001\n' 'b\x001\na\x002\n' -t '\0' -k2n
sorts '-t: 0xFF' 'a\xff2\nb\xff1\n' 'b\xff1\na\xff2\n' -t $'\xff' -k2n
sorts '-t: backslash' 'a\x5c2\nb\x5c1\n' 'b\x5c1\na\x5c2\n' -t "\\" -k2n
sorts '-t: a digit' 'a1b\nc1a\n' 'c1a\na1b\n' -t1 -k2
sorts '-t: a point' '1.10\n1.9\n1.1.1\n' '1.1.1\n1.9\n1.10\n' -t. -k1,1n -k2,2n
sorts '-t: a minus' 'a-2\nb-1\n' 'b-1\na-2\n' -t- -k2n
sorts '-t: newline, with -z' 'a\n2\x00b\n1\x00' 'b\n1\x00a\n2\x00' -z -t$'\n' -k2n
sorts '-t: given twice, the same' 'a,2\nb,1\n' 'b,1\na,2\n' -t, -t, -k2n
sorts '-t: as numbers of a table' '1,2.5,x\n1,-3,y\n0,9e9,z\n' '0,9e9,z\n1,-3,y\n1,2.5,x\n' -t, -k1,1n -k2,2g
sorts '-t: a versions list' '1.2.10\n1.2.9\n1.10.1\n0.9\n' '0.9\n1.2.9\n1.2.10\n1.10.1\n' \
    -t. -k1,1n -k2,2n -k3,3n
sorts '-t does nothing without -k' '2,1\n10,0\n' '2,1\n10,0\n' -t, -n

# ---- -b ------------------------------------------------------------------------------------------

sorts '-b: at the begin of a key' 'x  2\ny 10\n' 'y 10\nx  2\n' -k2b
sorts '-b: n skips blanks anyway' 'x   2\ny 10\n' 'x   2\ny 10\n' -k2n
sorts '-b: the whole line' '  b\n a\nc\n' ' a\n  b\nc\n' -b -k1
sorts '-b: equal keys go by the line with its blanks' ' a\n  a\na\n' '  a\n a\na\n' -b -k1
sorts '-b: tabs and blanks' 'x\t \tb\ny a\n' 'y a\nx\t \tb\n' -b -k2
sorts '-b: a line of blanks' '   \na\n \n\n' '\n \n   \na\n' -b -k1
sorts '-b: blanks to the end of the line' 'a   \nb x\n' 'a   \nb x\n' -b -k2,2
sorts '-b: at the end only, of a whole field' 'x  b\ny a\n' 'x  b\ny a\n' -k2,2b
sorts '-b: with characters, blanks to the end of the line' 'a   \nb xy\nc x\n' 'a   \nc x\nb xy\n' \
    -k2.2b,2.3b
sorts '-b: newlines are blanks with -z' 'x \n b\x00y a\x00' 'y a\x00x \n b\x00' -z -b -k2
sorts '-b: VT and FF are no blanks' 'x\vb\ny a\n' 'x\vb\ny a\n' -s -k2b
sorts '-b: for numbers with a separator' 'x,  -2\ny,-10\n' 'y,-10\nx,  -2\n' -t, -b -k2n
sorts '-b: with a character in the number' 'x  12\ny 21\n' 'y 21\nx  12\n' -k2.2bn

# ---- -s, -u --------------------------------------------------------------------------------------

sorts '-s: -n' '1 b\n1 a\n01 c\n0\n' '0\n1 b\n1 a\n01 c\n' -n -s
sorts '-s: -r does not turn equal lines' '1 b\n1 a\n2\n' '2\n1 b\n1 a\n' -n -s -r
sorts '-s: -h' '1K b\n1k a\n1\n' '1\n1K b\n1k a\n' -h -s
sorts '-s: -g' '1.0\n1\n1e0\n0\n' '0\n1.0\n1\n1e0\n' -g -s
sorts '-u: -n: the first of equal ones is kept' '1.0\n1\n01\n0\n-0\nx\n' '1.0\n0\n' -n -u -r
sorts '-u: -n: what is no number is 0' 'x\n0\n\n-0\n1\n01\n' 'x\n1\n' -n -u
sorts '-u: -g' '1.0\n0x1\n1\n1e0\n2\nabc\nx\n' 'abc\n1.0\n2\n' -g -u
sorts '-u: -g: 2^64 and the next are one' '18446744073709551617\n18446744073709551616\n1\n' \
    '1\n18446744073709551617\n' -g -u
sorts '-u: -h' '1K\n1k\n1.0K\n1024\n0\n0K\n' '0\n1024\n1K\n' -h -u
sorts '-u: bytes' 'b\na\nb\na\n' 'a\nb\n' -u -k1
sorts '-u: bytes that differ late' 'abcdefghij1\nabcdefghij2\nabcdefghij1\n' 'abcdefghij1\nabcdefghij2\n' -u -k1
sorts '-u: NULs at the end count' 'a\na\x00\na\x00\x00\na\n' 'a\na\x00\na\x00\x00\n' -u -k1
sorts '-u: -r keeps the first too' '1.0\n1\n2\n2.0\n' '2\n1.0\n' -n -u -r
sorts '-u: a key alone decides' 'x 1\ny 1\nz 2\nw 2\n' 'x 1\nz 2\n' -u -k2n
sorts '-u: two keys' 'a 1 x\na 1 y\na 2 z\nb 1 w\nb 01 v\n' 'a 1 x\na 2 z\nb 1 w\n' -u -k1,1 -k2,2n
sorts '-u: an empty key: one line is left' 'b\na\nc\n' 'b\n' -u -k5n
sorts '-u: all lines equal' '7\n7\n7\n7\n' '7\n' -n -u
sorts '-u: -s changes nothing' '1.0\n1\n0\n' '0\n1.0\n' -n -u -s
sorts '-u: empty lines' '\n\n\n' '\n' -n -u
sorts '-u: a missing last newline' '1\n2\n2' '1\n2\n' -n -u
sorts '-u: over lines of different length' '00000000000000000000000001\n1\n1.000000000000000000\n' \
    '00000000000000000000000001\n' -n -u

# Numbers that differ behind what fits into a word, each many times: more than a simple sort takes.
# in_thirds PREFIX SUFFIX: $mixed are lines of three values in turn, $parted the same value by value,
# and $firsts the first of each.
in_thirds() {
    local i value line
    mixed='' parted='' firsts=''
    for i in {10..99}; do mixed+="$1$((3 + i % 3))$2 $((109 - i))\n"; done
    for value in 3 4 5; do
        line=''
        for i in {99..10}; do [ $((3 + i % 3)) -ne $value ] || line="$1$value$2 $((109 - i))\n$line"; done
        parted+=$line firsts+=${line%%\\n*}\\n
    done
}
in_thirds 1234567890123456789012 ''
sorts 'many equal ones: -n -s' "$mixed" "$parted" -n -s
sorts 'many equal ones: -n -u' "$mixed" "$firsts" -n -u
sorts 'many equal ones: -n' "$mixed" = -n
sorts 'many equal ones: -n -r' "$mixed" = -n -r
sorts 'many equal ones: a key, -s' "$mixed" "$parted" -k1,1n -s
sorts 'many equal ones: bytes, -s' "$mixed" "$parted" -k1,1 -s
sorts 'many equal ones: two keys' "$mixed" = -k1,1n -k2n
in_thirds 1234567890123456789012 K
sorts 'many equal ones: -h -s' "$mixed" "$parted" -h -s
sorts 'many equal ones: -h -u' "$mixed" "$firsts" -h -u
sorts 'many equal ones: -h' "$mixed" = -h
in_thirds 1844674407370955161 ''
sorts 'many equal ones: -g -s' "$mixed" "$parted" -g -s
sorts 'many equal ones: -g -u' "$mixed" "$firsts" -g -u
sorts 'many equal ones: -g -r' "$mixed" = -g -r

# ---- the last resort -----------------------------------------------------------------------------

sorts 'last resort: bytes of the whole line' 'b 1\na 1\n' 'a 1\nb 1\n' -k2n
sorts 'last resort: it sees what is before the key' 'z 1 a\na 1 z\n' 'a 1 z\nz 1 a\n' -k2,2n
sorts 'last resort: unsigned bytes' '1\xff\n1a\n1\x80\n1\x00\n' '1\x00\n1a\n1\x80\n1\xff\n' -n
sorts 'last resort: a prefix first' '1aa\n1a\n1\n' '1\n1a\n1aa\n' -n
sorts 'last resort: turned' '1aa\n1a\n1\n2\n' '2\n1aa\n1a\n1\n' -n -r
sorts 'last resort: lines that differ in one byte of many' "0$(repeat 100 y)b\n0$(repeat 100 y)a\n" \
    "0$(repeat 100 y)a\n0$(repeat 100 y)b\n" -n
sorts 'last resort: lines that are the same' '1 a\n1 a\n1 a\n' '1 a\n1 a\n1 a\n' -n
sorts 'last resort: NULs behind a number' '1\x00b\n1\x00a\n1\n1\x00\n' '1\n1\x00\n1\x00a\n1\x00b\n' -n
sorts 'last resort: blanks before a number' '1\n 1\n  1\n\t1\n' '\t1\n  1\n 1\n1\n' -n

# ---- lines ---------------------------------------------------------------------------------------

for order in -n -g -h -k1 -k2n '-n -s' '-n -u' -z\ -n; do
    # shellcheck disable=SC2086 # two words
    sorts "no input, $order" '' '' $order
done
sorts 'one empty line' '\n' '\n' -n
sorts 'empty lines' '\n\n1\n\n-1\n' '-1\n\n\n\n1\n' -n
sorts 'empty lines, -g' '\n\n1\n\n-1\n' '\n\n\n-1\n1\n' -g
sorts 'one line' '1\n' '1\n' -n
sorts 'one line without a newline' '1' '1\n' -n
sorts 'a missing last newline' '2\n1' '1\n2\n' -n
sorts 'a missing last newline behind bytes' 'b\na' 'a\nb\n' -k1
sorts 'a missing last newline behind a NUL' 'b\na\x00' 'a\x00\nb\n' -k1
sorts 'CR LF' '10\r\n9\r\n1\r\n' '1\r\n9\r\n10\r\n' -n
sorts 'CR LF, the last one missing' '10\r\n9\r\n1' '1\n9\r\n10\r\n' -n
sorts 'CR LF behind a suffix' '1M\r\n2K\r\n' '2K\r\n1M\r\n' -h
sorts 'NUL ends a number' '1\x005\n14\n2\n' '1\x005\n2\n14\n' -n
sorts 'NUL ends a number, -g' '1\x00e5\n14\n2\n' '1\x00e5\n2\n14\n' -g
sorts 'NUL ends a number, -h' '1\x00K\n14\n2\n1K\n' '1\x00K\n2\n14\n1K\n' -h
sorts 'NUL before a number' '\x005\n1\n-1\n' '-1\n\x005\n1\n' -n
sorts 'NUL before a number, -g' '\x005\n1\n-1\n' '\x005\n-1\n1\n' -g
sorts 'NUL between fields is no blank' 'a\x002\nb 1\n' 'a\x002\nb 1\n' -k2n
sorts '0xFF before a number' '\xff5\n1\n-1\n' '-1\n\xff5\n1\n' -n
sorts '0xA0 is no blank' '\xa05\n1\n-1\n' '-1\n\xa05\n1\n' -n
sorts 'digits of another script are none' '\xd9\xa1\n0\n1\n' '0\n\xd9\xa1\n1\n' -n
sorts 'a byte order mark is no number' '\xef\xbb\xbf5\n1\n-1\n' '-1\n\xef\xbb\xbf5\n1\n' -n

sorts '-z: lines end with NUL' '10\x009\x001\x00' '1\x009\x0010\x00' -z -n
sorts '-z: a missing last NUL' '10\x009' '9\x0010\x00' -z -n
sorts '-z: newlines are bytes' 'b\n\x00a\nz\x00a\x00' 'a\x00a\nz\x00b\n\x00' -z -k1
sorts '-z: a newline is a blank before a number' '\n5\x00 \n\t4\x001\x00' '1\x00 \n\t4\x00\n5\x00' -z -n
sorts '-z: a newline is a blank before a number, -g' '\n5\x00 \n\t4\x001\x00' '1\x00 \n\t4\x00\n5\x00' -z -g
sorts '-z: a newline is a blank before a number, -h' '\n5\x00 \n\t4K\x001\x00' '1\x00\n5\x00 \n\t4K\x00' -z -h
sorts '-z: a newline parts fields' 'a\n2\x00b\n1\x00' 'b\n1\x00a\n2\x00' -z -k2n
sorts '-z: a newline ends a number' '1\n5\x0014\x002\x00' '1\n5\x002\x0014\x00' -z -n
sorts '-z: a newline at the end of the data' '2\x001\n' '1\n\x002\x00' -z -n
sorts '-z: empty lines' '\x00\x001\x00-1\x00' '-1\x00\x00\x001\x00' -z -n
sorts '-z: -u' '1\x0001\x001\n\x00' '1\x00' -z -n -u
sorts '-z: -s' '1\n\x0001\x001\x000\x00' '0\x001\n\x0001\x001\x00' -z -n -s
sorts '-z: -r' '1\x002\x0001\x00' '2\x001\x0001\x00' -z -n -r
sorts '-z: NUL as the separator never stands in a line' 'b 1\x00a 2\x00' 'a 2\x00b 1\x00' -z -t '\0' -k1

# ---- the order of gpusort's own: -g, but strict --------------------------------------------------

strict='1e3\n-5\n0x10\n7\n7.0\n-inf\n1e-400\n'
sorts_so 'no order is named: as -g' "$strict" '-inf\n-5\n1e-400\n7\n7.0\n0x10\n1e3\n' --format=text
sorts_so 'no order is named: -r' "$strict" '1e3\n0x10\n7.0\n7\n1e-400\n-5\n-inf\n' --format=text -r
sorts_so 'no order is named: -s' '7.0\n7\n1\n' '1\n7.0\n7\n' --format=text -s
sorts_so 'no order is named: -u' '7.0\n7\n1\n' '1\n7.0\n' --format=text -u
sorts_so 'no order is named: -z' '7.0\x007\x001\x00' '1\x007\x007.0\x00' --format=text -z

# ---- several inputs ------------------------------------------------------------------------------

given a '3\n1\n'
given b '2\n10'
given c ''
given d '02\n1.0\n'
gives 'several files' '1\n1.0\n02\n2\n3\n10\n' -n a b c d
gives 'several files, equal lines in the order of the files' '1\n1.0\n2\n02\n3\n10\n' -n -s a b c d
gives 'several files, the other way round' '1.0\n1\n02\n2\n3\n10\n' -n -s d c b a
gives 'several files, the first of equal lines is kept' '1.0\n02\n3\n10\n' -n -u d a b
gives 'a file twice' '1\n1\n3\n3\n' -n a a
gives 'empty files' '' -n c c c
gives 'a missing newline between files' '1\n2\n3\n10\n' -n b a
gives 'options behind the files' '1\n3\n' a -n
gives 'files behind --' '1\n3\n' -n -- a
given '-1' '5\n4\n'
gives 'a file whose name looks like an option' '4\n5\n' -n -- -1
gives 'a file without a newline before an empty one' '2\n10\n' -n b c
sort -n a b >expected
ok_output 'standard input among files' expected -- gpusort -n a - <b

given names 'a\x00b\x00'
gives '--files0-from' '1\n2\n3\n10\n' -n --files0-from=names
given names 'd\x00c\x00a'
gives '--files0-from: the last NUL may be missing' '1.0\n1\n02\n3\n' -n -s --files0-from=names
given 'with
newline' '8\n7\n'
given names 'with\nnewline\x00a\x00'
gives '--files0-from: names with newlines' '1\n3\n7\n8\n' -n --files0-from=names

# ---- --header ------------------------------------------------------------------------------------

sorts_so '--header: the first line stays' 'size\n10\n9\n' 'size\n9\n10\n' --header=1 -n
sorts_so '--header: two lines stay' 'z\ny\n10\n9\n' 'z\ny\n9\n10\n' --header=2 -n
sorts_so '--header=0 is none' 'z\n1\n-1\n' '-1\nz\n1\n' --header=0 -n
sorts_so '--header: fewer lines than that' 'z\ny' 'z\ny\n' --header=5 -n
sorts_so '--header: no lines' '' '' --header=1 -n
sorts_so '--header: with keys' 'name,size\nb,1\na,2\nc,0\n' 'name,size\nc,0\nb,1\na,2\n' \
    --header=1 -t, -k2n
sorts_so '--header: with -r' 'h\n1\n2\n' 'h\n2\n1\n' --header=1 -n -r
sorts_so '--header: with -u, the header is no line of the data' '1\n1\n01\n2\n' '1\n1\n2\n' \
    --header=1 -n -u
sorts_so '--header: with -z' 'h\x002\x001\x00' 'h\x001\x002\x00' --header=1 -z -n
sorts_so '--header: a last line without a newline' 'h\n2\n1' 'h\n1\n2\n' --header=1 -n
given t1 'h\n3\n1\n'
given t2 'h\n2\n0'
by_sort=no gives '--header: each file has the same, and it is kept once' 'h\n0\n1\n2\n3\n' \
    --header=1 -n t1 t2

# ---- -c and -C -----------------------------------------------------------------------------------

unset GPUSORT_DEVICE # with -c and -m nothing is sorted, and a device is refused

in_order '-n: in order' '-1\n\n0\n1\n9\n10\n' -n
in_order 'no lines' '' -n
in_order 'one line' '1\n' -n
in_order 'equal lines' '1\n1\n1\n' -n
in_order 'bytes' 'A\na\nab\n\xff\n' -k1
in_order 'keys' 'b 1\na 2\na 10\n' -k2n
in_order '-r' '10\n9\n1\n' -n -r
in_order '-s: equal keys in any order' '1 b\n1 a\n' -n -s
in_order '-u: all different' '1\n2\n10\n' -n -u
in_order '-z' '1\x009\x0010\x00' -z -n
in_order 'a missing last newline' '1\n2' -n
in_order '-g' 'x\n-inf\n0\n0x1\n1e1\n' -g
in_order '-h' '-1K\n0K\n1\n1K\n1M\n' -h
disorder '-n: a disorder' '1\n10\n9\n' '3:9\n' -n
disorder '-n: the first disorder is named' '2\n1\n3\n0\n' '2:1\n' -n
disorder 'the last resort counts' '1 b\n1 a\n' '2:1 a\n' -n
disorder 'the last resort counts, turned by -r' '1 a\n1 b\n' '2:1 b\n' -n -r
disorder '-u: equal lines' '1\n1\n' '2:1\n' -n -u
disorder '-u: equal keys' '1\n2\n02\n3\n' '3:02\n' -n -u
disorder 'bytes' 'b\na\n' '2:a\n' -k1
disorder '-r' '1\n2\n' '2:2\n' -n -r
disorder '-g' '1\nx\n' '2:x\n' -g
disorder '-h' '1M\n1023K\n' '2:1023K\n' -h
disorder 'two keys' 'a 1\na 2\na 01\nb 0\n' '3:a 01\n' -k1,1 -k2n
disorder 'an empty line' '1\n\n' '2:\n' -n
disorder 'a missing last newline' '2\n1' '2:1\n' -n
disorder 'a line with a NUL' '2\n1\x00x\n' '2:1\x00x\n' -n
disorder '-z' '10\x009\x00' '2:9\x00' -z -n
disorder '-t' 'a,2\nb,1\n' '2:b,1\n' -t, -k2n

# ---- -m ------------------------------------------------------------------------------------------

given m1 '1\n4\n10\n'
given m2 '2\n4.0\n'
given m3 '0\n04\n11'
gives '-m: two files' '1\n2\n4\n4.0\n10\n' -m -n m1 m2
gives '-m: three files' '0\n1\n2\n04\n4\n4.0\n10\n11\n' -m -n m1 m2 m3
gives '-m -s: equal lines in the order of the files' '0\n1\n2\n4.0\n4\n04\n10\n11\n' -m -n -s m2 m1 m3
gives '-m -u: the first of equal lines is kept' '0\n1\n2\n4.0\n10\n11\n' -m -n -u m2 m1 m3
gives '-m: one file' '1\n4\n10\n' -m -n m1
gives '-m: empty files' '1\n4\n10\n' -m -n c m1 c
gives '-m: nothing but empty files' '' -m -n c c
gives '-m: a file twice' '1\n1\n4\n4\n10\n10\n' -m -n m1 m1
gives '-m -u: a file twice' '1\n4\n10\n' -m -n -u m1 m1
given r1 '10\n4\n1\n'
given r2 '4.0\n2\n'
gives '-m -r' '10\n4.0\n4\n2\n1\n' -m -n -r r1 r2
given k1 'b 1\na 2\n'
given k2 'c 1\nz 1\na 3\n'
gives '-m: by a key' 'b 1\nc 1\nz 1\na 2\na 3\n' -m -k2n k1 k2
given z1 '1\x004\x00'
given z2 '2\x003'
gives '-m -z' '1\x002\x003\x004\x00' -m -z -n z1 z2
given u1 '1\n1\n01\n2\n'
gives '-m -u: equal lines within a file' '1\n2\n' -m -n -u u1
given b1 'a\nc\n'
given b2 'b\n\xff\n'
gives '-m: bytes' 'a\nb\nc\n\xff\n' -m -k1 b1 b2
given h1 '-1M\n1\n1M\n'
given h2 '-2\n0K\n2K\n'
gives '-m -h' '-1M\n-2\n0K\n1\n2K\n1M\n' -m -h h1 h2
given g1 'x\n-inf\n1e3\n'
given g2 'a\n0x10\n'
gives '-m -g' 'a\nx\n-inf\n0x10\n1e3\n' -m -g g1 g2
for i in {10..40}; do given "many.$i" "$i\n$((i + 5)).5\n$((i * 2))\n"; done
gives '-m: 31 files' = -m -n many.*
gives '-m -u: 31 files' = -m -n -u many.*
given names 'm1\x00m2\x00'
gives '-m --files0-from' '1\n2\n4\n4.0\n10\n' -m -n --files0-from=names

done_testing
