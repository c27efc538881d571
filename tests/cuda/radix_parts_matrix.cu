/* SPDX-License-Identifier: Apache-2.0 */
/* radix_parts_matrix.cu - parts of radix alone, and paths that fail:
 *
 *   the sort of short keys by counting (cuda/radix/counting_keys.cu): width x order x shape x
 * count, with all counters in a block and with one half of them;
 *
 *   the last pass (cuda/radix/radix_tiles.cuh, cuda/radix/radix_items.cuh): width x number of bits
 *   of positions x number, size, place and content of full bins;
 *
 *   a sort that fails after it has started kernels: none of them runs any more when the failure is
 *   reported, and the next sort with the same worker and memory succeeds.
 *
 *   radix_parts_matrix [EVERY]
 *     prints TAP; exits 1 on a mismatch. Each EVERY-th case of the last pass is taken, and from 2
 * on no large array: for tools under which kernels take a hundred times as long.
 *
 * What is expected is what std::sort makes of the keys on the host. For items, also which packs the
 * kernel of words leaves as they are.
 */
#include "cuda/block/launch.cuh"
#include "cuda/engine/cuda_worker.h"
#include "cuda/radix/radix_items.cuh"
#include "tests/cuda/radix_cases.h"

#include <limits>
#include <string.h>

extern "C" const struct backend cuda_backend;

/* ---- keys that are counted ---- */

/* Values with nothing between them, from one to the next twice as rare. */
static uint64_t shape_apart(size_t i, size_t)
{
    return random_bits((uint64_t)__builtin_clzll(random_bits(i)) + 77);
}

/* Runs of equal keys that begin anywhere, and end with another value or with the same one. */
static uint64_t shape_runs(size_t i, size_t)
{
    return random_bits(i / 83) >> i / 1000 % 3;
}

/* The greatest value, once, far from all others. */
static uint64_t shape_one_apart(size_t i, size_t n)
{
    return i == n / 2 ? UINT64_MAX : i % 3;
}

/* Two values whose counters share a word. */
static uint64_t shape_neighbours(size_t i, size_t)
{
    return ((uint64_t)5 << 48) + ((uint64_t)(i / 7 % 2) << 63);
}

/* Of the last ones a block has the most keys of one value, and of two that share a word. */
static const struct key_shape shapes[] = {
    {"random", shape_random},           {"sorted", shape_sorted},
    {"reversed", shape_reversed},       {"zipf", shape_zipf},
    {"exponents", shape_exponents},     {"runs", shape_runs},
    {"two values", shape_two_values},   {"far apart", shape_apart},
    {"one far apart", shape_one_apart}, {"all equal", shape_all_equal},
    {"of one word", shape_neighbours},
};
constexpr size_t shape_count = sizeof shapes / sizeof *shapes, first_frequent = 9;

template <typename K>
static bool check_counted(const struct key_shape &shape, struct key_order order, size_t count,
                          size_t shared_most, struct error *error)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, shape.key(i, count), i);
    struct cuda_sort sort;
    bool passed = sort_open(&sort, count, sizeof(K), 4096, 0x5c, error) && send(sort, items, error);
    sort.order = order;
    passed = passed && counting_sort(&sort, shared_most, error) &&
             check(cudaDeviceSynchronize(), error) && holds(sort, sorted_copy(order, items), error);
    sort_close(&sort);
    return passed || error_set(error, "%s, %zu bytes of shared memory", shape.name, shared_most);
}

/* Each shape from `first` on in one of the orders. All values of 2 bytes are scanned, however few
 * keys there are: of these, shapes take turns. */
template <typename K>
static bool check_shapes(size_t first, size_t count, size_t shared_most, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    const size_t turns = sizeof(K) > 1 && count < 10000 ? 6 : 1;
    for (size_t i = first + count % turns; i < shape_count; i += turns)
        if (!check_counted<K>(shapes[i], orders[(count + i) % orders.size()], count, shared_most,
                              error))
            return false;
    return true;
}

