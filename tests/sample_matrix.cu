/* SPDX-License-Identifier: Apache-2.0 */
/* sample_matrix.cu - the sort by splitters from a sample (cuda/sample_sort.cu): width x order x
 * count x shape; keys that are hidden from the sample, which stay as they are; and that radix sorts
 * so, or in another way then.
 *
 *   sample_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Arrays of more items than
 *     LARGEST are left out.
 *
 * What is expected is what std::sort makes of the items on the host.
 */
#include "cuda/sample_sort.h"
#include "cuda/radix_levels.cuh"
#include "tests/radix_cases.h"

/* ---- arrays ---- */

/* Keys that descend in steps: of a share, long pieces go to few tiles. */
static uint64_t shape_steps(size_t i, size_t n)
{
    return (n - i) / 1500 << 40;
}

/* One key in eight is the same: of a width's greatest, which is also what stands behind the end. */
static uint64_t shape_greatest(size_t i, size_t)
{
    return i % 8 ? random_bits(i) : UINT64_MAX;
}

/* Of keys of 8 bytes, the lower halves alone tell: splitters have one upper half. */
static uint64_t shape_small(size_t i, size_t)
{
    return random_bits(i) % 1000000;
}

/* The same, with the greatest of these. */
static uint64_t shape_small_greatest(size_t i, size_t)
{
    return i % 8 ? random_bits(i) >> 32 : UINT32_MAX;
}

/* The keys that the sample takes with seed 0 are random, and all others next to each other. */
static uint64_t shape_hidden_here(size_t i, size_t n)
{
    const size_t sample = (size_t)1 << sample_bits(n);
    const size_t index = ((i + 1) * sample - 1) / n;
    const size_t first = n * index / sample, behind = n * (index + 1) / sample;
    const bool is_taken = i - first == scrambled_below(index, behind - first);
    return is_taken ? random_bits(i) : ((uint64_t)0x55550000 << 32) + random_bits(i) % 1000;
}

/* As many as share no factor with the turns that orders and large counts are taken in. */
static const struct shape shapes[] = {
    {"random", shape_random},
    {"sorted", shape_sorted},
    {"reversed", shape_reversed},
    {"all equal", shape_all_equal},
    {"two values", shape_two_values},
    {"zipf", shape_zipf},
    {"exponents", shape_exponents},
    {"steps", shape_steps},
    {"the greatest", shape_greatest},
    {"small", shape_small},
    {"small, the greatest", shape_small_greatest},
};

static const struct shape hidden = {"hidden", shape_hidden_here};

/* Of 2^14 keys, those that the sample takes with seed 0 are random, as are most others. The rest is
 * greater: the last bucket has more keys than two tiles in the mean, but room in one. */
static uint64_t shape_last(size_t i, size_t n)
{
    const bool is_great = shape_hidden_here(i, n) >> 40 == 0x555500 && random_bits(i ^ 77) % 10 < 3;
    return is_great ? UINT64_MAX : random_bits(i) >> 1;
}

static const struct shape last = {"last", shape_last};

/* Items of 16 bytes have their key for an index too, so that those of equal keys are equal. */
template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count,
                                 bool is_same)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = shape.key(i, count);
        items[i] = item_of<K>(order, key, is_same ? key : i);
    }
    return items;
}

template <typename K>
static std::vector<K> sorted_items(struct key_order order, const std::vector<K> &items)
{
    std::vector<K> sorted = items;
    std::sort(sorted.begin(), sorted.end(),
              [order](K a, K b) { return encoded(order, a) < encoded(order, b); });
    return sorted;
}

/* ---- sorts ---- */

/* What is on the device, until it goes out of scope. */
struct device_sort {
    struct cuda_sort sort = {};
    void *memory = NULL;
    ~device_sort()
    {
        (void)cudaFree(memory);
        sort_close(&sort);
    }
};

template <typename K>
static bool open_with(struct device_sort *device, const std::vector<K> &items,
                      struct key_order order, struct error *error)
{
    if (!sort_open(&device->sort, items.size(), sizeof(K), 4096, 0x5c, error))
        return false;
    device->sort.order = order;
    return send(device->sort, items, error) &&
           check(cudaMalloc(&device->memory, sample_sort_bytes(items.size(), sizeof(K))), error);
}

/* Sorts with a seed; the note is to be `noted`, and the items `expected`. */
template <typename K>
static bool check_sampled(const std::vector<K> &items, const std::vector<K> &expected,
                          struct key_order order, uint64_t seed, size_t noted, struct error *error)
{
    struct device_sort device;
    if (!open_with(&device, items, order, error))
        return false;
    device.sort.note->count = 0;
    const struct sample_task task = {device.memory, NULL, seed, RADIX_NOTE_MISLED};
    return sample_sort(&device.sort, &task, error) && check(cudaDeviceSynchronize(), error) &&
           holds(device.sort, expected, error) &&
           (device.sort.note->count == noted ||
            error_set(error, "%zu items: the note is %zu", items.size(), device.sort.note->count));
}

