/* SPDX-License-Identifier: Apache-2.0 */
/* device_matrix.cu - every path of the backend "gpu" x tile x width x count x shape, through struct
 * backend as the pipeline calls it, compared byte by byte with std::sort.
 *
 *   device_matrix [--quick] [LARGEST [PATH]]
 *                                    prints TAP, a line for each width and path, or for one path;
 *                                    exits 1 on a mismatch. Counts above LARGEST are left out.
 *                                    --quick: a few counts and shapes, the least and the greatest
 *                                    tile, for tools under which kernels take a hundred times as
 *                                    long
 *
 * The reference sorts ordered bits (core/key_order.h, which has its own test) with the standard
 * library and decodes them. It is made once for each array and serves all paths and tiles.
 */
#include "core/auto_table.h"
#include "tests/cuda/device_shapes.h"
#include "tests/cuda/matrix_common.h"

#include <algorithm>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string_view>
#include <vector>

extern "C" const struct backend cuda_backend;

__extension__ typedef unsigned __int128 u128;

static const size_t default_largest = ((size_t)1 << 24) + 1;

/* The stand-in for a GPU takes less of what takes long there and says little new. */
#ifdef __CUDACC__
static const bool is_stand_in = false;
#else
static const bool is_stand_in = true;
#endif

/* What of the matrix is wanted. */
struct selection {
    size_t largest;   /* counts above it are left out */
    const char *path; /* the others are left out; NULL: none is */
    bool is_quick;
};

static bool selection_has(const struct selection &selection, const struct algorithm *algorithm)
{
    return !selection.path || strcmp(selection.path, algorithm->name) == 0;
}

/* ---- the engine, as the pipeline drives it ---- */

static bool send_items(struct engine *engine, const unsigned char *items, size_t count,
                       size_t item_bytes, struct error *error)
{
    for (size_t sent = 0; sent < count;) {
        /* Odd pieces, some filled only in part. */
        const size_t want = std::min(count - sent, count / 3 + 1);
        struct chunk chunk = {};
        if (!cuda_backend.keys->lend(engine, want, &chunk, error))
            return false;
        if (chunk.capacity == 0 || chunk.capacity > want)
            return error_set(error, "lent %zu items for %zu wanted", chunk.capacity, want);
        chunk.count = (chunk.capacity + 1) / 2;
        memcpy(chunk.items, items + sent * item_bytes, chunk.count * item_bytes);
        sent += chunk.count;
        if (!cuda_backend.keys->take(engine, chunk, error))
            return false;
    }
    return true;
}

/* Keeps two chunks at a time, as backend.h allows. */
static bool receive_items(struct engine *engine, std::vector<unsigned char> *output,
                          size_t item_bytes, struct error *error)
{
    struct chunk previous = {};
    for (;;) {
        struct chunk chunk = {};
        if (!cuda_backend.keys->give(engine, &chunk, error))
            return false;
        if (previous.count) {
            const unsigned char *const bytes = (const unsigned char *)previous.items;
            output->insert(output->end(), bytes, bytes + previous.count * item_bytes);
            if (!cuda_backend.keys->take_back(engine, previous, error))
                return false;
        }
        if (chunk.count == 0)
            return true;
        previous = chunk;
    }
}

static bool sort_through(const struct sort_spec *spec, const void *items, size_t count,
                         std::vector<unsigned char> *output, struct error *error)
{
    struct engine *engine = NULL;
    output->clear();
    const bool done =
        cuda_backend.keys->open(spec, &engine, error) &&
        send_items(engine, (const unsigned char *)items, count, spec->item_bytes, error) &&
        cuda_backend.keys->sort(engine, error) &&
        receive_items(engine, output, spec->item_bytes, error);
    cuda_backend.keys->close(engine);
    return done;
}

/* ---- the matrix ---- */

struct tally {
    size_t cases;
    size_t failures;
};

struct array_facts {
    const char *name;
    struct key_order order;
    size_t announced; /* spec.count */
};

