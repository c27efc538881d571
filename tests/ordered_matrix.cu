/* SPDX-License-Identifier: Apache-2.0 */
/* ordered_matrix.cu - arrays that radix finds to be in order (cuda/radix_ordered.cuh), and arrays
 * with one key out of place: width x order x shape x count, and every place.
 *
 *   ordered_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Arrays of more items than
 *     LARGEST are left out of the claims about the sort as a whole.
 *
 * The two kernels are told arrays of any count, where radix_sort looks from radix_order_least() on.
 * What they are to find is what std::is_sorted finds on the host. That a whole sort has seen the
 * order shows in the scratch array, which it then leaves alone.
 */
#include "cuda/launch.cuh"
#include "cuda/radix_ordered.cuh"
#include "tests/radix_cases.h"

/* ---- arrays ---- */

static uint64_t shape_sorted_runs(size_t i, size_t n)
{
    return shape_sorted(i / 37, n);
}

static uint64_t shape_reversed_runs(size_t i, size_t n)
{
    return shape_sorted((n - 1 - i) / 37, n);
}

static const struct shape shapes[] = {
    {"sorted", shape_sorted},
    {"reversed", shape_reversed},
    {"sorted, with equal keys", shape_sorted_runs},
    {"reversed, with equal keys", shape_reversed_runs},
    {"all equal", shape_all_equal},
};

/* Items of 16 bytes have their key for an index too, so that those of equal keys are equal. */
template <typename K>
static K own_item(struct key_order order, uint64_t ordered)
{
    return item_of<K>(order, ordered, ordered);
}

template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = own_item<K>(order, shape.key(i, count));
    return items;
}

/* True if no key stands before a smaller one, or none before a greater one. */
template <typename K>
static bool is_in_order(struct key_order order, const std::vector<K> &items)
{
    const auto is_less = [order](K a, K b) { return encoded(order, a) < encoded(order, b); };
    return std::is_sorted(items.begin(), items.end(), is_less) ||
           std::is_sorted(items.rbegin(), items.rend(), is_less);
}

/* ---- the device ---- */

static const unsigned char untouched = 0x5c;

struct device_memory {
    struct cuda_sort sort;
    unsigned *answers;
    struct radix_segments *whole;
    struct radix_totals *totals;
};

static bool device_open(struct device_memory *memory, size_t count, unsigned item_bytes,
                        struct error *error)
{
    *memory = {};
    return sort_open(&memory->sort, count, item_bytes, 4096, untouched, error) &&
           check(cudaMalloc(&memory->answers, RADIX_ORDER_ANSWERS * sizeof(unsigned)), error) &&
           check(cudaMalloc(&memory->whole, sizeof *memory->whole), error) &&
           check(cudaMalloc(&memory->totals, sizeof *memory->totals), error);
}

static void device_close(struct device_memory *memory)
{
    (void)cudaFree(memory->totals);
    (void)cudaFree(memory->whole);
    (void)cudaFree(memory->answers);
    sort_close(&memory->sort);
}

/* ---- the kernels ---- */

template <typename K>
static bool start_kernels(const struct device_memory &memory, size_t blocks, bool has_choice,
                          struct error *error)
{
    K *const items = static_cast<K *>(memory.sort.items);
    const struct launch order = {"radix_order_kernel", blocks, RADIX_ORDER_THREADS, 0, NULL};
    const struct launch whole = {"radix_whole_kernel", blocks, RADIX_ORDER_THREADS, 0, NULL};
    const struct radix_look look = {memory.answers, static_cast<unsigned>(blocks), false};
    return launch_kernel(order, error, radix_order_kernel<K>, static_cast<const K *>(items),
                         memory.sort.count, memory.sort.order, look) &&
           launch_kernel(whole, error, radix_whole_kernel<K>, items, memory.sort.count, look,
                         has_choice, memory.whole, memory.totals, memory.sort.note);
}

/* Items in order are sorted after the kernels and the segment is empty; others are as they were,
 * in one segment. */
template <typename K>
static bool check_kernels(struct device_memory *memory, struct key_order order,
                          const std::vector<K> &items, size_t blocks, struct error *error)
{
    const bool is_ordered = is_in_order(order, items);
    struct radix_segments whole;
    memory->sort.order = order;
    if (!send(memory->sort, items, error) || !start_kernels<K>(*memory, blocks, false, error) ||
        !check(cudaMemcpy(&whole, memory->whole, sizeof whole, cudaMemcpyDeviceToHost), error))
        return false;
    const unsigned tiles = is_ordered ? 0 : radix_tiles_of<K>(items.size());
    if (whole.keys[0] != (is_ordered ? 0 : items.size()) || whole.tiles[RADIX_SEGMENTS] != tiles)
        return error_set(error, "%zu items %s order make a segment of %llu in %u tiles",
                         items.size(), is_ordered ? "in" : "out of", whole.keys[0],
                         whole.tiles[RADIX_SEGMENTS]);
    return holds(memory->sort, is_ordered ? sorted_copy(order, items) : items, error);
}