/* Around what a lane, a warp and a block take at a time; and so many keys that a block has more of
 * a value than a counter of 16 bits holds. */
template <typename K>
static void check_counting(bool is_quick, size_t shared_most, const char *claim,
                           struct tap_output *tap)
{
    const size_t word = 16 / sizeof(K), row = 32 * word, block = 32 * row;
    int multiprocessors = 0;
    struct error error = {};
    bool passed =
        check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), &error);
    for (const size_t count : {(size_t)0, (size_t)1, word - 1, word, word + 1, row - 1, row,
                               row + 1, 8 * row, block - 1, block + 1, (size_t)40003})
        if (count <= 20000 || !is_quick)
            passed = passed && check_shapes<K>(0, count, shared_most, &error);
    if (!is_quick)
        passed = passed && check_shapes<K>(first_frequent, 70001 * (size_t)multiprocessors,
                                           shared_most, &error);
    tap_print(tap, passed, claim, sizeof(K), error);
}

/* ---- the last pass: packs of bins ---- */

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

/* Around the limits of a bin, of a span, and of the number of full bins. Adjacent ones
 * are seen by different threads, and those RADIX_TILE_THREADS apart by one. */
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

/* All cases, one after the other. */
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

/* What the kernels work on; what was made is freed by memory_close, also after an error. */
template <typename K>
struct memory {
    K *source = NULL, *target = NULL;
    struct radix_model<K> *model = NULL;
    struct radix_totals *totals = NULL;
    struct radix_pack *packs = NULL, *left = NULL;
};

template <typename T>
static bool upload_new(T **to, const std::vector<T> &values, struct error *error)
{
    return allocate(to, values.size(), error) && upload(*to, values, error);
}

/* The target is all 0x5c. Positions 0 .. 2 half - 1 are the top bits of the keys. */
template <typename K>
static bool memory_open(struct memory<K> *memory, const struct packs<K> &packs,
                        unsigned position_bits, struct error *error)
{
    const uint32_t half = (uint32_t)1 << (position_bits - 1);
    std::vector<struct radix_model<K>> model(1);
    std::vector<struct radix_totals> totals(1);
    model[0].bounds.range = std::numeric_limits<decltype(model[0].bounds.range)>::max();
    model[0].root_bits = 1;
    model[0].entry_count = 2;
    model[0].entries[0].first = 0;
    model[0].entries[1].first = half;
    model[0].entries[0].scale = model[0].entries[1].scale = half;
    totals[0].packs = (unsigned)packs.list.size();
    return upload_new(&memory->source, packs.items, error) &&
           upload_new(&memory->target, std::vector<K>(packs.items.size(), 0x5c), error) &&
           upload_new(&memory->model, model, error) && upload_new(&memory->totals, totals, error) &&
           upload_new(&memory->packs, packs.list, error) &&
           upload_new(&memory->left, packs.list, error);
}

