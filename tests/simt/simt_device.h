/* simt_device.h - what a kernel sees of CUDA: qualifiers, built-in variables, block and warp
 * primitives, atomics and bit intrinsics, as plain C++ for the CPU.
 *
 * The threads of a block are fibers of one OS thread (simt_launch.cc). They run until they meet a
 * barrier or a warp primitive and are never preempted, so an atomic is an ordinary read and write.
 * Overloads are kept to those of CUDA, so that what nvcc refuses is refused here too, with one
 * exception: a shuffle takes any trivially copyable type of up to 16 bytes.
 *
 * Differences that a kernel may notice:
 *  - dynamic shared memory is simt_dynamic_shared(), as `extern __shared__` cannot be spelled;
 *  - __activemask() names the calling lane alone, which CUDA allows it to do;
 *  - the value that a shuffle takes from a lane that does not take part is poison (0xa5 bytes);
 *  - a loop that spins on memory until another thread of the block writes it must call
 *    __nanosleep, which lets the others run; blocks run one after the other, in any order.
 */
#ifndef SIMT_DEVICE_H
#define SIMT_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <type_traits>

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))

/* ---- vector types and built-in variables ---- */

#define SIMT_VECTORS(X)                                                                            \
    X(char, signed char, 1)                                                                        \
    X(uchar, unsigned char, 1)                                                                     \
    X(short, short, 2)                                                                             \
    X(ushort, unsigned short, 2)                                                                   \
    X(int, int, 4)                                                                                 \
    X(uint, unsigned, 4)                                                                           \
    X(longlong, long long, 8)                                                                      \
    X(ulonglong, unsigned long long, 8)                                                            \
    X(float, float, 4)                                                                             \
    X(double, double, 8)

#define X(name, type, bytes)                                                                       \
    struct name##1                                                                                 \
    {                                                                                              \
        type x;                                                                                    \
    };                                                                                             \
    struct alignas(2 * bytes) name##2                                                              \
    {                                                                                              \
        type x, y;                                                                                 \
    };                                                                                             \
    struct name##3                                                                                 \
    {                                                                                              \
        type x, y, z;                                                                              \
    };                                                                                             \
    struct alignas(4 * bytes <= 16 ? 4 * bytes : 16) name##4                                       \
    {                                                                                              \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    inline name##1 make_##name##1(type x)                                                          \
    {                                                                                              \
        return {x};                                                                                \
    }                                                                                              \
    inline name##2 make_##name##2(type x, type y)                                                  \
    {                                                                                              \
        return {x, y};                                                                             \
    }                                                                                              \
    inline name##3 make_##name##3(type x, type y, type z)                                          \
    {                                                                                              \
        return {x, y, z};                                                                          \
    }                                                                                              \
    inline name##4 make_##name##4(type x, type y, type z, type w)                                  \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }
SIMT_VECTORS(X)
#undef X
#undef SIMT_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    constexpr operator uint3() const
    {
        return uint3{x, y, z};
    }
};

/* Of the thread that runs now; simt_launch.cc sets them at every switch. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/* ---- the engine's side, in simt_launch.cc ---- */

/* Where a primitive is called, for reports and to tell one barrier from another. */
struct simt_site {
    const char *file;
    int line;

    /* As a default argument: where the function that has it is called. */
    static constexpr simt_site here(const char *file = __builtin_FILE(),
                                    int line = __builtin_LINE())
    {
        return {file, line};
    }
};

/* What is done with the predicates of the threads that meet at a block barrier. */
enum simt_barrier { SIMT_BARRIER_COUNT, SIMT_BARRIER_AND, SIMT_BARRIER_OR };

/* What lanes of a warp meet for. */
enum simt_warp_kind { SIMT_WARP_SYNC, SIMT_WARP_SHUFFLE, SIMT_WARP_BALLOT, SIMT_WARP_MATCH };

