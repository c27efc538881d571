/* SPDX-License-Identifier: Apache-2.0 */
/* mending_matrix.cu - the sort by the digits of a code (cuda/radix_code.cuh) and what is mended
 * behind it (cuda/radix_mend.cuh): width x order x code x runs of keys that share one.
 *
 *   mending_matrix [EVERY]
 *     prints TAP, a line for each width and code; exits 1 on a mismatch. Of the arrays of a claim
 *     each EVERY-th (1 or more) is sorted: a few for tools under which kernels take long.
 *
 * What is expected is what std::sort makes of the items on the host. Runs that are left open are
 * sorted here; how many there are is part of what is expected.
 */
#include "cuda/radix_fetch.cuh"
#include "cuda/radix_mend.cuh"
#include "tests/digits_cases.h"

/* ---- runs of keys that share a prefix ---- */

/* Where a sorted array has keys of one prefix: from there on, in tiles of those that mend, and so
 * many, in the most that are mended. */
struct run {
    double first_tile;
    int first_more;
    double most;
    int more;
    unsigned values; /* of what is below the prefix, or: */
};

/* All are equal but for one that is out of order, if keys come in that of the run. */
enum { LAST_IS_LESS = 1000, SECOND_IS_LESS };

/* What becomes of an array of so many tiles with these runs: how many stay open, or the note. */
static const struct runs_case {
    const char *name;
    double tiles;
    size_t noted;
    std::vector<struct run> runs;
} runs_cases[] = {
    {"no runs", 3.5, 0, {}},
    {"pairs at the ends of a tile", 3, 0, {{0, 0, 0, 2, 9}, {1, -2, 0, 2, 9}, {1, 0, 0, 2, 9}}},
    {"over the end of a tile", 3.5, 0, {{1, -1, 0, 2, 9}, {2, -3, 0, 70, 9}, {3, -1, 0, 64, 9}}},
    {"over the end by 64", 3, 0, {{1, -1, 0, 65, 9}, {2, -2, 0, 67, 9}}},
    {"as many as are mended", 3, 0, {{0, 0, 1, 0, 20}, {1, -1, 1, 0, 20}, {1.5, 7, 1, 0, 20}}},
    {"to the ends of tiles", 4, 0, {{1, -256, 1, 0, 20}, {2, 0, 1, 0, 20}, {3, -255, 1, 0, 20}}},
    {"at the end", 3.5, 0, {{3.5, -256, 1, 0, 20}}},
    {"one more, at the end", 3.5, 1, {{3.5, -257, 1, 1, 3}}},
    {"one more", 9, 3, {{0, 0, 1, 1, 3}, {1.5, 5, 1, 1, 3}, {3, -257, 1, 1, 3}}},
    {"one more, over the end", 9, 3, {{1, -1, 1, 1, 3}, {3, -256, 1, 1, 3}, {5, -99, 1, 1, 3}}},
    {"beside one another",
     9,
     3,
     {{1, 9, 1, 1, 3}, {1, 266, 1, 1, 3}, {1, 523, 1, 0, 3}, {2, -99, 1, 9, 3}}},
    {"a long one", 40, 1, {{7, 5, 18, 7, 3}}},
    {"long ones of one value", 40, 0, {{1, 5, 18, 7, 1}, {9, 0, 36, 0, 1}, {25, 0, 60, 0, 1}}},
    {"with a less one", 40, 1, {{1, 5, 18, 7, LAST_IS_LESS}, {20, 0, 36, 0, 1}}},
    {"with a greater one", 40, 1, {{1, 5, 18, 7, SECOND_IS_LESS}, {20, 0, 36, 0, 1}}},
    {"with a less one, the first of a tile", 40, 1, {{10, -1023, 4, 0, LAST_IS_LESS}}},
    {"short, with a greater one", 4, 0, {{1, -5, 1, 0, SECOND_IS_LESS}, {2, 0, 1, 0, 1}}},
    {"short, with a less one", 4, 0, {{1, -5, 1, 0, LAST_IS_LESS}, {2, 0, 1, 9, 1}}},
    {"too many keys", 12, RADIX_NOTE_AGAIN, {{1, 5, 18, 7, 3}}},
    {"too many runs",
     24,
     RADIX_NOTE_AGAIN,
     {{1, 0, 1, 1, 3},
      {3, 0, 1, 1, 3},
      {5, 0, 1, 1, 3},
      {7, 0, 1, 1, 3},
      {9, 0, 1, 1, 3},
      {11, 0, 1, 1, 3},
      {13, 0, 1, 1, 3},
      {15, 0, 1, 1, 3},
      {17, 0, 1, 1, 3}}},
};

