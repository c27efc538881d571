/* SPDX-License-Identifier: Apache-2.0 */
/* bench_data.cu - see bench_run.h.
 *
 *   index -> random bits (a counter-based hash) -> the number of the shape at that index -> its
 * stored bits -> the layout of the sorter
 *
 * Digest: the sum and the XOR of a hash of each item do not depend on the order of items, and a
 * lost, duplicated or changed item leaves the sum unchanged with a probability of 2^-64. With the
 * count of disorder they check a sort in one read of its output. No float is NaN or -0: CUB treats
 * +0 and -0 as equal, and our order does not.
 */
#include "bench/bench_run.h"

#include "bench/bench_common.h"
#include "core/backend.h"
#include "core/key_order.h"
#include "cuda/block/launch.cuh"
#include "cuda/tuning.h"

#include <algorithm>
#include <math.h>

/* Blocks of a kernel whose threads each walk the whole array by the width of the grid: enough to
 * fill any device several times over. */
static const size_t blocks_at_most = 2048;

/* ---- layouts ---- */

template <typename K>
struct keys_layout {
    static constexpr unsigned key_bits = 8 * sizeof(K);
    static constexpr bool is_ordered_by_index = false;
    K *keys;

    __device__ struct key_index load(size_t i) const
    {
        return {0, keys[i]};
    }
    __device__ void store(size_t i, struct key_index item) const
    {
        keys[i] = static_cast<K>(item.key);
    }
};

struct items_layout {
    static constexpr unsigned key_bits = 64;
    static constexpr bool is_ordered_by_index = true;
    struct key_index *items;

    __device__ struct key_index load(size_t i) const
    {
        return items[i];
    }
    __device__ void store(size_t i, struct key_index item) const
    {
        items[i] = item;
    }
};

/* Key and index in 32 bits each. */
struct packed_layout {
    static constexpr unsigned key_bits = 32;
    static constexpr bool is_ordered_by_index = true;
    uint64_t *items;

    __device__ struct key_index load(size_t i) const
    {
        return {items[i] & UINT32_MAX, items[i] >> 32};
    }
    __device__ void store(size_t i, struct key_index item) const
    {
        items[i] = item.key << 32 | item.index;
    }
};

template <typename K, typename V>
struct pairs_layout {
    static constexpr unsigned key_bits = 8 * sizeof(K);
    static constexpr bool is_ordered_by_index = false;
    K *keys;
    V *values;

    __device__ struct key_index load(size_t i) const
    {
        return {values[i], keys[i]};
    }
    __device__ void store(size_t i, struct key_index item) const
    {
        keys[i] = static_cast<K>(item.key);
        values[i] = static_cast<V>(item.index);
    }
};

/* ---- numbers ---- */

/* Parameters to generate item i. */
struct recipe {
    enum bench_shape_id shape;
    enum key_kind kind;
    unsigned bits, exponent_bits;
    unsigned sample_bits; /* log2 of the strides of BENCH_SHAPE_HIDDEN */
    size_t count;
};

/* Returns true for one key of each stride, at a position hashed from the stride's number: a sort
 * that takes its sample there sees no other keys. */
__device__ static bool thread_is_sampled(const struct recipe &recipe, size_t i)
{
    const size_t stride = recipe.count >> recipe.sample_bits;
    if (stride == 0)
        return true;
    uint64_t place = i / stride + recipe.count;
    place = (place ^ place >> 33) * 0xff51afd7ed558ccdu;
    place = (place ^ place >> 33) * 0xc4ceb9fe1a85ec53u;
    return i % stride == __umul64hi(place ^ place >> 33, stride);
}

/* Returns a normally distributed number, by the method of Box and Muller. */
__device__ static double thread_normal(uint64_t random)
{
    const double angle = 2 * 3.14159265358979323846 * bench_unit(bench_random_bits(random));
    return sqrt(-2 * log(1 - bench_unit(random))) * cos(angle) + 0.0;
}

__device__ static double thread_clamp_unit(double x)
{
    return x < 0 ? 0 : x < 1 ? x : 1 - 0x1p-53;
}

/* Returns one of `count` different numbers, each of which is followed by a gap below 8. The prime
 * has no factor in common with a count below it, so the products are a permutation. */
__device__ static double thread_id(size_t i, size_t count)
{
    const uint64_t place = i * 4294967291u % count;
    return static_cast<double>(4 * place + bench_random_bits(place) % 4);
}