/* One array through one path with one tile size. The first failures of a line are described. */
template <typename K>
static void check_case(const struct algorithm *algorithm, size_t tile_size,
                       const struct array_facts &facts, const std::vector<K> &items,
                       const std::vector<K> &expected, struct tally *tally)
{
    struct sort_spec spec = {};
    spec.item_bytes = sizeof(K);
    spec.order = facts.order;
    spec.count = facts.announced;
    spec.most = SIZE_MAX;
    spec.algorithm = algorithm;
    spec.tile_size = tile_size;
    spec.threads = 1;
    struct error error = {};
    std::vector<unsigned char> output;
    tally->cases++;
    const bool ran = sort_through(&spec, items.data(), items.size(), &output, &error);
    const size_t bytes = items.size() * sizeof(K);
    if (ran && output.size() == bytes &&
        (bytes == 0 || memcmp(output.data(), expected.data(), bytes) == 0))
        return;
    if (tally->failures++ >= 3)
        return;
    size_t at = 0;
    while (at < std::min(output.size(), bytes) &&
           output[at] == ((const unsigned char *)expected.data())[at])
        at++;
    printf("# %s tile %zu, %zu items of %zu bytes, %s: ", algorithm->name, tile_size, items.size(),
           sizeof(K), facts.name);
    if (ran)
        printf("got %zu bytes of %zu, first difference in item %zu\n", output.size(), bytes,
               at / sizeof(K));
    else
        printf("%s\n", error.message);
}

/* Of short keys radix heeds no tiles. */
template <typename K>
static void check_array(const struct array_facts &facts, const std::vector<K> &items,
                        const struct selection &selection, struct tally *tallies)
{
    const std::vector<K> expected = sorted_copy(facts.order, items);
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++) {
        const struct algorithm *const algorithm = &cuda_backend.algorithms[i];
        if (!selection_has(selection, algorithm))
            continue;
        if (items.size() > algorithm->count_max)
            continue; /* check_limit sees that it is refused */
        if (selection.is_quick && algorithm->count_max != SIZE_MAX && items.size() > 5000)
            continue; /* it takes n^2 steps */
        static const size_t no_tiles[] = {0};
        const size_t *tile_size = algorithm->tile_sizes ? algorithm->tile_sizes : no_tiles;
        const bool heeds_tiles = sizeof(K) > 2 || strcmp(algorithm->name, "radix") != 0;
        do
            if (tile_size == algorithm->tile_sizes ||
                (heeds_tiles && (!selection.is_quick || !tile_size[1])))
                check_case(algorithm, *tile_size, facts, items, expected, &tallies[i]);
        while (*tile_size && *++tile_size);
    }
}

/* Items of 8 and 16 bytes that radix sorts by models: all shapes of these are sorted on a device.
 */
static const size_t models_count = ((size_t)1 << 22) + 5;

static bool is_for_models(const struct selection &selection, size_t count, size_t item_bytes)
{
    return count == models_count && item_bytes >= 8 && selection.path &&
           strcmp(selection.path, "radix") == 0;
}

static std::vector<size_t> matrix_counts(const struct selection &selection)
{
    const size_t largest = selection.largest;
    std::vector<size_t> counts = {0,   1,   2,   3,    31,   32,   33,   255,  256,  257,
                                  511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 100003};
    for (size_t power = 4096; power <= (size_t)1 << 24; power *= power < 65536 ? 4 : 16)
        counts.insert(counts.end(), {power - 1, power + 1});
    if (largest >= models_count)
        counts.push_back(models_count);
    if (selection.is_quick)
        counts = {1, 257, 4099, 70001};
    counts.erase(std::remove_if(counts.begin(), counts.end(),
                                [largest](size_t count) { return count > largest; }),
                 counts.end());
    return counts;
}

/* What of it --quick takes. */
static bool is_quick_shape(const struct shape &shape)
{
    return shape.key == shape_random || shape.key == shape_all_equal ||
           shape.key == shape_hot_bytes<2> || shape.key == shape_periodic;
}