/* Keys of 8 bytes whose low halves are in order, but for those `from` some place on: an empty
 * segment and a note for digits, if they have the choice and the identical order, else one segment.
 */
static bool check_index(struct key_order order, bool has_choice, size_t from, struct error *error)
{
    std::vector<uint64_t> items(3 * RADIX_ORDER_PIECE<uint64_t>);
    for (size_t i = 0; i < items.size(); i++)
        items[i] = random_bits(i) << 32 | (i < from ? i : 0);
    const bool is_left = has_choice && key_order_is_identity(order) && from == items.size();
    struct device_memory memory;
    struct radix_segments whole;
    struct radix_totals totals;
    bool passed = device_open(&memory, items.size(), sizeof items[0], error) &&
                  send(memory.sort, items, error);
    memory.sort.order = order;
    passed =
        passed && start_kernels<uint64_t>(memory, 3, has_choice, error) &&
        check(cudaMemcpy(&whole, memory.whole, sizeof whole, cudaMemcpyDeviceToHost), error) &&
        check(cudaMemcpy(&totals, memory.totals, sizeof totals, cudaMemcpyDeviceToHost), error) &&
        holds(memory.sort, items, error);
    device_close(&memory);
    const size_t keys = is_left ? 0 : items.size();
    const unsigned long long way = is_left ? RADIX_NOTE_INDICES : 0;
    if (passed && (whole.keys[0] != keys || totals.count != keys || totals.other_way != way))
        return error_set(error, "%llu keys in one segment, note %llu", whole.keys[0],
                         totals.other_way);
    return passed;
}

static bool check_indices(struct error *error)
{
    const size_t all = 3 * RADIX_ORDER_PIECE<uint64_t>;
    for (const struct key_order &order : orders_of<uint64_t>())
        for (const size_t from : {all, all - 1, all / 2})
            if (!check_index(order, true, from, error) || !check_index(order, false, from, error))
                return false;
    return true;
}

/* Places that a key may be out of: all of a small array; else those where a sample is taken, and
 * where pieces meet. */
template <typename K>
static std::vector<size_t> places_of(size_t count)
{
    std::vector<size_t> places;
    const auto add_around = [&](size_t place) {
        for (size_t i = place > 0 ? place - 1 : 0; i <= place + 1 && i < count; i++)
            places.push_back(i);
    };
    if (count <= 40)
        for (size_t i = 0; i < count; i++)
            places.push_back(i);
    for (const size_t place : {(size_t)0, count / 2, count - 1})
        add_around(place);
    for (unsigned sample : {1u, 2u, RADIX_ORDER_SAMPLE / 2, RADIX_ORDER_SAMPLE - 1})
        add_around(sample * ((count - 1) / RADIX_ORDER_SAMPLE));
    for (size_t piece = RADIX_ORDER_PIECE<K>; piece < count; piece += RADIX_ORDER_PIECE<K>)
        add_around(piece);
    return places;
}

template <typename K>
static std::vector<size_t> kernel_counts()
{
    constexpr size_t piece = RADIX_ORDER_PIECE<K>;
    return {1, 2, 3, 39, 128, 129, 130, piece - 1, piece, piece + 1, 3 * piece + 2};
}

/* The shape as it is, then with the least and with the greatest key at each place. */
template <typename K>
static bool check_shape(struct device_memory *memory, const struct shape &shape,
                        struct key_order order, size_t blocks, bool is_broken, struct error *error)
{
    std::vector<K> items = make_items<K>(shape, order, memory->sort.count);
    if (!is_broken)
        return check_kernels(memory, order, items, blocks, error);
    for (const size_t place : places_of<K>(items.size())) {
        const K kept = items[place];
        for (const uint64_t key : {(uint64_t)0, UINT64_MAX}) {
            items[place] = own_item<K>(order, key);
            if (!check_kernels(memory, order, items, blocks, error))
                return false;
        }
        items[place] = kept;
    }
    return true;
}

