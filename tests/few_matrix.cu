/* SPDX-License-Identifier: Apache-2.0 */
/* few_matrix.cu - the sort of keys of few values by counting (cuda/radix_few.cuh): width x order x
 * shape x count; values that have no room; and which keys radix sorts so.
 *
 *   few_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Arrays of more keys than
 *     LARGEST are left out.
 *
 * What is expected is what std::sort makes of the keys on the host. Which way radix went shows in
 * the note that it leaves.
 */
#include "cuda/radix_few.cuh"
#include "tests/radix_cases.h"

/* ---- arrays ---- */

template <uint64_t VALUES>
static uint64_t shape_values(size_t i, size_t)
{
    return random_bits(~(random_bits(i) % VALUES));
}

/* Each of the values at least once, in an order of its own. */
template <uint64_t VALUES>
static uint64_t shape_all_values(size_t i, size_t n)
{
    return random_bits(~((n - 1 - i) % VALUES));
}

/* Values that differ in a few bits of a word, the lowest and the highest ones. */
template <unsigned SHIFT>
static uint64_t shape_close(size_t i, size_t)
{
    return random_bits(i) % 1000 << SHIFT;
}

/* One value nearly always; those that are NaNs, zeros and infinities of floats among the others. */
static uint64_t shape_extremes(size_t i, size_t)
{
    const uint64_t bits = random_bits(i),
                   values[] = {0,         1, UINT64_MAX >> 1, (uint64_t)1 << 63, UINT64_MAX - 1,
                               UINT64_MAX};
    return bits % 64 ? (uint64_t)0x3ff0 << 48 : values[bits / 64 % 6];
}

static const struct shape shapes[] = {
    {"all equal", shape_all_equal},
    {"two values", shape_two_values},
    {"extremes", shape_extremes},
    {"1000 values", shape_values<1000>},
    {"1000 low ones of 8 bytes", shape_close<0>},
    {"1000 low ones of 4 bytes", shape_close<32>},
    {"1000 high ones", shape_close<54>},
    {"as many as have room", shape_all_values<RADIX_FEW_MOST>},
};

/* One value for which there is no room, which comes at the end. */
static uint64_t shape_one_more(size_t i, size_t n)
{
    return i == n - 1 ? random_bits(7) : shape_all_values<RADIX_FEW_MOST>(i, n);
}

static const struct shape too_many[] = {
    {"random", shape_random},
    {"one more than have room", shape_one_more},
};

/* ---- sorts ---- */

template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, shape.key(i, count), i);
    return items;
}

template <typename K>
static bool open_with(struct cuda_sort *sort, const std::vector<K> &items, struct key_order order,
                      struct error *error)
{
    const bool is_open =
        sort_open(sort, items.size(), sizeof(K), 4096, 0x5c, error) && send(*sort, items, error);
    sort->order = order;
    return is_open;
}

/* Counts; the note is to be `noted`, and the items `expected`. */
template <typename K>
static bool check_counted(const std::vector<K> &items, const std::vector<K> &expected,
                          struct key_order order, size_t noted, struct error *error)
{
    struct cuda_sort sort;
    void *memory = NULL;
    bool passed = open_with(&sort, items, order, error);
    if (passed)
        sort.note->count = 0;
    passed = passed && check(cudaMalloc(&memory, radix_few_bytes(sizeof(K))), error) &&
             radix_few_sort(&sort, memory, error) && check(cudaDeviceSynchronize(), error) &&
             holds(sort, expected, error) &&
             (sort.note->count == noted ||
              error_set(error, "%zu items: the note is %zu", items.size(), sort.note->count));
    (void)cudaFree(memory);
    sort_close(&sort);
    return passed;
}

/* Around what a lane, a warp and a block take at a time. */
template <typename K>
static bool check_counts(size_t largest, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    const size_t word = 16 / sizeof(K), row = 32 * word, block = RADIX_FEW_THREADS * word;
    size_t number = 0;
    for (const size_t count : {(size_t)1, word - 1, word + 1, row - 1, row, row + 1, block - 1,
                               2 * block + 1, (size_t)100003})
        for (const struct shape &shape : shapes) {
            const struct key_order order = orders[number++ % orders.size()];
            const std::vector<K> items = make_items<K>(shape, order, count);
            if (count <= largest &&
                !check_counted(items, sorted_copy(order, items), order, 0, error))
                return error_set(error, "%s, %zu items", shape.name, count);
        }
    return true;
}