/* What a lane brings to a warp primitive: numbers of up to 16 bytes. Whole words, so that it goes
 * through registers: a load that spans stores which are smaller waits for them. */
struct simt_value {
    uint64_t words[2];
};

/* Waits for all threads of the block; the predicates combined. */
int simt_block_barrier(simt_barrier kind, bool predicate, simt_site site);

/* Waits for all living lanes of mask. What comes back is, for a shuffle, the value of source_lane;
 * for a ballot or a match, the mask, as the first word. */
simt_value simt_warp_meet(simt_warp_kind kind, unsigned mask, simt_value value,
                          unsigned source_lane, simt_site site);

/* Ends the process with the message, the kernel, the block and the thread. */
[[noreturn]] void simt_fail(const char *message, simt_site site);

/* Lets the other threads of the block run. */
void simt_yield();

/* The lane of this thread in its warp. */
unsigned simt_lane();

/* The dynamic shared memory of the block, aligned to 1024 bytes; NULL where the launch has none. */
void *simt_dynamic_shared();

#define SIMT_SITE_PARAMETER simt_site site = simt_site::here()

/* ---- barriers, fences, clocks ---- */

inline void __syncthreads(SIMT_SITE_PARAMETER)
{
    simt_block_barrier(SIMT_BARRIER_COUNT, false, site);
}

inline int __syncthreads_count(int predicate, SIMT_SITE_PARAMETER)
{
    return simt_block_barrier(SIMT_BARRIER_COUNT, predicate != 0, site);
}

inline int __syncthreads_and(int predicate, SIMT_SITE_PARAMETER)
{
    return simt_block_barrier(SIMT_BARRIER_AND, predicate != 0, site);
}