template <typename K>
static void memory_close(const struct memory<K> &memory)
{
    for (void *const used : {(void *)memory.left, (void *)memory.packs, (void *)memory.totals,
                             (void *)memory.model, (void *)memory.target, (void *)memory.source})
        (void)cudaFree(used);
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

/* Each pack is sorted, or left as it was and listed. */
template <typename K>
static bool check_packs(const struct memory<K> &memory, const struct packs<K> &packs, bool by_words,
                        unsigned position_bits, struct error *error)
{
    std::vector<K> got;
    std::vector<struct radix_totals> totals;
    std::vector<struct radix_pack> left;
    if (!download(&got, memory.target, packs.items.size(), error) ||
        !download(&totals, memory.totals, 1, error) ||
        !download(&left, memory.left, packs.list.size(), error))
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
static void check_tiles(const char *claim, bool by_words, size_t every, struct tap_output *tap)
{
    struct error error = {};
    const bool passed = check_cases<K>(by_words, coarse, every, &error) &&
                        check_cases<K>(by_words, fine, every, &error);
    tap_print(tap, passed, claim, sizeof(K), error);
}

/* ---- failures ---- */

constexpr size_t COUNT = 10007;

/* The path that is to fail; static, because a path's functions take no more arguments. */
static const struct cuda_path *tested;

static bool fail_after_kernels(const struct cuda_sort *sort, struct error *error)
{
    return tested->sort(sort, error) && error_set(error, "on purpose");
}

static bool finish_after_kernels(const struct cuda_sort *sort, unsigned, bool *,
                                 struct error *error)
{
    return fail_after_kernels(sort, error);
}

static bool check_failure(struct cuda_worker *worker, const struct cuda_path *failing,
                          const struct cuda_sort &sort, struct error *error)
{
    struct error expected = {};
    uint64_t busy_ns = 0;
    const struct cuda_path *const path = worker->path;
    worker->path = failing;
    const bool has_failed = !worker_sort(worker, &sort, &busy_ns, &expected);
    worker->path = path;
    if (!has_failed || strcmp(expected.message, "on purpose") != 0)
        return error_set(error, "another failure: %s", expected.message);
    return cudaStreamQuery(worker->stream) == cudaSuccess ||
           error_set(error, "kernels are still running");
}

/* Fails, and then sorts the keys. */
static bool check_path(struct cuda_worker *worker, const struct cuda_path *failing,
                       struct error *error)
{
    struct cuda_sort sort;
    std::vector<uint64_t> keys(COUNT);
    uint64_t busy_ns = 0;
    for (size_t i = 0; i < COUNT; i++)
        keys[i] = random_bits(i);
    bool passed = sort_open(&sort, COUNT, sizeof keys[0], worker->tile_size, 0x5c, error) &&
                  send(sort, keys, error);
    struct cuda_sort with = sort;
    with.order = key_order_identity();
    with.stream = worker->stream;
    with.note = worker->note;
    passed = passed && check_failure(worker, failing, with, error) && send(sort, keys, error) &&
             worker_sort(worker, &with, &busy_ns, error) &&
             holds(sort, sorted_copy(with.order, keys), error);
    sort_close(&sort);
    return passed;
}

static bool check_algorithm(const struct algorithm *algorithm, struct error *error)
{
    struct sort_spec spec = {};
    struct cuda_worker worker = {};
    spec.algorithm = algorithm;
    spec.tile_size = algorithm->tile_sizes[0];
    tested = cuda_path_find(algorithm);
    const struct cuda_path first = {fail_after_kernels, NULL, tested->finish},
                           later = {tested->sort, NULL, finish_after_kernels};
    const bool passed = worker_open(&worker, &spec, error) && check_path(&worker, &first, error) &&
                        (!tested->finish || check_path(&worker, &later, error));
    worker_close(&worker);
    return passed;
}

int main(int argc, char **argv)
{
    size_t every = 1;
    int status = 0;
    if (!tap_start(argc, argv, &every, &status))
        return status;
    struct tap_output tap = {};
    check_counting<uint8_t>(every >= 5, SIZE_MAX, "sorted by counting", &tap);
    check_counting<uint16_t>(every >= 5, SIZE_MAX, "sorted by counting", &tap);
    check_counting<uint16_t>(every >= 5, (size_t)64 << 10, "sorted with half of the counters",
                             &tap);
    check_tiles<uint32_t>("tiles with full bins", false, every, &tap);
    check_tiles<uint64_t>("tiles with full bins", false, every, &tap);
    check_tiles<key_u128>("tiles with full bins", false, every, &tap);
    check_tiles<key_u128>("tiles with full bins, by words", true, every, &tap);
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++) {
        struct error error = {};
        const bool passed = check_algorithm(&cuda_backend.algorithms[i], &error);
        tap_claim(&tap, passed, cuda_backend.algorithms[i].name, error);
    }
    printf("1..%zu\n", tap.number);
    return tap.failed ? 1 : 0;
}