/* What is not counted stays as it is; so does the key that stands for none. */
template <typename K>
static bool check_full(struct error *error)
{
    const struct key_order order = orders_of<K>().back();
    for (const struct shape &shape : too_many) {
        const std::vector<K> items = make_items<K>(shape, order, 20011);
        if (!check_counted(items, items, order, RADIX_NOTE_MANY, error))
            return error_set(error, "%s", shape.name);
    }
    std::vector<K> items = make_items<K>(shapes[3], order, 20011);
    items[777] = FEW_NONE<K>;
    return check_counted(items, items, order, RADIX_NOTE_MANY, error);
}

/* ---- the sort as a whole ---- */

/* Sorts; after the first kernels, and after the next ones, the note is to be as said. */
template <typename K>
static bool check_sort(const std::vector<K> &items, struct key_order order, bool is_few,
                       bool is_counted, struct error *error)
{
    struct cuda_sort sort;
    bool is_done = false, is_noted = true;
    bool passed = open_with(&sort, items, order, error) && radix_sort(&sort, error);
    for (unsigned round = 1; passed && !is_done; round++) {
        passed = check(cudaDeviceSynchronize(), error);
        if (round == 1)
            is_noted = (sort.note->count == RADIX_NOTE_FEW) == is_few;
        if (round == 2 && is_few)
            is_noted = is_noted && (sort.note->count == (is_counted ? 0 : RADIX_NOTE_MANY));
        passed = passed && radix_finish(&sort, round, &is_done, error);
    }
    passed = passed && holds(sort, sorted_copy(order, items), error) &&
             (is_noted || error_set(error, "another way than expected"));
    sort_close(&sort);
    return passed;
}

static const struct shape chosen[] = {
    {"extremes", shape_extremes},
    {"1500 values", shape_values<1500>},
};

/* Few values, and so many others that these have no room. */
static uint64_t shape_sparse(size_t i, size_t)
{
    return i % 97 ? i % 3 : random_bits(i);
}

static const struct shape not_chosen[] = {
    {"5000 values", shape_values<5000>},
    {"one in 97 is random", shape_sparse},
};

/* Values of which the sample has none: one key, and so many keys that they have no room. */
template <typename K>
static bool check_hidden(struct key_order order, struct error *error)
{
    const size_t count = RADIX_FEW_LEAST + 5;
    std::vector<K> items = make_items<K>(shapes[3], order, count);
    items[count - 1] = static_cast<K>(987654321); /* behind the last stride */
    if (!check_sort(items, order, true, true, error))
        return false;
    for (size_t i = count / 2; i < count / 2 + 3500; i++) /* a few strides */
        items[i] = item_of<K>(order, random_bits(i), i);
    return check_sort(items, order, true, false, error);
}

template <typename K>
static bool check_choice(struct error *error)
{
    const struct key_order order = orders_of<K>()[1];
    for (const struct shape &shape : chosen)
        if (!check_sort(make_items<K>(shape, order, RADIX_FEW_LEAST), order, true, true, error))
            return error_set(error, "%s", shape.name);
    for (const struct shape &shape : not_chosen)
        if (!check_sort(make_items<K>(shape, order, RADIX_FEW_LEAST), order, false, false, error))
            return error_set(error, "%s", shape.name);
    return check_hidden<K>(order, error);
}

/* ---- claims ---- */

template <typename K>
static void check_width(size_t largest, struct tap_output *tap)
{
    struct error counts_error = {}, full_error = {}, choice_error = {};
    tap_print(tap, check_counts<K>(largest, &counts_error), "few values are counted", sizeof(K),
              counts_error);
    tap_print(tap, check_full<K>(&full_error), "what has no room is left alone", sizeof(K),
              full_error);
    if (largest > RADIX_FEW_LEAST)
        tap_print(tap, check_choice<K>(&choice_error), "radix counts few values", sizeof(K),
                  choice_error);
    else
        tap_skip(tap, "radix counts few values", sizeof(K));
}

int main(int argc, char **argv)
{
    size_t largest = SIZE_MAX;
    int status = 0;
    if (!tap_start(argc, argv, &largest, &status))
        return status;
    printf("1..6\n");
    struct tap_output tap = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    return tap.failed ? 1 : 0;
}
