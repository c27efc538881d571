/* SPDX-License-Identifier: Apache-2.0 */
/* simt_device.h - CUDA as kernels use it: qualifiers, built-in variables, block and warp
 * primitives, atomics and bit functions, as plain C++ for the CPU.
 *
 * The threads of a block are fibers of one OS thread (simt_launch.cc). A thread runs until it
 * reaches a barrier or a warp primitive, and is never preempted. The overloads are those of CUDA,
 * so that code that nvcc refuses is refused here too. One exception: a shuffle takes any trivially
 * copyable type of up to 16 bytes.
 *
 * Differences that a kernel may notice: dynamic shared memory is simt_dynamic_shared(), because
 * `extern __shared__` cannot be compiled; a shuffle from a lane that does not take part returns
 * poison (0xa5 bytes); blocks run one after the other, and a loop that spins on memory never ends.
 */
#ifndef SIMT_DEVICE_H
#define SIMT_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

#define __host__
#define __device__
#define __global__ __attribute__((unused)) /* a source need not launch all kernels of a header */
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* ---- vector types and built-in variables ---- */

struct alignas(8) uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    return {x, y};
}

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz)
    {
    }
};

/* The variables of the running thread. simt_launch.cc sets them at every switch. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr unsigned simt_warp_threads = 32;

/* ---- interface to simt_launch.cc ---- */

/* The place of a call of a primitive. It identifies barriers, and is printed in reports. */
struct simt_site {
    const char *file;
    int line;

    /* As a default argument: the place where the function with the argument is called. */
    static constexpr simt_site here(const char *file = __builtin_FILE(),
                                    int line = __builtin_LINE())
    {
        return {file, line};
    }
};

enum simt_warp_kind { SIMT_WARP_SYNC, SIMT_WARP_SHUFFLE, SIMT_WARP_BALLOT, SIMT_WARP_MATCH };

/* The argument of a lane of a warp primitive, up to 16 bytes. It consists of whole words, so that
 * it is passed in registers: a load that spans smaller stores waits for them. */
struct simt_value {
    uint64_t words[2];
};

/* Waits for all threads of the block. Returns how many of their predicates are true. */
int simt_block_barrier(bool predicate, simt_site site);

/* Waits for all living lanes of the warp. Returns, for a shuffle, the value of source_lane; for a
 * ballot or a match, the mask as the first word. `mask` must be that of all lanes. */
simt_value simt_warp_meet(simt_warp_kind kind, unsigned mask, simt_value value,
                          unsigned source_lane, simt_site site);

/* Ends the process with the message, the kernel, the block and the thread. */
[[noreturn]] void simt_fail(const char *message, simt_site site);

/* Returns the lane of this thread in its warp. */
unsigned simt_lane();

/* Returns the dynamic shared memory of the block, aligned to 1024 bytes; NULL if the launch has
 * none. */
void *simt_dynamic_shared();

#define SIMT_SITE_PARAMETER simt_site site = simt_site::here()

/* ---- barriers and fences ---- */

inline void __syncthreads(SIMT_SITE_PARAMETER)
{
    simt_block_barrier(false, site);
}

inline int __syncthreads_count(int predicate, SIMT_SITE_PARAMETER)
{
    return simt_block_barrier(predicate != 0, site);
}

inline int __syncthreads_or(int predicate, SIMT_SITE_PARAMETER)
{
    return simt_block_barrier(predicate != 0, site) > 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_SITE_PARAMETER)
{
    simt_warp_meet(SIMT_WARP_SYNC, mask, {}, 0, site);
}

inline void __threadfence()
{
}

/* ---- shuffles and votes ---- */

template <class T>
inline simt_value simt_value_of(T from)
{
    static_assert(std::is_trivially_copyable<T>::value, "a shuffle copies bytes");
    static_assert(sizeof(T) <= sizeof(simt_value), "a shuffle moves up to 16 bytes");
    simt_value value = {};
    memcpy(&value, static_cast<const void *>(&from), sizeof(T));
    return value;
}

