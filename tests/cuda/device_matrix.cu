/* SPDX-License-Identifier: Apache-2.0 */
/* device_matrix.cu - sorts arrays by every path of the GPU: path x tile x width x count x shape, as
 * the pipeline calls them, compared byte by byte with std::sort. Also --top, the check of sorted
 * items, and the contract of the backend.
 *
 *   device_matrix [--quick] [LARGEST [PATH]]
 *     prints TAP, a line for each width and path, or for one path; exits 1 on a mismatch. Counts
 *     above LARGEST are left out. PATH "top": only the first items and the check of sorted items.
 *     --quick: a few counts and shapes, the least and the greatest tile, for tools under which
 *     kernels take a hundred times as long.
 *
 * The reference sorts ordered bits (core/key_order.h, which types.sh tests) with the standard
 * library and decodes them. It is made once for each array and serves all paths and tiles.
 */
#include "core/auto_model.h"
#include "core/check/check_kernels.h"
#include "cuda/engine/cuda_top.h"
#include "cuda/engine/cuda_worker.h"
#include "tests/cuda/device_shapes.h"
#include "tests/cuda/matrix_common.h"
#include "tests/engine_run.h"

#include <set>
#include <string.h>
#include <string_view>

extern "C" const struct backend cuda_backend;

/* With the simulated GPU, cases that take long and find little are left out. */
#ifdef __CUDACC__
static const bool is_stand_in = false;
#else
static const bool is_stand_in = true;
#endif

static size_t largest = ((size_t)1 << 24) + 1; /* counts above it are left out */
static const char *wanted_path;                /* the others are left out; NULL: none is */
static bool is_quick;

static bool is_wanted_path(const char *name)
{
    return !wanted_path || strcmp(wanted_path, name) == 0;
}

/* ---- the matrix ---- */

struct tally {
    size_t cases;
    size_t failures;
};
static std::vector<struct tally> tallies; /* of each path */

struct array_facts {
    const char *name;
    struct key_order order;
    size_t announced; /* spec.count */
};

/* One array through one path with one tile size; `top`: only the first items, SIZE_MAX: all. The
 * first failures of a line are described. */
template <typename K>
static void check_case(const struct algorithm *algorithm, size_t tile_size,
                       const struct array_facts &facts, const std::vector<K> &items,
                       const std::vector<K> &expected, size_t top, struct tally *tally)
{
    struct sort_spec spec = {};
    spec.item_bytes = sizeof(K);
    spec.order = facts.order;
    spec.count = facts.announced;
    spec.most = SIZE_MAX;
    spec.algorithm = algorithm;
    spec.tile_size = tile_size;
    spec.threads = 1;
    spec.is_top = top != SIZE_MAX;
    spec.top = top;
    struct error error = {};
    std::vector<unsigned char> output(items.size() * sizeof(K));
    struct engine_run run = {cuda_backend.keys, &spec,         (const unsigned char *)items.data(),
                             items.size(),      output.data(), 0};
    tally->cases++;
    const bool ran = engine_run_sort(&run, &error);
    output.resize(run.given * sizeof(K));
    const size_t bytes = std::min(items.size(), top) * sizeof(K);
    if (ran && output.size() == bytes &&
        (bytes == 0 || memcmp(output.data(), expected.data(), bytes) == 0))
        return;
    if (tally->failures++ < 3)
        printf("# %s tile %zu, %zu items of %zu bytes, %s: %s\n", algorithm->name, tile_size,
               items.size(), sizeof(K), facts.name, ran ? "other bytes" : error.message);
}

/* Sorts the array with all tiles, or with the smallest and the largest. radix ignores the tile for
 * short keys. */
template <typename K>
static void check_array(const struct array_facts &facts, const std::vector<K> &items,
                        bool has_few_tiles)
{
    const std::vector<K> expected = sorted_copy(facts.order, items);
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++) {
        const struct algorithm *const algorithm = &cuda_backend.algorithms[i];
        if (!is_wanted_path(algorithm->name) || items.size() > algorithm->count_max)
            continue; /* device.sh has what is refused */
        if (has_few_tiles && algorithm->count_max != SIZE_MAX && items.size() > 5000)
            continue; /* it takes n^2 steps */
        static const size_t no_tiles[] = {0};
        const size_t *tile_size = algorithm->tile_sizes ? algorithm->tile_sizes : no_tiles;
        const bool heeds_tiles = sizeof(K) > 2 || strcmp(algorithm->name, "radix") != 0;
        do
            if (tile_size == algorithm->tile_sizes ||
                (heeds_tiles && (!has_few_tiles || !tile_size[1])))
                check_case(algorithm, *tile_size, facts, items, expected, SIZE_MAX, &tallies[i]);
        while (*tile_size && *++tile_size);
    }
}

