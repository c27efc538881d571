/* SPDX-License-Identifier: Apache-2.0 */
/* radix_values.cuh - learns which keys items share, for models of items (key above index).
 *
 *   sample --how often its keys come--> the most frequent key of each cell
 *          --counted, apart from the cell's others--> values with positions of their own
 *          --their least and greatest index--> how the index spreads a value's items over them
 *
 * A frequent key is one point to the cells, which go by the top bits of an item; so its items would
 * share a bucket, and be too many for it. Their indices tell them apart: often they are spread
 * evenly, always their order is that of the items.
 *
 * How often a key comes is estimated by two tables of counters that keys share, whichever says
 * less: Cormode and Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch and its
 * Applications", Journal of Algorithms 2005. The estimate only proposes a key; it is then counted.
 */
#ifndef CUDA_RADIX_VALUES_CUH
#define CUDA_RADIX_VALUES_CUH

#include "cuda/radix_levels.cuh"
#include "cuda/radix_range.cuh"

/* Counters of a table, as bits. */
constexpr unsigned RADIX_SKETCH_BITS = 12;
constexpr unsigned RADIX_SKETCH_TABLES = 2;

/* A candidate is its estimate above its number in the sample and 1; 0: there is none. */
constexpr unsigned RADIX_CANDIDATE_BITS = 16;
static_assert(RADIX_ROOT_BITS + radix_sample_own_bits(sizeof(key_u128)) < RADIX_CANDIDATE_BITS,
              "a number of the sample fits, and so does an estimate");

/* What is known of the keys that items share, in shared memory. Keys without an index have none. */
template <typename K>
struct radix_values {
};

template <>
struct radix_values<key_u128> {
    unsigned sketch[RADIX_SKETCH_TABLES << RADIX_SKETCH_BITS];
    uint64_t keys[RADIX_ENTRIES];   /* the candidate of a cell, if it has one */
    uint32_t counts[RADIX_ENTRIES]; /* of its items in the sample */
    union {
        uint32_t candidates[RADIX_ENTRIES]; /* while the tree grows */
        uint32_t positions[RADIX_ENTRIES];  /* then: of the cell's value */
    };
    uint8_t slots[RADIX_ENTRIES]; /* 1 and the number of the cell's value; 0: there is none */
    uint32_t least[RADIX_VALUES]; /* of the indices of a value */
    uint32_t most[RADIX_VALUES];
    struct radix_entry entries[RADIX_VALUES * RADIX_VALUE_ENTRIES];
    unsigned slot_count; /* asked for; may be more than there are */
    unsigned index_bits; /* of the sample's greatest index */
    bool is_one_key;     /* all of the sample: then the cells go by the index */
};
static_assert(RADIX_VALUES < 1u << 8, "a byte holds a slot");

typedef struct radix_values<key_u128> radix_item_values;

__device__ __forceinline__ unsigned radix_value_count(const radix_item_values &values)
{
    return values.slot_count < RADIX_VALUES ? values.slot_count : RADIX_VALUES;
}

/* The right shift that brings indices into 32 bits. */
__device__ __forceinline__ unsigned radix_index_shift(const radix_item_values &values)
{
    return values.index_bits > 32 ? values.index_bits - 32 : 0;
}

__device__ __forceinline__ uint64_t thread_item_key(key_u128 item)
{
    return static_cast<uint64_t>(item >> 64);
}

/* The counter of a key in a table. */
__device__ __forceinline__ unsigned thread_sketch_place(unsigned table, uint64_t key)
{
    const uint64_t odd = table == 0 ? 0x9e3779b97f4a7c15u : 0xc4ceb9fe1a85ec53u;
    const uint64_t hash = (key ^ key >> 32) * odd;
    return table << RADIX_SKETCH_BITS | static_cast<unsigned>(hash >> (64 - RADIX_SKETCH_BITS));
}

__device__ __forceinline__ unsigned thread_estimate(const radix_item_values &values, uint64_t key)
{
    const unsigned first = values.sketch[thread_sketch_place(0, key)];
    const unsigned second = values.sketch[thread_sketch_place(1, key)];
    return first < second ? first : second;
}

/* Between barriers. */
__device__ __forceinline__ void block_clear_values(radix_item_values &values, unsigned threads)
{
    for (unsigned i = threadIdx.x; i < RADIX_SKETCH_TABLES << RADIX_SKETCH_BITS; i += threads)
        values.sketch[i] = 0;
    for (unsigned i = threadIdx.x; i < RADIX_ENTRIES; i += threads) {
        values.counts[i] = 0;
        values.candidates[i] = 0;
        values.slots[i] = 0;
    }
    for (unsigned i = threadIdx.x; i < RADIX_VALUES; i += threads) {
        values.least[i] = UINT32_MAX;
        values.most[i] = 0;
    }
    if (threadIdx.x == 0) {
        values.slot_count = 0;
        values.index_bits = 0;
    }
}

