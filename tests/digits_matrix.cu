/* SPDX-License-Identifier: Apache-2.0 */
/* digits_matrix.cu - the sort digit by digit (cuda/radix_digits.cuh): width x order x shape x count
 * x portion; items that cannot go this way; and which keys radix sends there.
 *
 *   digits_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. With 0 for LARGEST the
 *     claims about the sort as a whole are left out.
 *
 * What is expected is what std::sort makes of the items on the host. Which way radix went shows in
 * the note that it leaves.
 */
#include "tests/digits_cases.h"

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

static const struct shape shapes[] = {
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

/* For items that are sorted anew: what the first index of all is, which is kept from before. */
static bool keep_first_index(const struct device_memory &memory, uint64_t first_index,
                             struct error *error)
{
    static_assert(offsetof(struct radix_digit_plan, first_index) == 0, "kept in front");
    return check(
        cudaMemcpy(memory.sort.workspace, &first_index, sizeof first_index, cudaMemcpyHostToDevice),
        error);
}

/* Sorts; the note is to be `noted`. */
template <typename K>
static bool check_digits(const std::vector<K> &items, const std::vector<K> &expected,
                         const struct way &way, size_t noted, struct error *error)
{
    struct device_memory memory;
    const bool passed =
        device_open(&memory, items, way.order, error) && keep_first_index(memory, 7, error) &&
        start_digits(memory, way, error) && check(cudaDeviceSynchronize(), error) &&
        holds(memory.sort, expected, error) &&
        (memory.sort.note->count == noted ||
         error_set(error, "%zu items: the note is %zu", items.size(), memory.sort.note->count));
    device_close(&memory);
    return passed;
}

template <typename K>
static bool check_counts(struct error *error)
{
    constexpr struct radix_keys_choice keys = RADIX_DIGIT_KEYS<K, false>;
    const size_t tile = RADIX_DIGIT_TILE<K>;
    const size_t largest = RADIX_DIGIT_THREADS * (size_t)std::max(keys.usual, keys.other);
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const size_t count :
         {(size_t)1, (size_t)2, tile - 1, tile, tile + 1, 4 * tile + 5, 8 * tile + 5})
        for (const struct shape &shape : shapes) {
            const struct way way = {orders[number % orders.size()],
                                    number / 9 % 2 ? RADIX_DIGITS_AGAIN : RADIX_DIGITS_OF_CODE,
                                    number / orders.size() % 3 * largest, false,
                                    (number + number / 10) % 2 == 0};
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
    const size_t tile = RADIX_DIGIT_TILE<uint64_t, true>;
    for (const size_t count :
         {(size_t)1, (size_t)2, tile - 1, tile, tile + 1, 4 * tile + 5, 8 * tile})
        for (unsigned kind = 0; kind < 6; kind++) {
            const size_t portion = kind / 2 * tile;
            const struct way way = {key_order_identity(), RADIX_DIGITS_ABOVE_INDEX, portion, false,
                                    kind % 2 == 0};
            std::vector<uint64_t> items(count);
            for (size_t i = 0; i < count; i++)
                items[i] = shape_low_order(i, count);
            if (!check_digits(items, sorted_copy(way.order, items), way, 0, error))
                return error_set(error, "%zu items, portions of %zu", count, portion);
            items[count / 2] &= ~(uint64_t)UINT32_MAX;
            if (count > 2 && !check_digits(items, items, way, RADIX_NOTE_REFUSED, error))
                return false;
        }
    return true;
}

/* Items whose index is not their place stay as they are. */
static bool check_refused(struct error *error)
{
    for (const size_t place : {(size_t)1, (size_t)4096, (size_t)20000}) {
        std::vector<key_u128> items = make_items<key_u128>(shapes[0], key_order_identity(), 20001);
        items[place]++;
        if (!check_digits(items, items, {key_order_identity(), RADIX_DIGITS_OF_CODE, 0},
                          RADIX_NOTE_REFUSED, error))
            return false;
    }
    return true;
}

/* Counters of 16 bits have to be emptied now and then: what is not seen to be one value makes a
 * pass. */
static bool check_many_equal(struct error *error)
{
    struct radix_digit_plan plan;
    struct device_memory memory;
    const std::vector<uint64_t> items(8500000, 0x3a3a3a3a);
    bool passed =
        device_open(&memory, items, key_order_identity(), error) &&
        start_digits(memory, {key_order_identity(), RADIX_DIGITS_OF_CODE, 0}, error) &&
        check(cudaMemcpy(&plan, memory.sort.workspace, sizeof plan, cudaMemcpyDeviceToHost), error);
    if (passed && plan.passes != 0)
        passed = error_set(error, "%u passes", plan.passes);
    device_close(&memory);
    return passed;
}

/* ---- the sort as a whole ---- */

/* What is chosen of so many items, with tiles of that size. */
struct choice {
    size_t count;
    size_t tile_size;
};

/* Sorts, with the note after the first kernels expected to be `noted`, and three rounds at the
 * most: digits, refused, models. What is heard early is not waited for, as the engine does it; of
 * indices that is sure to be. Of 4 bytes no kernel says how to go on, as models would. */
template <typename K>
static bool check_sort(const std::vector<K> &items, struct key_order order, size_t tile_size,
                       size_t noted, struct error *error)
{
    struct device_memory memory;
    bool is_done = false, is_noted = false;
    bool passed =
        device_open(&memory, items, order, error, tile_size) && radix_sort(&memory.sort, error);
    for (unsigned round = 1; passed && !is_done; round++) {
        const struct sort_note note = *memory.sort.note;
        passed = note.is_heard || check(cudaStreamSynchronize(memory.sort.stream), error);
        if (round == 1)
            is_noted = noted ? memory.sort.note->count == noted
                             : memory.sort.note->count != RADIX_NOTE_INDICES;
        if (round == 1 && noted == RADIX_NOTE_INDICES)
            is_noted = is_noted && note.is_heard;
        if (round == 1 && sizeof(K) == sizeof(uint32_t))
            is_noted = is_noted && memory.sort.note->way == 0;
        is_noted = is_noted && (noted == 0 || round <= 3);
        passed = passed && radix_finish(&memory.sort, round, &is_done, error);
    }
    passed = passed && holds(memory.sort, sorted_copy(order, items), error) &&
             (is_noted || error_set(error, "another way than expected"));
    device_close(&memory);
    return passed;
}

/* Keys that crowd at all scales, of whose last bytes a few differ: a prefix tells them apart but
 * for some runs, the longest of 2^14. */
static uint64_t shape_hot_prefix(size_t i, size_t n)
{
    const uint64_t rest = random_bits(i + n) % 256 ? 0x3a3a : 0x3a00;
    return (shape_hot_digits(i, n) & ~(uint64_t)UINT16_MAX) | rest;
}

static const struct shape hot_prefix = {"hot prefix", shape_hot_prefix};
static const struct shape hot = {"hot digits", shape_hot_digits};
/* Half of the keys differ in their last byte alone. */
static uint64_t shape_crowd(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return bits & 0x100 ? 0x3a3a3a3a3a3a3a00u | (bits & 0xff) : random_bits(i + 7);
}

static const struct shape crowd = {"crowd", shape_crowd};
/* The sample tells nothing of most keys, which are close together. */
static const struct shape hidden = {"hidden", shape_hidden};
static const struct shape low_order = {"low half in order", shape_low_order};

/* The same of both samples (thread_second_key in cuda/radix_choice.cuh), of keys in the identical
 * order; of items the key is above. */
template <typename K>
static std::vector<K> make_hidden_twice(size_t count)
{
    std::vector<K> items = make_items<K>(hidden, key_order_identity(), count);
    constexpr unsigned key_shift = 8 * (sizeof(K) - sizeof(uint64_t));
    for (size_t i = 0; i < RADIX_ROOT_CELLS; i++) {
        K &item = items[scrambled_below(i, count)];
        item ^= (item >> key_shift ^ random_bits(i)) << key_shift;
    }
    return items;
}

/* Of 4 bytes, so few keys go digit by digit at once. */
static bool check_choice(uint32_t, const struct choice &choice, struct error *error)
{
    const struct key_order order = key_order_identity();
    return check_sort(make_items<uint32_t>(shapes[0], order, choice.count), order, choice.tile_size,
                      0, error);
}

/* Low halves are indices in the identical order alone. Before a single partition, as large tiles
 * have it, nobody counts keys to see whether both samples have misled. */
static bool check_choice(uint64_t, const struct choice &choice, struct error *error)
{
    const struct key_order order = key_order_identity();
    const struct key_order turned =
        key_order_make(&key_types[KEY_TYPE_u64], ENDIAN_LITTLE, NAN_GREATEST, true);
    const auto check = [&](const struct shape &shape, struct key_order way, size_t noted) {
        return check_sort(make_items<uint64_t>(shape, way, choice.count), way, choice.tile_size,
                          noted, error);
    };
    const std::vector<uint64_t> items = make_items<uint64_t>(low_order, order, choice.count);
    const std::vector<uint64_t> twice = make_hidden_twice<uint64_t>(choice.count);
    return (choice.tile_size > 256 ||
            check_sort(twice, order, choice.tile_size, RADIX_NOTE_DIGITS, error)) &&
           check(hidden, order, RADIX_NOTE_DIGITS) && check(hot, order, RADIX_NOTE_DIGITS) &&
           check(hot_prefix, turned, RADIX_NOTE_DIGITS) &&
           check(crowd, turned, RADIX_NOTE_DIGITS) && check(low_order, order, RADIX_NOTE_INDICES) &&
           check_sort(items, turned, choice.tile_size, 0, error);
}

/* Items that are refused are sorted all the same. */
static bool check_choice(key_u128, const struct choice &choice, struct error *error)
{
    const struct key_order order = key_order_identity();
    const size_t noted = RADIX_NOTE_SHARES;
    const std::vector<key_u128> concealed = make_items<key_u128>(hidden, order, choice.count);
    const std::vector<key_u128> twice = make_hidden_twice<key_u128>(choice.count);
    const std::vector<key_u128> prefix = make_items<key_u128>(hot_prefix, order, choice.count);
    std::vector<key_u128> items = make_items<key_u128>(hot, order, choice.count);
    if (!check_sort(concealed, order, choice.tile_size, RADIX_NOTE_DIGITS, error) ||
        !check_sort(twice, order, choice.tile_size, RADIX_NOTE_DIGITS, error) ||
        !check_sort(items, order, choice.tile_size, noted, error) ||
        !check_sort(prefix, order, choice.tile_size, noted, error))
        return false;
    std::swap(items[choice.count / 2], items[choice.count / 2 + 1]);
    return check_sort(items, order, choice.tile_size, noted, error);
}

/* So few keys that go by no sample, with one partition and, of small tiles, with two. */
template <typename K>
static bool check_choices(struct error *error)
{
    const size_t least = radix_digit_least(sizeof(K)) + 1;
    if (!check_choice(K{0}, {least, 4096}, error))
        return false;
    return sizeof(K) == sizeof(uint32_t) || check_choice(K{0}, {least, 256}, error);
}

/* ---- claims ---- */

template <typename K>
static void check_width(size_t largest, struct tap_output *tap)
{
    struct error digit_error = {}, choice_error = {};
    tap_print(tap, check_counts<K>(&digit_error), "sorted digit by digit", sizeof(K), digit_error);
    if (largest > 0)
        tap_print(tap, check_choices<K>(&choice_error), "radix chooses", sizeof(K), choice_error);
    else
        tap_skip(tap, "radix chooses", sizeof(K));
}

int main(int argc, char **argv)
{
    size_t largest = SIZE_MAX;
    int status = 0;
    if (!tap_start(argc, argv, &largest, &status))
        return status;
    printf("1..9\n");
    struct tap_output tap = {};
    struct error index_error = {}, refused_error = {}, equal_error = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    tap_print(&tap, check_indices(&index_error), "keys above an index", 8, index_error);
    const char *const one_value = "one value, however often it comes";
    if (largest > 0)
        tap_print(&tap, check_many_equal(&equal_error), one_value, 8, equal_error);
    else
        tap_skip(&tap, one_value, 8);
    check_width<key_u128>(largest, &tap);
    tap_print(&tap, check_refused(&refused_error), "items with another index are left", 16,
              refused_error);
    return tap.failed ? 1 : 0;
}