/* A count from which radix sorts items of 8 and 16 bytes by models. With PATH radix, all shapes of
 * these are sorted on a device. */
static const size_t models_count = ((size_t)1 << 22) + 5;

static std::vector<size_t> matrix_counts()
{
    std::vector<size_t> counts = {0,   1,   2,   3,    31,   32,   33,   255,  256,  257,
                                  511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 100003};
    for (size_t power = 4096; power <= (size_t)1 << 24; power *= power < 65536 ? 4 : 16)
        counts.insert(counts.end(), {power - 1, power + 1});
    counts.push_back(models_count);
    if (is_quick)
        counts = {1, 31, 257, 513, 4099, 70001};
    counts.erase(
        std::remove_if(counts.begin(), counts.end(), [](size_t count) { return count > largest; }),
        counts.end());
    return counts;
}

/* --quick takes a few shapes, and so does the simulated GPU from `large` on: radix_matrix.cu has
 * all shapes. */
static bool is_wanted_shape(const struct shape &shape, size_t count, size_t item_bytes)
{
    const bool is_for_models = count == models_count && item_bytes >= 8 && wanted_path &&
                               strcmp(wanted_path, "radix") == 0;
    if (count < shape.least || (count > shape.largest && !is_for_models))
        return false;
    const bool has_few = is_stand_in && count >= large;
    return shape.key == shape_random || shape.key == shape_all_equal ||
           shape.key == shape_hot_bytes<2> || shape.key == shape_periodic ||
           (!is_quick && (!has_few || shape.key == shape_reversed));
}

/* Shapes that differ only in bytes that the width cuts off give the same array, which is sorted
 * once. */
template <typename K>
static void check_shapes()
{
    for (const size_t count : matrix_counts()) {
        std::set<size_t> taken; /* hashes */
        for (const struct shape &shape : shapes) {
            if (!is_wanted_shape(shape, count, sizeof(K)))
                continue;
            const std::vector<K> items =
                make_items<K>(shape.key, key_order_identity(), count, true);
            const std::string_view bytes((const char *)items.data(), count * sizeof(K));
            if (taken.insert(std::hash<std::string_view>()(bytes)).second)
                check_array<K>({shape.name, key_order_identity(), count}, items,
                               is_quick || (is_stand_in && count >= large));
        }
    }
}

/* Random bits, which have all kinds of exponents, signs and NaNs; one in four is a pattern around
 * zero, infinity or the ends of the integers. */
template <typename K>
static K mixed_bits(size_t i)
{
    const uint64_t random = random_bits(i);
    const unsigned bits = 8 * sizeof(K);
    const uint64_t sign = 1ull << (bits - 1);
    const uint64_t exponents[] = {0,
                                  sign - 1,
                                  0x7ff0000000000000u >> (64 - bits),
                                  0x7f80000000000000u >> (64 - bits),
                                  1,
                                  (0x7c00000000000000u >> (64 - bits))};
    if (i % 4)
        return (K)random;
    return (K)(exponents[random % 6] + (random >> 8) % 2 + (random >> 9) % 2 * sign);
}

/* Only loads and stores of a tile depend on the order, so the simulated GPU takes two tiles. */
template <typename K>
static void check_orders()
{
    for (const size_t count : {(size_t)1, (size_t)257, (size_t)2049, (size_t)5003}) {
        if (count > largest || (is_quick && count != 257))
            continue;
        std::vector<K> items(count);
        for (size_t i = 0; i < count; i++)
            items[i] = mixed_bits<K>(i);
        for (size_t type = 0; type < KEY_TYPE_COUNT; type++)
            for (unsigned variant = 0; variant < 4 && key_types[type].bytes == sizeof(K);
                 variant++) {
                const enum key_endian endian = variant & 1 ? ENDIAN_BIG : ENDIAN_LITTLE;
                const enum nan_rule nan = variant == 3 ? NAN_FIRST : NAN_GREATEST;
                const struct key_order order =
                    key_order_make(&key_types[type], endian, nan, variant == 1 || variant == 2);
                check_array<K>({key_types[type].name, order, count}, items,
                               is_quick || is_stand_in);
            }
    }
}