/* Notes an item of the sample, if it is one. All lanes of the warp call it. */
__device__ __forceinline__ void warp_note_item(radix_item_values &values, key_u128 item,
                                               bool counted)
{
    const uint64_t index = static_cast<uint64_t>(item);
    const unsigned bits = 64 - static_cast<unsigned>(__clzll(static_cast<long long>(index)));
    const unsigned first = thread_sketch_place(0, thread_item_key(item));
    const bool is_crowded = warp_is_crowded(first);
    warp_count(values.sketch, first, counted, is_crowded);
    warp_count(values.sketch, thread_sketch_place(1, thread_item_key(item)), counted, is_crowded);
    if (counted && bits > values.index_bits)
        atomicMax(&values.index_bits, bits);
}

/* Proposes the key of item `number` of the sample, which ends in the cell, if it may be frequent.
 */
__device__ __forceinline__ void thread_propose_key(radix_item_values &values, unsigned cell,
                                                   unsigned number, key_u128 item)
{
    const unsigned estimate = thread_estimate(values, thread_item_key(item));
    const uint32_t candidate = estimate << RADIX_CANDIDATE_BITS | (number + 1);
    if (!values.is_one_key && estimate >= RADIX_VALUE_LEAST && candidate > values.candidates[cell])
        atomicMax(&values.candidates[cell], candidate);
}

/* Writes the cell's key, if it is this one that was chosen. */
__device__ __forceinline__ void thread_publish_key(radix_item_values &values, unsigned cell,
                                                   unsigned number, key_u128 item)
{
    const uint32_t mask = (1u << RADIX_CANDIDATE_BITS) - 1;
    if ((values.candidates[cell] & mask) == number + 1)
        values.keys[cell] = thread_item_key(item);
}

__device__ __forceinline__ bool thread_is_candidate(const radix_item_values &values, unsigned cell,
                                                    key_u128 item)
{
    return values.candidates[cell] > 0 && values.keys[cell] == thread_item_key(item);
}

/* Gives the candidate of an uncut cell a slot and its share of `buckets` if it is frequent and
 * there is one; `all` stands for the whole sample. Returns the items of it that are left to the
 * cell. */
__device__ __forceinline__ unsigned thread_share_value(radix_item_values &values, unsigned cell,
                                                       bool is_cut, unsigned buckets, uint64_t all)
{
    const unsigned count = is_cut ? 0 : values.counts[cell];
    const unsigned slot =
        count < RADIX_VALUE_LEAST ? RADIX_VALUES : atomicAdd(&values.slot_count, 1u);
    values.positions[cell] = 0;
    if (slot >= RADIX_VALUES)
        return count;
    const uint64_t share = uint64_t{4} * count * buckets;
    values.slots[cell] = static_cast<uint8_t>(slot + 1);
    values.positions[cell] = static_cast<uint32_t>((share << RADIX_FRACTION_BITS) / all);
    return 0;
}

/* Lets the index of an item that ends in the cell widen the range of the cell's value. */
__device__ __forceinline__ void thread_widen_value(radix_item_values &values, unsigned cell,
                                                   key_u128 item)
{
    const unsigned slot = values.slots[cell];
    if (slot == 0 || values.keys[cell] != thread_item_key(item))
        return;
    const uint32_t top = thread_index_top(static_cast<uint64_t>(item), radix_index_shift(values));
    if (top < values.least[slot - 1])
        atomicMin(&values.least[slot - 1], top);
    if (top > values.most[slot - 1])
        atomicMax(&values.most[slot - 1], top);
}

/* Writes the value of the cell, whose other items have the entry `rest`, and returns the entry that
 * leads there from the cell, once it stands from entry `first_entry` of the model on. Of n even
 * indices a 1/n of their range is expected beyond each end. */
__device__ __forceinline__ struct radix_entry thread_place_value(radix_item_values &values,
                                                                 unsigned cell,
                                                                 unsigned first_entry,
                                                                 const struct radix_entry &rest)
{
    const unsigned slot = values.slots[cell] - 1u;
    const uint32_t least = values.least[slot], most = values.most[slot];
    const uint32_t margin = (most - least) / values.counts[cell];
    const uint32_t begin = least > margin ? least - margin : 0;
    const uint32_t end = UINT32_MAX - most > margin ? most + margin : UINT32_MAX;
    const struct radix_value value = {values.keys[cell], begin, end > begin ? end - begin : 1,
                                      values.positions[cell], rest};
    thread_write_value(value, &values.entries[slot * RADIX_VALUE_ENTRIES]);
    const struct radix_entry entry = {RADIX_CUT | RADIX_VALUE |
                                          (first_entry + slot * RADIX_VALUE_ENTRIES),
                                      radix_index_shift(values)};
    return entry;
}

#endif
