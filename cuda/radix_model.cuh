/* radix_model.cuh - a monotone map from keys to positions in the sorted order, learned from a
 * sample.
 *
 * A plain radix digit splits the range of the keys into equal widths; real keys (doubles above all)
 * crowd into few of them. Here a tree of cells follows the keys: the root cuts the range into equal
 * cells, a cell that holds a large share of the sample is cut again, and within a cell positions
 * grow evenly. So a lookup is a subtraction, a shift and, nearly always, one load:
 *
 *   key - lowest, its top bit shifted to the top --> root cell [--> cell of a node ...]
 *   position = first of the cell + rest of the bits * positions of the cell
 *
 * A position is a fixed-point number: its whole part is the number of a bucket, which all passes of
 * the sort use (its high digit in the first, its low digit in the second), and its fraction orders
 * keys within a bucket. Any such map is monotone, whatever the sample: a bad sample can make
 * buckets uneven, never wrong.
 *
 * The idea of a learned, monotone first cut is that of Kristo et al., "The Case for a Learned
 * Sorting Algorithm" (SIGMOD 2020); this tree takes the place of their linear models.
 */
#ifndef CUDA_RADIX_MODEL_CUH
#define CUDA_RADIX_MODEL_CUH

#include "cuda/thread_key.cuh"

constexpr unsigned RADIX_ROOT_CELLS = 1u << RADIX_ROOT_BITS;
constexpr unsigned RADIX_NODE_CELLS = 1u << RADIX_NODE_BITS;
constexpr unsigned RADIX_ENTRIES = RADIX_ROOT_CELLS + RADIX_NODES * RADIX_NODE_CELLS;

/* Buckets that a model can have, and the bits of a position that count within a bucket; a position
 * has 31 bits. */
constexpr unsigned RADIX_BUCKET_BITS = 2 * RADIX_WAYS_BITS;
constexpr unsigned RADIX_FRACTION_BITS = 31 - RADIX_BUCKET_BITS;

/* Set in `first` of a cell that is cut again; the other bits then say where its node's entries
 * start. */
constexpr uint32_t RADIX_CUT = 1u << 31;

struct __align__(8) radix_entry
{
    uint32_t first; /* position */
    uint32_t scale; /* positions in the cell */
};

template <typename K>
struct radix_model {
    K lowest;
    K range;       /* keys are looked up if key - lowest <= range */
    unsigned norm; /* the shift that brings the top bit of range to the top */
    uint32_t end;  /* the position of all keys above */
    struct radix_entry entries[RADIX_ENTRIES];
};

/* A model whose entries lie in shared memory and whose bounds lie in registers. */
template <typename K>
struct radix_lookup {
    K lowest;
    K range;
    unsigned norm;
    uint32_t end;
    const struct radix_entry *entries;
};

/* The bits of an offset that the tree looks at, the top ones first. */
template <typename K>
struct radix_path {
    typedef uint64_t bits;
};
template <>
struct radix_path<uint32_t> {
    typedef uint32_t bits;
};

template <typename K>
constexpr unsigned RADIX_PATH_BITS = 8 * sizeof(typename radix_path<K>::bits);

template <typename K>
__device__ __forceinline__ typename radix_path<K>::bits thread_radix_path(K offset, unsigned norm)
{
    constexpr unsigned unseen_bits = 8 * sizeof(K) - RADIX_PATH_BITS<K>;
    return static_cast<typename radix_path<K>::bits>((offset << norm) >> unseen_bits);
}

/* The cell at which the path ends, and in *rest what is left of the path. */
template <typename K>
__device__ __forceinline__ unsigned thread_radix_cell(const struct radix_entry *entries,
                                                      typename radix_path<K>::bits path,
                                                      typename radix_path<K>::bits *rest)
{
    unsigned cell = static_cast<unsigned>(path >> (RADIX_PATH_BITS<K> - RADIX_ROOT_BITS));
    path <<= RADIX_ROOT_BITS;
    while (entries[cell].first & RADIX_CUT) {
        cell = (entries[cell].first & ~RADIX_CUT) +
               static_cast<unsigned>(path >> (RADIX_PATH_BITS<K> - RADIX_NODE_BITS));
        path <<= RADIX_NODE_BITS;
    }
    *rest = path;
    return cell;
}

template <typename K>
__device__ __forceinline__ uint32_t thread_radix_position(const struct radix_lookup<K> &lookup,
                                                          K key)
{
    const K offset = static_cast<K>(key - lookup.lowest);
    if (offset > lookup.range)
        return key < lookup.lowest ? 0 : lookup.end;
    typename radix_path<K>::bits path = thread_radix_path(offset, lookup.norm);
    struct radix_entry entry = lookup.entries[path >> (RADIX_PATH_BITS<K> - RADIX_ROOT_BITS)];
    path <<= RADIX_ROOT_BITS;
    while (entry.first & RADIX_CUT) {
        entry =
            lookup.entries[(entry.first & ~RADIX_CUT) +
                           static_cast<unsigned>(path >> (RADIX_PATH_BITS<K> - RADIX_NODE_BITS))];
        path <<= RADIX_NODE_BITS;
    }
    const uint32_t within = static_cast<uint32_t>(path >> (RADIX_PATH_BITS<K> - 32));
    return entry.first + __umulhi(within, entry.scale);
}

/* Copies the model's entries to `entries`, in shared memory; they are there after a barrier. */
template <typename K, unsigned THREADS>
__device__ __forceinline__ struct radix_lookup<K>
block_load_model(const struct radix_model<K> *model, struct radix_entry *entries) {
    for (unsigned i = threadIdx.x; i < RADIX_ENTRIES; i += THREADS)
        entries[i] = model->entries[i];
    const struct radix_lookup<K> lookup = {
        model->lowest, model->range, model->norm, model->end, entries
    };
    return lookup;
}

#endif