/* The stand-in has a few shapes of the counts above `large`: radix_matrix.cu has all. */
static bool is_wanted(const struct selection &selection, const struct shape &shape, size_t count,
                      size_t item_bytes)
{
    if (count < shape.least ||
        (count > shape.largest && !is_for_models(selection, count, item_bytes)))
        return false;
    const bool has_few = is_stand_in && count >= large;
    return is_quick_shape(shape) ||
           (!selection.is_quick && (!has_few || shape.key == shape_reversed));
}

/* Shapes that differ in bytes alone that a width does not have are one array, which is sorted once.
 */
template <typename K>
static void check_shapes(const struct selection &selection, struct tally *tallies)
{
    for (const size_t count : matrix_counts(selection)) {
        struct selection tiles = selection;
        tiles.is_quick = selection.is_quick || (is_stand_in && count >= large);
        std::set<size_t> taken; /* hashes */
        for (const struct shape &shape : shapes) {
            if (!is_wanted(selection, shape, count, sizeof(K)))
                continue;
            std::vector<K> items(count);
            for (size_t i = 0; i < count; i++)
                items[i] =
                    item_of<K>(key_order_identity(), shape.key(i, count), scattered_index(i));
            const std::string_view bytes((const char *)items.data(), count * sizeof(K));
            if (taken.insert(std::hash<std::string_view>()(bytes)).second)
                check_array<K>({shape.name, key_order_identity(), count}, items, tiles, tallies);
        }
    }
}

/* Keys that many items share, each shape with each payload: then it is the payload that orders. Of
 * many items, each shape with the first payload, and one shape with all of them. */
static void check_payloads(const struct selection &selection, struct tally *tallies)
{
    static uint64_t (*const keys[])(size_t, size_t) = {
        shape_random,   shape_all_equal, shape_two_values,  shape_few_distinct, shape_zipf,
        shape_sawtooth, shape_exponents, shape_even_values, shape_hot_bytes<7>};
    const struct selection two_tiles = {selection.largest, selection.path, true};
    for (const size_t count : {(size_t)4099, (size_t)70001})
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            for (const struct payload &payload : payloads) {
                const bool is_chosen = i == 4 || &payload == &payloads[0];
                if (count > selection.largest || (selection.is_quick && i != 4) ||
                    (count > 4099 && !is_chosen))
                    continue;
                std::vector<u128> items(count);
                for (size_t j = 0; j < count; j++)
                    items[j] = (u128)keys[i](j, count) << 64 | payload.index(j, count);
                check_array<u128>({payload.name, key_order_identity(), count}, items, two_tiles,
                                  tallies);
            }
}

/* Bits as they come, so that every exponent, sign and NaN is met; one in four is a pattern around
 * zero, infinity or the ends of the integers. */
template <typename K>
static K mixed_bits(size_t i)
{
    static const int kinds = 6;
    const uint64_t random = random_bits(i);
    const unsigned bits = 8 * sizeof(K);
    const uint64_t sign = 1ull << (bits - 1);
    const uint64_t exponents[kinds] = {0,
                                       sign - 1,
                                       0x7ff0000000000000u >> (64 - bits),
                                       0x7f80000000000000u >> (64 - bits),
                                       1,
                                       (0x7c00000000000000u >> (64 - bits))};
    if (i % 4)
        return (K)random;
    return (K)(exponents[random % kinds] + (random >> 8) % 2 + (random >> 9) % 2 * sign);
}

/* An order is for what loads and stores a tile: the stand-in takes the least and the greatest. */
template <typename K>
static void check_orders(const struct selection &selection, struct tally *tallies)
{
    struct selection tiles = selection;
    tiles.is_quick = selection.is_quick || is_stand_in;
    for (const size_t count : {(size_t)1, (size_t)257, (size_t)2049, (size_t)5003}) {
        if (count > selection.largest || (selection.is_quick && count != 257))
            continue;
        std::vector<K> items(count);
        for (size_t i = 0; i < count; i++)
            items[i] = mixed_bits<K>(i);
        for (size_t type = 0; type < KEY_TYPE_COUNT; type++) {
            if (key_types[type].bytes != sizeof(K))
                continue;
            for (unsigned variant = 0; variant < 4; variant++) {
                const enum key_endian endian = variant & 1 ? ENDIAN_BIG : ENDIAN_LITTLE;
                const enum nan_rule nan = variant == 3 ? NAN_FIRST : NAN_GREATEST;
                const struct key_order order =
                    key_order_make(&key_types[type], endian, nan, variant == 1 || variant == 2);
                check_array<K>({key_types[type].name, order, count}, items, tiles, tallies);
            }
        }
    }
}

