#!/usr/bin/env bash
# The limits that a process has: processors of its affinity and of the quota of its container, the
# size of its memory, directories that are full.
. "$(dirname "$0")/lib.sh"

# ---- processors ----------------------------------------------------------------------------------

seq 400000 -1 1 >downwards
seq 400000 >upwards
processors=$(nproc)

# threads_of [VARIABLE=VALUE...] [COMMAND...] GPUSORT [ARGUMENT...]: how many threads it sorts with.
threads_of() {
    env "$@" -n --device=cpu --stats=json downwards -o got 2>&1 | grep -o '"threads":[0-9]*' |
        grep -o '[0-9]*$'
}
# in_groups FILES COMMAND...: where /sys/fs/cgroup has but these files, "NAME=CONTENT;NAME=CONTENT".
in_groups() {
    # shellcheck disable=SC2016 # expanded by the shell that it starts
    unshare --map-root-user --mount bash -c '
        mount -t tmpfs none /sys/fs/cgroup
        IFS=";" read -ra files <<<"$1"
        for file in "${files[@]}"; do
            path=/sys/fs/cgroup/${file%%=*}
            mkdir -p "${path%/*}"
            echo "${file#*=}" >"$path"
        done
        "${@:2}"' - "$@"
}
# ok_threads NAME THREADS FILES [WORD...]: so many threads, or as many as processors.
ok_threads() {
    local name=$1 threads=$(($2 < processors ? $2 : processors))
    ok_prints "$name" "$threads\n" -- \
        in_groups "$3" bash -c "$(declare -f threads_of); threads_of \"\$@\"" - "${@:4}" "$GPUSORT"
}

ok_prints 'a thread for each processor' "$processors\n" -- threads_of "$GPUSORT"
ok_prints 'a thread for each processor of the affinity' '1\n' -- threads_of taskset -c 0 "$GPUSORT"
if [ "$processors" = 1 ] ||
    ! unshare --map-root-user --mount mount -t tmpfs none /sys/fs/cgroup 2>/dev/null; then
    skip 'quotas of processors' 'one processor, or no name space to mount control groups in'
else
    ok_threads 'no quota' 999 'cpu.max=max 100000'
    ok_threads 'a quota' 1 'cpu.max=100000 100000'
    ok_threads 'a quota of a part of a processor' 1 'cpu.max=1000 100000'
    ok_threads 'a quota of a processor and a half' 2 'cpu.max=150000 100000'
    ok_threads 'a quota of another period' 1 'cpu.max=20000 20000'
    ok_threads 'a quota of more than there are' 999 'cpu.max=100000000 100000'
    ok_threads 'a file of groups that makes no sense' 999 'cpu.max=-x 0'
    ok_threads 'OMP_NUM_THREADS is obeyed' 2 'cpu.max=100000 100000' OMP_NUM_THREADS=2
    ok_prints '--parallel is obeyed' '7\n' -- in_groups 'cpu.max=100000 100000' bash -c \
        "$(declare -f threads_of); threads_of \"\$0\" --parallel=7" "$GPUSORT"
    if grep -qE '[:,]cpu[:,]' /proc/self/cgroup; then
        ok_threads 'a quota of version 1' 1 'cpu/cpu.cfs_quota_us=50000;cpu/cpu.cfs_period_us=50000'
        ok_threads 'no quota of version 1' 999 'cpu/cpu.cfs_quota_us=-1;cpu/cpu.cfs_period_us=100000'
    else
        skip 'quotas of version 1' 'no such groups'
    fi
fi

# Real groups, one in the other, whose outer one has the quota of a processor.
quota_groups() {
    local root
    for root in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
        outer=$root/gpusort-test.$$
        mkdir "$outer" 2>/dev/null || continue
        { [ -f "$outer/cpu.max" ] && echo '100000 100000' >"$outer/cpu.max"; } 2>/dev/null ||
            { [ -f "$outer/cpu.cfs_quota_us" ] && echo 100000 >"$outer/cpu.cfs_quota_us"; } 2>/dev/null &&
            mkdir "$outer/inner" && return
        rmdir "$outer"
    done
    return 1
}
if quota_groups; then
    # shellcheck disable=SC2016 # expanded by the shell that it starts
    ok_prints 'the quota of a group around the group' '1\n' -- bash -c "$(declare -f threads_of)"'
        echo $$ >"$1/inner/cgroup.procs"
        threads_of "$0"' "$GPUSORT" "$outer"
    rmdir "$outer/inner" "$outer"
else
    skip 'the quota of a group around the group' 'no control group may be made'
fi

done_testing
