/* SPDX-License-Identifier: Apache-2.0 */
/* radix_few_sort.cu - see radix_few_sort.h, and radix_few.cuh for how. */
#include "cuda/radix_few_sort.h"

#include "cuda/radix_few.cuh"

template <typename K>
static bool clear_values(const struct cuda_sort &sort, struct few_values<K> *values,
                         struct error *error)
{
    constexpr size_t keys_bytes = sizeof values->keys;
    return cuda_check(cudaMemsetAsync(values, FEW_NONE_BYTE, keys_bytes, sort.stream), sort.device,
                      "cudaMemsetAsync", error) &&
           cuda_check(cudaMemsetAsync(values->counts, 0, sizeof *values - keys_bytes, sort.stream),
                      sort.device, "cudaMemsetAsync", error);
}

template <typename K>
static bool sort_width(const struct cuda_sort &sort, void *memory, struct error *error)
{
    struct few_values<K> *const values = static_cast<struct few_values<K> *>(memory);
    struct launch_site site;
    if (!launch_site_find(sort.device, sort.stream, &site, error) ||
        !clear_values(sort, values, error))
        return false;
    const size_t pieces = launch_blocks(sort.count, RADIX_FEW_THREADS * KEYS_OF_WORD<K>);
    return launch_kernel(launch_at(site, "radix_few_count_kernel",
                                   launch_resident(site, RADIX_FEW_BLOCKS, pieces),
                                   RADIX_FEW_THREADS, sizeof(struct few_table<K, RADIX_FEW_SLOTS>)),
                         error, radix_few_count_kernel<K>, static_cast<const K *>(sort.items),
                         sort.count, values) &&
           launch_kernel(launch_at(site, "radix_few_runs_kernel", 1, RADIX_FEW_RUN_THREADS,
                                   sizeof(struct few_list<K>)),
                         error, radix_few_runs_kernel<K>, values, sort.order, sort.note) &&
           counting_start_fill<K>(sort, site, &values->runs, error);
}

bool radix_few_sort(const struct cuda_sort *sort, void *memory, struct error *error)
{
    return sort->item_bytes == 4 ? sort_width<uint32_t>(*sort, memory, error)
                                 : sort_width<uint64_t>(*sort, memory, error);
}

size_t radix_few_bytes(unsigned item_bytes)
{
    return item_bytes == 4   ? sizeof(struct few_values<uint32_t>)
           : item_bytes == 8 ? sizeof(struct few_values<uint64_t>)
                             : 0;
}