/* Counts that are not announced, as of pipes. The largest one outgrows the first array twice. */
template <typename K>
static void check_unknown_counts()
{
    for (const size_t count : {(size_t)0, (size_t)1, (size_t)2049, ((size_t)3 << 24) / sizeof(K)})
        if (count <= largest && (!is_quick || count == 2049))
            check_array<K>({"unknown count", key_order_identity(), COUNT_UNKNOWN},
                           make_items<K>(shape_random, key_order_identity(), count, true),
                           is_quick);
}

template <typename K>
static void check_width(struct tap_output *tap)
{
    tallies.assign(cuda_backend.algorithm_count, {});
    check_shapes<K>();
    if constexpr (sizeof(K) < 16)
        check_orders<K>();
    check_unknown_counts<K>();
    for (size_t i = 0; i < tallies.size(); i++) {
        if (!is_wanted_path(cuda_backend.algorithms[i].name))
            continue;
        char claim[160];
        snprintf(claim, sizeof claim, "%s sorts %zu arrays, but for %zu",
                 cuda_backend.algorithms[i].name, tallies[i].cases, tallies[i].failures);
        tap_print(tap, tallies[i].failures == 0, claim, sizeof(K), {});
    }
}

/* ---- the first items ---- */

/* True for the places that a selection samples with this seed (cuda/top/top_select.cu). */
static bool is_sampled(size_t i, size_t n, size_t seed)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(n) - TOP_SAMPLE_RARITY_BITS;
    bits = std::min(std::max(bits, TOP_SAMPLE_BITS_LEAST), TOP_SAMPLE_BITS_MOST);
    if (n >> bits == 0)
        return false;
    const size_t sample = (size_t)((((u128)(i + 1) << bits) - 1) / n); /* its stride holds i */
    const size_t begin = (size_t)((u128)sample * n >> bits);
    const size_t stride = (size_t)((u128)(sample + 1) * n >> bits) - begin;
    return i - begin == scrambled_below(sample + seed, stride);
}

/* The first sample has the greatest keys, and nearly all are below the bound. */
static uint64_t shape_great_sample(size_t i, size_t n)
{
    return random_bits(i) >> 1 | (uint64_t)is_sampled(i, n, n) << 63;
}

/* Both samples have the least keys, and few are below their bounds. */
static uint64_t shape_small_samples(size_t i, size_t n)
{
    const bool is_small = is_sampled(i, n, n) || is_sampled(i, n, ~n);
    return random_bits(i) >> 1 | (uint64_t)!is_small << 63;
}

/* By the path that auto chooses, of a known number of items, and a few times of an unknown one. */
template <typename K>
static void check_first(struct tap_output *tap, const struct device_facts &facts)
{
    static const struct {
        const char *name;
        uint64_t (*key)(size_t i, size_t n);
    } top_shapes[] = {{"random", shape_random},
                      {"reversed", shape_reversed},
                      {"all equal", shape_all_equal},
                      {"two values", shape_two_values},
                      {"zipf", shape_zipf},
                      {"exponents", shape_exponents},
                      {"a sample of the greatest", shape_great_sample},
                      {"samples of the smallest", shape_small_samples}};
    const enum key_type_id types[] = {KEY_TYPE_i8, KEY_TYPE_f16, KEY_TYPE_f32, KEY_TYPE_f64};
    struct tally tally = {};
    for (const auto &shape : top_shapes)
        for (const size_t count : {(size_t)1, TOP_COUNT_LEAST, TOP_COUNT_LEAST + 1, (size_t)20011,
                                   (size_t)131071, (size_t)131072, (size_t)5000011}) {
            if (count > largest ||
                (is_quick && shape.key != shape_zipf && shape.key != shape_small_samples))
                continue;
            const bool is_odd = count % 2 == 1;
            struct key_order order = key_order_identity();
            if constexpr (sizeof(K) < 16)
                order = key_order_make(&key_types[types[__builtin_ctzll(sizeof(K))]],
                                       is_odd ? ENDIAN_BIG : ENDIAN_LITTLE, NAN_GREATEST, is_odd);
            const std::vector<K> items = make_items<K>(shape.key, order, count, true);
            const std::vector<K> expected = sorted_copy(order, items);
            const struct algorithm *const algorithm =
                backend_find_algorithm(&cuda_backend, auto_find_path(&facts, sizeof(K)));
            for (const size_t top : {(size_t)0, (size_t)1, (size_t)1000, count / 100, count / 7,
                                     count / 2, count - 1, count + 1}) {
                const bool is_unknown = top == 1000 && shape.key == shape_zipf && count % 2 == 1;
                check_case<K>(algorithm, algorithm_largest_tile(algorithm),
                              {shape.name, order, is_unknown ? COUNT_UNKNOWN : count}, items,
                              expected, top, &tally);
            }
        }
    tap_print(tap, tally.failures == 0, "the first items", sizeof(K), {});
}

