/* SPDX-License-Identifier: Apache-2.0 */
/* sample_sort.cu - a sort of few keys in four short kernels.
 *
 *   items --sample_splitters.cuh--> splitters --sample_shares.cuh--> scratch, parted by shares
 *         --sample_tiles.cuh--> items, sorted
 *
 * Keys are read twice and written twice, whatever they look like: of equal ones the splitters know
 * the places, so that those that come often are parted as well. Buckets are as even as the sample
 * is large. If one has far more keys than chance explains, nothing is done.
 *
 * Sources: W. Frazer, A. McKellar, "Samplesort", Journal of the ACM 1970; the search tree of P.
 * Sanders, S. Winkel, "Super Scalar Sample Sort", ESA 2004; on a GPU first N. Leischner, V. Osipov,
 * P. Sanders, "GPU Sample Sort", IPDPS 2010.
 */
#include "cuda/sample_sort.h"

#include "cuda/launch.cuh"
#include "cuda/sample_shares.cuh"
#include "cuda/sample_tiles.cuh"

#include <algorithm>
#include <chrono>

/* For so many items, cut into so many shares. */
template <typename K>
static struct sample_workspace<K> sample_workspace_lay(size_t count, size_t shares, void *memory) {
    const size_t keys = (size_t)1 << sample_bits(count),
                 ways = (size_t)1 << sample_ways_bits(count);
    unsigned char *const base = static_cast<unsigned char *>(memory);
    size_t used = 0;
    const auto take = [&](size_t bytes) -> void * {
        unsigned char *const part = base ? base + used : NULL;
        used += (bytes + 255) / 256 * 256;
        return part;
    };
    struct sample_workspace<K> work;
    work.groups.keys = static_cast<K *>(take(keys * sizeof(K)));
    work.groups.places = static_cast<unsigned *>(take(keys * sizeof(unsigned)));
    work.splitters.keys = static_cast<K *>(take(ways * sizeof(K)));
    work.splitters.places = static_cast<unsigned *>(take(ways * sizeof(unsigned)));
    work.starts = static_cast<unsigned *>(take(ways * sizeof(unsigned)));
    work.begins = static_cast<uint16_t *>(take(shares * ways * sizeof(uint16_t)));
    work.bytes = used;
    return work;
}

/* Keys a thread of the blocks that part: fewer of few, so that all multiprocessors have a part. */
template <typename K>
static unsigned sample_part_keys(size_t count, unsigned multiprocessors)
{
    const size_t shares = std::min<size_t>(multiprocessors * SAMPLE_PART_BLOCKS, SAMPLE_SHARES_FEW);
    unsigned keys = sample_part_keys_most(sizeof(K)) / 4;
    while (keys < sample_part_keys_most(sizeof(K)) &&
           launch_blocks(count, keys * SAMPLE_PART_THREADS) > shares)
        keys *= 2;
    return keys;
}

template <typename K, unsigned KEYS>
static bool sample_start_part(const struct launch_site &site, const struct sample_job<K> &job,
                              struct error *error)
{
    return launch_kernel(launch_at(site, "sample_part_kernel", job.shares, SAMPLE_PART_THREADS,
                                   sizeof(struct sample_part_shared<K, KEYS>)),
                         error, sample_part_kernel<K, KEYS>, job);
}

template <typename K, unsigned SAMPLE_BITS>
static bool sample_start_splitters(const struct launch_site &site, const struct sample_job<K> &job,
                                   struct error *error)
{
    constexpr unsigned keys = 1u << SAMPLE_BITS;
    return launch_kernel(launch_at(site, "sample_group_kernel",
                                   keys / SAMPLE_GROUP_THREADS * SAMPLE_GROUP_LANES,
                                   SAMPLE_GROUP_THREADS),
                         error, sample_group_kernel<K, SAMPLE_BITS>, job) &&
           launch_kernel(
               launch_at(site, "sample_rank_kernel", keys / THREADS_PER_WARP, SAMPLE_RANK_THREADS),
               error, sample_rank_kernel<K, SAMPLE_BITS>, job);
}

