/* digits_matrix.cu - the sort digit by digit (cuda/radix_digits.cuh): width x order x shape x count
 * x portion; items that cannot go this way; and which keys radix sends there.
 *
 *   digits_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Arrays of more items than
 *     LARGEST are left out of the claims about the sort as a whole.
 *
 * What is expected is what std::sort makes of the items on the host. Which way radix went shows in
 * the note that it leaves.
 */
#include "core/key_order.h"
#include "cuda/radix_digit_sort.h"
#include "cuda/radix_digits.cuh"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

/* ---- arrays ---- */

/* Each byte is the same in half of the keys. */
static uint64_t shape_hot_digits(size_t i, size_t)
{
    const uint64_t chosen = (random_bits(~i) & 0x0101010101010101u) * 0xff;
    return (0x3a3a3a3a3a3a3a3au & chosen) | (random_bits(i) & ~chosen);
}

/* So many bytes have more than one value: odd numbers of passes, and even ones. */
template <uint64_t MASK>
static uint64_t shape_some_bytes(size_t i, size_t)
{
    return random_bits(i) & MASK;
}

/* A low half in order, as a key above its place has it. */
static uint64_t shape_low_order(size_t i, size_t)
{
    return (random_bits(i) % 100 << 32) + i;
}

static const struct shape {
    const char *name;
    uint64_t (*key)(size_t i, size_t n);
} shapes[] = {
    {"random", shape_random},
    {"reversed", shape_reversed},
    {"all equal", shape_all_equal},
    {"two values", shape_two_values},
    {"zipf", shape_zipf},
    {"exponents", shape_exponents},
    {"hot digits", shape_hot_digits},
    {"one byte", shape_some_bytes<0x0000ff0000ff0000u>},
    {"a half", shape_some_bytes<0x00ffff00ffff0000u>},
    {"low half in order", shape_low_order},
};

/* Items have their place for an index, from `first_index` on. */
template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count,
                                 uint64_t first_index = 7)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = shape.key(i, count);
        if constexpr (sizeof(K) == 16)
            items[i] = (K)key << 64 | (first_index + i);
        else
            items[i] = (K)key_order_decode(order, 8 * sizeof(K), key >> (64 - 8 * sizeof(K)));
    }
    return items;
}

template <typename K>
static std::vector<K> sorted_copy(struct key_order order, std::vector<K> items)
{
    std::sort(items.begin(), items.end(), [order](K a, K b) {
        if constexpr (sizeof(K) == 16)
            return a < b;
        else
            return key_order_encode(order, 8 * sizeof(K), a) <
                   key_order_encode(order, 8 * sizeof(K), b);
    });
    return items;
}

template <typename K>
static std::vector<struct key_order> orders_of()
{
    if constexpr (sizeof(K) == 16)
        return {key_order_identity()};
    const struct key_type *const type = &key_types[sizeof(K) == 4 ? KEY_TYPE_i32 : KEY_TYPE_f64];
    return {key_order_identity(), key_order_make(type, ENDIAN_LITTLE, NAN_GREATEST, false),
            key_order_make(type, ENDIAN_BIG, NAN_GREATEST, true)};
}

/* ---- the device ---- */

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

struct device_memory {
    struct cuda_sort sort;
    struct radix_segments *whole;
};

template <typename K>
static bool device_open(struct device_memory *memory, const std::vector<K> &items,
                        struct key_order order, struct error *error)
{
    struct cuda_sort *const sort = &memory->sort;
    const size_t bytes = items.size() * sizeof(K);
    *memory = {};
    sort->count = items.size();
    sort->item_bytes = sizeof(K);
    sort->order = order;
    sort->tile_size = 4096;
    if (!check(cudaMalloc(&sort->items, bytes), error) ||
        !check(cudaMalloc(&sort->scratch, bytes), error) ||
        !check(cudaMalloc(
                   &sort->workspace,
                   std::max(radix_digit_bytes(sort->count, sort->item_bytes),
                            radix_workspace_bytes(sort->count, sort->tile_size, sort->item_bytes))),
               error) ||
        !check(cudaMalloc(&memory->whole, sizeof *memory->whole), error) ||
        !check(cudaMallocHost((void **)&sort->note, sizeof *sort->note), error))
        return false;
    std::vector<radix_count> whole(sizeof *memory->whole / sizeof(radix_count));
    whole[offsetof(struct radix_segments, keys) / sizeof(radix_count)] = sort->count;
    sort->note->count = 0;
    return check(cudaMemcpy(memory->whole, whole.data(), sizeof *memory->whole,
                            cudaMemcpyHostToDevice),
                 error) &&
           check(cudaMemcpy(sort->items, items.data(), bytes, cudaMemcpyHostToDevice), error);
}