/* ---- the check of sorted items ---- */

/* Checks items on the device, and compares the result with that of the host's check. */
static bool proves_as_host(const void *items, size_t count, unsigned item_bytes,
                           struct key_order order, struct error *error)
{
    struct cuda_sort sort = {};
    sort.count = count;
    sort.item_bytes = item_bytes;
    sort.order = order;
    struct check_sum sum = {};
    uint64_t disorder = 0, hash = 0;
    const bool is_checked =
        cuda_check(cudaMalloc(&sort.items, count * item_bytes), 0, "cudaMalloc", error) &&
        cuda_check(cudaMemcpy(sort.items, items, count * item_bytes, cudaMemcpyHostToDevice), 0,
                   "cudaMemcpy", error) &&
        cuda_proof_items(&sort, &sum, &disorder, error);
    (void)cudaFree(sort.items);
    const size_t found = check_find_disorder(item_bytes, order, NULL, items, count, &hash);
    return is_checked && sum.count == count && sum.hash == hash &&
           disorder == (found == count ? 0 : found + 1);
}

/* Sorted items of each type, in one order each, and the same with one or two pairs exchanged. */
template <typename K>
static void check_proof(struct tap_output *tap)
{
    struct error error = {};
    size_t failures = 0, cases = 0;
    for (const size_t count : {(size_t)1, (size_t)2, (size_t)257, (size_t)100003}) {
        for (size_t type = 0; type < KEY_TYPE_COUNT; type++) {
            struct key_order order = key_order_identity();
            if (sizeof(K) < 16 && key_types[type].bytes != sizeof(K))
                continue;
            if (sizeof(K) < 16)
                order = key_order_make(&key_types[type], type % 2 ? ENDIAN_BIG : ENDIAN_LITTLE,
                                       NAN_GREATEST, type % 3 == 0);
            std::vector<K> items =
                sorted_copy(order, make_items<K>(shape_random, order, count, true));
            failures += !proves_as_host(items.data(), count, sizeof(K), order, &error);
            for (const size_t at : {count - 1, count / 3}) {
                std::swap(items[at], items[at / 2]);
                failures += !proves_as_host(items.data(), count, sizeof(K), order, &error);
            }
            cases += 3;
        }
    }
    char claim[96];
    snprintf(claim, sizeof claim, "the check agrees with the host's, for %zu of %zu arrays",
             cases - failures, cases);
    tap_print(tap, failures == 0, claim, sizeof(K), error);
}

/* ---- the contract ---- */

/* An engine refuses more items than were announced to it. */
static void check_refusal(struct tap_output *tap)
{
    struct sort_spec spec = {};
    spec.item_bytes = 8;
    spec.count = 8;
    spec.algorithm = &cuda_backend.algorithms[0];
    spec.tile_size = 256;
    spec.threads = 1;
    const std::vector<unsigned char> items(9 * sizeof(uint64_t));
    std::vector<unsigned char> output(items.size());
    struct engine_run run = {cuda_backend.keys, &spec, items.data(), 9, output.data(), 0};
    struct error error = {};
    tap_claim(tap, !engine_run_sort(&run, &error) && strstr(error.message, "more than the 8 items"),
              "more items than announced are refused", error);
}

