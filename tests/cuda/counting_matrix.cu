/* SPDX-License-Identifier: Apache-2.0 */
/* counting_matrix.cu - the sort of short keys by counting (cuda/radix/counting_keys.cu): width x
 * order x shape x count, with all counters in a block and with one half of them.
 *
 *   counting_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Arrays of more keys than
 *     LARGEST are left out.
 *
 * What is expected is what std::sort makes of the keys on the host.
 */
#include "tests/cuda/radix_cases.h"

/* ---- arrays ---- */

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

static const struct key_shape shapes[] = {
    {"random", shape_random}, {"sorted", shape_sorted},       {"reversed", shape_reversed},
    {"zipf", shape_zipf},     {"exponents", shape_exponents}, {"runs", shape_runs},
};

/* Those with values that come very often. */
static const struct key_shape crowded_shapes[] = {
    {"all equal", shape_all_equal},    {"two values", shape_two_values},
    {"far apart", shape_apart},        {"one far apart", shape_one_apart},
    {"of one word", shape_neighbours},
};

/* ---- sorts ---- */

template <typename K>
static bool check_case(const struct key_shape &shape, struct key_order order, size_t count,
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

/* Each shape in one of the orders. All values of 2 bytes are scanned, however few keys there are:
 * of these, shapes take turns. */
template <typename K, size_t N>
static bool check_shapes(const struct key_shape (&some)[N], size_t count, size_t shared_most,
                         struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    const size_t turns = sizeof(K) > 1 && count < 10000 ? 6 : 1;
    for (size_t i = count % turns; i < N; i += turns)
        if (!check_case<K>(some[i], orders[(count + i) % orders.size()], count, shared_most, error))
            return false;
    return true;
}

/* Around what a lane, a warp and a block take at a time. */
template <typename K>
static bool check_counts(size_t largest, size_t shared_most, struct error *error)
{
    const size_t word = 16 / sizeof(K), row = 32 * word, block = 32 * row;
    for (const size_t count : {(size_t)0, (size_t)1, word - 1, word, word + 1, row - 1, row,
                               row + 1, 8 * row, block - 1, block + 1, (size_t)100003})
        if (count <= largest && (!check_shapes<K>(shapes, count, shared_most, error) ||
                                 !check_shapes<K>(crowded_shapes, count, shared_most, error)))
            return false;
    return true;
}

/* So many keys that a block has more of a value than a counter of 16 bits holds; 0 if the device
 * does not say. */
static size_t many_keys()
{
    int multiprocessors = 0;
    (void)cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    return 70001 * (size_t)multiprocessors;
}

/* ---- claims ---- */

template <typename K>
static void check_width(size_t largest, size_t shared_most, const char *claims[2],
                        struct tap_output *tap)
{
    struct error counts_error = {}, many_error = {};
    tap_print(tap, check_counts<K>(largest, shared_most, &counts_error), claims[0], sizeof(K),
              counts_error);
    const size_t many = many_keys();
    if (many > largest)
        tap_skip(tap, claims[1], sizeof(K));
    else
        tap_print(tap, many > 0 && check_shapes<K>(crowded_shapes, many, shared_most, &many_error),
                  claims[1], sizeof(K), many_error);
}

int main(int argc, char **argv)
{
    const char *whole[] = {"sorted by counting", "more keys than a counter holds"};
    const char *halves[] = {"sorted with half of the counters",
                            "more keys than one of these holds"};
    size_t largest = SIZE_MAX;
    int status = 0;
    if (!tap_start(argc, argv, &largest, &status))
        return status;
    printf("1..6\n");
    struct tap_output tap = {};
    check_width<uint8_t>(largest, SIZE_MAX, whole, &tap);
    check_width<uint16_t>(largest, SIZE_MAX, whole, &tap);
    check_width<uint16_t>(largest, (size_t)64 << 10, halves, &tap);
    return tap.failed ? 1 : 0;
}
