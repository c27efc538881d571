/* SPDX-License-Identifier: Apache-2.0 */
/* tiles_matrix.cu - the last pass of radix (cuda/radix/radix_tiles.cuh, cuda/radix/radix_items.cuh)
 * alone: width x how fine positions are x full bins of so many keys, so many of them, at any place,
 * x what is in them.
 *
 *   tiles_matrix [EVERY]
 *     prints TAP, a line for each width, and for items by their words; exits 1 on a mismatch. Each
 *     EVERY-th case is taken: for tools under which kernels take a hundred times as long.
 *
 * The model is made here, an even one: the top 12 bits of a key say its bin. What is expected is
 * what std::sort makes of the keys of a pack on the host; and, of items, which packs their words
 * sort.
 */
#include "cuda/block/launch.cuh"
#include "cuda/radix/radix_items.cuh"
#include "tests/cuda/radix_cases.h"

#include <limits>

/* ---- packs ---- */

/* The keys of full bins. */
enum content { ANY, EQUAL, TWO_VALUES, DESCENDING, CROWDED };

/* `bins` full bins of `keys` keys, at bin `first` and every so many bins from there on, among
 * others of one key. */
struct pack_case {
    unsigned keys, bins, first, distance, others;
    enum content content;
};

static const unsigned bins_of_key_bits = 12;
static_assert(RADIX_TILE_BINS == 1u << bins_of_key_bits, "the top bits of a key are its bin");

/* Around the limits of a bin, of a span, and of the number of full bins. Those behind one another
 * are seen by other threads, and those RADIX_TILE_THREADS apart by one. */
static std::vector<struct pack_case> make_cases(size_t every)
{
    std::vector<struct pack_case> cases, chosen;
    for (const unsigned keys : {12u, 13u, 16u, 17u, 32u, 33u, 127u, 128u, 129u})
        for (const enum content content : {ANY, EQUAL, TWO_VALUES, DESCENDING, CROWDED})
            cases.insert(cases.end(), {{keys, 1, 0, 1, 0, content},
                                       {keys, 1, RADIX_TILE_BINS - 1, 1, 0, content},
                                       {keys, 2, 511, 1, 700, content},
                                       {keys, 7, 3, RADIX_TILE_THREADS, 4001, content},
                                       {keys, 16, RADIX_TILE_BINS - 16, 1, 3999, content},
                                       {keys, 17, 100, 3, 3001, content}});
    for (unsigned first = 0; first < RADIX_TILE_BINS; first += 16) /* each bin is found */
        cases.push_back({RADIX_SPAN_MOST, 16, first, 1, 0, ANY});
    cases.push_back({RADIX_SPAN_MOST, 16, 0, 200, 4096, ANY}); /* as many as a tile has room for */
    cases.push_back({RADIX_TILE_ROOM, 1, 77, 1, 0, ANY});
    for (size_t i = every - 1; i < cases.size(); i += every)
        chosen.push_back(cases[i]);
    return chosen;
}

static uint64_t key_in_bin(const struct pack_case &pack, unsigned bin, unsigned i)
{
    const uint64_t base = (uint64_t)bin << (64 - bins_of_key_bits);
    const uint64_t rest = random_bits(pack.keys * 7919ull + bin * 6151ull + i) >> bins_of_key_bits;
    switch (pack.content) {
    case ANY:
        return base | rest;
    case EQUAL:
        return base | random_bits(bin) >> bins_of_key_bits;
    case TWO_VALUES:
        return base | random_bits(rest & 1) >> bins_of_key_bits;
    case DESCENDING:
        return base + ((uint64_t)(pack.keys - i) << 39);
    default: /* far below what positions tell */
        return base | rest >> 24;
    }
}

template <typename K>
static std::vector<K> make_items(const struct pack_case &pack)
{
    std::vector<K> items;
    const struct key_order order = key_order_identity();
    std::vector<bool> is_full(RADIX_TILE_BINS);
    for (unsigned i = 0; i < pack.bins; i++)
        is_full[pack.first + i * pack.distance] = true;
    unsigned others = std::min(pack.others, RADIX_TILE_ROOM - pack.bins * pack.keys);
    for (unsigned bin = 0; bin < RADIX_TILE_BINS; bin++) {
        const unsigned keys = is_full[bin] ? pack.keys : others > 0 ? 1 : 0;
        others -= is_full[bin] ? 0 : keys;
        for (unsigned i = 0; i < keys; i++)
            items.push_back(
                item_of<K>(order, key_in_bin(pack, bin, i), scattered_index(items.size())));
    }
    for (size_t i = items.size() - 1; i > 0; i--)
        if (pack.content != DESCENDING)
            std::swap(items[i], items[random_bits(i) % (i + 1)]);
    return items;
}

