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
#include "cuda/radix_digits.cuh"
#include "cuda/radix_mend.cuh"
#include "tests/radix_cases.h"

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

/* Items have their place for an index, from `first_index` on. */
template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count,
                                 uint64_t first_index = 7)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, shape.key(i, count), first_index + i);
    return items;
}

/* ---- the device ---- */

struct device_memory {
    struct cuda_sort sort;
    struct radix_segments *whole;
    struct radix_totals *totals;
    struct radix_open *open;
};

static constexpr unsigned open_most = 8;

template <typename K>
static bool device_open(struct device_memory *memory, const std::vector<K> &items,
                        struct key_order order, struct error *error)
{
    *memory = {};
    if (!sort_open(&memory->sort, items.size(), sizeof(K), 4096, 0, error) ||
        !check(cudaMalloc(&memory->whole, sizeof *memory->whole), error) ||
        !check(cudaMalloc(&memory->totals, sizeof *memory->totals), error) ||
        !check(cudaMemset(memory->totals, 0, sizeof *memory->totals), error) ||
        !check(cudaMalloc(&memory->open, open_most * sizeof *memory->open), error))
        return false;
    std::vector<radix_count> whole(sizeof *memory->whole / sizeof(radix_count));
    whole[offsetof(struct radix_segments, keys) / sizeof(radix_count)] = items.size();
    memory->sort.order = order;
    memory->sort.note->count = 0;
    return check(cudaMemcpy(memory->whole, whole.data(), sizeof *memory->whole,
                            cudaMemcpyHostToDevice),
                 error) &&
           send(memory->sort, items, error);
}

static void device_close(struct device_memory *memory)
{
    (void)cudaFree(memory->open);
    (void)cudaFree(memory->totals);
    (void)cudaFree(memory->whole);
    sort_close(&memory->sort);
}

/* ---- digit by digit ---- */

/* How items are sorted: in portions of so many keys, 0: in the greatest ones. */
struct way {
    struct key_order order;
    enum radix_digit_way digits;
    size_t portion;
};

static bool start_digits(const struct device_memory &memory, const struct way &way,
                         struct error *error)
{
    struct radix_digit_task task = {};
    task.way = way.digits;
    task.whole = memory.whole;
    task.memory = memory.sort.workspace;
    task.portion = way.portion ? way.portion : RADIX_DIGIT_PORTION;
    task.totals = memory.totals;
    task.open = memory.open;
    task.open_most = open_most;
    return radix_digit_sort(&memory.sort, &task, error);
}

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
    const size_t tile = RADIX_DIGIT_TILE<K>;
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const size_t count : {(size_t)1, (size_t)2, tile - 1, tile, tile + 1, 4 * tile + 5})
        for (const struct shape &shape : shapes) {
            const struct way way = {orders[number % orders.size()], RADIX_DIGITS_AGAIN,
                                    number / orders.size() % 3 * tile};
            const std::vector<K> items = make_items<K>(shape, way.order, count);
            if (!check_digits(items, sorted_copy(way.order, items), way, 0, error))
                return error_set(error, "%s, portions of %zu", shape.name, way.portion);
            number++;
        }
    return true;
}

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

/* Sorts by a code, that of a path or a prefix, and what that leaves as its note says. */
template <typename K>
static bool check_runs(const std::vector<K> &items, size_t noted, bool has_path,
                       struct key_order order, size_t portion, struct error *error)
{
    struct radix_digit_plan plan;
    struct device_memory memory;
    bool passed =
        device_open(&memory, items, order, error) &&
        start_digits(memory, {order, RADIX_DIGITS_OF_CODE, portion}, error) &&
        check(cudaMemcpy(&plan, memory.sort.workspace, sizeof plan, cudaMemcpyDeviceToHost), error);
    if (passed && (!plan.mends || (plan.code.is_path != 0) != has_path))
        passed = error_set(error, "%zu keys are sorted by another code", items.size());
    if (passed && memory.sort.note->count != noted && noted != noted_any)
        passed = error_set(error, "the note is %zu", memory.sort.note->count);
    if (passed && memory.sort.note->count == RADIX_NOTE_AGAIN)
        passed = start_digits(memory, {order, RADIX_DIGITS_AGAIN, portion}, error) &&
                 check(cudaDeviceSynchronize(), error);
    else if (passed)
        passed = close_runs<K>(memory, order, error);
    passed = passed && holds(memory.sort, sorted_copy(order, items), error);
    device_close(&memory);
    return passed;
}

