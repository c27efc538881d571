#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# File systems that differ in the space that a file takes: XFS, btrfs under an overlay, ext2, and memory without a
# limit. What has room is not refused, and a file in place does not change if it has no room.
. "$(dirname "$0")/../lib.sh"
[ "$test_size" = full ] || skip_all 'file systems are mounted for the full build'
need_numpy

with_numpy - <<'END'
numbers = random.standard_normal(2500000)
numbers.tofile("large.f64")
np.sort(numbers).tofile("large.sorted")
numbers[512:1250000] = 0
numbers.tofile("holes.f64")
np.sort(numbers).tofile("holes.sorted")
END
mkdir small merged
export GPUSORT
sort='"$GPUSORT" --device=cpu' in_place='"$GPUSORT" --device=cpu --in-place small/in.f64'

# leave BYTES: fills `small` until only BYTES are free.
leave() { sync -f small && fallocate -l "$(($(stat -f -c '%a * %S' small) - $1))" small/fill; }
# kept_in_place COMMAND... FILE: runs it, and fails if FILE has changed.
kept_in_place() {
    local status=0 file=${*: -1}
    cp "$file" before.f64
    "$@" || status=$?
    cmp "$file" before.f64 >&2
    return "$status"
}
export -f leave kept_in_place

# ---- XFS -----------------------------------------------------------------------------------------

# mkfs.xfs makes none that is smaller than 300 MB.
if possible 'XFS' 'it cannot be mounted here, or there is no mkfs.xfs (xfsprogs)' within xfs 320m true; then
    # A row: what there is room for, the file with the result, the bytes that are free, and the commands.
    while IFS='|' read -r name expected bytes commands; do
        ok_output "XFS has room for $name" "$expected" -- \
            within xfs 320m bash -e -c "${commands/LEAVE/leave $bytes}; cat small/[io]*"
    done <<END
an output|large.sorted|21000000|LEAVE; $sort large.f64 -o small/out
parts and the output|large.sorted|46000000|LEAVE; $sort -S 8M -T small large.f64 -o small/out
a file in place that has all of its space|large.sorted|1000000|cp large.f64 small/in.f64; LEAVE; $in_place
a file in place that is copied|large.sorted|26000000|cp large.f64 small/in.f64; cp --reflink=always small/{in.f64,x}; LEAVE; $in_place
holes|holes.sorted|16000000|cp --sparse=always holes.f64 small/in.f64; LEAVE; $in_place
END
    refused 'XFS: no room for parts' \
        "^gpusort: temporary file in 'small' \(-T\), beside the output: 20000000 bytes will be written there, and 9[0-9]{6} are free" -- \
        within xfs 320m bash -c "leave 30000000; $sort -S 8M -T small large.f64 -o small/out"
    no_space='^gpusort: small/in.f64: no space to overwrite it; nothing is written: No space left on device$'
    refused 'XFS: no room for a file in place that is shared with a copy' "$no_space" -- within xfs 320m bash -c \
        "cp large.f64 small/in.f64; cp --reflink=always small/{in.f64,x}; leave 9000000; kept_in_place $in_place"
    refused 'XFS: no room for holes' "$no_space" -- within xfs 320m bash -c \
        "cp --sparse=always holes.f64 small/in.f64; leave 9000000; kept_in_place $in_place"
fi

if possible 'ext4' 'it cannot be mounted here' within ext4 64m true; then
    refused 'ext4: no room for holes, at the start, and the disk is not filled' \
        '^gpusort: small/in.f64: 20000000 bytes will be written there, and [0-9]+ are free: use another file system$' -- \
        within ext4 64m bash -c "cp --sparse=always holes.f64 small/in.f64; leave -8000000
            kept_in_place $in_place || status=\$?
            [ \$((\$(stat -f -c '%f * %S' small))) -gt 3000000 ] || echo 'the disk is full' >&2; exit \$status"
fi

# ---- overlays ------------------------------------------------------------------------------------

# Commands that make merged/in.f64 a file in an overlay whose upper layer is in `small`.
under_overlay="mkdir small/{lower,upper,work}
    mount -t overlay -o lowerdir=small/lower,upperdir=small/upper,workdir=small/work none merged
    cp large.f64 merged/in.f64"
if possible 'an overlay on btrfs' 'it cannot be mounted here, or there is no mkfs.btrfs (btrfs-progs)' \
    within btrfs 120m bash -e -c "$under_overlay"; then
    refused 'an overlay on btrfs: no room for a file in place' \
        '^gpusort: merged/in.f64: this file system may write new content to new space, .* takes 20000000 bytes, and 9[0-9]{6} are free' -- \
        within btrfs 120m bash -e -c "$under_overlay; leave 10000000; kept_in_place ${in_place/small/merged}"
fi
if possible 'an overlay on a tmpfs without limits' 'it cannot be mounted here' \
    within tmpfs 0,nr_inodes=0 bash -e -c "$under_overlay"; then
    ok_output 'an overlay on a tmpfs without limits has room' large.sorted -- \
        within tmpfs 0,nr_inodes=0 bash -e -c "$under_overlay; ${in_place/small/merged}; cat merged/in.f64"
fi

# ---- ext2 ----------------------------------------------------------------------------------------

if possible 'ext2' 'it cannot be mounted here' within ext2 16m true; then
    refused 'ext2: no room for the output' \
        '^gpusort: small/out: 20000000 bytes will be written there, and [0-9]+ are free: use another file system$' -- \
        within ext2 16m bash -c "$sort large.f64 -o small/out"
    refused 'ext2: a file with holes in place' \
        '^gpusort: small/in.f64: it has holes, which this file system cannot fill beforehand; nothing is written: use -o instead$' -- \
        within ext2 16m bash -c "truncate -s 1M small/in.f64; kept_in_place $in_place"
fi

# ---- memory --------------------------------------------------------------------------------------

if possible 'a tmpfs without a limit' 'no name space to mount one in' within tmpfs 0 true; then
    for expected in 'small/out: raw \(as the input\), plain' 'sorted parts stored in small, which is memory'; do
        ok_says "a tmpfs without a limit is not said to have no room: $expected" "$expected\$" -- \
            within tmpfs 0 bash -c "$sort --explain -S 8M -T small large.f64 -o small/out"
    done
fi
if possible 'madvise(2) is refused' 'no calls fail in this build, or nothing can be mounted' \
    eval 'has_faults && within tmpfs 0 true'; then
    for cause in 1 13 38; do # EPERM, EACCES, ENOSYS
        ok_output "a file in memory is written where madvise(2) fails by error $cause" large.sorted -- \
            within tmpfs 64m env LD_PRELOAD="$fault_library" FAULT="madvise:1+:$cause" bash -c \
            '"$0" --device=cpu --parallel=4 large.f64 -o small/out && cat small/out' "$gpusort_apart"
    done
fi
rm -f image before.f64
done_testing
