#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MPI ranks on two hosts: two network namespaces with a host name each, joined by a bridge. MPI and
# gpusort take them for two machines, so the ranks send messages and share no memory. They see the
# same files. All of it ends with the test. Skipped where namespaces are not allowed.
if [ -z "${IN_NAMESPACE:-}" ]; then
    IN_NAMESPACE=no
    for way in '' -r; do # as root, or as a user who becomes root in a namespace of users
        if unshare $way -n -m -u true 2>/dev/null; then
            IN_NAMESPACE=yes exec unshare $way -n -m -u bash "$0"
        fi
    done
    export IN_NAMESPACE
fi
. "$(dirname "$0")/../lib.sh"

[ "$IN_NAMESPACE" = yes ] || skip_all 'no namespaces: unshare(1) is not allowed'
command -v ip >/dev/null || skip_all 'no ip(8)'
need_open_mpi
need_numpy

# connect_host N: adds host N to the bridge.
connect_host() {
    ip netns add "host$1" && ip link add "veth$1" type veth peer name eth0 netns "host$1" &&
        ip link set "veth$1" master bridge up && ip -n "host$1" addr add "10.99.7.$1/24" dev eth0 &&
        ip -n "host$1" link set eth0 up && ip -n "host$1" link set lo up
}
connect_hosts() {
    mount -t tmpfs none /run && ip link add bridge type bridge &&
        ip addr add 10.99.7.254/24 dev bridge && ip link set bridge up && ip link set lo up &&
        connect_host 1 && connect_host 2
}
connect_hosts 2>connect.log || skip_all "no network of namespaces: $(head -n 1 connect.log)"

# What mpirun calls in place of ssh(1): HOST COMMAND...
cat >agent <<'END'
#!/usr/bin/env bash
host=host${1##*.}
shift
exec ip netns exec "$host" unshare -u bash -c "hostname $host; $*"
END
chmod +x agent

# ranks N COMMAND...: COMMAND in N ranks on each host.
limit=60
ranks() {
    open_mpi --mca plm_rsh_agent "$PWD/agent" --mca plm_rsh_no_tree_spawn 1 \
        --mca btl_tcp_if_include 10.99.7.0/24 --mca oob_tcp_if_include 10.99.7.0/24 \
        --mca odls_base_sigkill_timeout 0 --host "10.99.7.1:$1,10.99.7.2:$1" -n $((2 * $1)) "${@:2}"
}

with_numpy - <<'END'
doubles = random.standard_normal(700_001)
doubles.tofile("doubles.f64")
np.sort(doubles).tofile("sorted.f64")
hot = np.full(300_000, 7, "u4")
hot[::100] = random.integers(0, 2**32, 3000, dtype="u4")
np.save("hot.npy", hot)
np.save("hot-sorted.npy", np.sort(hot))
np.save("hot-order.npy", np.argsort(hot, kind="stable").astype("u4"))
with open("lines", "w") as lines:
    lines.writelines(f"{n % 97}\t{n}\n" for n in random.integers(0, 10**9, 100_000))
END
LC_ALL=C sort -n lines >lines.sorted
head -c 100000 lines >fewer
zstd -q -B50000 doubles.f64

ok_prints 'the ranks are on two hosts' 'host1\nhost2\n' -- eval 'ranks 1 hostname | sort'
# sorts NAME FILE EXPECTED N ARGUMENT...: gpusort, in N ranks on each host, makes FILE.
sorts() { ok_file "$1" "$2" "$3" -- ranks "$4" "$GPUSORT" "${@:5}" -o "$2"; }
sorts 'doubles: several ranks a host' out.f64 sorted.f64 2 doubles.f64
sorts 'doubles in parts on disk' out.f64 sorted.f64 1 -S 16M -T . doubles.f64
sorts 'a hot value, .npy' out.npy hot-sorted.npy 1 hot.npy
sorts 'indices are in the order of the input' order.npy hot-order.npy 2 --argsort=u4 hot.npy
ok_output 'zstd' sorted.f64 -- eval 'ranks 1 "$GPUSORT" doubles.f64.zst -o out.f64.zst && zstd -dc out.f64.zst'
ok_output 'lines to a pipe' lines.sorted -- eval 'ranks 1 "$GPUSORT" -n lines | cat'
ok_output 'a file for each rank' sorted.f64 -- \
    eval 'ranks 1 "$GPUSORT" doubles.f64 -o "part-{rank}.f64" && cat part-0.f64 part-1.f64'

# ---- what fails ----------------------------------------------------------------------------------

mkdir target
echo old >target/out.f64
is_untouched() { [ "$(ls target)" = out.f64 ] && [ "$(cat target/out.f64)" = old ]; }
on_host_2='[ "$(hostname)" = host2 ] &&'
# fails NAME REGEX COMMAND: COMMAND, which starts "$@" as a rank, fails, and says so if there is a REGEX.
fails() {
    local name=$1 regex=$2 status=0
    ranks 1 bash -c "$3" gpusort "$GPUSORT" doubles.f64 -o target/out.f64 2>log || status=$?
    ok "$name: the status is not 0" [ "$status" -ne 0 ]
    [ -z "$regex" ] || ok "$name: it says why" grep -q "$regex" log
    ok "$name: the old output stays" is_untouched
}
fails 'a host sees another file' 'gpusort: .*doubles.f64' "$on_host_2"' mount --bind fewer doubles.f64; exec "$@"'
fails 'a host cannot write there' 'gpusort: .*out.f64' "$on_host_2"' mount -t tmpfs none target; exec "$@"'
fails 'the ranks of a host are killed' '' "$on_host_2"' { "$@" & sleep 0.1; kill -9 $!; wait; exit 9; }; exec "$@"'
done_testing