/* By one block and by three; keys out of place, of which there are many, in one order a shape. */
template <typename K>
static bool check_count(size_t count, bool is_broken, struct error *error)
{
    const std::vector<struct key_order> orders = orders_of<K>();
    struct device_memory memory;
    bool passed = device_open(&memory, count, sizeof(K), error);
    size_t number = 0;
    for (const struct shape &shape : shapes)
        for (size_t i = 0; i < orders.size(); i++, number++)
            if (!is_broken || i == number / orders.size() % orders.size())
                passed = passed && check_shape<K>(&memory, shape, orders[i], 1, is_broken, error) &&
                         check_shape<K>(&memory, shape, orders[i], 3, is_broken, error);
    device_close(&memory);
    return passed;
}

/* ---- the sort as a whole ---- */

static bool finish_sort(const struct cuda_sort &sort, struct error *error)
{
    bool is_done = false;
    for (unsigned round = 1; !is_done; round++)
        if (!check(cudaStreamSynchronize(sort.stream), error) ||
            !radix_finish(&sort, round, &is_done, error))
            return false;
    return true;
}

static bool is_scratch_untouched(const struct cuda_sort &sort, bool *is_untouched,
                                 struct error *error)
{
    std::vector<unsigned char> scratch(sort.count * sort.item_bytes);
    *is_untouched = false;
    if (!check(cudaMemcpy(scratch.data(), sort.scratch, scratch.size(), cudaMemcpyDeviceToHost),
               error))
        return false;
    *is_untouched = std::all_of(scratch.begin(), scratch.end(),
                                [](unsigned char byte) { return byte == untouched; });
    return true;
}

template <typename K>
static bool check_sort(const std::vector<K> &items, struct key_order order, size_t tile_size,
                       struct error *error)
{
    const bool is_seen = items.size() >= radix_order_least(sizeof(K)) && is_in_order(order, items);
    bool is_untouched = false;
    struct cuda_sort sort;
    bool passed = sort_open(&sort, items.size(), sizeof(K), tile_size, untouched, error) &&
                  send(sort, items, error);
    sort.order = order;
    passed = passed && radix_sort(&sort, error) && finish_sort(sort, error) &&
             is_scratch_untouched(sort, &is_untouched, error) &&
             holds(sort, sorted_copy(order, items), error);
    sort_close(&sort);
    if (passed && is_untouched != is_seen)
        return error_set(error, "%zu items, tiles of %zu: scratch is %s", items.size(), tile_size,
                         is_untouched ? "untouched" : "used");
    return passed;
}

template <typename K>
static bool check_sorts(struct error *error)
{
    const struct key_order order = orders_of<K>().back();
    for (const struct shape &shape : shapes)
        if (!check_sort(make_items<K>(shape, order, radix_order_least(sizeof(K))), order, 4096,
                        error) ||
            !check_sort(make_items<K>(shape, order, radix_order_least(sizeof(K)) + 1), order, 256,
                        error))
            return false;
    std::vector<K> items = make_items<K>(shapes[0], order, radix_order_least(sizeof(K)));
    items[items.size() - 2] = own_item<K>(order, 0);
    return check_sort(items, order, 4096, error);
}

/* ---- claims ---- */

template <typename K>
static void check_width(size_t largest, struct tap_output *tap)
{
    struct error order_error = {}, place_error = {}, sort_error = {};
    bool finds_order = true, finds_places = true;
    for (const size_t count : kernel_counts<K>()) {
        finds_order = finds_order && check_count<K>(count, false, &order_error);
        finds_places = finds_places && check_count<K>(count, true, &place_error);
    }
    tap_print(tap, finds_order, "what is in order is sorted at once", sizeof(K), order_error);
    tap_print(tap, finds_places, "one key out of place is seen", sizeof(K), place_error);
    const char *const leaves_scratch = "a sort leaves scratch alone if it can";
    if (largest > radix_order_least(sizeof(K)))
        tap_print(tap, check_sorts<K>(&sort_error), leaves_scratch, sizeof(K), sort_error);
    else
        tap_skip(tap, leaves_scratch, sizeof(K));
}

int main(int argc, char **argv)
{
    size_t largest = SIZE_MAX;
    int status = 0;
    if (!tap_start(argc, argv, &largest, &status))
        return status;
    printf("1..10\n");
    struct tap_output tap = {};
    struct error index_error = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    check_width<key_u128>(largest, &tap);
    tap_print(&tap, check_indices(&index_error), "keys above an index are left to digits", 8,
              index_error);
    return tap.failed ? 1 : 0;
}