/* From the number of a prefix, spread over so many bits, and what is below it, to a key. A layout
 * has an even number of digits for the prefix, and some below them. */
static const struct layout {
    const char *name;
    unsigned bits;
    uint64_t (*key)(uint64_t prefix, uint64_t rest);
} layouts[] = {
    {"two digits", 16,
     [](uint64_t prefix, uint64_t rest) { return prefix << 24 | rest * 0x10101; }},
    {"constant digits", 16,
     [](uint64_t prefix, uint64_t rest) {
         return (uint64_t)0xe << 60 | prefix >> 8 << 48 | (uint64_t)0x77 << 40 |
                (prefix & 255) << 32 | rest << 4;
     }},
    {"four digits", 20,
     [](uint64_t prefix, uint64_t rest) {
         return prefix >> 15 << 56 | (prefix >> 10 & 31) << 48 | (prefix >> 5 & 31) << 40 |
                (prefix & 31) << 32 | rest * 0x101;
     }},
};

/* In what order the keys of the input are. */
enum arrangement { ARRANGED_MIXED, ARRANGED_UP, ARRANGED_DOWN, ARRANGEMENTS };

static size_t run_edge(double tiles, int more, size_t tile)
{
    return (size_t)((long)(tiles * (double)tile) + more);
}

/* What is below the prefix in the run's key i of `count`. */
static uint64_t rest_in_run(const struct run &run, size_t i, size_t count)
{
    if (run.values == LAST_IS_LESS)
        return i + 1 < count;
    if (run.values == SECOND_IS_LESS)
        return i != 1;
    return random_bits(i) % run.values;
}

/* Keys in order of their prefix; those of a run have one. */
static std::vector<uint64_t> make_runs(const struct runs_case &runs, const struct layout &layout,
                                       size_t tile)
{
    const size_t count = run_edge(runs.tiles, 0, tile);
    std::vector<uint64_t> keys(count);
    for (size_t i = 0; i < count; i++)
        keys[i] = layout.key(((uint64_t)i << layout.bits) / count, random_bits(i) % 200);
    for (const struct run &run : runs.runs) {
        const size_t first = run_edge(run.first_tile, run.first_more, tile);
        const size_t end = first + run_edge(run.most, run.more, RADIX_MEND_MOST);
        for (size_t i = first; i < end; i++)
            keys[i] = layout.key(((uint64_t)first << layout.bits) / count,
                                 rest_in_run(run, i - first, end - first));
    }
    return keys;
}

/* The order in which keys come: of a run whose last key is less than the others it stays the last.
 */
static std::vector<size_t> arrange(size_t count, enum arrangement arrangement)
{
    std::vector<size_t> places(count);
    for (size_t i = 0; i < count; i++)
        places[i] = arrangement == ARRANGED_DOWN ? count - 1 - i : i;
    if (arrangement == ARRANGED_MIXED)
        for (size_t i = count - 1; i > 0; i--)
            std::swap(places[i], places[random_bits(i) % (i + 1)]);
    return places;
}

template <typename K>
static std::vector<K> make_runs_items(const std::vector<uint64_t> &keys,
                                      enum arrangement arrangement, struct key_order order)
{
    const std::vector<size_t> places = arrange(keys.size(), arrangement);
    std::vector<K> items(keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
        const uint64_t key = keys[places[i]];
        if constexpr (sizeof(K) == 16)
            items[i] = (K)key << 64 | (((uint64_t)5 << 32) - 3 + i);
        else
            items[i] = (K)key_order_decode(order, 64, key);
    }
    return items;
}

/* Sorts the runs that are open where they lie, on the host. */
template <typename K>
static bool close_runs(const struct device_memory &memory, struct key_order order,
                       struct error *error)
{
    struct radix_open open[open_most];
    const size_t count = memory.sort.note->count;
    if (count > open_most)
        return error_set(error, "%zu runs are open", count);
    if (!check(cudaMemcpy(open, memory.open, count * sizeof *open, cudaMemcpyDeviceToHost), error))
        return false;
    for (size_t i = 0; i < count; i++) {
        std::vector<K> run(open[i].count);
        K *const items = (K *)memory.sort.items + open[i].first;
        if (!check(cudaMemcpy(run.data(), items, run.size() * sizeof(K), cudaMemcpyDeviceToHost),
                   error))
            return false;
        run = sorted_copy(order, run);
        if (!check(cudaMemcpy(items, run.data(), run.size() * sizeof(K), cudaMemcpyHostToDevice),
                   error))
            return false;
    }
    return true;
}