/* All cases one behind the other. */
template <typename K>
struct packs {
    std::vector<struct pack_case> cases;
    std::vector<struct radix_pack> list;
    std::vector<K> items;
};

/* Positions have so many bits. */
template <typename K>
static void make_packs(unsigned position_bits, size_t every, struct packs<K> *packs)
{
    const struct radix_bins bins = {0, (uint32_t)1 << (32 + bins_of_key_bits - position_bits)};
    packs->cases = make_cases(every);
    for (const struct pack_case &pack : packs->cases) {
        const std::vector<K> items = make_items<K>(pack);
        packs->list.push_back({packs->items.size(), (unsigned)items.size(), 0, bins});
        packs->items.insert(packs->items.end(), items.begin(), items.end());
    }
}

/* Positions 0 .. 2 half - 1, by the top bits of the keys. */
template <typename K>
static void make_model(uint32_t half, struct radix_model<K> *model)
{
    model->bounds.range = std::numeric_limits<decltype(model->bounds.range)>::max();
    model->root_bits = 1;
    model->entry_count = 2;
    model->entries[0] = {0, half};
    model->entries[1] = {half, half};
}

/* ---- what words of items sort ---- */

/* The most items that share what their top bits say. */
template <typename K>
static unsigned most_alike(const K *items, unsigned count, unsigned bits)
{
    std::vector<K> tops(items, items + count);
    for (K &top : tops)
        top >>= 8 * sizeof(K) - bits;
    std::sort(tops.begin(), tops.end());
    unsigned most = 0, run = 0;
    for (size_t i = 0; i < tops.size(); i++) {
        run = i > 0 && tops[i] == tops[i - 1] ? run + 1 : 1;
        most = std::max(most, run);
    }
    return most;
}

template <typename K>
static bool words_do(const struct packs<K> &packs, size_t i, unsigned position_bits)
{
    const struct pack_case &pack = packs.cases[i];
    const unsigned limit = radix_bin_limit(sizeof(K));
    const unsigned threads = pack.distance % RADIX_TILE_THREADS ? pack.bins : 1;
    return pack.keys <= limit ||
           (pack.keys <= RADIX_SPAN_MOST && threads <= RADIX_TILE_WARPS &&
            most_alike(&packs.items[packs.list[i].first], packs.list[i].count,
                       std::min(position_bits, RADIX_POSITION_BITS)) <= limit);
}

/* ---- the device ---- */

template <typename T>
static bool upload(const std::vector<T> &values, T **copy, struct error *error)
{
    const size_t bytes = values.size() * sizeof(T);
    return check(cudaMalloc((void **)copy, bytes), error) &&
           check(cudaMemcpy(*copy, values.data(), bytes, cudaMemcpyHostToDevice), error);
}

template <typename T>
static bool download(const T *copy, std::vector<T> *values, struct error *error)
{
    const size_t bytes = values->size() * sizeof(T);
    return check(cudaMemcpy(values->data(), copy, bytes, cudaMemcpyDeviceToHost), error);
}

/* What the kernels work on; what was made is freed by memory_close, also after an error. */
template <typename K>
struct memory {
    K *source = NULL, *target = NULL;
    struct radix_model<K> *model = NULL;
    struct radix_totals *totals = NULL;
    struct radix_pack *packs = NULL, *left = NULL;
};

/* The target is all 0x5c. */
template <typename K>
static bool memory_open(struct memory<K> *memory, const struct packs<K> &packs,
                        unsigned position_bits, struct error *error)
{
    std::vector<struct radix_model<K>> model(1);
    std::vector<struct radix_totals> totals(1);
    make_model((uint32_t)1 << (position_bits - 1), &model[0]);
    totals[0].packs = (unsigned)packs.list.size();
    return upload(packs.items, &memory->source, error) &&
           upload(std::vector<K>(packs.items.size(), 0x5c), &memory->target, error) &&
           upload(model, &memory->model, error) && upload(totals, &memory->totals, error) &&
           upload(packs.list, &memory->packs, error) && upload(packs.list, &memory->left, error);
}

template <typename K>
static void memory_close(const struct memory<K> &memory)
{
    (void)cudaFree(memory.left);
    (void)cudaFree(memory.packs);
    (void)cudaFree(memory.totals);
    (void)cudaFree(memory.model);
    (void)cudaFree(memory.target);
    (void)cudaFree(memory.source);
}