inline int __syncthreads_or(int predicate, SIMT_SITE_PARAMETER)
{
    return simt_block_barrier(SIMT_BARRIER_OR, predicate != 0, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_SITE_PARAMETER)
{
    simt_warp_meet(SIMT_WARP_SYNC, mask, {}, 0, site);
}

inline void __threadfence_block()
{
}

inline void __threadfence()
{
}

inline void __threadfence_system()
{
}

inline void __nanosleep(unsigned)
{
    simt_yield();
}

[[noreturn]] inline void __trap(SIMT_SITE_PARAMETER)
{
    simt_fail("__trap", site);
}

long long clock64();

inline void cudaGridDependencySynchronize()
{
}

inline void cudaTriggerProgrammaticLaunchCompletion()
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

inline void simt_check_width(int width, simt_site site)
{
    if (width < 1 || width > warpSize || (width & (width - 1)) != 0)
        simt_fail("the width of a shuffle must be a power of two up to 32", site);
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, SIMT_SITE_PARAMETER)
{
    simt_check_width(width, site);
    const unsigned within = (unsigned)width - 1;
    return simt_shuffle(mask, value, (simt_lane() & ~within) + ((unsigned)source & within), site);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                        SIMT_SITE_PARAMETER)
{
    simt_check_width(width, site);
    const unsigned lane = simt_lane(), place = lane & ((unsigned)width - 1);
    return simt_shuffle(mask, value, place >= delta ? lane - delta : lane, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                          SIMT_SITE_PARAMETER)
{
    simt_check_width(width, site);
    const unsigned lane = simt_lane(), last = lane | ((unsigned)width - 1);
    return simt_shuffle(mask, value, delta <= last - lane ? lane + delta : lane, site);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                         SIMT_SITE_PARAMETER)
{
    simt_check_width(width, site);
    const unsigned lane = simt_lane(), last = lane | ((unsigned)width - 1);
    const unsigned source = lane ^ (unsigned)lane_mask;
    return simt_shuffle(mask, value, source <= last ? source : lane, site);
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

template <class T>
inline unsigned __match_all_sync(unsigned mask, T key, int *predicate, SIMT_SITE_PARAMETER)
{
    const bool same = __all_sync(mask, __match_any_sync(mask, key, site) == mask, site);
    *predicate = same;
    return same ? mask : 0;
}

inline unsigned __activemask()
{
    return 1u << simt_lane();
}

/* Each lane reads all the others, one after the other. */
#define SIMT_REDUCTIONS(X)                                                                         \
    X(add, unsigned, a + b)                                                                        \
    X(add, int, (int)((unsigned)a + (unsigned)b))                                                  \
    X(min, unsigned, a < b ? a : b)                                                                \
    X(min, int, a < b ? a : b)                                                                     \
    X(max, unsigned, a > b ? a : b)                                                                \
    X(max, int, a > b ? a : b)                                                                     \
    X(and, unsigned, a &b)                                                                         \
    X(or, unsigned, a | b)                                                                         \
    X(xor, unsigned, a ^ b)

#define X(name, type, expression)                                                                  \
    inline type __reduce_##name##_sync(unsigned mask, type value, SIMT_SITE_PARAMETER)             \
    {                                                                                              \
        const unsigned present = __ballot_sync(mask, 1, site);                                     \
        unsigned lane = (unsigned)__builtin_ctz(present);                                          \
        type a = simt_shuffle(mask, value, lane, site);                                            \
        for (lane++; lane < 32; lane++) {                                                          \
            const type b = simt_shuffle(mask, value, lane, site);                                  \
            if (present >> lane & 1)                                                               \
                a = expression;                                                                    \
        }                                                                                          \
        return a;                                                                                  \
    }
SIMT_REDUCTIONS(X)
#undef X
#undef SIMT_REDUCTIONS

/* ---- atomics: each returns the old value ---- */

#define SIMT_ATOMIC(name, type, expression)                                                        \
    inline type name(type *address, type value)                                                    \
    {                                                                                              \
        const type old = *address;                                                                 \
        *address = (expression);                                                                   \
        return old;                                                                                \
    }                                                                                              \
    inline type name##_block(type *address, type value)                                            \
    {                                                                                              \
        return name(address, value);                                                               \
    }                                                                                              \
    inline type name##_system(type *address, type value)                                           \
    {                                                                                              \
        return name(address, value);                                                               \
    }
#define SIMT_ATOMIC_CAS(type)                                                                      \
    inline type atomicCAS(type *address, type compare, type value)                                 \
    {                                                                                              \
        const type old = *address;                                                                 \
        if (old == compare)                                                                        \
            *address = value;                                                                      \
        return old;                                                                                \
    }

/* Signed sums wrap, as on the device. */
SIMT_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)value))
SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)value))
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC(atomicExch, int, value)
SIMT_ATOMIC(atomicExch, unsigned, value)
SIMT_ATOMIC(atomicExch, unsigned long long, value)
SIMT_ATOMIC(atomicExch, float, value)
SIMT_ATOMIC(atomicMin, int, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned, old < value ? old : value)
SIMT_ATOMIC(atomicMin, long long, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned long long, old < value ? old : value)
SIMT_ATOMIC(atomicMax, int, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned, old > value ? old : value)
SIMT_ATOMIC(atomicMax, long long, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned long long, old > value ? old : value)
SIMT_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
SIMT_ATOMIC(atomicAnd, int, old &value)
SIMT_ATOMIC(atomicAnd, unsigned, old &value)
SIMT_ATOMIC(atomicAnd, unsigned long long, old &value)
SIMT_ATOMIC(atomicOr, int, old | value)
SIMT_ATOMIC(atomicOr, unsigned, old | value)
SIMT_ATOMIC(atomicOr, unsigned long long, old | value)
SIMT_ATOMIC(atomicXor, int, old ^ value)
SIMT_ATOMIC(atomicXor, unsigned, old ^ value)
SIMT_ATOMIC(atomicXor, unsigned long long, old ^ value)
SIMT_ATOMIC_CAS(unsigned short)
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_CAS