/* Pipes: nobody knows how many will come. The largest one fills more than one segment. */
template <typename K>
static void check_unknown_counts(const struct selection &selection, struct tally *tallies)
{
    for (const size_t count : {(size_t)0, (size_t)1, (size_t)2049, ((size_t)3 << 24) / sizeof(K)}) {
        if (count > selection.largest || (selection.is_quick && count != 2049))
            continue;
        std::vector<K> items(count);
        for (size_t i = 0; i < count; i++)
            items[i] = item_of<K>(key_order_identity(), random_bits(i), scattered_index(i));
        check_array<K>({"unknown count", key_order_identity(), COUNT_UNKNOWN}, items, selection,
                       tallies);
    }
}

/* The lines printed so far. */
struct tap_output {
    size_t number;
    size_t failed;
};

static void tap_print(struct tap_output *tap, bool passed, const char *claim, const char *detail)
{
    printf("%s %zu - %s%s\n", passed ? "ok" : "not ok", ++tap->number, claim, detail);
    fflush(stdout);
    tap->failed += !passed;
}

template <typename K>
static void check_width(const struct selection &selection, struct tap_output *tap)
{
    std::vector<struct tally> tallies(cuda_backend.algorithm_count);
    check_shapes<K>(selection, tallies.data());
    if constexpr (sizeof(K) < 16)
        check_orders<K>(selection, tallies.data());
    else
        check_payloads(selection, tallies.data());
    check_unknown_counts<K>(selection, tallies.data());
    for (size_t i = 0; i < tallies.size(); i++) {
        if (!selection_has(selection, &cuda_backend.algorithms[i]))
            continue;
        char claim[160], detail[80];
        snprintf(claim, sizeof claim, "%s sorts items of %zu bytes",
                 cuda_backend.algorithms[i].name, sizeof(K));
        snprintf(detail, sizeof detail, " (%zu of %zu arrays)",
                 tallies[i].cases - tallies[i].failures, tallies[i].cases);
        tap_print(tap, tallies[i].failures == 0, claim, detail);
    }
}

/* An engine refuses what its contract says it refuses, and says why. */
static void check_refusals(struct tap_output *tap)
{
    struct sort_spec spec = {};
    spec.item_bytes = 8;
    spec.count = 5;
    spec.algorithm = &cuda_backend.algorithms[0];
    spec.tile_size = 300;
    spec.threads = 1;
    struct engine *engine = NULL;
    struct error error = {};
    tap_print(tap, !cuda_backend.keys->open(&spec, &engine, &error) && error.is_set,
              "a tile size that no path has is refused: ", error.message);
    spec.tile_size = 256;
    spec.count = SIZE_MAX / 16;
    error = {};
    tap_print(tap, !cuda_backend.keys->open(&spec, &engine, &error) && error.is_set,
              "more than memory holds is refused: ", error.message);
    spec.count = 5;
    error = {};
    struct chunk chunk = {};
    bool filled = cuda_backend.keys->open(&spec, &engine, &error) &&
                  cuda_backend.keys->lend(engine, 9, &chunk, &error) && chunk.capacity == 5;
    if (filled) {
        memset(chunk.items, 0, 5 * sizeof(uint64_t));
        chunk.count = 5;
        filled = cuda_backend.keys->take(engine, chunk, &error);
    }
    tap_print(tap, filled && !cuda_backend.keys->lend(engine, 1, &chunk, &error) && error.is_set,
              "more items than announced are refused: ", error.message);
    cuda_backend.keys->close(engine);
}

/* A path with a limit refuses one item more: at once where that is known, else when it
 * is told to sort. */
