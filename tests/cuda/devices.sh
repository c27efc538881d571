#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several GPUs sort together (cuda/group) and write what NumPy and sort(1) write: each width, both directions, shapes
# and sizes, with 2 devices and more. The stand-in has 5; of real GPUs all are used. Skipped with fewer than two.
. "$(dirname "$0")/../lib.sh"
need_numpy
export SIMT_DEVICES=5
need_gpu
gpusort_server=${GPUSORT_SERVER:-}
GPUSORT_SERVER= # in one process only the devices of its first job are shown to CUDA
devices=$(gpusort --list | grep -c '^  gpu') || true
[ "$devices" -ge 2 ] || skip_all 'one GPU'
is_simt=$(grep -q SIMT_FAIL "$GPUSORT" && echo yes) || true
# The numbers of the first N devices, as --device takes them.
first() { seq -s , 0 $(($1 - 1)); }
all=gpu:$(first "$devices")

# sorts_with NAME REGEX FILE -- COMMAND...: a line of -v matches REGEX, and the output replaces an old one by the bytes
# of FILE.
sorts_with() {
    echo 'the old output' >got
    ok_says "$1" "$2" -- "${@:5}" -v -o got
    ok_same_bytes "$1: the output" got "$3"
}

# ---- what is sorted ------------------------------------------------------------------------------

GPUSORT_SERVER=$gpusort_server
large=$(full_or_small 300007 20011)
make_data keys . f64 1000 "$large"
for count in "$devices" $((devices / 2 + 1)) 2; do
    ok_arrays "gpu:$(first "$count")" "$(full_or_small 400 100)"
    ok_arrays "gpu:$(first "$count")" 20 --largest "$(full_or_small 1e6 1e5)"
done
for path in direct-merge segmented-merge heap column column-single column-min column-pairs; do
    ok_writes "by $path" "f64.1000.little.up.raw" -- --device="$all" -a $path --format=raw \
        --type=f64 f64.1000.little.in.raw
done

# ---- parts, pipes, the first ones, in place ------------------------------------------------------

sorts=(--device="$all" --format=raw --type=f64)
in=in.f64 up=f64.$large.little.up.raw
mv "f64.$large.little.in.raw" $in # whose name says the type
some=$((large * 8 / devices))b # memory for about half of all at once
sorts_with 'more than all devices hold, in parts' 'sorted parts stored' "$up" -- \
    gpusort "${sorts[@]}" --device-memory="$some" "$in"
ok_output 'more than all devices hold, from a pipe' "$up" -- \
    gpusort "${sorts[@]}" --device-memory="$some" < <(cat "$in")
ok_writes 'with little memory of the host' "$up" -- "${sorts[@]}" --device-memory="$some" -S 1M "$in"
for top in 0 1 $((large / 3)) $((large / 2 - 1)) $((large / 2)); do
    head -c $((8 * top)) "$up" >top
    ok_writes "the first $top" top -- "${sorts[@]}" --top="$top" "$in"
    ok_output "the first $top, from a pipe" top -- \
        gpusort --device=gpu:1,0 --format=raw --type=f64 --top="$top" < <(cat "$in")
done
head -c 80 "$up" >top
ok_writes 'the first 10, with little memory' top -- "${sorts[@]}" --device-memory="$some" --top=10 "$in"
if [ -n "$is_simt" ]; then # A driver has memory of its own.
    ok_json 'keep to that memory, from a pipe' "s['memory']['device_bytes'] <= $((devices * (${some%b} + (1 << 20))))" \
        <(gpusort "${sorts[@]}" --device-memory="$some" --top=10 --stats=json 2>&1 >got < <(cat "$in"))
fi
ok_says 'the first ones are found by all devices' '^gpusort: device     gpu:1,0: ' -- \
    gpusort --device=gpu:1,0 --top=10 -v -o got "$in"

make_data lines 5000 | awk 'length <= 20' >lines # these fit the memory below
sort -g lines >lines.up
sorts_with 'lines in the memory of several devices' '^gpusort: device     gpu:1,0: .*\(as --device says\)$' lines.up -- \
    gpusort --device=gpu:1,0 -g lines
gpusort --device=cpu -g --argsort lines -o lines.indices
ok_writes 'indices of lines' lines.indices -- --device=gpu:0,1 -g --argsort lines

# ---- messages and refusals -----------------------------------------------------------------------

refuses 'a device given twice' 'device number 1 is given twice' -- --device=gpu:1,0,1 "$in"
refused 'a device that there is not' "no device 900: $devices found" -- "$GPUSORT" --device=gpu:0,900 -o "$target" "$in"
refused 'a device that there is not, of which only the first would be used' "no device 900: $devices found" -- \
    "$GPUSORT" --device=gpu:0,900 --top=3 -o "$target" "$in"