template <typename K>
static bool sample_start(const struct cuda_sort &sort, const struct sample_task &task,
                         struct error *error)
{
    constexpr unsigned most = sample_part_keys_most(sizeof(K));
    constexpr size_t room = (size_t)SAMPLE_SHARES_MOST * SAMPLE_PART_THREADS * most;
    static_assert(sample_sort_most(sizeof(K)) <= room && SAMPLE_SHARES_FEW <= SAMPLE_SHARES_MOST,
                  "blocks of tiles have room for all shares");
    static_assert(SAMPLE_PART_THREADS * most <= UINT16_MAX, "places in a share have 16 bits");
    static_assert(SAMPLE_SORT_LEAST >> sample_bits(SAMPLE_SORT_LEAST) > 0,
                  "the sample has a key of each stretch");
    struct launch_site site = {};
    if (!launch_site_find(sort.device, sort.stream, &site, error) ||
        !launch_can_be_early(sample_tile_kernel<K>, sort.device, &site.is_early, error))
        return false;
    const unsigned keys = sample_part_keys<K>(sort.count, site.multiprocessors);
    struct sample_job<K> job;
    job.items = static_cast<K *>(sort.items);
    job.scratch = static_cast<K *>(sort.scratch);
    job.keys = task.keys;
    job.order = sort.order;
    job.seed = task.seed;
    job.count = static_cast<unsigned>(sort.count);
    job.ways_bits = sample_ways_bits(sort.count);
    job.share = keys * SAMPLE_PART_THREADS;
    job.shares = static_cast<unsigned>(launch_blocks(sort.count, job.share));
    job.work = sample_workspace_lay<K>(sort.count, job.shares, task.memory);
    const size_t tiles = launch_resident(site, sample_tile_blocks(sizeof(K)),
                                         launch_blocks(sort.count, SAMPLE_TILE_LEAST));
    const unsigned bits = sample_bits(sort.count);
    return (bits == 13   ? sample_start_splitters<K, 13>(site, job, error)
            : bits == 14 ? sample_start_splitters<K, 14>(site, job, error)
                         : sample_start_splitters<K, 15>(site, job, error)) &&
           (keys == most       ? sample_start_part<K, most>(site, job, error)
            : keys == most / 2 ? sample_start_part<K, most / 2>(site, job, error)
                               : sample_start_part<K, most / 4>(site, job, error)) &&
           launch_kernel(launch_at(site, "sample_tile_kernel", tiles, SAMPLE_TILE_THREADS<K>,
                                   sizeof(struct sample_tile_shared<K>)),
                         error, sample_tile_kernel<K>, job, task.misled, sort.note);
}

uint64_t sample_seed(void)
{
#ifdef __CUDACC__
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#else
    return 0;
#endif
}

bool sample_sort_takes(size_t count, unsigned item_bytes)
{
    return item_bytes >= 4 && count >= SAMPLE_SORT_LEAST && count <= sample_sort_most(item_bytes);
}

bool sample_sort(const struct cuda_sort *sort, const struct sample_task *task, struct error *error)
{
    switch (sort->item_bytes) {
    case 4:
        return sample_start<uint32_t>(*sort, *task, error);
    case 8:
        return sample_start<uint64_t>(*sort, *task, error);
    default:
        return sample_start<key_u128>(*sort, *task, error);
    }
}

template <typename K>
static size_t sample_width_bytes(size_t count)
{
    const size_t least =
        launch_blocks(count, SAMPLE_PART_THREADS * sample_part_keys_most(sizeof(K)));
    const size_t most =
        launch_blocks(count, SAMPLE_PART_THREADS * sample_part_keys_most(sizeof(K)) / 4);
    const size_t shares = std::min<size_t>(most, std::max<size_t>(SAMPLE_SHARES_FEW, least));
    return sample_workspace_lay<K>(count, shares, NULL).bytes;
}

size_t sample_sort_bytes(size_t count, unsigned item_bytes)
{
    return item_bytes == 4   ? sample_width_bytes<uint32_t>(count)
           : item_bytes == 8 ? sample_width_bytes<uint64_t>(count)
                             : sample_width_bytes<key_u128>(count);
}