/* Whatever the note says. */
static const size_t noted_any = SIZE_MAX - 99;

/* What a sort by a code is to do. */
struct code_case {
    size_t noted;
    struct key_order order;
    size_t portion;
    bool has_path;          /* of a code that is none of shares */
    const uint32_t *shares; /* RADIX_SHARES of them, or NULL: none are given */
};

/* Finishes a sort by a code as its note says. */
template <typename K>
static bool check_noted(const struct device_memory &memory, const std::vector<K> &items,
                        const struct code_case &wanted, struct error *error)
{
    const size_t note = memory.sort.note->count;
    const struct way again = {wanted.order, RADIX_DIGITS_AGAIN, wanted.portion, false};
    if (note != wanted.noted && wanted.noted != noted_any)
        return error_set(error, "the note is %zu", note);
    if (note == RADIX_NOTE_AGAIN
            ? !start_digits(memory, again, error) || !check(cudaDeviceSynchronize(), error)
            : !close_runs<K>(memory, wanted.order, error))
        return false;
    return holds(memory.sort, sorted_copy(wanted.order, items), error);
}

/* Sorts by a code, that of a path or a prefix, and what that leaves as its note says. */
template <typename K>
static bool check_runs(const std::vector<K> &items, const struct code_case &wanted,
                       struct error *error)
{
    struct radix_digit_plan plan;
    struct device_memory memory;
    bool passed =
        device_open(&memory, items, wanted.order, error) &&
        start_digits(memory, {wanted.order, RADIX_DIGITS_OF_CODE, wanted.portion, false}, error) &&
        check(cudaMemcpy(&plan, memory.sort.workspace, sizeof plan, cudaMemcpyDeviceToHost), error);
    if (passed && (!plan.mends || (plan.code.is_path != 0) != wanted.has_path))
        passed = error_set(error, "%zu keys are sorted by another code", items.size());
    passed = passed && check_noted(memory, items, wanted, error);
    device_close(&memory);
    return passed;
}

/* Puts shares where the sort looks for a code that has been found. */
static bool give_shares(const struct device_memory &memory, const uint32_t *shares,
                        struct error *error)
{
    struct radix_digit_plan *const plan = (struct radix_digit_plan *)memory.sort.workspace;
    const struct radix_code code = {0, 0, 0, 1};
    return check(cudaMemcpy(&plan->code, &code, sizeof code, cudaMemcpyHostToDevice), error) &&
           check(cudaMemcpy(plan->shares, shares, sizeof plan->shares, cudaMemcpyHostToDevice),
                 error);
}

/* The same by a code of shares, given ones or those that the sample has. */
static bool check_shares(const std::vector<key_u128> &items, const struct code_case &wanted,
                         struct error *error)
{
    struct device_memory memory;
    const struct way way = {wanted.order, RADIX_DIGITS_OF_SHARES, wanted.portion,
                            wanted.shares != NULL};
    const bool passed = device_open(&memory, items, wanted.order, error) &&
                        (!wanted.shares || give_shares(memory, wanted.shares, error)) &&
                        start_digits(memory, way, error) && check(cudaDeviceSynchronize(), error) &&
                        check_noted(memory, items, wanted, error);
    device_close(&memory);
    return passed;
}

/* Keys that come in order leave nothing to mend. */
template <typename K>
static bool check_mending(size_t every, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const struct runs_case &runs : runs_cases)
        for (const struct layout &layout : layouts) {
            const std::vector<uint64_t> keys = make_runs(runs, layout, RADIX_MEND_TILE<K>);
            if (keys.size() > (size_t)1 << layout.bits || ++number % every != 0)
                continue;
            const bool is_odd = !runs.runs.empty() && runs.runs[0].values >= LAST_IS_LESS;
            const enum arrangement arrangement =
                is_odd ? ARRANGED_UP
                       : (enum arrangement)(number / 3 % 2 ? ARRANGED_MIXED : ARRANGED_DOWN);
            const size_t portion = number % 2 ? 3 * RADIX_DIGIT_TILE<K> : 0;
            const struct key_order order = orders[number % orders.size()];
            const std::vector<K> items = make_runs_items<K>(keys, arrangement, order);
            struct error inner = {};
            if (!check_runs(items, {runs.noted, order, portion, false, NULL}, &inner))
                return error_set(error, "%s, %s: %s", runs.name, layout.name, inner.message);
        }
    return true;
}