refused 'the same for lines' "no device 900: $devices found" -- "$GPUSORT" --device=gpu:0,900 -g -o "$target" lines
refuses 'a device without a number' "invalid device number ''" -- --device=gpu:0, "$in"
for list in '' ,0 0,,1 '0, 1' -1 0x1 1K 1.0 1025 99999999999999999999 all,0 0,all cpu; do
    refuses "the devices '$list'" "^gpusort: invalid device number '" -- --device="gpu:$list" "$in"
done
for path in bitonic rank; do
    refuses "several devices by $path" "path '$path' sorts on one GPU" -- \
        --device=gpu:0,1 -a $path --format=raw --type=f64 f64.1000.little.in.raw
done
ok_says '--explain names the devices' '^device     gpu:1,0: ' -- gpusort --device=gpu:1,0 --explain "$in"
ok_says '--explain estimates one and several' ' gpu [0-9.]+ s, 2 gpus [0-9.]+ s' -- \
    gpusort --device=gpu:1,0 --explain "$in"
ok_says '--explain estimates the first ones of a pipe' ' gpu [0-9.]+ s, 2 gpus [0-9.]+ s' -- \
    gpusort --device=gpu:1,0 --explain --top=10 --format=raw --type=f64 < <(head -c 3000000 /dev/zero)
gpusort "${sorts[@]}" --stats=json --trace=trace -o got "$in" 2>stats
ok_json '--stats has the exchange and the devices' "s['device']['count'] == $devices and
    s['stages']['exchange']['seconds'] > 0 and s['model']['gpus_seconds'] > 0" stats
python3 "$tests_dir/cli/check_trace.py" trace "upload=$((8 * large))" "download=$((8 * large))" \
    >problems 2>&1 || echo "check_trace.py failed" >>problems
for lane in start upload kernel peer download; do
    for ((i = 0; i < devices; i++)); do
        grep -q "\"name\":\"$lane gpu $i\"" trace || echo "no row for $lane of gpu $i" >>problems
    done
done
pass_unless_said 'a trace has rows for each device, and for the copies between them' problems

# ---- other machines, by the stand-in -------------------------------------------------------------

