/* SPDX-License-Identifier: Apache-2.0 */
/* radix_matrix.cu - sorts small arrays by each strategy of radix, with constants that select it:
 * width x order x shape x count x tile; few items; keys that share a bin; arrays that a strategy
 * refuses; one key out of order at some positions; the strategy for each kind of keys; and short
 * keys, which are counted.
 *
 *   radix_matrix [EVERY]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Each EVERY-th array is
 *     sorted: for tools under which kernels take a hundred times as long.
 *
 * What is expected is what std::sort makes of the items on the host. The strategy is the one that
 * `gpusort -v` prints.
 */
#include "core/trace.h"
#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"
#include "tests/cuda/device_shapes.h"
#include "tests/cuda/matrix_common.h"

#include <algorithm>
#include <string>

static size_t every = 1;

static size_t turn; /* arrays of this claim so far */

/* Returns true for the first array of a claim and each EVERY-th after it. */
static bool is_in_turn()
{
    return turn++ % every == 0;
}

/* ---- constants ---- */

/* All strategies, for as few items as they can have; portions of two large tiles. */
static struct radix_tuning small_tuning()
{
    struct radix_tuning tuning = radix_tuning_default;
    tuning.small_most = 256;
    tuning.values_least = tuning.models_least = 5000;
    tuning.thin_most = 50000;
    tuning.portion = 20480;
    return tuning;
}

/* Digits for all keys. */
static struct radix_tuning digits_tuning()
{
    struct radix_tuning tuning = small_tuning();
    tuning.values_least = tuning.models_least = SIZE_MAX;
    return tuning;
}

/* Models for all keys of 8 bytes and more. */
static struct radix_tuning models_tuning()
{
    struct radix_tuning tuning = small_tuning();
    tuning.values_least = SIZE_MAX;
    tuning.models_least = tuning.digits_most = 0;
    tuning.roughness_most = tuning.shared_most = tuning.heavy_most = UINT32_MAX;
    return tuning;
}

/* Constants with which arrays are sorted in parts. */
static struct radix_tuning parts_tuning()
{
    struct radix_tuning tuning = models_tuning();
    tuning.part_most = 20000;
    tuning.part_keys = 15000;
    return tuning;
}

/* ---- a sort ---- */

template <typename K>
static std::vector<struct key_order> orders_of()
{
    if constexpr (sizeof(K) == 16)
        return {key_order_identity()};
    const struct key_type *const type = &key_types[sizeof(K) == 1   ? KEY_TYPE_i8
                                                   : sizeof(K) == 2 ? KEY_TYPE_f16
                                                   : sizeof(K) == 4 ? KEY_TYPE_i32
                                                                    : KEY_TYPE_f64];
    return {key_order_identity(), key_order_make(type, ENDIAN_LITTLE, NAN_GREATEST, false),
            key_order_make(type, ENDIAN_BIG, NAN_GREATEST, true)};
}

/* Allocates memory for a sort, and copies the items there. The caller calls sort_close(), also
 * after an error. */
template <typename K>
static bool sort_open(struct cuda_sort *sort, const std::vector<K> &items, size_t tile_size,
                      struct error *error)
{
    const size_t bytes = items.size() * sizeof(K);
    *sort = {};
    sort->count = items.size();
    sort->item_bytes = sizeof(K);
    sort->tile_size = tile_size;
    return check(cudaMalloc(&sort->items, bytes), error) &&
           check(cudaMalloc(&sort->scratch, bytes), error) &&
           check(cudaMemsetAsync(sort->scratch, 0x5c, bytes), error) &&
           check(cudaMalloc(&sort->workspace,
                            radix_workspace_bytes(std::max(sort->count, (size_t)1 << 20), tile_size,
                                                  sizeof(K))),
                 error) &&
           check(cudaMallocHost((void **)&sort->status, sizeof *sort->status), error) &&
           upload(static_cast<K *>(sort->items), items, error);
}

static void sort_close(struct cuda_sort *sort)
{
    (void)cudaFreeHost(sort->status);
    (void)cudaFree(sort->workspace);
    (void)cudaFree(sort->scratch);
    (void)cudaFree(sort->items);
}

template <typename K>
static bool holds(const struct cuda_sort &sort, const std::vector<K> &expected, struct error *error)
{
    std::vector<K> got;
    return download(&got, static_cast<const K *>(sort.items), expected.size(), error) &&
           got == expected;
}