/* Half of the keys agree in their first bytes, or all crowd at 0, or at the other end, or around a
 * place: below it, above, and there. */
template <unsigned BITS>
static uint64_t shape_hot_start(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return bits & 1 ? bits : 0x3a3a3a3a3a3a3a3au >> BITS << BITS | bits >> (64 - BITS);
}

static uint64_t shape_high_exponents(size_t i, size_t n)
{
    return ~shape_exponents(i, n);
}

static uint64_t shape_around(size_t i, size_t n)
{
    const uint64_t bits = shape_exponents(i, n), place = 0x5555555555555555u;
    return random_bits(~i) & 1 ? place + (bits >> 2) : place - (bits >> 2);
}

/* At the end of a path are keys that share its code, and then more than a run may have. */
static uint64_t shape_path_end(size_t i, size_t n)
{
    const uint64_t bits = random_bits(i);
    return i % 64 == 5 ? (uint64_t)0x80 << 56 | (bits & 1) : shape_exponents(i, n) >> 1;
}

static const struct shape path_shapes[] = {
    {"exponents", shape_exponents},
    {"high exponents", shape_high_exponents},
    {"around a place", shape_around},
    {"24 bits at a place", shape_hot_start<24>},
    {"16 bits at a place", shape_hot_start<16>},
    {"a run beside the path", shape_path_end},
};

template <typename K>
static bool check_paths(size_t every, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    const size_t tile = RADIX_DIGIT_TILE<K>;
    size_t number = 0;
    for (const struct shape &shape : path_shapes)
        for (const size_t count : {4 * tile, 12 * tile + 7}) {
            if (++number % every != 0)
                continue;
            const struct key_order order = orders[number % orders.size()];
            const size_t portion = number % 3 ? 3 * tile : 0;
            const std::vector<K> items = make_items<K>(shape, order, count);
            struct error inner = {};
            if (!check_runs(items, {noted_any, order, portion, true, NULL}, &inner))
                return error_set(error, "%s: %s", shape.name, inner.message);
        }
    return true;
}

/* ---- by shares ---- */

/* All values of a digit have the same share: the code is a prefix of the key. */
static std::vector<uint32_t> even_shares()
{
    const uint32_t width = 1u << (RADIX_SHARE_BITS - RADIX_DIGIT_BITS);
    std::vector<uint32_t> shares(RADIX_SHARES);
    for (uint32_t i = 0; i < RADIX_SHARES; i++)
        shares[i] = i % RADIX_DIGIT_VALUES * width << RADIX_SHARE_BITS | width;
    return shares;
}

/* Shares at random; or one value of each digit, another one each time, has nearly all. */
static std::vector<uint32_t> odd_shares(unsigned number)
{
    std::vector<uint32_t> shares(RADIX_SHARES);
    uint32_t before = 0;
    for (unsigned i = 0; i < RADIX_SHARES; i++) {
        const unsigned value = i % RADIX_DIGIT_VALUES, digit = i / RADIX_DIGIT_VALUES;
        const bool is_most = value == (29 * number + 83 * digit) % RADIX_DIGIT_VALUES;
        const uint32_t most = is_most ? (1u << RADIX_SHARE_BITS) - RADIX_DIGIT_VALUES + 1 : 1;
        const uint32_t width =
            number % 2 == 0 ? most : 1 + (uint32_t)(random_bits(number * RADIX_SHARES + i) % 400);
        before = value == 0 ? 0 : before;
        shares[i] = before << RADIX_SHARE_BITS | width;
        before += width;
    }
    return shares;
}

/* Of even shares, the first bytes are the code: as many as are sorted by. */
static const struct layout share_layout = {"even shares", 24, [](uint64_t prefix, uint64_t rest) {
                                               return prefix << 40 | rest * 0x10101;
                                           }};

static bool check_share_runs(size_t every, struct error *error)
{
    const std::vector<uint32_t> shares = even_shares();
    size_t number = 0;
    for (const struct runs_case &runs : runs_cases)
        for (int arrangement = 0; arrangement < ARRANGEMENTS; arrangement++, number++) {
            const std::vector<uint64_t> keys = make_runs(runs, share_layout, RADIX_FETCH_TILE);
            const bool is_odd = !runs.runs.empty() && runs.runs[0].values >= LAST_IS_LESS;
            if ((is_odd ? arrangement != ARRANGED_UP : arrangement == ARRANGED_UP) ||
                number % every != 0)
                continue;
            const size_t portion = number % 2 ? 3 * RADIX_DIGIT_TILE<uint64_t> : 0;
            const struct key_order order = key_order_identity();
            const std::vector<key_u128> items =
                make_runs_items<key_u128>(keys, (enum arrangement)arrangement, order);
            struct error inner = {};
            if (!check_shares(items, {runs.noted, order, portion, false, shares.data()}, &inner))
                return error_set(error, "%s, arrangement %d: %s", runs.name, arrangement,
                                 inner.message);
        }
    return true;
}