if [ -n "$is_simt" ]; then
    GPUSORT_SERVER= # does not get these environment variables
    unset LSAN_OPTIONS # jobs on devices that fail leave no memory behind
    for order in SIMT_STREAMS=eager SIMT_ORDER=2 SIMT_PEERS=0; do
        ok_output "with $order" "$up" -- env $order "$GPUSORT" "${sorts[@]}" "$in"
    done
    # The text, on the last devices, and twice the items need 300 KB. No device can hold two of them.
    sort -z -n -r -u lines >lines.down
    for bytes in 120000 200000,50000,100000 60000,200000,130000 60000,120000,120000,120000,120000; do
        together=(env "SIMT_MEMORY_BYTES=$bytes" "$GPUSORT" --device="$all")
        ok_output "lines in devices of $bytes bytes" lines.up -- "${together[@]}" -g lines
        ok_output "the same by another order" lines.down -- "${together[@]}" -z -n -r -u lines
        ok_json 'they are sorted in one piece' "s['runs']['count'] == 0" <("${together[@]}" -g --stats=json -o got lines 2>&1)
    done
    ok_output 'lines that do not fit the memory of all' lines.up -- env SIMT_MEMORY_BYTES=60000,20000 "$GPUSORT" --device=gpu:0,1 -g lines
    for limit in 8K 60K 120K; do
        ok_output "lines with a limit of $limit for each device" lines.up -- \
            "$GPUSORT" --device=gpu:all --device-memory=$limit -g lines
    done
    ok_json 'the limit holds' "s['memory']['device_bytes'] <= 124000" \
        <("$GPUSORT" --device=gpu:all --device-memory=120K -g --stats=json -o got lines 2>&1)
    SIMT_CALLS=calls ok_output 'lines that one device holds' lines.up -- "$GPUSORT" --device="$all" -g lines
    ok 'no memory of another device is mapped for them' bash -c 'grep -q cudaMalloc calls && ! grep -q cuMem calls'
    # Their tie groups need memory, too, which only the other device has.
    seq 1020000 -1 1000000 | sed 's/^/commonprefix_/' >alike.txt
    seq 1000000 1020000 | sed 's/^/commonprefix_/' >alike.up
    SIMT_TRACE=kernels ok_output 'lines that begin alike' alike.up -- \
        env SIMT_MEMORY_BYTES=800000,4000000000 "$GPUSORT" --device=gpu:0,1 -k1 alike.txt
    ok 'a device orders them' grep -q refine_place kernels
    for fault in cudaMemGetInfo@1:1 cuMemCreate:1 cuMemMap:1 cuMemSetAccess:1; do
        ok_output "lines, after $fault of a device that is not needed" lines.up -- env SIMT_FAIL=$fault \
            SIMT_MEMORY_BYTES=60000,500000 "$GPUSORT" --device=gpu:0,1,2 -g lines
    done
    sorts_with 'lines, and a device that is not needed cannot be used' \
        'gpu:0,2: .*the first GPU sorts text, without those whose memory it cannot use' lines.up -- \
        env SIMT_FAIL=cudaGetDeviceProperties:2 "$GPUSORT" --device=gpu:0,1,2 -g lines
    refused 'numbers, and a device that cannot be used' 'device 1: cudaGetDeviceProperties: ' -- \
        env SIMT_FAIL=cudaGetDeviceProperties:2 "$GPUSORT" --device=gpu:0,1,2 -o "$target" "$in"
    SIMT_PEERS=0 sorts_with 'lines of devices without a link' \
        'gpu: .*the first GPU sorts text, without those whose memory it cannot use' lines.up -- \
        "$GPUSORT" --device="$all" -g lines
    seq 1000000 1149999 | sed "s/\$/ $(printf %0393d 0)/" >many.txt
    sorts_with 'lines, after the first device failed, the CPU sorts' \
        '^gpusort: device     cpu after all, .*cudaMalloc: ' many.txt -- \
        env SIMT_FAIL=cudaMalloc:1:cudaErrorUnknown "$GPUSORT" --parallel=1 -n --device-memory=100M many.txt
    # The second device has a third of the first one's memory, and neither has room for all.
    bytes=$((8 * large))
    unequal=SIMT_MEMORY_BYTES=$((bytes * 9 / 4)),$((bytes * 3 / 4))
    ok_output 'devices of unequal memory' "$up" -- env $unequal "$GPUSORT" --device=gpu:0,1 "$in"
    ok_says 'sort without parts' '"runs":[{]"count":0' -- \
        env $unequal "$GPUSORT" --device=gpu:0,1 --stats=json -o got "$in"
    gpusort --device=cpu --argsort -o shared.up "$in"
    # The second device has less shared memory than the path of the first one needs.
    ok_output 'devices of unequal shared memory' shared.up -- \
        env SIMT_SHARED_BYTES=232448,101376 "$GPUSORT" --device=gpu:0,1 --argsort "$in"
    # Twice the part of a device, and 5 % of it.
    most=$((2 * bytes * 105 / devices / 100 + 100000))
    gpusort "${sorts[@]}" --stats=json -o got "$in" 2>stats
    ok_json 'a device needs memory for its part twice' "s['memory']['device_bytes'] <= $most" stats
    # 20,000 lines have items of 0.32 MB, which are sorted in a second array.
    with_numpy 'many = random.permutation(20_000)
np.savetxt("many.lines", many, fmt="%d")
np.savetxt("many.indices", np.argsort(many), fmt="%d")
'
    for device in gpu gpu:0,1; do
        ok_output "$device: indices of lines whose items do not fit" many.indices -- \
            env SIMT_MEMORY_BYTES=320000 "$GPUSORT" --device=$device -n --argsort many.lines
    done
    rm many.*

    # Devices of 1.5 and 1.9 MB find the first of 1.6 MB, in batches, or in parts if they have no room.
    with_numpy 'many = random.integers(0, 2**63, 200_009, "u8")
