#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Input from a pipe, or of unknown size, is sorted like a file: in all formats, however slowly it
# comes, and on every device. auto chooses the device that it chooses for a file of that size.
. "$(dirname "$0")/../lib.sh"
need_numpy

has_gpu=yes
[ -z "$(gpu_problem)" ] || has_gpu=no
mapfile -t devices < <(list_devices)

# slowly FILE: prints a third of FILE, waits, and prints the rest.
slowly() {
    local third=$(($(stat -c %s "$1") / 3))
    head -c $third "$1"
    sleep 0.2
    tail -c +$((third + 1)) "$1"
}

# resized BYTES: makes a pipe of so many bytes, sorts from it, and prints its size then.
resized() {
    "$numpy" -c 'import fcntl, os, subprocess, sys
F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032
begin, end = os.pipe()
fcntl.fcntl(end, F_SETPIPE_SZ, int(sys.argv[1]))
os.write(end, b"2\n1\n")
sorts = subprocess.Popen([sys.argv[2], "-n", "-o", os.devnull], stdin=begin)
os.close(end)
sorts.wait()
print(fcntl.fcntl(begin, F_GETPIPE_SZ))' "$1" "$GPUSORT"
}
ok_prints 'a small pipe becomes larger' '1048576\n' -- resized 65536
if resized $((4 << 20)) >size 2>/dev/null; then
    ok_prints 'a large one stays as large' '4194304\n' -- cat size
else
    skip 'a large pipe stays as large' 'larger pipes than 1 MiB are for root'
fi

# ---- every format and codec, of unknown size -----------------------------------------------------

with_numpy 'data = random.normal(size=30001)
data.tofile("n.f64"); np.save("n.npy", data)
np.sort(data).tofile("n.sorted"); np.save("sorted.npy", np.sort(data))
np.argsort(data, kind="stable").astype("<u8").tofile("n.order")
whole = random.integers(0, 1000, 30001)
np.savetxt("n.txt", whole, "%d"); np.savetxt("n.lines", np.sort(whole), "%d")
np.sort(whole).astype("<f8").tofile("n.numbers")'
head -c 8000 n.sorted >n.first
# Around the bytes that are read at once, and more than are read ahead.
sizes='0 1 16383 16384 16385 65537 1048577 3000000'
with_numpy 'for size in map(int, sys.argv[1].split()):
    numbers = random.integers(0, 256, size, "u1")
    numbers.tofile("some.%d" % size); np.sort(numbers).tofile("some.%d.sorted" % size)' "$sizes"
for name in n.f64 n.npy n.txt; do zstd -q <$name >$name.zst; done # from a pipe: the frame has no size

for device in "${devices[@]}"; do
    # comes NAME EXPECTED INPUT OPTION...: checks INPUT from a pipe, and from a slow one.
    comes() {
        local name="$device: $1" expected=$2 input=$3
        shift 3
        ok_output "$name, from a pipe" "$expected" -- gpusort --device="$device" "$@" < <(cat "$input")
        ok_output "$name, slowly" "$expected" -- gpusort --device="$device" "$@" < <(slowly "$input")
    }
    raw=(--format=raw --type=f64)
    for codec in '' .zst; do
        comes "raw numbers$codec" n.sorted n.f64$codec "${raw[@]}"
        comes "npy$codec" sorted.npy n.npy$codec
        comes "lines$codec" n.lines n.txt$codec -n
        comes "text as numbers$codec" n.numbers n.txt$codec --format=text --type=f64 --output-format=raw
    done
    comes 'indices' n.order n.f64 "${raw[@]}" --argsort=u64
    comes 'the first' n.first n.f64 "${raw[@]}" --top=1000
    for bytes in $sizes; do
        ok_output "$device: $bytes bytes from a pipe" "some.$bytes.sorted" -- \
            gpusort --device="$device" --format=raw --type=u8 < <(cat "some.$bytes")
    done
    refuses "$device: a number that is cut off" 'standard input: 1003 bytes is not a multiple' -- \
        --device="$device" "${raw[@]}" < <(head -c 1003 n.f64)
    refuses "$device: frames that are cut off" 'standard input: ' -- \
        --device="$device" "${raw[@]}" < <(head -c 100000 n.f64.zst)
    ok "$device: a closed output ends it quietly" bash -c 'set -o pipefail
        "$0" --device='"$device"' --format=raw --type=f64 <(cat n.f64) 2>err | head -c 10 >first
        [ ! -s err ] && [ "$(stat -c %s first)" -eq 10 ]' "$GPUSORT"
done

# ---- pipes that do not block ---------------------------------------------------------------------