static void check_limit(const struct algorithm *algorithm, struct tap_output *tap)
{
    const size_t beyond = algorithm->count_max + 1;
    struct sort_spec spec = {};
    spec.item_bytes = 1;
    spec.count = beyond;
    spec.algorithm = algorithm;
    spec.tile_size = algorithm->tile_sizes ? algorithm->tile_sizes[0] : 0;
    spec.threads = 1;
    struct engine *engine = NULL;
    struct error error = {};
    char claim[160];
    snprintf(claim, sizeof claim, "%s refuses %zu items: ", algorithm->name, beyond);
    tap_print(tap, !cuda_backend.keys->open(&spec, &engine, &error) && error.is_set, claim,
              error.message);
    spec.count = COUNT_UNKNOWN;
    spec.most = SIZE_MAX;
    error = {};
    const std::vector<unsigned char> items(beyond);
    const bool is_filled = cuda_backend.keys->open(&spec, &engine, &error) &&
                           send_items(engine, items.data(), beyond, 1, &error);
    snprintf(claim, sizeof claim, "%s refuses %zu items of an unknown count: ", algorithm->name,
             beyond);
    tap_print(tap, is_filled && !cuda_backend.keys->sort(engine, &error) && error.is_set, claim,
              error.message);
    cuda_backend.keys->close(engine);
}

/* The table of "auto" names paths and tiles that there are. */
static void check_table(struct tap_output *tap)
{
    struct error error = {};
    size_t rows = 0;
    for (size_t i = 0; i < auto_row_count; i++) {
        const struct auto_row *const row = &auto_rows[i];
        if (strcmp(row->device_class, "cpu") == 0)
            continue;
        rows++;
        const struct algorithm *const algorithm = backend_find_algorithm(&cuda_backend, row->path);
        if (!algorithm || algorithm_find_tile_size(algorithm, row->tile_size) != row->tile_size ||
            algorithm->count_max < row->up_to)
            (void)error_set(&error, ": %s has no path %s with tiles of %zu for so many",
                            row->device_class, row->path, row->tile_size);
    }
    tap_print(tap, rows > 0 && !error.is_set, "what auto may choose is there",
              error.is_set ? error.message : "");
}

static bool has_limit(const struct selection &selection, const struct algorithm *algorithm)
{
    return selection_has(selection, algorithm) && algorithm->count_max != SIZE_MAX;
}

static size_t limited_algorithms(const struct selection &selection)
{
    size_t limited = 0;
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++)
        limited += has_limit(selection, &cuda_backend.algorithms[i]);
    return limited;
}

static int run_matrix(const struct selection &selection)
{
    struct device_facts facts = {};
    struct error error = {};
    if (!cuda_backend.probe(0, &facts, &error)) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    printf("# %s, %u multiprocessors, counts up to %zu\n", facts.name, facts.units,
           selection.largest);
    const size_t paths = selection.path ? 1 : cuda_backend.algorithm_count;
    printf("1..%zu\n", 5 * paths + 4 + 2 * limited_algorithms(selection));
    struct tap_output tap = {};
    check_width<uint8_t>(selection, &tap);
    check_width<uint16_t>(selection, &tap);
    check_width<uint32_t>(selection, &tap);
    check_width<uint64_t>(selection, &tap);
    check_width<u128>(selection, &tap);
    check_refusals(&tap);
    check_table(&tap);
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++)
        if (has_limit(selection, &cuda_backend.algorithms[i]))
            check_limit(&cuda_backend.algorithms[i], &tap);
    return tap.failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    const bool is_quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const int argument = is_quick ? 2 : 1;
    struct selection selection = {default_largest, NULL, is_quick};
    if (argc > argument + 1)
        selection.path = argv[argument + 1];
    if (argc > argument + 2 ||
        (argc > argument && !parse_count(argv[argument], &selection.largest)) ||
        (selection.path && !backend_find_algorithm(&cuda_backend, selection.path))) {
        fprintf(stderr, "usage: device_matrix [--quick] [LARGEST [PATH]]\n");
        return 2;
    }
    return run_matrix(selection);
}