static void device_close(struct device_memory *memory)
{
    (void)cudaFreeHost(memory->sort.note);
    (void)cudaFree(memory->whole);
    (void)cudaFree(memory->sort.workspace);
    (void)cudaFree(memory->sort.scratch);
    (void)cudaFree(memory->sort.items);
}

template <typename K>
static bool holds(const struct device_memory &memory, const std::vector<K> &expected,
                  struct error *error)
{
    std::vector<K> got(expected.size());
    if (!check(cudaMemcpy(got.data(), memory.sort.items, got.size() * sizeof(K),
                          cudaMemcpyDeviceToHost),
               error))
        return false;
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != expected[i])
            return error_set(error, "item %zu of %zu differs", i, got.size());
    return true;
}

/* ---- digit by digit ---- */

/* How items are sorted: in portions of so many keys, 0: in the greatest ones. */
struct way {
    struct key_order order;
    bool has_indices;
    size_t portion;
};

/* Sorts; the note is to be `noted`. */
template <typename K>
static bool check_digits(const std::vector<K> &items, const std::vector<K> &expected,
                         const struct way &way, size_t noted, struct error *error)
{
    struct device_memory memory;
    const bool passed =
        device_open(&memory, items, way.order, error) &&
        radix_digit_sort(&memory.sort, memory.whole, way.has_indices, memory.sort.workspace,
                         way.portion ? way.portion : RADIX_DIGIT_PORTION, error) &&
        check(cudaDeviceSynchronize(), error) && holds(memory, expected, error) &&
        (memory.sort.note->count == noted || error_set(error, "%zu items: the note", items.size()));
    device_close(&memory);
    return passed;
}

template <typename K>
static bool check_counts(struct error *error)
{
    const size_t tile = RADIX_DIGIT_TILE<K>;
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const size_t count : {(size_t)1, (size_t)2, tile - 1, tile, tile + 1, 4 * tile + 5})
        for (const struct shape &shape : shapes) {
            const struct way way = {orders[number % orders.size()], sizeof(K) == 16,
                                    number / orders.size() % 3 * tile};
            const std::vector<K> items = make_items<K>(shape, way.order, count);
            if (!check_digits(items, sorted_copy(way.order, items), way, 0, error))
                return error_set(error, "%s, portions of %zu", shape.name, way.portion);
            number++;
        }
    return true;
}

/* Keys of 8 bytes above an index; those whose low halves are none stay as they are. */
static bool check_indices(struct error *error)
{
    const struct way way = {key_order_identity(), true, 0};
    std::vector<uint64_t> items(20001);
    for (size_t i = 0; i < items.size(); i++)
        items[i] = shape_low_order(i, items.size());
    if (!check_digits(items, sorted_copy(way.order, items), way, 0, error))
        return false;
    items[items.size() / 2] &= ~(uint64_t)UINT32_MAX;
    return check_digits(items, items, way, RADIX_NOTE_REFUSED, error);
}

/* Items whose index is not their place stay as they are. */
static bool check_refused(struct error *error)
{
    for (const size_t place : {(size_t)1, (size_t)4096, (size_t)20000}) {
        std::vector<key_u128> items = make_items<key_u128>(shapes[0], key_order_identity(), 20001);
        items[place]++;
        if (!check_digits(items, items, {key_order_identity(), true, 0}, RADIX_NOTE_REFUSED, error))
            return false;
    }
    return true;
}

/* Counters of 16 bits have to be emptied now and then: what is not seen to be one value makes a
 * pass. */
static bool check_many_equal(size_t largest, struct error *error)
{
    struct radix_digit_plan plan;
    struct device_memory memory;
    const std::vector<uint64_t> items(largest < RADIX_DIGIT_LEAST ? 1 : 8500000, 0x3a3a3a3a);
    bool passed =
        device_open(&memory, items, key_order_identity(), error) &&
        radix_digit_sort(&memory.sort, memory.whole, false, memory.sort.workspace,
                         RADIX_DIGIT_PORTION, error) &&
        check(cudaMemcpy(&plan, memory.sort.workspace, sizeof plan, cudaMemcpyDeviceToHost), error);
    if (passed && plan.passes != 0)
        passed = error_set(error, "%u passes", plan.passes);
    device_close(&memory);
    return passed;
}

