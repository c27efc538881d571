/* SPDX-License-Identifier: Apache-2.0 */
/* simt_selftest_model.cc - the self-test of grids, barriers, warps, atomics and bits, and of the
 * orders in which threads run. */
#include "simt_selftest.h"

#include <algorithm>

namespace
{

/* ---- the grid ---- */

__global__ void count_threads_kernel(unsigned *counts)
{
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    atomicAdd(&counts[block * blockDim.x * blockDim.y * blockDim.z + thread], 1u);
}

bool every_thread_runs_once()
{
    const dim3 grid(5, 3, 2), block(7, 5, 3);
    const size_t count = 5 * 3 * 2 * 7 * 5 * 3;
    device_array<unsigned> counts(std::vector<unsigned>(count, 0));
    must(start(shape(grid, block), count_threads_kernel, counts.data()));
    return counts.read() == std::vector<unsigned>(count, 1);
}

/* ---- barriers ---- */

__global__ void block_sum_kernel(const unsigned *in, unsigned *out)
{
    __shared__ unsigned sums[1024];
    sums[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride)
            sums[threadIdx.x] += sums[threadIdx.x + stride];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = sums[0];
}

bool block_sums_are_right()
{
    const unsigned blocks = 4, threads = 512;
    std::vector<unsigned> in(blocks * threads), expected(blocks, 0);
    for (unsigned i = 0; i < in.size(); i++) {
        in[i] = i * 2654435761u;
        expected[i / threads] += in[i];
    }
    device_array<unsigned> device_in(in), device_out(blocks);
    must(start(shape(blocks, threads), block_sum_kernel, (const unsigned *)device_in.data(),
               device_out.data()));
    return device_out.read() == expected;
}

/* Batcher's bitonic network, one key per thread. */
template <class K>
__global__ void bitonic_kernel(K *keys)
{
    __shared__ K tile[1024];
    const unsigned i = threadIdx.x;
    tile[i] = keys[i];
    __syncthreads();
    for (unsigned size = 2; size <= blockDim.x; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            const unsigned other = i ^ stride;
            if (other > i && (tile[i] > tile[other]) == ((i & size) == 0))
                std::swap(tile[i], tile[other]);
            __syncthreads();
        }
    keys[i] = tile[i];
}

template <class K>
bool bitonic_sorts()
{
    std::vector<K> keys(1024);
    for (size_t i = 0; i < keys.size(); i++)
        keys[i] = (K)(i * 0x9e3779b97f4a7c15u >> 20);
    device_array<K> device_keys(keys);
    must(start(shape(1, 1024), bitonic_kernel<K>, device_keys.data()));
    std::sort(keys.begin(), keys.end());
    return device_keys.read() == keys;
}

/* Each thread reads what its neighbours wrote, which is correct only with the barrier. */
template <bool HAS_BARRIER>
__global__ void rotate_kernel(unsigned *out)
{
    __shared__ unsigned written[256];
    written[threadIdx.x] = threadIdx.x;
    if (HAS_BARRIER)
        __syncthreads();
    out[threadIdx.x] = written[(threadIdx.x + 1) % 256] + written[(threadIdx.x + 255) % 256];
}

template <bool HAS_BARRIER>
__global__ void rotate_warp_kernel(unsigned *out)
{
    __shared__ unsigned written[256];
    const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
    written[threadIdx.x] = threadIdx.x;
    if (HAS_BARRIER)
        __syncwarp();
    out[threadIdx.x] = written[warp + (lane + 1) % 32] + written[warp + (lane + 31) % 32];
}

bool rotation_is_right(void (*kernel)(unsigned *), unsigned ring)
{
    device_array<unsigned> out(256);
    std::vector<unsigned> expected(256);
    for (unsigned i = 0; i < 256; i++)
        expected[i] = 2 * (i / ring * ring) + (i + 1) % ring + (i + ring - 1) % ring;
    must(start(shape(1, 256), kernel, out.data()));
    return out.read() == expected;
}

__global__ void vote_kernel(int *out)
{
    const int count = __syncthreads_count(threadIdx.x % 3 == 0);
    const int all = __syncthreads_and(threadIdx.x < 100), most = __syncthreads_and(threadIdx.x);
    const int any = __syncthreads_or(threadIdx.x == 42), none = __syncthreads_or(0);
    out[threadIdx.x] = count * 10000 + all * 1000 + most * 100 + any * 10 + none;
}

bool block_votes_are_right()
{
    device_array<int> out(100);
    must(start(shape(1, 100), vote_kernel, out.data()));
    return out.read() == std::vector<int>(100, 34 * 10000 + 1000 + 10);
}

/* ---- warps ---- */

struct wide {
    uint64_t low;
    uint32_t high;
    uint16_t tag;
};

enum shuffle { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };

__global__ void shuffle_kernel(shuffle kind, unsigned operand, int width, unsigned *out)
{
    const wide own = {threadIdx.x, ~threadIdx.x, (uint16_t)(threadIdx.x * 3)};
    wide got = own;
    if (kind == SHUFFLE_INDEX)
        got = __shfl_sync(0xffffffffu, own, (int)operand, width);
    else if (kind == SHUFFLE_UP)
        got = __shfl_up_sync(0xffffffffu, own, operand, width);
    else if (kind == SHUFFLE_DOWN)
        got = __shfl_down_sync(0xffffffffu, own, operand, width);
    else
        got = __shfl_xor_sync(0xffffffffu, own, (int)operand, width);
    const bool is_whole = got.high == ~(uint32_t)got.low && got.tag == (uint16_t)(got.low * 3);
    out[threadIdx.x] = is_whole ? (unsigned)got.low : 9999;
}

/* Returns the lane read, by the programming guide, section "Warp Shuffle Functions". */
unsigned shuffle_source(shuffle kind, unsigned lane, unsigned operand, unsigned width)
{
    const unsigned first = lane - lane % width;
    switch (kind) {
    case SHUFFLE_INDEX:
        return first + operand % width;
    case SHUFFLE_UP:
        return lane % width < operand ? lane : lane - operand;
    case SHUFFLE_DOWN:
        return lane % width + operand >= width ? lane : lane + operand;
    default:
        return (lane ^ operand) >= first + width ? lane : lane ^ operand;
    }
}

bool shuffles_are_right(shuffle kind)
{
    bool is_right = true;
    device_array<unsigned> out(96);
    for (unsigned width = 1; width <= 32; width *= 2)
        for (unsigned operand : {0u, 1u, 2u, 5u, 8u, 16u, 31u}) {
            std::vector<unsigned> expected(96);
            for (unsigned i = 0; i < 96; i++)
                expected[i] = i / 32 * 32 + shuffle_source(kind, i % 32, operand, width);
            must(start(shape(1, 96), shuffle_kernel, kind, operand, (int)width, out.data()));
            is_right = is_right && out.read() == expected;
        }
    return is_right;
}

/* Lanes diverge, synchronize under their own masks, some exit, and the rest synchronize again. */
__global__ void parted_kernel(unsigned *out)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned odd = 0xaaaaaaaau;
    unsigned result;
    if (lane % 2)
        result = __ballot_sync(odd, lane > 10) ^ (unsigned)__all_sync(odd, lane > 0);
    else
        result = __ballot_sync(~odd, lane < 10) ^ (unsigned)__any_sync(~odd, lane > 30);
    out[threadIdx.x] = result;
    if (lane >= 20)
        return;
    out[threadIdx.x] += __ballot_sync(0xffffffffu, 1);
}