static bool fail_after_start(const struct cuda_sort *sort, struct error *error)
{
    return check(cudaMemsetAsync(sort->items, 0, sort->count, sort->stream), error) &&
           error_set(error, "on purpose");
}

/* When a sort fails, no work of its stream is still running. */
static void check_failure(struct tap_output *tap)
{
    const struct cuda_path path = {fail_after_start, NULL, NULL};
    struct cuda_sort sort = {};
    struct error error = {};
    sort.count = (size_t)64 << 20;
    const bool is_ready = check(cudaMalloc(&sort.items, sort.count), &error) &&
                          check(cudaStreamCreate(&sort.stream), &error);
    const bool has_failed = is_ready && !cuda_path_sort(&path, &sort, &error);
    tap_claim(tap, has_failed && cudaStreamQuery(sort.stream) == cudaSuccess,
              "nothing is running after a failure", error);
    (void)cudaStreamDestroy(sort.stream);
    (void)cudaFree(sort.items);
}

/* The workspace of a path for an array serves any smaller one, as engines sort parts in it. */
static void check_workspace(const struct algorithm *algorithm, struct tap_output *tap)
{
    struct error error = {};
    std::vector<size_t> counts = {0};
    for (size_t power = 1; power <= (size_t)1 << 40; power *= 2)
        for (size_t eighth = 0; eighth < 8; eighth++) {
            const size_t count = power + power / 8 * eighth;
            counts.insert(counts.end(), {count - 1, count, count + 1,
                                         count + random_bits(counts.size()) % power});
        }
    std::sort(counts.begin(), counts.end());
    for (const size_t *tile_size = algorithm->tile_sizes; *tile_size != 0; tile_size++)
        for (const unsigned item_bytes : {1u, 2u, 4u, 8u, 16u}) {
            size_t before = 0;
            for (const size_t count : counts) {
                const size_t bytes =
                    cuda_path_find(algorithm)->workspace_bytes(count, *tile_size, item_bytes);
                if (bytes < before)
                    (void)error_set(&error, "%u bytes an item, tile %zu: %zu bytes for %zu items",
                                    item_bytes, *tile_size, bytes, count);
                before = bytes;
            }
        }
    tap_claim(tap, !error.is_set, "a path asks for no more workspace for fewer items", error);
}

/* Calls check(item) with an item of each width. */
template <typename F>
static void for_each_width(F check)
{
    check(uint8_t()), check(uint16_t()), check(uint32_t()), check(uint64_t()), check(u128());
}

static bool run_matrix()
{
    struct device_facts facts = {};
    struct error error = {};
    struct tap_output tap = {};
    if (!cuda_backend.probe(0, &facts, &error)) {
        printf("1..0 # SKIP %s\n", error.message);
        return true;
    }
    printf("# %s, %u multiprocessors, counts up to %zu\n", facts.name, facts.units, largest);
    if (!wanted_path || strcmp(wanted_path, "top") != 0) {
        for_each_width([&](auto item) { check_width<decltype(item)>(&tap); });
        check_refusal(&tap);
        check_failure(&tap);
    }
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++)
        if (is_wanted_path(cuda_backend.algorithms[i].name))
            check_workspace(&cuda_backend.algorithms[i], &tap);
    if (is_wanted_path("top")) {
        for_each_width([&](auto item) {
            check_first<decltype(item)>(&tap, facts);
            check_proof<decltype(item)>(&tap);
        });
    }
    printf("1..%zu\n", tap.number);
    return tap.failed == 0;
}

int main(int argc, char **argv)
{
    is_quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const int argument = is_quick ? 2 : 1;
    if (argc > argument + 1)
        wanted_path = argv[argument + 1];
    if (argc > argument + 2 || (argc > argument && !parse_count(argv[argument], &largest)) ||
        (wanted_path && strcmp(wanted_path, "top") != 0 &&
         !backend_find_algorithm(&cuda_backend, wanted_path))) {
        fprintf(stderr, "usage: device_matrix [--quick] [LARGEST [PATH]]\n");
        return 2;
    }
    return run_matrix() ? 0 : 1;
}
