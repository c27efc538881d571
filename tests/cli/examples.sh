#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples of README.md and of the manual page run as they are printed, without an error or a message, except those
# for a second GPU. The outputs of two are compared.
. "$(dirname "$0")/../lib.sh"
need_numpy
command -v zstd >/dev/null || skip_all 'no zstd(1)'

# The files that the examples name.
with_numpy 'n = 3000
x = random.standard_normal(n)
for name in "data.bin", "huge.f64", "data.f64":
    x.tofile(name)
x.astype(">f8").tofile("measured.bin")
random.integers(-2**62, 2**62, n).tofile("events.dat")
random.integers(0, 2**32, n, dtype=np.uint32).tofile("ids.u32")
for name in "scores", "monday", "tuesday", "names":
    np.save(name, random.standard_normal(n))
for name in "prices.txt", "numbers.txt":
    np.savetxt(name, x, "%.4f")
for name in "ids.txt", "other_ids.txt", "new":
    np.savetxt(name, random.integers(0, 1000, n), "%d")
for name in "all", "monday.log", "tuesday.log":
    np.savetxt(name, np.sort(random.integers(0, 1000, n)), "%d")
np.savetxt("access.log", random.integers(0, 1000, n), "%d GET /")
np.savetxt("table.csv", random.integers(0, 100, (n, 3)), "%d", ",", header="a,b,c", comments="")'
zstd -q data.f64
sort -n all new >all.sorted

# The commands that the examples name.
mkdir "$work/bin"
ln -s "$GPUSORT" "$work/bin/gpusort"
printf '#!/bin/sh\nexec cat data.bin\n' >"$work/bin/producer"
printf '#!/bin/sh\nexec cat\n' >"$work/bin/less"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$numpy")" >"$work/bin/python3"
chmod +x "$work/bin/"{producer,less,python3}

# run_examples COUNT: runs each line of standard input as a command. There are at least COUNT of
# them, all succeed, and only those with -v write to standard error. Not every machine has a second
# GPU or a fast disk: the examples of the former are skipped, and /fast is this directory.
run_examples() {
    local count=0 command pipes
    while IFS= read -r command; do
        count=$((count + 1))
        case $command in *--device=gpu:1*) continue ;; esac
        case $command in *'| head'*) pipes=+o ;; *) pipes=-o ;; esac # head may end the command before it
        PATH=$work/bin:$PATH ok "$command" bash $pipes pipefail -c 'eval "$1" </dev/null 2>err || { cat err; exit 1; }
            [ ! -s err ] || [[ $1 = *" -v "* ]] || { cat err; exit 1; }' - "${command//\/fast/.}"
    done
    ok "there are examples: $count" test "$count" -ge "$1"
}
run_examples 7 < <(sed -n '/^## Examples/,/^## Figures/s/^    \([^ #]\)/\1/p' "$tests_dir/../README.md")
run_examples 30 < <(sed -n '/^\.Sh EXAMPLES/,/^\.Sh DIAG/s/^\.Dl \$ //p' "$tests_dir/../man/gpusort.1" | sed 's/\\&//g; s/\\-/-/g')

ok 'a ranking orders another array' with_numpy 'scores = np.load("scores.npy")[np.load("ranking.npy")]
assert np.array_equal(scores, np.sort(scores)[::-1])'
ok_same_bytes 'new lines in their places' all all.sorted

done_testing