bool parted_lanes_meet()
{
    std::vector<unsigned> expected(64);
    for (unsigned i = 0; i < 64; i++) {
        unsigned votes = 0;
        for (unsigned lane = i % 2; lane < 32; lane += 2)
            votes |= (unsigned)(i % 2 ? lane > 10 : lane < 10) << lane;
        expected[i] = (votes ^ i % 2) + (i % 32 < 20 ? 0xfffffu : 0);
    }
    device_array<unsigned> out(64);
    must(start(shape(1, 64), parted_kernel, out.data()));
    return out.read() == expected;
}

__global__ void match_kernel(unsigned *out)
{
    const uint64_t key = threadIdx.x * 0x100000000u % 7;
    int all_same = 7;
    unsigned result = __match_any_sync(0xffffffffu, (unsigned long long)key);
    result ^= __match_all_sync(0xffffffffu, threadIdx.x / 32, &all_same) + (unsigned)all_same;
    result ^= __reduce_add_sync(0xffffffffu, threadIdx.x % 32);
    result ^= __reduce_max_sync(0xffffffffu, threadIdx.x % 32) << 8;
    out[threadIdx.x] = result;
}

bool matches_are_right()
{
    std::vector<unsigned> expected(64);
    for (unsigned i = 0; i < 64; i++) {
        for (unsigned lane = 0; lane < 32; lane++)
            expected[i] |=
                (unsigned)((i / 32 * 32 + lane) * 0x100000000u % 7 == i * 0x100000000u % 7) << lane;
        expected[i] ^= (0xffffffffu + 1) ^ (31 * 32 / 2) ^ (31u << 8);
    }
    device_array<unsigned> out(64);
    must(start(shape(1, 64), match_kernel, out.data()));
    return out.read() == expected;
}

/* ---- atomics and bits ---- */

__global__ void histogram_kernel(const unsigned char *in, size_t count, unsigned *counts,
                                 unsigned long long *greatest)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        atomicAdd(&own[in[i]], 1u);
        atomicMax(greatest, (unsigned long long)in[i] * count + i);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