# without_waiting FILE COMMAND...: gives FILE to COMMAND and prints its output, both slowly, by pipes
# that another process has set not to block.
without_waiting() {
    python3 -c '
import os, subprocess, sys, threading, time
(read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
for end in read_in, write_out:
    os.set_blocking(end, False)
process = subprocess.Popen(sys.argv[2:], stdin=read_in, stdout=write_out)
os.close(read_in)
os.close(write_out)
def feed():
    time.sleep(0.2)
    with open(sys.argv[1], "rb") as source, open(write_in, "wb") as target:
        target.write(source.read())
threading.Thread(target=feed).start()
time.sleep(0.4)
with open(read_out, "rb") as source:
    sys.stdout.buffer.write(source.read())
sys.exit(process.wait())' "$@"
}
seq 300000 -1 1 >down
zstd -q down -o down.zst
ok_output 'pipes that do not block' <(sort -n down) -- without_waiting down "$GPUSORT" -n
ok_output 'compressed numbers by a pipe that does not block' <(sort -n down) -- \
    without_waiting down.zst "$GPUSORT" --type=u32 --parallel=4

# ---- several named pipes -------------------------------------------------------------------------

# The writer goes on to the second pipe when all of the first has been read, which is more than a pipe holds.
mkfifo early late
ln -s early early.link
ln -s late late.link
seq 200000 >ascending
sort -n ascending ascending >twice
sort -n ascending twice >thrice
while read -r expected words; do
    timeout 30 bash -c 'cat ascending >early; cat ascending >late' &
    ok_output "pipes that are written one after the other: $words" "$expected" -- timeout 20 "$GPUSORT" $words
done <<'END'
twice -n early late
twice --format=text early late
twice -n early.link late.link
thrice -n early ascending late
END
timeout 30 bash -c '{ cat ascending >early; cat ascending; } | timeout 20 "$0" -n early - >merged' "$GPUSORT"
ok 'a named pipe, then standard input of the same writer' cmp merged twice

seq 9 >digits
for words in -n -k1 '--format=text --type=u8 --output-format=text'; do
    "$GPUSORT" $words early late >merged &
    timeout 30 bash -c 'cat digits >early'
    ok "a pipe is closed at its end, so that a later writer waits for another reader: $words" \
        wait_until eval "[ -z \"\$(find /proc/$!/fd -lname '$PWD/early' 2>/dev/null)\" ]"
    timeout 30 bash -c 'cat digits >late'
    wait $!
done

# The writer opens both pipes before it writes, as it may for `sort -m`.
while IFS='|' read -r first second words; do
    sort -n "$first" "$second" >expected
    timeout 30 bash -c 'exec 3>early 4>late; cat "$0" >&3; exec 3>&-; cat "$1" >&4' "$first" "$second" &
    ok_output "pipes that are opened together: $words" expected -- timeout 20 "$GPUSORT" $words
    { kill $!; wait $!; } 2>/dev/null || true # the writer, if it has not ended
done <<'END'
digits|digits|-m -n early late
ascending|digits|-n early late
digits|ascending|--format=text early late
ascending|digits|-n early.link late.link
END
timeout 30 bash -c 'printf "" >early; cat digits >late' &
ok_output 'an empty pipe, and another' digits -- timeout 20 "$GPUSORT" -n early late

# ---- the choice of a device ----------------------------------------------------------------------

if [ $has_gpu = no ]; then
    skip 'the device for a pipe' 'no GPU'
    done_testing
    exit
fi

# chosen WORD...: explains the choice for one thread, for which few numbers are worth the GPU's start.
chosen() { gpusort --parallel=1 --explain --type=f64 --format=raw "$@"; }
pays=2000000 # the smallest count for which auto chooses the GPU, up to a fifth more
while truncate -s $((pays * 8)) sparse && [ $pays -lt 400000000 ] &&
    ! chosen sparse | grep -q '^device *gpu'; do
    pays=$((pays * 6 / 5))
done
for way in 'cat sparse' 'zstd -q -1 <sparse'; do
    truncate -s $((8 * (pays * 4 / 5))) sparse
    ok_says "a small one ($way) is the CPU's" '^device +cpu.*sooner done' -- chosen < <(eval "$way")
    truncate -s $((8 * (pays * 5 / 4))) sparse
    ok_says "a large one ($way) is the GPU's" '^device +gpu.*enough has come' -- chosen < <(eval "$way")
done
ok_says 'a limit on memory leaves no room to wait' '^device +cpu.*no room to wait' -- chosen -S 100M < <(cat sparse)
ok_says 'several pipes are one input' '^device +gpu.*enough has come' -- \
    chosen <(head -c $((pays * 4)) sparse) <(head -c $((pays * 6)) sparse)

# A GPU that cannot be used is replaced by the CPU, as long as no result was read from it.
if grep -q SIMT_FAIL "$GPUSORT"; then
    for call in cudaGetDeviceCount cudaStreamCreate cudaMalloc; do
        ok_output "the CPU sorts where $call fails" sparse -- \
            env SIMT_FAIL=$call:1:cudaErrorMemoryAllocation "$GPUSORT" --parallel=1 --type=f64 --format=raw sparse
    done
    ok_says 'and -v says why' 'cpu after all, by radix \(.*out of memory' -- \
        env SIMT_FAIL=cudaMalloc:1:cudaErrorMemoryAllocation "$GPUSORT" -v --parallel=1 \
        --type=f64 --format=raw sparse -o got
    mkfifo silent
    ok 'a GPU that fails is told at once, though nothing more comes' timeout 20 bash -c '
        exec 3<>silent
        head -c 60000 n.txt >&3
        SIMT_FAIL=cudaMemGetInfo:1 "$0" --device=gpu -n <silent
        [ $? -eq 2 ]' "$GPUSORT"
fi

done_testing