/* Sorts; *strategy is the last one. */
static bool sort_all(const struct cuda_sort &sort, std::string *strategy, struct error *error)
{
    bool is_done = false, passed = trace_start(false, error) && radix_sort(&sort, error);
    for (unsigned round = 1; passed && !is_done; round++)
        passed = check(cudaStreamSynchronize(sort.stream), error) &&
                 radix_finish(&sort, round, &is_done, error);
    struct trace_view view;
    trace_look(&view);
    trace_stop();
    *strategy = view.strategy ? view.strategy : "none";
    return passed;
}

/* Sorts the items by `sort_items`, and compares them with the results of std::sort. */
template <typename K, typename F>
static bool check_sort_with(const std::vector<K> &items, struct key_order order, size_t tile_size,
                            struct error *error, F sort_items)
{
    struct cuda_sort sort;
    bool passed = sort_open(&sort, items, tile_size, error);
    sort.order = order;
    passed = passed && sort_items(sort) && holds(sort, sorted_copy(order, items), error);
    sort_close(&sort);
    return passed;
}

/* As check_sort_with(), by the strategy `wanted`; NULL: by any. `what`: what the items are. */
template <typename K>
static bool check_sort(const std::string &what, const char *wanted, const std::vector<K> &items,
                       struct key_order order, size_t tile_size, const struct radix_tuning &tuning,
                       struct error *error)
{
    std::string strategy;
    const bool passed = check_sort_with(items, order, tile_size, error, [&](struct cuda_sort sort) {
        sort.tuning = &tuning;
        return sort_all(sort, &strategy, error);
    });
    return (passed && (!wanted || strategy == wanted)) ||
           error_set(error, "%s: %zu items, tiles of %zu: %s by '%s'", what.c_str(), items.size(),
                     tile_size, passed ? "sorted" : "wrong", strategy.c_str());
}

/* ---- all shapes ---- */

template <typename K>
static bool check_shapes(const struct radix_tuning &tuning, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const size_t count : {(size_t)4097, (size_t)6144, (size_t)30011, (size_t)70001})
        for (const struct shape &shape : shapes) {
            const size_t tile_size = number % 2 == 1 ? 4096 : 256;
            const struct key_order order = orders[number / 2 % orders.size()];
            const bool is_scattered = number++ / 5 % 4 == 0;
            if (is_in_turn() &&
                !check_sort(shape.name, NULL, make_items<K>(shape.key, order, count, is_scattered),
                            order, tile_size, tuning, error))
                return false;
        }
    return true;
}

/* As many keys as parts with more than RADIX_WAYS buckets together need, which are partitioned in
 * several groups; with 2^25, the last group is not full. */
template <typename K>
static bool check_many_parts(size_t count, struct error *error)
{
    struct radix_tuning tuning = parts_tuning();
    tuning.part_keys = count / 60;
    return check_sort("random", "models", make_items<K>(shape_random, key_order_identity(), count),
                      key_order_identity(), 256, tuning, error);
}

/* The low half of an item: usually its position, but any value is sorted. */
struct payload {
    const char *name;
    uint64_t (*index)(size_t i, size_t n);
};

static const struct payload payloads[] = {
    {"place", [](size_t i, size_t) { return i; }},
    {"place from the end", [](size_t i, size_t n) { return n - 1 - i; }},
    {"high place", [](size_t i, size_t) { return (uint64_t)i << 35 | 1; }},
    {"one payload", [](size_t, size_t) { return UINT64_MAX; }},
    {"few payloads", [](size_t i, size_t) { return random_bits(i + 1) % 3 << 40; }},
    /* Crowded at one end, with the other far away. */
    {"skewed payload", [](size_t i, size_t) { return random_bits(i + 1) >> random_bits(i) % 64; }},
};

/* Keys that many items share, with each kind of index. */
static bool check_payloads(struct error *error)
{
    for (const auto key : {shape_all_equal, shape_two_values, shape_few_distinct, shape_zipf})
        for (const struct payload &payload : payloads) {
            std::vector<key_u128> items(30011);
            for (size_t i = 0; i < items.size(); i++)
                items[i] = (key_u128)key(i, items.size()) << 64 | payload.index(i, items.size());
            if (is_in_turn() && !check_sort(payload.name, NULL, items, key_order_identity(), 256,
                                            models_tuning(), error))
                return false;
        }
    return true;
}

/* Keys of which only the highest bytes vary. Each of these is a pass: in one portion for an odd
 * number of bytes, otherwise in several. */