/* ---- loads and stores with a cache hint ---- */

#define SIMT_LOAD(name)                                                                            \
    template <class T>                                                                             \
    inline T name(const T *address)                                                                \
    {                                                                                              \
        return *address;                                                                           \
    }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldcv)
SIMT_LOAD(__ldlu)
#undef SIMT_LOAD

#define SIMT_STORE(name)                                                                           \
    template <class T>                                                                             \
    inline void name(T *address, T value)                                                          \
    {                                                                                              \
        *address = value;                                                                          \
    }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE

/* ---- bits ---- */

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
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

inline unsigned long long __brevll(unsigned long long x)
{
    x = (x & 0x5555555555555555u) << 1 | (x >> 1 & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) << 2 | (x >> 2 & 0x3333333333333333u);
    x = (x & 0x0f0f0f0f0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0fu);
    return __builtin_bswap64(x);
}

inline unsigned __brev(unsigned x)
{
    return (unsigned)(__brevll(x) >> 32);
}

/* Nibble i of the selector names byte i of the result among the 8 bytes of high:low. */
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned nibble = selector >> 4 * i & 15;
        unsigned byte = (unsigned)(bytes >> 8 * (nibble & 7) & 0xff);
        if (nibble & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        sum += (a >> shift & 0xff) * (b >> shift & 0xff);
    return sum;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) << (shift < 32 ? shift : 32) >> 32);
}

inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift < 32 ? shift : 32));
}

inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

template <class To, class From>
inline To simt_bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

inline unsigned __float_as_uint(float x)
{
    return simt_bit_cast<unsigned>(x);
}

inline int __float_as_int(float x)
{
    return simt_bit_cast<int>(x);
}

inline float __uint_as_float(unsigned x)
{
    return simt_bit_cast<float>(x);
}

inline float __int_as_float(int x)
{
    return simt_bit_cast<float>(x);
}

inline long long __double_as_longlong(double x)
{
    return simt_bit_cast<long long>(x);
}

inline double __longlong_as_double(long long x)
{
    return simt_bit_cast<double>(x);
}

/* ---- min and max, with CUDA's overloads for mixed signs ---- */

#define SIMT_MIN_MAX(result, type_a, type_b)                                                       \
    constexpr result min(type_a a, type_b b)                                                       \
    {                                                                                              \
        return (result)a < (result)b ? (result)a : (result)b;                                      \
    }                                                                                              \
    constexpr result max(type_a a, type_b b)                                                       \
    {                                                                                              \
        return (result)a > (result)b ? (result)a : (result)b;                                      \
    }
#define SIMT_MIN_MAX_INTEGER(type)                                                                 \
    SIMT_MIN_MAX(type, type, type)                                                                 \
    SIMT_MIN_MAX(unsigned type, unsigned type, unsigned type)                                      \
    SIMT_MIN_MAX(unsigned type, type, unsigned type)                                               \
    SIMT_MIN_MAX(unsigned type, unsigned type, type)
SIMT_MIN_MAX_INTEGER(int)
SIMT_MIN_MAX_INTEGER(long)
SIMT_MIN_MAX_INTEGER(long long)
#undef SIMT_MIN_MAX_INTEGER
#undef SIMT_MIN_MAX

/* A NaN loses, as in CUDA. */
#define SIMT_MIN_MAX_FLOAT(type, suffix)                                                           \
    inline type min(type a, type b)                                                                \
    {                                                                                              \
        return __builtin_fmin##suffix(a, b);                                                       \
    }                                                                                              \
    inline type max(type a, type b)                                                                \
    {                                                                                              \
        return __builtin_fmax##suffix(a, b);                                                       \
    }
SIMT_MIN_MAX_FLOAT(float, f)
SIMT_MIN_MAX_FLOAT(double, )
#undef SIMT_MIN_MAX_FLOAT

#endif