many.tofile("many.u64")
np.sort(many).tofile("many.up")
'
    for top in 1000:0 13000:0 66000:1; do
        few=(env 'SIMT_MEMORY_BYTES=1900000,1500000' "$GPUSORT" '--device=gpu:0,1' --format=raw
            --type=u64 --top="${top%:*}")
        head -c $((8 * ${top%:*})) many.up >top
        "${few[@]}" --stats=json -o got many.u64 2>stats
        ok_same_bytes "the first ${top%:*} of more than the devices hold" got top
        ok_json "the first ${top%:*}, found in parts or not" "(s['runs']['count'] > 0) == ${top#*:}" stats
        ok_output "the first ${top%:*} of a pipe" top -- "${few[@]}" < <(cat many.u64)
    done
    rm many.*
    SIMT_CALLS=calls "$GPUSORT" --device=gpu:0,2 -o got "$in"
    ok 'the devices after the last one given are hidden from CUDA' grep -q '^shown:3 ' calls
    refused 'a bit that changes between two devices' 'the proof failed' -- \
        env SIMT_FLIP=peer "$GPUSORT" --device=gpu:0,1 -o "$target" "$in"
    cp "$in" place
    ok_fails_with 'in place: a bit that changes between two devices' 2 \
        'place: the proof failed: .* is left as it was$' -- \
        env SIMT_FLIP=peer "$GPUSORT" --device=gpu:0,1 --format=raw --type=f64 --in-place place
    ok_same_bytes 'in place: the file is as it was' place "$in"

    for type in u8 u16 u32 f32 u64 f64; do # also by an IOMMU that delivers no copies between devices
        refused "no copy between five devices arrives, $type" 'the proof failed' -- \
            env SIMT_FLIP=lost "$GPUSORT" --device="$all" --format=raw --type=$type -o "$target" "$in"
    done

    # gpu:all takes as many devices as have room for the numbers. Two have, with this limit.
    limit=$((bytes * 5 / 4))b
    fits=(--device=gpu:all --device-memory="$limit" --format=raw --type=f64)
    sorts_with 'gpu:all: as many devices as have room' '^gpusort: device     gpu:0,1: .* memory of fewer GPUs' "$up" -- \
        "$GPUSORT" "${fits[@]}" "$in"
    sorts_with 'gpu:all: one device, and why' \
        '^gpusort: device     gpu: .*one GPU has room for it, and each further' "$up" -- \
        env SIMT_CALLS=calls "$GPUSORT" --device=gpu:all "$in"
    ok 'CUDA does not see the others' grep -q '^shown:1 ' calls
    ok_says '--explain estimates all devices, too' '^model .* gpu [0-9.]+ s, all 5 [0-9.]+ s' -- \
        "$GPUSORT" --device=gpu:all --explain "$in"
    sorts_with 'gpu:all: what does not fit all is sorted in parts by all' '^gpusort: device     gpu:0,1,2,3,4: ' "$up" -- \
        "$GPUSORT" --device=gpu:all --device-memory="$some" "$in"
    head -c 3000000 /dev/zero >zeros
    sorts_with 'gpu:all: a pipe may need all devices' '^gpusort: device     gpu:0,1,2,3,4: .*it may not fit' zeros -- \
        "$GPUSORT" --device=gpu:all --format=raw --type=f64 < <(cat zeros)
    sorts_with 'gpu:all: a path of one device takes one' '^gpusort: device     gpu: ' "$up" -- \
        "$GPUSORT" "${fits[@]}" -a bitonic "$in"
    # It goes on without a device that fails, but not on the CPU.
    for fail in 'kernel@1:1' 'cudaMemGetInfo@1:1' 'kernel@1:1 -a radix'; do
        read -r call words <<<"$fail"
        sorts_with "gpu:all, after $fail: the others sort" '^gpusort: device     gpu:0,2: .*; without device 1: ' "$up" -- \
            env SIMT_FAIL="$call" "$GPUSORT" "${fits[@]}" $words "$in"
    done
    truncate -s 7G sparse.f64
    ok_says 'gpu:all says that more devices can be named' '^device     gpu: .*if there are more GPUs, name them' -- \
        env SIMT_MEMORY_BYTES=$((8 << 30)) "$GPUSORT" --device=gpu:all --explain sparse.f64
    refused 'gpu:all: a failure of the only device that is used' '^gpusort: device 0: ' -- \
        env SIMT_FAIL=kernel:1 "$GPUSORT" --device=gpu:all -o "$target" "$in"
    refused 'gpu:0,1: a failure of a device that is named' '^gpusort: device 1: ' -- \
        env SIMT_FAIL=kernel@1:1 "$GPUSORT" --device=gpu:0,1 -o "$target" "$in"

    # Without --device, the job goes on without a GPU that fails. The numbers are enough for a GPU, and
    # in descending order, in which both devices sort them soon.
    with_numpy 'many = np.arange(25_000_000, dtype="u4") * 119