template <typename K>
static bool check_passes(struct error *error)
{
    for (unsigned bytes = 1; bytes <= std::min(sizeof(K), sizeof(uint64_t)); bytes++) {
        std::vector<K> items(bytes % 2 ? 13825 : 41473);
        const unsigned rest = 64 - 8 * bytes;
        for (size_t i = 0; i < items.size(); i++)
            items[i] = item_of<K>(key_order_identity(), random_bits(i) >> rest << rest, 7 + i);
        if (!check_sort(std::to_string(bytes) + " bytes vary", NULL, items, key_order_identity(),
                        256, digits_tuning(), error))
            return false;
    }
    return true;
}

/* ---- full bins ---- */

/* Random keys, and groups of `keys` keys of which only the lowest `bits` bits vary, so that a bin
 * of the last pass holds a whole group: more keys than it should, or than a warp sorts. A tile has
 * a few groups, or many. */
template <typename K>
static std::vector<K> make_groups(size_t keys, unsigned bits, bool has_many)
{
    std::vector<K> items(20011);
    const size_t grouped = (has_many ? items.size() : items.size() / 20) / keys * keys;
    for (size_t i = 0; i < items.size(); i++) {
        const uint64_t key = i < grouped ? random_bits(i / keys) >> 48 << 48 : random_bits(i);
        const uint64_t low = i < grouped && bits > 0 ? random_bits(~i) >> (64 - bits) : 0;
        items[i] = item_of<K>(key_order_identity(), key + low, scattered_index(i));
    }
    for (size_t i = items.size(); i > 1; i--)
        std::swap(items[i - 1], items[random_bits(i) % i]);
    return items;
}

/* Numbers of keys around the limits of a bin. Bits: equal keys, two values, and keys that differ in
 * less or more than their positions have. */
template <typename K>
static bool check_groups(struct error *error)
{
    for (const size_t keys : {12, 13, 16, 17, 32, 33, 127, 128, 129})
        for (const unsigned bits : {0u, 1u, 20u, 44u})
            for (const bool has_many : {false, true})
                if (is_in_turn() && !check_sort("groups of " + std::to_string(keys) + " keys", NULL,
                                                make_groups<K>(keys, bits, has_many),
                                                key_order_identity(), 256, models_tuning(), error))
                    return false;
    return true;
}

/* ---- order ---- */

/* An array in order, with the least or the greatest key at one of about ten positions, which begin
 * with the first one; in a small array at any position. */
template <typename K>
static bool check_places(struct error *error)
{
    struct radix_tuning tuning = digits_tuning();
    const struct key_order order = orders_of<K>().back();
    tuning.small_most = 0;
    for (const size_t count : {(size_t)2, (size_t)3, (size_t)129, (size_t)2049, (size_t)9001})
        for (const bool is_reversed : {false, true})
            for (size_t place = 0; place < count; place += count < 10 ? 1 : count / 9)
                for (const uint64_t key : {(uint64_t)0, UINT64_MAX}) {
                    if (!is_in_turn())
                        continue;
                    std::vector<K> items = make_items<K>(
                        is_reversed ? shape_reversed : shape_sorted, order, count, true);
                    items[place] = item_of<K>(order, key, 3);
                    if (!check_sort("out of order at " + std::to_string(place), NULL, items, order,
                                    4096, tuning, error))
                        return false;
                }
    return true;
}

/* ---- few items ---- */

/* Counts around the smallest and the largest tile of small_sort(), and with 1 to 6 merges. They
 * take little time, so that sixteen times as many are sorted. */
template <typename K>
static bool check_small(struct error *error)
{
    struct radix_tuning tuning = radix_tuning_default;
    const std::vector<struct key_order> orders = orders_of<K>();
    tuning.small_most = tuning.small_short_most = (size_t)1 << 40;
    size_t number = 0;
    for (const size_t count : {1, 2, 63, 64, 65, 129, 2048, 2049, 4095, 4096, 4097, 8192, 8193,
                               20001, 40003, 70001, 140001})
        for (const auto key : {shape_random, shape_few_distinct, shape_sorted, shape_reversed})
            if (number++ % (every / 16 + 1) == 0 &&
                !check_sort("few items", "none",
                            make_items<K>(key, orders[number % orders.size()], count),
                            orders[number % orders.size()], 256, tuning, error))
                return false;
    return true;
}

/* ---- refusals ---- */

/* The lower half rises, as it does where an item is a key above its position. */
static uint64_t shape_low_order(size_t i, size_t)
{
    return (random_bits(i) % 100 << 32) + i;
}

/* Keys of 100 values. check_refusals() replaces one by a value that the table of values lacks. */
template <typename K>
static std::vector<K> make_few(size_t count)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = static_cast<K>(random_bits(random_bits(i) % 100));
    return items;
}