/* Each byte is the same in half of the keys. */
static uint64_t shape_hot_bytes(size_t i, size_t)
{
    const uint64_t chosen = (random_bits(~i) & 0x0101010101010101u) * 0xff;
    return (0x3a3a3a3a3a3a3a3au & chosen) | (random_bits(i) & ~chosen);
}

/* The first four bytes are one value, which a code takes for four. */
static uint64_t shape_same_bytes(size_t i, size_t)
{
    const uint64_t bits = random_bits(i);
    return (bits >> 56) * 0x0101010100000000u | (bits & UINT32_MAX);
}

/* Shares of the sample do for bytes that go each by itself; else the keys stay as they are. */
static bool check_learned_shares(struct error *error)
{
    const struct key_order order = key_order_identity();
    for (const size_t count : {(size_t)9001, (size_t)40001}) {
        const std::vector<key_u128> hot = make_items<key_u128>({"", shape_hot_bytes}, order, count);
        std::vector<key_u128> stay = make_items<key_u128>({"", shape_same_bytes}, order, count);
        struct device_memory memory;
        if (!check_shares(hot, {0, order, 0, false, NULL}, error))
            return error_set(error, "%zu items: hot bytes", count);
        const bool passed =
            device_open(&memory, stay, order, error) &&
            start_digits(memory, {order, RADIX_DIGITS_OF_SHARES, 0, false}, error) &&
            check(cudaDeviceSynchronize(), error) && holds(memory.sort, stay, error) &&
            (memory.sort.note->count == RADIX_NOTE_DIGITS || error_set(error, "shares do"));
        device_close(&memory);
        if (!passed)
            return false;
    }
    return true;
}

/* Whatever shares are given, a greater key has no lesser code. */
static bool check_any_shares(size_t every, struct error *error)
{
    static const struct shape others[] = {
        {"random", shape_random}, {"two values", shape_two_values}, {"zipf", shape_zipf}};
    const struct key_order order = key_order_identity();
    const size_t tile = RADIX_FETCH_TILE;
    std::vector<struct shape> all(path_shapes, path_shapes + std::size(path_shapes));
    all.insert(all.end(), others, others + std::size(others));
    unsigned number = 0;
    for (const struct shape &shape : all)
        for (const size_t count : {(size_t)1, tile, tile + 1, 5 * tile - 1, 20 * tile + 7}) {
            if (++number % every != 0)
                continue;
            const std::vector<uint32_t> odd = odd_shares(number);
            const std::vector<key_u128> items = make_items<key_u128>(shape, order, count);
            const size_t portion = number % 3 ? 2 * RADIX_DIGIT_TILE<uint64_t> : 0;
            struct error inner = {};
            if (!check_shares(items, {noted_any, order, portion, false, odd.data()}, &inner))
                return error_set(error, "%s, %zu: %s", shape.name, count, inner.message);
        }
    return true;
}

template <typename K>
static void check_width(size_t every, struct tap_output *tap)
{
    struct error run_error = {}, path_error = {};
    tap_print(tap, check_mending<K>(every, &run_error), "runs of a prefix", sizeof(K), run_error);
    tap_print(tap, check_paths<K>(every, &path_error), "by a path", sizeof(K), path_error);
}

static void check_code_of_shares(size_t every, struct tap_output *tap)
{
    struct error run_error = {}, any_error = {}, own_error = {};
    const unsigned bytes = sizeof(key_u128);
    tap_print(tap, check_share_runs(every, &run_error), "runs of a code of shares", bytes,
              run_error);
    tap_print(tap, check_any_shares(every, &any_error), "by any shares", bytes, any_error);
    tap_print(tap, check_learned_shares(&own_error), "by learned shares", bytes, own_error);
}

int main(int argc, char **argv)
{
    size_t every = 1;
    int status = 0;
    if (!tap_start(argc, argv, &every, &status))
        return status;
    printf("1..7\n");
    struct tap_output tap = {};
    check_width<uint64_t>(every, &tap);
    check_width<key_u128>(every, &tap);
    check_code_of_shares(every, &tap);
    return tap.failed ? 1 : 0;
}