template <class T>
inline T simt_shuffle(unsigned mask, T value, unsigned source_lane, simt_site site)
{
    const simt_value got =
        simt_warp_meet(SIMT_WARP_SHUFFLE, mask, simt_value_of(value), source_lane, site);
    memcpy(static_cast<void *>(&value), &got, sizeof(T));
    return value;
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, SIMT_SITE_PARAMETER)
{
    return simt_shuffle(mask, value, (unsigned)source % simt_warp_threads, site);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = (int)simt_warp_threads,
                        SIMT_SITE_PARAMETER)
{
    const unsigned lane = simt_lane(), place = lane & ((unsigned)width - 1);
    return simt_shuffle(mask, value, place >= delta ? lane - delta : lane, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, SIMT_SITE_PARAMETER)
{
    const unsigned lane = simt_lane(), source = lane + delta;
    return simt_shuffle(mask, value, source < simt_warp_threads ? source : lane, site);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, SIMT_SITE_PARAMETER)
{
    return simt_shuffle(mask, value, (simt_lane() ^ (unsigned)lane_mask) % simt_warp_threads, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_SITE_PARAMETER)
{
    const simt_value vote = {{predicate != 0, 0}};
    return (unsigned)simt_warp_meet(SIMT_WARP_BALLOT, mask, vote, 0, site).words[0];
}

inline int __any_sync(unsigned mask, int predicate, SIMT_SITE_PARAMETER)
{
    return __ballot_sync(mask, predicate, site) != 0;
}

inline int __all_sync(unsigned mask, int predicate, SIMT_SITE_PARAMETER)
{
    return __ballot_sync(mask, !predicate, site) == 0;
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T key, SIMT_SITE_PARAMETER)
{
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "a match compares numbers of 4 or 8 bytes");
    return (unsigned)simt_warp_meet(SIMT_WARP_MATCH, mask, simt_value_of(key), 0, site).words[0];
}

/* ---- atomics: each returns the old value; no thread is preempted ---- */

#define SIMT_ATOMIC(name, type, expression)                                                        \
    inline type name(type *address, type value)                                                    \
    {                                                                                              \
        const type old = *address;                                                                 \
        *address = (expression);                                                                   \
        return old;                                                                                \
    }
#define SIMT_ATOMIC_CAS(type)                                                                      \
    inline type atomicCAS(type *address, type compare, type value)                                 \
    {                                                                                              \
        const type old = *address;                                                                 \
        if (old == compare)                                                                        \
            *address = value;                                                                      \
        return old;                                                                                \
    }

SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC(atomicExch, unsigned, value)
SIMT_ATOMIC(atomicExch, unsigned long long, value)
SIMT_ATOMIC(atomicMin, unsigned, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned long long, old < value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned long long, old > value ? old : value)
SIMT_ATOMIC(atomicOr, unsigned, old | value)
SIMT_ATOMIC(atomicOr, unsigned long long, old | value)
SIMT_ATOMIC(atomicXor, unsigned, old ^ value)
SIMT_ATOMIC(atomicXor, unsigned long long, old ^ value)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_CAS

/* ---- loads and stores with a cache hint ---- */

template <class T>
inline T __ldg(const T *address)
{
    return *address;
}

template <class T>
inline void __stcs(T *address, T value)
{
    *address = value;
}

/* ---- bits ---- */

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}

inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

/* Nibble i of the selector, from 0 to 7, selects byte i of the result from the 8 bytes of high:low.
 */
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned position = selector >> 4 * i & 7;
        result |= (unsigned)(bytes >> 8 * position & 0xff) << 8 * i;
    }
    return result;
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

inline long long __double_as_longlong(double x)
{
    long long bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* ---- min and max, which CUDA has for mixed signs, too ---- */

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b)
{
    const std::common_type_t<A, B> x = a, y = b;
    return x < y ? x : y;
}

template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b)
{
    const std::common_type_t<A, B> x = a, y = b;
    return x < y ? y : x;
}

#endif
