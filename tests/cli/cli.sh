#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options that print information, options that are accepted, and the advice for lines that are no numbers. What is
# refused has status 2 and a reason. sort_options.sh has the options of sort(1).
. "$(dirname "$0")/../lib.sh"
printf '2\n1\n' >two

# ---- information ---------------------------------------------------------------------------------

for words in '--help:^ *Order:' '--help:Exit status: 0 success, 1 -c or -C found disorder, 2 error' \
    '--usage:^Usage: ' '--version:^gpusort [0-9]+\.[0-9]+\.[0-9]+$'; do
    ok_says "$words" "${words#*:}" -- gpusort "${words%%:*}"
done
case $(gpusort --list) in
*'  gpu '*) build='CPU and CUDA [0-9]+\.[0-9],( sm_[0-9]+)+' ;;
*) build='CPU only, without CUDA' ;;
esac
ok_says '--version has the build and the commit' \
    "^built for $build; commit ([0-9a-f]{12}(-dirty)?|unknown)\$" -- gpusort --version
if possible '--version in little memory' 'sanitizers take memory of their own' [ "$test_size" = full ]; then
    ok_says '--version in little memory' '^gpusort ' -- with_limit -v 60000 "$GPUSORT" --version
fi
for what in 'f64 .*float64, <f8, f8' 'i8 .*int8, \|i1' 'i64 .*int64, <i8(, [^ ]{3,})*$' 'bf16 +2 bytes' 'raw ' 'npy ' 'text ' 'zstd ' 'cpu '; do
    ok_says "--list has $what" "^  $what" -- gpusort --list
done
if gpusort --list | grep -q '^  gpu '; then
    for path in bitonic direct-merge segmented-merge rank heap column column-single column-min column-pairs; do
        ok_says "--list has the GPU's path $path" "^    $path .*tiles of 256, 512, 1024, 2048" -- gpusort --list
    done
    ok_says "--list has a path's limit" '^    rank .*at most 131072 numbers' -- gpusort --list
else
    skip "--list has the GPU's paths" 'this build has no GPU backend'
    ok_fails_with '--device=gpu of a build without it' 2 'built without nvcc, or with CUDA=0$' -- \
        gpusort --device=gpu missing
    ok_prints 'of several --device the last counts' '1\n2\n' -- gpusort --device=gpu --device=cpu two
fi
for option in --help --usage --version --list; do
    ok_fails_with "$option to a full device fails" 2 '^gpusort: standard output: No space left on device$' -- \
        bash -c 'exec "$0" "$1" >/dev/full' "$GPUSORT" $option
    ok "$option does not write to standard error" bash -c '[ -z "$("$0" "$1" 2>&1 >/dev/null)" ]' "$GPUSORT" $option
done

ok_output '--help ends, whatever ARGP_HELP_FMT says' <(gpusort --help) -- \
    bash -c 'ARGP_HELP_FMT=rmargin=20 "$0" --help | head -c 99999' "$GPUSORT"

head -c 800 /dev/zero >few.f64
truncate -s 40G many.f64 # without any data block
while IFS='|' read -r words said; do
    ok_says "--explain $words: $said" "^$said" -- gpusort --explain $words