/* Sets *number to the number at index i, for shapes that are numbers of their own, not positions in
 * a range. Returns false for other shapes, for types that are too narrow for the shape, and for
 * normally distributed integers. Integers count prices in hundredths. */
__device__ static bool thread_find_number(const struct recipe &recipe, size_t i, uint64_t random,
                                          double *number)
{
    const double u = bench_unit(random), cents = exp(3 + 1.2 * thread_normal(random)) * 100;
    const bool is_float = recipe.kind == KEY_FLOAT;
    switch (recipe.shape) {
    case BENCH_SHAPE_NORMAL:
        *number = thread_normal(random);
        return is_float;
    case BENCH_SHAPE_MAGNITUDES:
        *number = is_float ? pow(10, 12 * u - 6) : exp2((recipe.bits - 1) * u);
        return !is_float || recipe.exponent_bits >= 8; /* f16 ends at 65504 */
    case BENCH_SHAPE_TIMES:
        *number = recipe.bits > 32 ? floor(1.7e12 + 3.15e10 * u) : floor(1.7e9 + 3.15e7 * u);
        return recipe.bits >= 32;
    case BENCH_SHAPE_IDS:
        *number = thread_id(i, recipe.count);
        return recipe.bits >= 32;
    case BENCH_SHAPE_PRICES:
        *number = is_float ? floor(cents + 0.5) / 100 : floor(cents + 0.5);
        return recipe.bits >= 32;
    default:
        return false;
    }
}

/* Returns x in [0, 1), by the shape; uniformly distributed if the shape has no positions. */
__device__ static double thread_position(const struct recipe &recipe, size_t i, uint64_t random)
{
    switch (recipe.shape) {
    case BENCH_SHAPE_STRIDED:
        return bench_unit(random) * (i % 64 ? 1 : 1e-6);
    case BENCH_SHAPE_PERIODIC:
        return bench_unit(random) * (i % 64 ? 1e-6 : 1);
    case BENCH_SHAPE_HIDDEN:
        return bench_unit(random) * (thread_is_sampled(recipe, i) ? 1 : 1e-6);
    case BENCH_SHAPE_NORMAL:
        return thread_clamp_unit(0.5 + thread_normal(random) / 16);
    case BENCH_SHAPE_NEARLY_SORTED:
        return random % 100 ? static_cast<double>(i) / static_cast<double>(recipe.count)
                            : bench_unit(random);
    default: {
        const double position = bench_shape_position(recipe.shape, i, recipe.count, random);
        return position < 0 ? bench_unit(random) : position;
    }
    }
}

/* Returns a float with the fields of `random` and the given exponent, as stored bits. */
__device__ static uint64_t thread_float_bits(const struct recipe &recipe, uint64_t random,
                                             uint64_t exponent)
{
    const unsigned significand_bits = recipe.bits - 1 - recipe.exponent_bits;
    const uint64_t significand = random & key_bits_mask(significand_bits);
    const uint64_t sign = random >> 63 << (recipe.bits - 1);
    return sign | exponent << significand_bits | significand | 1;
}

/* Returns the 16 bits of the float next to x towards 0; +0 if x is too small for a normal number.
 * No x is too large, because the largest, those of "seeds", are scaled down. */
__device__ static uint64_t thread_narrow_float(const struct recipe &recipe, float x)
{
    const unsigned significand_bits = 15 - recipe.exponent_bits;
    const uint32_t bits = __float_as_uint(x), magnitude = bits & 0x7fffffff;
    const uint32_t rebias = (128u - (1u << (recipe.exponent_bits - 1))) << 23;
    if (magnitude < rebias + (1u << 23))
        return 0;
    return (magnitude - rebias) >> (23 - significand_bits) | bits >> 31 << 15;
}

/* Returns bytes, highest first, some of which are equal in many keys. */
__device__ static uint64_t thread_hot_bytes(enum bench_shape_id shape, uint64_t random)
{
    const uint64_t hot = 0x3a3a3a3a3a3a3a3au;
    if (shape == BENCH_SHAPE_HOT_DIGITS) {
        /* A random bit in each byte, spread over the byte. */
        const uint64_t chosen = (bench_random_bits(random) & 0x0101010101010101u) * 0xff;
        return (hot & chosen) | (random & ~chosen);
    }
    const unsigned cold_bits = 64 - 8 * static_cast<unsigned>(shape - BENCH_SHAPE_HOT_1 + 1);
    return random & 1 ? random : (hot & ~key_bits_mask(cold_bits)) | random >> (64 - cold_bits);
}