/* Around the least count, and what a block parts and sorts at a time; the last three have more and
 * larger shares, more buckets, and larger samples. */
static const size_t counts[] = {SAMPLE_SORT_LEAST,
                                SAMPLE_SORT_LEAST + 1,
                                2 * SAMPLE_SORT_LEAST - 1,
                                6 * SAMPLE_PART_THREADS * 4 + 1,
                                17 * SAMPLE_TILE_KEYS - 1,
                                300007,
                                (1 << 20) + 77,
                                (5 << 19) + 1};

template <typename K>
static bool check_shapes(size_t largest, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const size_t count : counts)
        for (const struct shape &shape : shapes) {
            const struct key_order order = orders[number++ % orders.size()];
            if (count > largest || number % (count < 200000 ? 1 : 10) != 0)
                continue;
            const std::vector<K> items = make_items<K>(shape, order, count, number % 2 == 0);
            if (!check_sampled(items, sorted_items(order, items), order, number, 0, error))
                return error_set(error, "%s, %zu items", shape.name, count);
        }
    return true;
}

template <typename K>
static bool check_hidden(struct error *error)
{
    const struct key_order order = orders_of<K>().back();
    for (const size_t count : {SAMPLE_SORT_LEAST + SAMPLE_TILE_KEYS + 500, /* just too many */
                               2 * SAMPLE_SORT_LEAST + 3, (size_t)60001}) {
        const std::vector<K> items = make_items<K>(hidden, order, count, false);
        const std::vector<K> expected = sorted_items(order, items);
        if (!check_sampled(items, items, order, 0, RADIX_NOTE_MISLED, error) ||
            !check_sampled(items, expected, order, 12345, 0, error))
            return error_set(error, "%zu items", count);
    }
    return true;
}

template <typename K>
static bool check_last(struct error *error)
{
    const struct key_order order = orders_of<K>().front();
    const std::vector<K> items = make_items<K>(last, order, (size_t)1 << 14, false);
    return check_sampled(items, sorted_items(order, items), order, 0, 0, error);
}

/* radix, by a sample; if the seed is the one that the keys are hidden from, as on the stand-in, the
 * note tells that it was, and it goes on in another way. */
template <typename K>
static bool check_radix(struct error *error)
{
    const struct key_order order = orders_of<K>().back();
    for (const struct shape &shape : {shapes[0], hidden}) {
        const std::vector<K> items = make_items<K>(shape, order, 60001, false);
        struct device_sort device;
        bool is_done = false;
        if (!open_with(&device, items, order, error) || !radix_sort(&device.sort, error) ||
            !check(cudaDeviceSynchronize(), error))
            return false;
        const bool is_misled = sample_seed() == 0 && shape.key == shape_hidden_here;
        if (device.sort.note->count != (is_misled ? RADIX_NOTE_MISLED : 0))
            return error_set(error, "%s: the note is %zu", shape.name, device.sort.note->count);
        for (unsigned round = 1; !is_done; round++)
            if (!radix_finish(&device.sort, round, &is_done, error) ||
                !check(cudaDeviceSynchronize(), error))
                return false;
        if (!holds(device.sort, sorted_items(order, items), error))
            return error_set(error, "%s", shape.name);
    }
    return true;
}

/* ---- claims ---- */

template <typename K>
static void check_width(size_t largest, struct tap_output *tap)
{
    struct error shapes_error = {}, last_error = {}, hidden_error = {}, radix_error = {};
    tap_print(tap, check_shapes<K>(largest, &shapes_error), "splitters part any keys", sizeof(K),
              shapes_error);
    tap_print(tap, check_last<K>(&last_error), "a great last bucket leaves a tile empty", sizeof(K),
              last_error);
    tap_print(tap, check_hidden<K>(&hidden_error), "what is hidden from the sample stays",
              sizeof(K), hidden_error);
    tap_print(tap, check_radix<K>(&radix_error), "radix sorts few items so", sizeof(K),
              radix_error);
}

int main(int argc, char **argv)
{
    size_t largest = SIZE_MAX;
    int status = 0;
    if (!tap_start(argc, argv, &largest, &status))
        return status;
    printf("1..12\n");
    struct tap_output tap = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    check_width<key_u128>(largest, &tap);
    return tap.failed ? 1 : 0;
}