template <typename K>
static bool check_refusals(struct error *error)
{
    const struct key_order order = key_order_identity();
    const struct radix_tuning tuning = small_tuning();
    if constexpr (sizeof(K) == 16) {
        std::vector<K> items = make_items<K>(shape_hot_digits, order, 30011);
        if (!check_sort("hot digits", "digits", items, order, 256, tuning, error))
            return false;
        std::swap(items[15001], items[15002]);
        return check_sort("exchanged", "models", items, order, 256, tuning, error);
    } else {
        std::vector<K> few = make_few<K>(30011);
        if (!check_sort("few values", "count", few, order, 256, tuning, error))
            return false;
        few[15001] = static_cast<K>(0x5b5b5b5b5b5b5b5bu);
        if (!check_sort("a value more", sizeof(K) == 4 ? "digits" : "models", few, order, 256,
                        tuning, error))
            return false;
    }
    if constexpr (sizeof(K) == 8) {
        std::vector<K> items = make_items<K>(shape_low_order, order, 30011);
        if (!check_sort("low order", "upper digits", items, order, 256, tuning, error))
            return false;
        items[15001] &= ~(uint64_t)UINT32_MAX;
        return check_sort("a low half of 0", "digits", items, order, 256, tuning, error);
    }
    return true;
}

/* ---- the choice ---- */

static uint64_t shape_sorted_runs(size_t i, size_t n)
{
    return shape_sorted(i / 37, n);
}

static uint64_t shape_reversed_runs(size_t i, size_t n)
{
    return shape_sorted((n - 1 - i) / 37, n);
}

static uint64_t shape_narrow(size_t i, size_t)
{
    return ((uint64_t)5 << 60) + (random_bits(i) & 0xffffff0f);
}

/* Rank k of 2^20 has a weight near 1/k. Its value lies anywhere. */
static uint64_t shape_zipf_anywhere(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return random_bits(
        ~((uint64_t)1 << bits % 20 | (bits >> 30 & (((uint64_t)1 << bits % 20) - 1))));
}

/* Each key comes 12 times on average, among many keys. */
static uint64_t shape_shared(size_t i, size_t)
{
    return random_bits(~(random_bits(i) % 2501));
}

/* The first three kinds in all orders, the others in one. */
template <typename K>
static bool check_choice(struct error *error)
{
    static const struct {
        uint64_t (*key)(size_t, size_t);
        const char *of_4, *of_8, *of_16; /* bytes */
    } choices[] = {
        {shape_sorted_runs, "in order", "in order", "in order"},
        {shape_reversed, "reverse", "reverse", "reverse"},
        {shape_reversed_runs, "reverse", "reverse", "digits"}, /* indices order equal keys */
        {shape_random, "digits", "models", "models"},
        {shape_clusters, "count", "models", "models"}, /* twelve values of 4 bytes */
        {shape_hot_bytes<3>, "digits", "models", "models"},
        {shape_hot_digits, "digits", "digits", "digits"},
        {shape_narrow, "in order", "digits", "digits"},
        {shape_zipf_anywhere, "digits", "digits", "digits"},
        {shape_hidden, "digits", "models", "models"},
        {shape_two_values, "count", "count", "digits"},
        {shape_shared, "digits", "models", "digits"},
    };
    const std::vector<struct key_order> orders = orders_of<K>();
    for (const struct key_order &order : orders) {
        const bool is_last = &order == &orders.back();
        for (size_t i = 0; i < (is_last ? std::size(choices) : 3); i++)
            if (!check_sort("row " + std::to_string(i),
                            sizeof(K) == 4   ? choices[i].of_4
                            : sizeof(K) == 8 ? choices[i].of_8
                                             : choices[i].of_16,
                            make_items<K>(choices[i].key, order, 30011), order, 256, small_tuning(),
                            error))
                return false;
    }
    return true;
}

/* ---- short keys ---- */

/* Runs of equal keys that begin anywhere, and end with another value or with the same one. */
static uint64_t shape_runs(size_t i, size_t)
{
    return random_bits(i / 83) >> i / 1000 % 3;
}

/* Two values whose counters share a word. */
static uint64_t shape_neighbours(size_t i, size_t)
{
    return ((uint64_t)5 << 48) + ((uint64_t)(i / 7 % 2) << 63);
}

template <typename K>
static bool check_counted(uint64_t (*key)(size_t, size_t), struct key_order order, size_t count,
                          size_t shared_most, struct error *error)
{
    return check_sort_with(make_items<K>(key, order, count), order, 4096, error,
                           [&](const struct cuda_sort &sort) {
                               return counting_sort(&sort, shared_most, error) &&
                                      check(cudaDeviceSynchronize(), error);
                           }) ||
           error_set(error, "%zu keys, %zu bytes of shared memory", count, shared_most);
}