bool atomics_count()
{
    const size_t count = 100003;
    std::vector<unsigned char> in(count);
    std::vector<unsigned> expected(256, 0);
    unsigned long long expected_greatest = 0;
    for (size_t i = 0; i < count; i++) {
        in[i] = (unsigned char)(i * i * 2654435761u >> 13);
        expected[in[i]]++;
        expected_greatest = std::max<unsigned long long>(expected_greatest, in[i] * count + i);
    }
    device_array<unsigned char> device_in(in);
    device_array<unsigned> counts(std::vector<unsigned>(256, 0));
    device_array<unsigned long long> greatest(std::vector<unsigned long long>(1, 0));
    must(start(shape(9, 256), histogram_kernel, (const unsigned char *)device_in.data(), count,
               counts.data(), greatest.data()));
    return counts.read() == expected && greatest.read()[0] == expected_greatest;
}

/* Compares bit intrinsics with loops over bits and bytes. */
bool bits_are_right(unsigned x, unsigned y)
{
    const unsigned long long pair = (unsigned long long)y << 32 | x;
    int ones = 0, leading = 0, first = 0;
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++) {
        ones += x >> bit & 1;
        leading = x >> bit & 1 ? 0 : leading + 1;
        first = first == 0 && (x >> bit & 1) ? bit + 1 : first;
        reversed = reversed << 1 | (x >> bit & 1);
    }
    bool is_right = __popc(x) == ones && __clz((int)x) == leading && __ffs((int)x) == first &&
                    __brev(x) == reversed;
    for (unsigned shift = 0; shift < 32; shift++) {
        const unsigned left = shift ? y << shift | x >> (32 - shift) : y;
        const unsigned right = shift ? x >> shift | y << (32 - shift) : x;
        is_right = is_right && __funnelshift_l(x, y, shift) == left &&
                   __funnelshift_r(x, y, shift) == right;
    }
    return is_right && __byte_perm(x, y, 0x3210) == x && __byte_perm(x, y, 0x7654) == y &&
           __byte_perm(x, y, 0x0123) == __builtin_bswap32(x) &&
           __popcll(pair) == __popc(x) + __popc(y) && __brevll(pair) >> 32 == reversed &&
           __clzll((long long)pair) == (y ? __clz((int)y) : 32 + __clz((int)x)) &&
           __umul64hi(pair, 1ull << 32) == pair >> 32 && min(-1, 1u) == 1u && max(-1, 1) == 1;
}

} // namespace

void check_model()
{
    check(every_thread_runs_once(), "every thread of a grid of three dimensions runs once");
    check(block_sums_are_right(), "a block sums in shared memory");
    check(block_votes_are_right(), "__syncthreads_count, _and, _or");
    check(shuffles_are_right(SHUFFLE_INDEX), "__shfl_sync of 16 bytes, every width");
    check(shuffles_are_right(SHUFFLE_UP), "__shfl_up_sync, every width");
    check(shuffles_are_right(SHUFFLE_DOWN), "__shfl_down_sync, every width");
    check(shuffles_are_right(SHUFFLE_XOR), "__shfl_xor_sync, every width");
    check(parted_lanes_meet(),
          "lanes that part vote under masks of their own; ended ones are left out");
    check(matches_are_right(), "__match_any_sync, __match_all_sync, __reduce_*_sync");
    check(atomics_count(), "atomics in shared and global memory");
    check(bits_are_right(0, 0) && bits_are_right(1, 0x80000000u) &&
              bits_are_right(0xffffffffu, 7) && bits_are_right(0x12345678u, 0x9abcdef0u),
          "bit intrinsics, and min and max of mixed signs");
}

void check_orders()
{
    for (const char *order : {"forward", "reverse", "random:1", "random:2"}) {
        const std::string claim = std::string("a bitonic sort and warp exchanges, order ") + order;
        const outcome outcome = in_child("SIMT_ORDER", order, [] {
            return bitonic_sorts<uint8_t>() && bitonic_sorts<uint64_t>() &&
                   rotation_is_right(rotate_kernel<true>, 256) &&
                   rotation_is_right(rotate_warp_kernel<true>, 32) && parted_lanes_meet();
        });
        check(outcome.status == 0, claim.c_str());
    }
    for (const char *order : {"reverse", "random:1", "random:2"}) {
        const std::string claim = std::string("missing barriers show, order ") + order;
        const outcome outcome = in_child("SIMT_ORDER", order, [] {
            return !rotation_is_right(rotate_kernel<false>, 256) &&
                   !rotation_is_right(rotate_warp_kernel<false>, 32);
        });
        check(outcome.status == 0, claim.c_str());
    }
    const outcome unknown = in_child("SIMT_ORDER", "sideways", every_thread_runs_once);
    check(unknown.status == -1 && contains(unknown.errors, "sideways"),
          "an unknown order is an error");
}