__device__ static bool thread_has_hot_bytes(enum bench_shape_id shape)
{
    return shape >= BENCH_SHAPE_HOT_DIGITS && shape <= BENCH_SHAPE_HOT_7;
}

/* As a float: positive, and finite because one bit of its exponent is cleared. */
__device__ static uint64_t thread_hot_float(const struct recipe &recipe, uint64_t random)
{
    const uint64_t bits = thread_hot_bytes(recipe.shape, random) >> (64 - recipe.bits);
    return (bits & (key_bits_mask(recipe.bits) >> 2)) | 1;
}

__device__ static uint64_t thread_float(const struct recipe &recipe, size_t i, uint64_t random)
{
    if (thread_has_hot_bytes(recipe.shape))
        return thread_hot_float(recipe, random);
    if (recipe.shape == BENCH_SHAPE_DENORMALS)
        return thread_float_bits(recipe, random, 0);
    if (recipe.shape == BENCH_SHAPE_EXPONENTS) {
        const uint64_t finite = key_bits_mask(recipe.exponent_bits) - 1;
        return thread_float_bits(recipe, random, 1 + bench_random_bits(random) % finite);
    }
    const double scale = recipe.exponent_bits < 8 ? 0x1p-16 : 1; /* f16 ends at 65504 */
    double x = 0;
    if (recipe.shape == BENCH_SHAPE_SEEDS)
        x = bench_seeds_number(random) * scale;
    else if (!thread_find_number(recipe, i, random, &x))
        x = thread_position(recipe, i, random);
    if (recipe.bits == 16)
        return thread_narrow_float(recipe, static_cast<float>(x));
    if (recipe.bits == 32)
        return __float_as_uint(static_cast<float>(x));
    return static_cast<uint64_t>(__double_as_longlong(x));
}

__device__ static uint64_t thread_unsigned(const struct recipe &recipe, size_t i, uint64_t random)
{
    double number = 0;
    if (thread_has_hot_bytes(recipe.shape))
        return thread_hot_bytes(recipe.shape, random) >> (64 - recipe.bits);
    if (thread_find_number(recipe, i, random, &number))
        return static_cast<uint64_t>(number) & key_bits_mask(recipe.bits);
    switch (recipe.shape) {
    case BENCH_SHAPE_UNIFORM:
        return random >> (64 - recipe.bits);
    case BENCH_SHAPE_DENORMALS:
        return random >> (64 - recipe.bits / 2);
    case BENCH_SHAPE_EXPONENTS:
        return random >> (64 - recipe.bits) >> bench_random_bits(random) % recipe.bits;
    default:
        return static_cast<uint64_t>(thread_position(recipe, i, random) * 0x1p64) >>
               (64 - recipe.bits);
    }
}

__device__ static uint64_t thread_number(const struct recipe &recipe, size_t i)
{
    const uint64_t random = bench_random_bits(i);
    if (recipe.kind == KEY_FLOAT)
        return thread_float(recipe, i, random);
    const uint64_t bits = thread_unsigned(recipe, i, random);
    return recipe.kind == KEY_SIGNED ? bits ^ uint64_t { 1 } << (recipe.bits - 1) : bits;
}

/* ---- kernels ---- */

template <typename Layout>
__global__ void fill_kernel(Layout layout, struct recipe recipe, size_t first, size_t count)
{
    const size_t width = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += width) {
        layout.store(i, {first + i, thread_number(recipe, first + i)});
    }
}

template <typename Layout>
__device__ bool thread_is_disorder(struct key_order order, struct key_index left,
                                   struct key_index right)
{
    const uint64_t left_key = key_order_encode(order, Layout::key_bits, left.key);
    const uint64_t right_key = key_order_encode(order, Layout::key_bits, right.key);
    return left_key > right_key ||
           (Layout::is_ordered_by_index && left_key == right_key && left.index > right.index);
}

template <typename Layout>
__global__ void digest_kernel(Layout layout, size_t count, struct key_order order,
                              struct item_digest *digest)
{
    __shared__ struct item_digest block;
    if (threadIdx.x == 0)
        block = {0, 0, 0};
    __syncthreads();
    unsigned long long sum = 0, exclusive_or = 0, disorder = 0;
    const size_t width = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += width) {
        const struct key_index item = layout.load(i);
        const uint64_t hash = bench_random_bits(item.key ^ bench_random_bits(item.index));
        sum += hash;
        exclusive_or ^= hash;
        disorder += i > 0 && thread_is_disorder<Layout>(order, layout.load(i - 1), item);
    }
    atomicAdd(&block.sum, sum);
    atomicXor(&block.exclusive_or, exclusive_or);
    atomicAdd(&block.disorder, disorder);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&digest->sum, block.sum);
        atomicXor(&digest->exclusive_or, block.exclusive_or);
        atomicAdd(&digest->disorder, block.disorder);
    }
}