/* Keys that come in order leave nothing to mend. */
template <typename K>
static bool check_mending(struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    size_t number = 0;
    for (const struct runs_case &runs : runs_cases)
        for (const struct layout &layout : layouts) {
            const std::vector<uint64_t> keys = make_runs(runs, layout, RADIX_MEND_TILE<K>);
            if (keys.size() > (size_t)1 << layout.bits)
                continue;
            const bool is_odd = !runs.runs.empty() && runs.runs[0].values >= LAST_IS_LESS;
            const enum arrangement arrangement =
                is_odd ? ARRANGED_UP
                       : (enum arrangement)(number / 3 % 2 ? ARRANGED_MIXED : ARRANGED_DOWN);
            const size_t portion = number % 2 ? 3 * RADIX_DIGIT_TILE<K> : 0;
            const struct key_order order = orders[number % orders.size()];
            const std::vector<K> items = make_runs_items<K>(keys, arrangement, order);
            struct error inner = {};
            if (!check_runs(items, runs.noted, false, order, portion, &inner))
                return error_set(error, "%s, %s: %s", runs.name, layout.name, inner.message);
            number++;
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
static bool check_paths(struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    const size_t tile = RADIX_DIGIT_TILE<K>;
    size_t number = 0;
    for (const struct shape &shape : path_shapes)
        for (const size_t count : {4 * tile, 12 * tile + 7}) {
            const struct key_order order = orders[number % orders.size()];
            const size_t portion = number % 3 ? 3 * tile : 0;
            const std::vector<K> items = make_items<K>(shape, order, count);
            struct error inner = {};
            if (!check_runs(items, noted_any, true, order, portion, &inner))
                return error_set(error, "%s: %s", shape.name, inner.message);
            number++;
        }
    return true;
}

/* Keys of 8 bytes above an index; those whose low halves are none stay as they are. */
static bool check_indices(struct error *error)
{
    const struct way way = {key_order_identity(), RADIX_DIGITS_ABOVE_INDEX, 0};
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
           check_sort(make_items<uint64_t>(hot_prefix, turned, count), turned, RADIX_NOTE_DIGITS,
                      error) &&
           check_sort(items, order, RADIX_NOTE_INDICES, error) &&
           check_sort(items, turned, 0, error);
}

/* Items that are refused are sorted all the same. */
static bool check_choice(key_u128, size_t count, struct error *error)
{
    const struct key_order order = key_order_identity();
    std::vector<key_u128> items = make_items<key_u128>(hot, order, count);
    if (!check_sort(items, order, RADIX_NOTE_DIGITS, error) ||
        !check_sort(make_items<key_u128>(hot_prefix, order, count), order, RADIX_NOTE_DIGITS,
                    error))
        return false;
    std::swap(items[count / 2], items[count / 2 + 1]);
    return check_sort(items, order, RADIX_NOTE_DIGITS, error);
}

/* ---- claims ---- */

template <typename K>
static void check_width(size_t largest, struct tap *tap)
{
    struct error digit_error = {}, choice_error = {};
    tap_print(tap, check_counts<K>(&digit_error), "sorted digit by digit", sizeof(K), digit_error);
    if (largest > RADIX_DIGIT_LEAST)
        tap_print(tap, check_choice(K{0}, RADIX_DIGIT_LEAST + 1, &choice_error), "radix chooses",
                  sizeof(K), choice_error);
    else
        tap_skip(tap, "radix chooses", sizeof(K));
}

int main(int argc, char **argv)
{
    size_t largest = RADIX_DIGIT_LEAST + 1;
    int status = 0;
    if (!tap_start(argc, argv, &largest, &status))
        return status;
    printf("1..13\n");
    struct tap tap = {};
    struct error index_error = {}, refused_error = {}, equal_error = {};
    struct error key_error = {}, item_error = {}, key_path_error = {}, item_path_error = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    tap_print(&tap, check_indices(&index_error), "keys above an index", 8, index_error);
    const char *const one_value = "one value, however often it comes";
    if (largest > RADIX_DIGIT_LEAST)
        tap_print(&tap, check_many_equal(&equal_error), one_value, 8, equal_error);
    else
        tap_skip(&tap, one_value, 8);
    tap_print(&tap, check_mending<uint64_t>(&key_error), "runs of a prefix", 8, key_error);
    tap_print(&tap, check_paths<uint64_t>(&key_path_error), "by a path", 8, key_path_error);
    check_width<key_u128>(largest, &tap);
    tap_print(&tap, check_paths<key_u128>(&item_path_error), "by a path", 16, item_path_error);
    tap_print(&tap, check_mending<key_u128>(&item_error), "runs of a prefix", 16, item_error);
    tap_print(&tap, check_refused(&refused_error), "items with another index are left", 16,
              refused_error);
    return tap.failed ? 1 : 0;
}