many.tofile("many.up")
many[::-1].tofile("many.u32")
'
    # goes_on NAME CALLS ARGUMENT...: CALLS fail, and the CPU sorts. Sanitized builds take seconds for
    # each job of this size, and run only the first ones. gpu:all, above, sorts on the devices that are left.
    goes_on() {
        sorts_with "$1, the CPU sorts" '^gpusort: device     cpu: .*; but device' many.up -- \
            env SIMT_DEVICES=4 SIMT_FAIL="$2" "$GPUSORT" --parallel=1 "${@:3}" many.u32
    }
    goes_on 'after a lost device' kernel:1
    ok '-v says that it begins again' grep -q '^gpusort: device 0: .*; the job begins again$' "$work/log/said"
    goes_on 'after two that failed' cudaMemcpyAsync@1:1,cudaMemcpyAsync@2:1 --device-memory=140M
    ok_output 'from standard input to a pipe' many.up -- \
        env SIMT_FAIL=kernel:1 "$GPUSORT" --parallel=1 --format=raw --type=u32 <many.u32
    cp many.u32 place.u32
    ok_file 'in place' place.u32 many.up -- env SIMT_FAIL=kernel:1 "$GPUSORT" --parallel=1 --in-place place.u32
    refused 'a failure after some of a pipe is read' '^gpusort: device 0: ' -- \
        env SIMT_FAIL=kernel:1 "$GPUSORT" --parallel=1 --format=raw --type=u32 -o "$target" < <(cat many.u32)
    refused 'a failure of the GPU that --device names' '^gpusort: device 0: ' -- \
        env SIMT_FAIL=kernel:1 "$GPUSORT" --device=gpu -o "$target" "$in"
fi
if [ -n "$is_simt" ] && [ "$is_sanitized" = no ]; then
    goes_on 'after a failed launch' cudaLaunchKernelEx:1
    goes_on 'without the one that has no memory' cudaMalloc@1:1,kernel:1 --device-memory=140M
    goes_on 'without one that cannot be used' cudaMemGetInfo@1:1,kernel:1 --device-memory=140M
    sorts_with 'on the devices that are left' '^gpusort: device     gpu:0,2: .*; without device 1: ' many.up -- \
        env SIMT_DEVICES=4 SIMT_FAIL=kernel@1:1 "$GPUSORT" --parallel=1 --device-memory=140M many.u32
    # The last wait is for the last download.
    SIMT_CALLS=calls "$GPUSORT" --parallel=1 many.u32 >got
    download=$(sed -n 's/^cudaEventSynchronize /cudaEventSynchronize:/p' calls)
    echo 'the old output' >got
    ok_file 'after a failed download' got many.up -- env SIMT_FAIL="$download" "$GPUSORT" --parallel=1 -o got many.u32
    ok_fails_with 'a failed download after some of it was written' 2 '^gpusort: device 0: ' -- \
        env SIMT_FAIL="$download" "$GPUSORT" --parallel=1 many.u32
    for env in SIMT_MEMORY_BYTES=70000000 SIMT_FAIL=cudaMalloc:1; do
        ok_output "numbers of a pipe, with $env" many.up -- \
            env $env "$GPUSORT" --parallel=1 --format=raw --type=u32 < <(cat many.u32)
    done
fi
rm -f many.* place.u32
if [ -n "$is_simt" ]; then
    # estimated WORDS CASE...: with WORDS and a file of SIZE GiB, 5 devices of GIB GiB, --explain shows the devices SHOWN.
    # A case is SIZE/GIB/SHOWN.
    estimated() {
        local case size gib shown
        for case in "${@:2}"; do
            IFS=/ read -r size gib shown <<<"$case"
            truncate -s "${size}G" sparse.f64 sparse.txt
            ok_says "$1 of $size GiB, 5 devices of $gib GiB" "^device     $shown: " -- \
                env SIMT_MEMORY_BYTES=$((gib << 30)) "$GPUSORT" --explain $1
        done
    }
    # auto takes as few devices as have room for the data twice and for a sixteenth more, so that no
    # parts are stored, and the CPU if all have not.
    estimated sparse.f64 24/80/gpu 24/50/gpu:0,1 24/30/gpu:0,1 31/33/gpu:0,1,2 24/6/cpu
    # gpu:all takes as few, of 16 GiB or more each, and all of them for parts.
    estimated '--device=gpu:all sparse.f64' 7/80/gpu 8/24/gpu 7/16/gpu 14/24/gpu:0,1 24/16/gpu:0,1,2,3 40/24/gpu:0,1,2,3 \
        200/24/gpu:0,1,2,3,4
    # Three times the bytes of a text decide how many are shown.
    estimated '-n sparse.txt' 24/80/gpu:0,1,2 24/9/gpu:0,1,2 24/7/cpu
    ok_says 'the same, and the second one does not work' '^device     gpu:0,2: ' -- \
        env SIMT_MEMORY_BYTES=$((80 << 30)) SIMT_FAIL=cudaGetDeviceProperties:1 "$GPUSORT" --explain -n sparse.txt
fi
done_testing