/* ---- Dispatch from run-time values to templates ---- */

static struct launch bench_launch(const struct bench_case *bench, const char *name)
{
    const size_t blocks = launch_blocks(bench->count, THREADS_PER_BLOCK);
    return {name, std::min(blocks, blocks_at_most), THREADS_PER_BLOCK, bench->device,
            bench->stream};
}

/* Calls action(layout) with the layout of the items. */
template <typename Action>
static bool with_layout(const struct bench_case *bench, const struct item_arrays &items,
                        struct error *error, const Action &action)
{
    uint64_t *const keys = static_cast<uint64_t *>(items.keys);
    uint32_t *const values = static_cast<uint32_t *>(items.values);
    if (items.values && bench_peer_item_bytes(bench->type) == 8)
        return action(
            pairs_layout<uint32_t, uint32_t>{static_cast<uint32_t *>(items.keys), values});
    if (items.values && bench_peer_item_bytes(bench->type) == 12)
        return action(pairs_layout<uint64_t, uint32_t>{keys, values});
    if (items.values)
        return action(
            pairs_layout<uint64_t, uint64_t>{keys, static_cast<uint64_t *>(items.values)});
    if (bench_is_packed(bench->type))
        return action(packed_layout{keys});
    switch (bench_item_bytes(bench->type)) {
    case 1:
        return action(keys_layout<uint8_t>{static_cast<uint8_t *>(items.keys)});
    case 2:
        return action(keys_layout<uint16_t>{static_cast<uint16_t *>(items.keys)});
    case 4:
        return action(keys_layout<uint32_t>{static_cast<uint32_t *>(items.keys)});
    case 8:
        return action(keys_layout<uint64_t>{keys});
    case 16:
        return action(items_layout{static_cast<struct key_index *>(items.keys)});
    default:
        return error_set(error, "no items of %u bytes", bench_item_bytes(bench->type));
    }
}

/* Returns log2 of the size of a sample: one key in 128, at least 2^12, and at most 2^14, or 2^13
 * for items of 16 bytes, as radix takes them (cuda/tuning.h). */
static unsigned sample_bits(const struct bench_case *bench)
{
    const unsigned most = bench_item_bytes(bench->type) <= 8 ? 14 : 13;
    unsigned bits = 12;
    while (bits < most && bench->count >> 7 >> (bits + 1))
        bits++;
    return bits;
}

bool bench_data_fill(const struct bench_case *bench, struct item_arrays items, struct error *error)
{
    const struct key_type *const type = &key_types[bench->type->key];
    const struct recipe recipe = {bench->shape->id,   type->kind,
                                  8 * type->bytes,    type->exponent_bits,
                                  sample_bits(bench), bench->total ? bench->total : bench->count};
    return with_layout(bench, items, error, [&](auto layout) {
        return launch_kernel(bench_launch(bench, "fill_kernel"), error,
                             fill_kernel<decltype(layout)>, layout, recipe, bench->first,
                             bench->count);
    });
}

bool bench_data_digest(const struct bench_case *bench, struct item_arrays items,
                       struct item_digest *work, struct item_digest *digest, struct error *error)
{
    const unsigned device = bench->device;
    const struct key_order order =
        key_order_make(&key_types[bench->type->key], ENDIAN_LITTLE, NAN_GREATEST, false);
    return cuda_check(cudaMemsetAsync(work, 0, sizeof *work, bench->stream), device,
                      "cudaMemsetAsync", error) &&
           with_layout(bench, items, error,
                       [&](auto layout) {
                           return launch_kernel(bench_launch(bench, "digest_kernel"), error,
                                                digest_kernel<decltype(layout)>, layout,
                                                bench->count, order, work);
                       }) &&
           cuda_check(
               cudaMemcpyAsync(digest, work, sizeof *digest, cudaMemcpyDeviceToHost, bench->stream),
               device, "cudaMemcpyAsync", error) &&
           cuda_check(cudaStreamSynchronize(bench->stream), device, "the check of the output",
                      error);
}