/* Sorts counts around the keys that a lane, a warp and a block read at a time; and more keys of one
 * value, or of two values in one word, than a counter of 16 bits holds. */
template <typename K>
static bool check_counting(size_t shared_most, struct error *error)
{
    uint64_t (*const keys[])(size_t, size_t) = {
        shape_random,     shape_sorted,       shape_zipf,      shape_exponents, shape_runs,
        shape_two_values, shape_few_distinct, shape_all_equal, shape_neighbours};
    const std::vector<struct key_order> orders = orders_of<K>();
    const size_t word = 16 / sizeof(K), row = 32 * word, block = 32 * row;
    int multiprocessors = 0;
    size_t number = 0;
    bool passed =
        check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), error);
    for (const size_t count : {(size_t)0, (size_t)1, word - 1, word, word + 1, row - 1, row,
                               row + 1, 8 * row, block - 1, block + 1, (size_t)40003})
        for (const auto key : keys)
            if (passed && is_in_turn())
                passed = check_counted<K>(key, orders[++number % orders.size()], count, shared_most,
                                          error);
    const size_t many = 70001 * (size_t)multiprocessors;
    for (const auto key : {shape_all_equal, shape_neighbours})
        if (passed && many * every < (size_t)1 << 25) /* else it takes minutes */
            passed = check_counted<K>(key, orders.back(), many, shared_most, error);
    return passed;
}

/* ---- claims ---- */

template <typename K, typename F>
static void claim(struct tap_output *tap, const char *text, F check_claim)
{
    struct error error = {};
    turn = 0;
    const bool passed = check_claim(&error);
    tap_print(tap, passed, text, sizeof(K), error);
}

template <typename K>
static void check_width(struct tap_output *tap)
{
    claim<K>(tap, "sorted by what radix chooses",
             [&](struct error *e) { return check_shapes<K>(small_tuning(), e); });
    claim<K>(tap, "sorted by digits",
             [&](struct error *e) { return check_shapes<K>(digits_tuning(), e); });
    claim<K>(tap, "each number of passes", check_passes<K>);
    claim<K>(tap, "one key out of order", check_places<K>);
    claim<K>(tap, "refused, and sorted all the same", check_refusals<K>);
    claim<K>(tap, "each kind of keys has its strategy", check_choice<K>);
    if constexpr (sizeof(K) >= 8) {
        claim<K>(tap, "sorted by models",
                 [&](struct error *e) { return check_shapes<K>(models_tuning(), e); });
        claim<K>(tap, "sorted by models in parts",
                 [&](struct error *e) { return check_shapes<K>(parts_tuning(), e); });
        if (every == 1 || sizeof(K) == 16) { /* 2^25 keys take the stand-in minutes */
            const size_t count = every == 1 ? ((size_t)1 << 25) + 1 : 400001;
            claim<K>(tap, "many keys sorted by models in parts",
                     [&](struct error *e) { return check_many_parts<K>(count, e); });
        }
        claim<K>(tap, "keys that share a bin", check_groups<K>);
    }
    if constexpr (sizeof(K) == 16)
        claim<K>(tap, "shared keys with any index", check_payloads);
}

int main(int argc, char **argv)
{
    int status = 0;
    if (!tap_start(argc, argv, &every, &status))
        return status;
    struct tap_output tap = {};
    claim<uint8_t>(&tap, "counted",
                   [](struct error *e) { return check_counting<uint8_t>(SIZE_MAX, e); });
    claim<uint16_t>(&tap, "counted",
                    [](struct error *e) { return check_counting<uint16_t>(SIZE_MAX, e); });
    claim<uint16_t>(&tap, "counted by halves",
                    [](struct error *e) { return check_counting<uint16_t>((size_t)64 << 10, e); });
    claim<uint8_t>(&tap, "few items", check_small<uint8_t>);
    claim<uint16_t>(&tap, "few items", check_small<uint16_t>);
    claim<uint32_t>(&tap, "few items", check_small<uint32_t>);
    claim<uint64_t>(&tap, "few items", check_small<uint64_t>);
    claim<key_u128>(&tap, "few items", check_small<key_u128>);
    check_width<uint32_t>(&tap);
    check_width<uint64_t>(&tap);
    check_width<key_u128>(&tap);
    printf("1..%zu\n", tap.number);
    return tap.failed ? 1 : 0;
}