done <<'END'
two -o out|input +two: text
two -o out|output +out: text
two|output +[^:]*: text \(as the input\), plain$
two --zstd=5|output +[^:]*: text \(as the input\), zstd \(as --zstd says\)
two -o out.zst|output +[^:]*: text \(as the input\), zstd \(by its name\)
two -o x.zst --no-zstd --output-format=text|output .*text \(as --output-format says\), plain \(as --no-zstd says\)
two -o out.npy|output +[^:]*: npy \(by its name\), plain
two --device=cpu --parallel=1|algorithm +radix, 1 thread \(the fastest that fits the device\)$
two|model +cpu [0-9.]+ s, gpu [0-9.]+ s
two --argsort|model +none
two --device=cpu|device +cpu: .*\(as --device says\)
few.f64|model +cpu 0\.[0-9]+ s, gpu 0\.[0-9]+ s
few.f64|device +cpu: .*\(sooner done than a GPU
many.f64|device .*large enough to pay for starting the GPU
END
if [ -n "$(gpu_problem)" ]; then
    ok_says '--explain says why there is no GPU' '^gpu +none: .*(GPU|CUDA|driver|device)' -- gpusort --explain two
    ok_says '--explain with a device says so too' '^gpu +none: ' -- gpusort --explain --device=cpu many.f64
else
    ok_says '--explain has the GPU that is left out' '^gpu .*: not used$' -- gpusort --explain two
    ok_prints '--explain has it once if it is used' '1\n' -- \
        bash -c '"$0" --explain --device=gpu few.f64 | grep -cE "^(device +)?gpu"' "$GPUSORT"
fi
ok '--explain writes nothing' test ! -e out
ok_fails_with '--explain of a missing file' 2 'missing: No such file' -- gpusort --explain missing

gpusort -v two -o out >stdout 2>stderr || true
ok_prints '-v prints nothing on standard output' '' -- cat stdout
for line in 'input +two' 'device +' 'algorithm +' 'stage +seconds .*2 lines' 'read +[0-9.]+' 'parse +[0-9.]+' \
    'sort +[0-9.]+' 'write +[0-9.]+' 'total +[0-9.]+'; do
    ok "-v tells: $line" grep -Eq "^gpusort: $line" stderr
done
ok_prints '-v sorts' '1\n2\n' -- cat out
ok_prints 'without -v it is quiet' '1\n2\n' -- gpusort two

# ---- accepted options ----------------------------------------------------------------------------

for word in -r --reverse --rev; do
    ok_prints "options may follow the files, and long ones may be cut: $word" '2\n1\n' -- gpusort two "$word"
done
seq 300000 >ascending
tac ascending >descending
ok_writes 'more threads than are of use' ascending -- --parallel=4096 descending
for word in --parallel={1,2,3,64,4096,99999999999999999999} --device={cpu,auto} --algorithm=auto; do
    ok_prints "$word" '1\n2\n' -- gpusort "$word" two
done
for path in $(list_paths cpu); do
    ok_prints "--device=cpu --algorithm=$path" '1\n2\n' -- gpusort --device=cpu --algorithm="$path" two
done

# ---- refused options -----------------------------------------------------------------------------

unknown() { refused "$1 is refused" "$2" -- gpusort "$1" two -o "$target"; }
for word in '' '<f3' '|f3' F64; do unknown --type="$word" "unknown type '${word/|/\\|}': --list names the types$"; done
unknown --type=f128 "unknown type 'f128', a name of long doubles: --list names"
for option in --format --output-format; do unknown $option=csv "unknown format 'csv'"; done
unknown --endian=middle "unknown byte order 'middle'"
for word in i16 datetime64; do unknown --argsort=$word "unknown type of indices '$word'"; done
unknown --nan=middle "unknown NaN rule 'middle'"
for word in bogosort :256; do unknown --algorithm=$word "unknown algorithm '${word%:*}'"; done
unknown --algorithm=auto:256 'needs a path'
for word in tpu cpu:1; do unknown --device=$word "unknown device '$word'"; done
for word in x -1; do unknown --device=gpu:$word "invalid device number '$word'"; done
for path in $(list_paths cpu); do
    unknown --algorithm="$path:3" 'tile'
    unknown --algorithm="$path:1.5" "invalid tile size '1.5': it is a whole number"
done

for option in --bogus --program-name=x --HANG; do # argp has the last two
    ok_fails_with "an unknown option: $option" 2 "^gpusort: unrecognized option .*${option%=x}" -- \
        timeout 5 "$GPUSORT" $option /dev/null
done
ok_says 'options that may be meant are options of this program' \
    "^gpusort: option '--p' is ambiguous; possibilities: '--parallel' '--progress'$" -- \
    bash -c '"$0" --p 2>&1 || true' "$GPUSORT"
ok_fails_with 'an unknown letter' 2 "^gpusort: invalid option -- 'Q'" -- gpusort -Q
ok_fails_with 'an option without its argument' 2 '^gpusort: option requires an argument' -- gpusort -o
ok_fails_with 'an argument to an option that has none' 2 "^gpusort: option .*doesn't allow an argument" -- \
    gpusort --reverse=yes
ok_fails_with 'a usage error has a hint' 2 '^Try .*--help' -- gpusort --bogus
refuses 'a type of the other byte order than --endian, before it' 'contradict each other: leave one out' -- \
    --endian=big --type='<f8' --format=raw two
refuses 'a type of the other byte order than --endian, after it' '--type=>f8 and --endian=little contradict' -- \
    --type='>f8' --endian=little --format=raw two
printf '\0\2\1\0' >pair
printf '\1\0\0\2' >pair.sorted
ok_output 'the last --type has the byte order' pair.sorted -- gpusort --type='>u2' --type=u2 --format=raw pair
ok_prints '-o twice, the same' '1\n2\n' -- bash -c '"$0" two -o out -o out && cat out' "$GPUSORT"

# ---- lines that are not numbers ------------------------------------------------------------------

# hints REGEX TEXT...: the error for each first line TEXT (printf %b escapes) matches REGEX. The message names the part
# of the line that -g would read. sort(1) and gpusort with -g must read the same: of the line and that part, -u keeps
# one.
hints() {
    local regex=$1 text
    for text in "${@:2}"; do
        printf %b "$text" >hinted
        gpusort hinted 2>said >/dev/null || true
        hint_problems "$text" "$regex" "$(<said)" >"$work/log/problems" 2>&1
        pass_unless_said "'$text' is not a number: $regex" "$work/log/problems"
    done
}
# hint_problems TEXT REGEX MESSAGE: prints what is wrong with the message.
hint_problems() {
    local text=$1 regex=$2 said=$3 command as kept
    [[ $said == *'; -k1 sorts '* || $said == *'carriage return'* ]] || echo "it does not name -k1: $said"
    [[ $regex == *'-k1 sorts lines'* ]] || said=${said/; -k1 sorts lines by their bytes/}
    [[ $said =~ $regex ]] || echo "$regex does not match: $said"
    case $said in
    *"-g would read only '"*)
        as=${said#*-g would read only \'}
        as=${as%%\' of it*} ;;
    *'-g would read no number in it'*) as=x ;;
    *) echo "it does not say what -g reads: $said" ;;
    esac
    printf '%b\n%s\n' "$text" "$as" >both
    for command in sort gpusort; do
        $command -g -u both >kept 2>"$work/log/stderr" || echo "$command -g fails"
        mapfile -t kept <kept
        [ ${#kept[@]} -eq 1 ] || echo "$command -g does not read: $as"
    done
}

hints '; if this line is a title, --header sets it apart$' price '"price"' 'id,price' v1.10.0 '# prices' \
    'Gr\xc3\xb6\xc3\x9fe' _x "'a b'" 'GPU time' infant index 'x1 2'
hints "read only '-?1' of it; .*commas .*tr -d ,.; columns are for" -1,234,567 1,234.5
to_point='\(tr , \.\), after points that group digits in other lines have been removed \(tr -d \.\)'
hints "a comma that groups .*tr -d ,.*, or, if it is a decimal comma, .*$to_point; columns are for" 1,234 -12,345
hints "read only '-?[0-9]+' of it; a decimal comma .*$to_point; columns are for" 1,5 -0,5 0,125 1234,5
# Titles of an index.
hints '[^)]; columns are for -t and -k.*; if this line is a title, --header sets it apart$' ,0 ',a,b' ';0'
printf ',0\n0,3.5\n1,2.5\n' >series
ok_output 'what the hint says of titles of an index is done' \
    <(head -n 1 series && tail -n +2 series | sort -t, -k2,2g) -- gpusort --header -t, -k2,2g series
one_is_left='.with -u, one of those with the same numbers is left.'
hints "points .*tr -d \. .*, but -nt. -k1,1 -k2,2 -k3,3 -k4,4 sorts versions $one_is_left$" 1.234.567 1.100.200 \
    1.100.200.300
hints "read only '-?1.234' of it; points .*tr -d \. .*; columns are for" 1.234,56 -1.234.567
parts='-nt. -k1,1 -k2,2 -k3,3 -k4,4 sorts such'
hints "read only '[0-9.]+' of it; $parts addresses, but not by a port or length $one_is_left$" 192.168.0.1 10.0.0.1 \
    192.168.100.200 10.0.0.0/8 1.2.3.4:80
hints "read only '[0-9.]+' of it; $parts (versions by these numbers alone $one_is_left, but no dates that .*|addresses, .*)$" \
    1.2.10 0.0.3 2.14.0.1
ok_prints 'what is said of versions sorts them' '1.2.9\n1.2.10\n1.10\n2.0.1\n' -- \
    gpusort -nt. -k1,1 -k2,2 -k3,3 -k4,4 <(printf '2.0.1\n1.10\n1.2.10\n1.2.9\n')
ok_prints 'and of addresses, with the -r of the user' '192.168.0.1\n10.0.0.1\n9.9.9.9\n' -- \
    gpusort -r -nt. -k1,1 -k2,2 -k3,3 -k4,4 <(printf '10.0.0.1\n9.9.9.9\n192.168.0.1\n')
hints 'exponent has to be written with E, if it is one .*; -k1 sorts lines by their bytes$' 1.5D+03 2d5 -1.D0 .5Q1 \
    12d34
hints 'exponent has to be written with E, if it is one .sed .*; -k1 sorts lines by their bytes$' 1.5-103 -.25+100 \
    0.1234567-102
hints "read only '[0-9.]+' of it$" 1.5-10 1/2-2024 14.03-2019
printf '%s\n' 1.5-103 -2.5+100 1.0E+00 -3.5E-05 >spelled
gpusort spelled 2>said >/dev/null || true
advice=$(sed -n "s/.*if it is one (\\(sed '.*'\\)).*/\\1/p" said)
ok_prints 'advice when it is followed: exponents without E' '-2.5E+100\n-3.5E-05\n1.5E-103\n1.0E+00\n' -- \
    bash -c "$advice spelled | \"\$0\"" "$GPUSORT"
hints 'no number in it, .*quotes have to be removed' '"5"' "'-5.5'" '"1,234"' '"5 "'
hints "read only '[0-9.]+' of it$" 5% '5 %' 5kg '5 kg' 0x 1e 5m
hints '; -k1 sorts lines by their bytes$' /usr/b ./a ../a ~/x .bashrc @user '[x]' '*.c' 00:1b:44:11:3a:b7 \
    550e8400-e29b-41d4-a716-446655440000 3f1a9 ::1 5- 1/3 1+2j 1_0 030.123.456 - . '(5)' '?'
hints "read only '1' of it; underscores" 1_000 1_000_000.5
hints "read only '-?1' of it; apostrophes .*tr -d .'" "1'000" "-1'234'567.5"
hints "read only '1' of it; .*not with a carriage return .tr '.r' '.n'; those of -z: tr '.r' '.0'.\$" '1\r2' \
    '1\r2\r3\r'
currency='the currency sign has to be removed .tr -d .\$. removes \$., if it is the same in all lines$'
hints "no number in it, .*$currency" '$5' '-$5' '$1,234' '\xe2\x82\xac12.50' '\xc2\xa3 5'
hints "read only '[0-9]+' of it; $currency" '12,50 \xe2\x82\xac' '5\xe2\x82\xac' '1 234 $' '5\xc2\xa0\xe2\x82\xac'
suffix='-h sorts by the suffix K, M, G and so on, which no blank may precede, then by the number$'
hints "read only '[-0-9.]+' of it; $suffix" 5K -1.5GiB 2M 512B 1.2kB 128Mi '4.0 KiB' '900 B' .5M
hints "read only '.5' of it$" +5K # for -h this is no number
hints '; -k1 sorts such dates by their bytes, if all have as many digits and the same zone$' 2024-01-31 2024/01/31 \
    '2024-01-31 12:30' 2024-01-31T12:30:15Z '2024-01-31 12:30:15,123 INFO x' '2022-07-15 0:44:00' \
    2024-01-31T12:30:15+02:00
hints "read only '2024' of it$" '2024-01-31 01:30 PM'
hints '; -k1 sorts dates by their bytes only if they are written as 2024-01-31$' 1/11/99 01/02/2024 14.03.2019 \
    14-03-2019 2-Jan-24 2024/1/5 1.2.3456 '3/14/2019 1:30 PM'
hints "read only '[0-9]+' of it; -nt: -k1,1 -k2,2 -k3,3 sorts such times, if all have as many parts $one_is_left$" \
    9:30 12:30:15.5
hints "read only '17?' of it; columns are for -t and -k, or each number has to be on a line of its own$" '1 2' 1,2,3 \
    '1;2' '1\t2' '1|2' '1, 2' 17,3,99,4
hints 'no number in it, .*U\+2212' '\xe2\x88\x925'
hints 'no number in it, .*full-width' '\xef\xbc\x95'
hints "read only '5' of it; it has a no-break space" '5\xc2\xa0000'
hints ': -g would read no number in it, and sort it below all' NA null None nil n/a '"NA"'
ok_prints 'a second line is no title' '' -- \
    bash -c 'printf "1\nprice\n" | "$0" 2>&1 | grep -e --header; exit 0' "$GPUSORT"
printf 'price\n3\n1\n' >titled
ok_prints 'what the hint says is done' 'price\n1\n3\n' -- gpusort --header titled
printf '%s\n' 1534 1.5D+03 '"7"' >spelled
ok_prints 'so is what it says of numbers' '7\n1.5E+03\n1534\n' -- \
    bash -c "tr DdQq E <spelled | tr -d \\\"\\' | \"\$0\"" "$GPUSORT"
# follows COMMAND LINE...: the lines are in the order that advice promises, and COMMAND sorts them so.
follows() {
    printf '%s\n' "${@:2}" >ordered
    shuf --random-source=<(yes) ordered >shuffled
    ok_output "advice when it is followed: $1 for $2" ordered -- bash -c "\"\$0\" $1 shuffled" "$GPUSORT"
}
follows -h -2M -3K -4 512B 800B 3kB 1234567K 128Mi 800M 2.50G
follows -k1 '1966-04-08 01:00:00' '1966-04-08 19:35:00' '1966-04-09 00:00:00' '2022-07-15 00:44:00'
follows -k1 2024-01-31T12:30:15.25Z 2024-01-31T12:30:15.50Z 2024-02-01T00:00:00.00Z
follows '-nt: -k1,1 -k2,2 -k3,3' 0:59:59 1:00:09.25 1:00:09.5 1:00:10 10:07:00 100:00:00
follows '-nt: -k1,1 -k2,2 -k3,3' 1:00 9:05 9:30 10:07 100:00
follows '-nt. -k1,1 -k2,2 -k3,3 -k4,4' 9.9.9.9/32 10.0.0.0/8 10.0.0.12/8 10.0.10.0/24 127.0.0.1/8
follows '-nt. -k1,1 -k2,2 -k3,3 -k4,4' 10.0.0.2:8080 10.0.0.10:443 127.0.0.1:80
printf 'name,%0300d\rb,2\ra,1\r' 0 >returns
refuses 'a table whose lines end with a carriage return is no title' \
    ': -g would read no number in it, .* numbers; lines have to end with a newline, not .*\)$' -- returns
# What would merge the columns of a table says so.
columns='; if commas separate columns, each number has to be on a line of its own$'
for line in 'price:if this line is a title, it has to be removed .tail -n .2.$' '1_000:underscores' '1.5D3:the exponent has to be written with E' \
    '5kg:what follows the number has to be removed, if it is the same unit in all lines$' "1,234,567:commas .*tr -d ,.$columns" \
    "1,2:a decimal comma .*$to_point$columns" "1,234:a comma that groups .*$to_point$columns" "1.234,56:points .*$columns" \
    '1 2:each number has to be on a line of its own$' '1,2,3:each number has' ',0:each number has .*; if this line is a title, ' '1 234 567:each number has to be on a line of its own$' '2;-.5:each number has' '4K:the suffix .*numfmt' \
    'True:truth values have to be written as 1 and 0$' 'false:truth values' '2024-01-31:dates are read only as counts' \
    'NA:a missing number has to be removed, or written as nan .floating point. or NaT .times.$' '"null":a missing number' 'NaT:a missing number'; do
    printf '%s\n' "${line%%:*}" >hinted
    refuses "read as numbers: ${line%%:*}" "is not a number: ${line#*:}" -- --format=text --type=f64 hinted
done

problem=$(gpu_problem) || true
if [ -n "$problem" ]; then
    refuses '--device=gpu without one is refused with the reason' 'GPU|CUDA|driver|device' -- --device=gpu two
    if gpusort --list | grep -q '^    bitonic'; then
        refuses "a GPU's path without one is refused with the reason" 'algorithm=bitonic: ' -- -a bitonic two
    else
        unknown --algorithm=bitonic "unknown algorithm 'bitonic'"
    fi
else
    for path in $(list_paths gpu | grep -vxF -f <(list_paths cpu)); do
        refuses "--device=cpu --algorithm=$path, which is the GPU's" "cpu has no path '$path'" -- \
            --device=cpu --algorithm="$path" two
    done
    ok_says '--device=cpu --algorithm=radix, which both have' 'device +cpu: .*as --device says' -- \
        gpusort --explain --device=cpu --algorithm=radix two
    ok_says "--explain with a GPU's path" 'device +gpu: .*as --algorithm says' -- gpusort --explain -a bitonic two
    ok_says "--explain has the GPU's path" '^algorithm +radix, tiles of 4096 \(the fastest that fits the device\)$' -- \
        gpusort --explain --device=gpu few.f64
    ok_says 'a path named without a tile has its largest' 'bitonic, tiles of 2048' -- \
        gpusort --explain --device=gpu -a bitonic --type=u8 --format=raw /dev/null
fi

done_testing