/* ---- the sort as a whole ---- */

/* Sorts, with the note after the first kernels expected to be `noted`, and three rounds at the
 * most: digits, refused, models. */
template <typename K>
static bool check_sort(const std::vector<K> &items, struct key_order order, size_t noted,
                       struct error *error)
{
    struct device_memory memory;
    bool is_done = false, is_noted = false;
    bool passed = device_open(&memory, items, order, error) && radix_sort(&memory.sort, error);
    for (unsigned round = 1; passed && !is_done; round++) {
        passed = check(cudaStreamSynchronize(memory.sort.stream), error);
        if (round == 1)
            is_noted = noted ? memory.sort.note->count == noted
                             : memory.sort.note->count != RADIX_NOTE_INDICES;
        is_noted = is_noted && (noted == 0 || round <= 3);
        passed = passed && radix_finish(&memory.sort, round, &is_done, error);
    }
    passed = passed && holds(memory, sorted_copy(order, items), error) &&
             (is_noted || error_set(error, "another way than expected"));
    device_close(&memory);
    return passed;
}

static const struct shape hot = {"hot digits", shape_hot_digits};
static const struct shape low_order = {"low half in order", shape_low_order};

/* Of 4 bytes, so few keys go digit by digit at once. */
static bool check_choice(uint32_t, size_t count, struct error *error)
{
    const struct key_order order = key_order_identity();
    return check_sort(make_items<uint32_t>(shapes[0], order, count), order, 0, error);
}

/* Low halves are indices in the identical order alone. */
static bool check_choice(uint64_t, size_t count, struct error *error)
{
    const struct key_order order = key_order_identity();
    const struct key_order turned =
        key_order_make(&key_types[KEY_TYPE_u64], ENDIAN_LITTLE, NAN_GREATEST, true);
    const std::vector<uint64_t> items = make_items<uint64_t>(low_order, order, count);
    return check_sort(make_items<uint64_t>(hot, order, count), order, RADIX_NOTE_DIGITS, error) &&
           check_sort(items, order, RADIX_NOTE_INDICES, error) &&
           check_sort(items, turned, 0, error);
}

/* Items that are refused are sorted all the same. */
static bool check_choice(key_u128, size_t count, struct error *error)
{
    const struct key_order order = key_order_identity();
    std::vector<key_u128> items = make_items<key_u128>(hot, order, count);
    if (!check_sort(items, order, RADIX_NOTE_DIGITS, error))
        return false;
    std::swap(items[count / 2], items[count / 2 + 1]);
    return check_sort(items, order, RADIX_NOTE_DIGITS, error);
}

/* ---- claims ---- */

struct tap {
    size_t number;
    size_t failed;
};

static void tap_print(struct tap *tap, bool passed, const char *claim, size_t item_bytes,
                      const struct error &error)
{
    printf("%s %zu - %s, items of %zu bytes\n", passed ? "ok" : "not ok", ++tap->number, claim,
           item_bytes);
    if (!passed)
        printf("# %s\n", error.message);
    fflush(stdout);
    tap->failed += !passed;
}

template <typename K>
static void check_width(size_t largest, struct tap *tap)
{
    struct error digit_error = {}, choice_error = {};
    tap_print(tap, check_counts<K>(&digit_error), "sorted digit by digit", sizeof(K), digit_error);
    tap_print(tap,
              largest <= RADIX_DIGIT_LEAST ||
                  check_choice(K{0}, RADIX_DIGIT_LEAST + 1, &choice_error),
              "radix chooses", sizeof(K), choice_error);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const size_t largest = argc > 1 ? strtoull(argv[1], &end, 10) : RADIX_DIGIT_LEAST + 1;
    if (argc > 2 || (argc > 1 && (*argv[1] < '0' || *argv[1] > '9' || *end))) {
        fprintf(stderr, "usage: digits_matrix [LARGEST]\n");
        return 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("1..0 # SKIP no GPU\n");
        return 0;
    }
    printf("1..9\n");
    struct tap tap = {};
    struct error index_error = {}, refused_error = {}, equal_error = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    tap_print(&tap, check_indices(&index_error), "keys above an index", 8, index_error);
    tap_print(&tap, check_many_equal(largest, &equal_error), "one value, however often it comes", 8,
              equal_error);
    check_width<key_u128>(largest, &tap);
    tap_print(&tap, check_refused(&refused_error), "items with another index are left", 16,
              refused_error);
    return tap.failed ? 1 : 0;
}