/* By few blocks, so that each sorts pack after pack. */
template <typename K>
static bool sort_packs(const struct memory<K> &memory, bool by_words, struct error *error)
{
    struct launch_site site;
    const unsigned blocks = 3;
    const struct key_order order = key_order_identity();
    const struct radix_move<K> move {
        memory.source, memory.target, order
    };
    const struct radix_model<K> *const model = memory.model;
    const struct radix_totals *const totals = memory.totals;
    const struct radix_pack *const packs = memory.packs;
    if (!launch_site_find(0, NULL, &site, error))
        return false;
    if constexpr (RADIX_IS_ITEM<K>)
        if (by_words)
            return launch_kernel(launch_at(site, "radix_items_kernel", blocks, RADIX_TILE_THREADS,
                                           sizeof(struct radix_item_shared)),
                                 error, radix_items_kernel, move, model, memory.totals, packs,
                                 memory.left);
    return launch_kernel(launch_at(site, "radix_tiles_kernel", blocks, RADIX_TILE_THREADS,
                                   sizeof(struct radix_tile_shared<K>)),
                         error, radix_tiles_kernel<K>, move, model, totals, &totals->packs, packs,
                         static_cast<struct radix_range<K> *>(NULL));
}

/* ---- claims ---- */

/* Each pack is sorted, or left as it was and listed. */
template <typename K>
static bool check_packs(const struct memory<K> &memory, const struct packs<K> &packs, bool by_words,
                        unsigned position_bits, struct error *error)
{
    std::vector<K> got(packs.items.size());
    std::vector<struct radix_totals> totals(1);
    std::vector<struct radix_pack> left(packs.list.size());
    if (!download(memory.target, &got, error) || !download(memory.totals, &totals, error) ||
        !download(memory.left, &left, error))
        return false;
    std::vector<size_t> firsts, expected_firsts;
    for (size_t i = 0; i < packs.cases.size(); i++) {
        const struct pack_case &pack = packs.cases[i];
        const size_t first = packs.list[i].first, count = packs.list[i].count;
        const bool is_left = by_words && !words_do(packs, i, position_bits);
        std::vector<K> expected(&packs.items[first], &packs.items[first] + count);
        std::sort(expected.begin(), expected.end());
        if (is_left) {
            expected.assign(count, 0x5c);
            expected_firsts.push_back(first);
        }
        if (!std::equal(expected.begin(), expected.end(), &got[first]))
            return error_set(error,
                             "%u bins of %u keys from bin %u on, content %d, positions of "
                             "%u bits: not %s",
                             pack.bins, pack.keys, pack.first, (int)pack.content, position_bits,
                             is_left ? "left" : "sorted");
    }
    for (unsigned i = 0; i < totals[0].left; i++)
        firsts.push_back(left[i].first);
    std::sort(firsts.begin(), firsts.end());
    return firsts == expected_firsts || error_set(error, "%zu packs are left in place of %zu",
                                                  firsts.size(), expected_firsts.size());
}

template <typename K>
static bool check_cases(bool by_words, unsigned position_bits, size_t every, struct error *error)
{
    struct packs<K> packs;
    struct memory<K> memory;
    make_packs(position_bits, every, &packs);
    const bool passed = memory_open(&memory, packs, position_bits, error) &&
                        sort_packs(memory, by_words, error) &&
                        check(cudaDeviceSynchronize(), error) &&
                        check_packs(memory, packs, by_words, position_bits, error);
    memory_close(memory);
    return passed;
}

/* The bits of all positions, and more than are kept beside a rank. */
static const unsigned coarse = 22, fine = 30;
static_assert(coarse < RADIX_POSITION_BITS && fine > RADIX_POSITION_BITS, "one of each");

template <typename K>
static void check_width(const char *claim, bool by_words, size_t every, struct tap_output *tap)
{
    struct error error = {};
    const bool passed = check_cases<K>(by_words, coarse, every, &error) &&
                        check_cases<K>(by_words, fine, every, &error);
    tap_print(tap, passed, claim, sizeof(K), error);
}

int main(int argc, char **argv)
{
    size_t every = 1;
    int status = 0;
    if (!tap_start(argc, argv, &every, &status))
        return status;
    printf("1..4\n");
    struct tap_output tap = {};
    check_width<uint32_t>("tiles with full bins", false, every, &tap);
    check_width<uint64_t>("tiles with full bins", false, every, &tap);
    check_width<key_u128>("tiles with full bins", false, every, &tap);
    check_width<key_u128>("tiles with full bins, by words", true, every, &tap);
    return tap.failed ? 1 : 0;
}
