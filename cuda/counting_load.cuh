/* SPDX-License-Identifier: Apache-2.0 */
/* counting_load.cuh - how keys that are to be counted are read: in words of 16 bytes.
 */
#ifndef CUDA_COUNTING_LOAD_CUH
#define CUDA_COUNTING_LOAD_CUH

#include "cuda/counting_fill.cuh"

/* What a thread has on its way: words, and how many keys each has. */
template <typename K>
struct counting_load {
    union key_word<K> words[counting_words(sizeof(K))];
    unsigned counts[counting_words(sizeof(K))];
};

/* Reads the thread's word of the block's share at `first` on, and of others `step` keys behind. */
template <typename K>
__device__ __forceinline__ struct counting_load<K> thread_load_words(const K *source, size_t count,
                                                                     size_t first, size_t step) {
    struct counting_load<K> own;
#pragma unroll
    for (unsigned row = 0; row < counting_words(sizeof(K)); row++) {
        const size_t index = first + row * step + threadIdx.x * KEYS_OF_WORD<K>;
        const size_t left = index < count ? count - index : 0;
        union key_word<K> &word = own.words[row];
        own.counts[row] = left < KEYS_OF_WORD<K> ? static_cast<unsigned>(left) : KEYS_OF_WORD<K>;
        if (left >= KEYS_OF_WORD<K>) {
            word.word = *reinterpret_cast<const uint4 *>(source + index);
        } else {
#pragma unroll
            for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
                word.keys[i] = i < left ? source[index + i] : K{0};
        }
    }
    return own;
}

#endif
