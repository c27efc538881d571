/* ordered_matrix.cu - arrays that radix finds to be in order (cuda/radix_ordered.cuh), and arrays
 * with one key out of place: width x order x shape x count, and every place.
 *
 *   ordered_matrix [LARGEST]
 *     prints TAP, a line for each width and claim; exits 1 on a mismatch. Arrays of more items than
 *     LARGEST are left out of the claims about the sort as a whole.
 *
 * The two kernels are told arrays of any count, where radix_sort looks from RADIX_ORDER_LEAST on.
 * What they are to find is what std::is_sorted finds on the host. That a whole sort has seen the
 * order shows in the scratch array, which it then leaves alone.
 */
#include "core/key_order.h"
#include "cuda/cuda_sort.h"
#include "cuda/launch.cuh"
#include "cuda/radix_ordered.cuh"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

/* ---- arrays ---- */

static uint64_t shape_sorted_runs(size_t i, size_t n)
{
    return shape_sorted(i / 37, n);
}

static uint64_t shape_reversed_runs(size_t i, size_t n)
{
    return shape_sorted((n - 1 - i) / 37, n);
}

static const struct shape {
    const char *name;
    uint64_t (*key)(size_t i, size_t n);
} shapes[] = {
    {"sorted", shape_sorted},
    {"reversed", shape_reversed},
    {"sorted, with equal keys", shape_sorted_runs},
    {"reversed, with equal keys", shape_reversed_runs},
    {"all equal", shape_all_equal},
};

template <typename K>
static K item_of(struct key_order order, uint64_t ordered)
{
    if constexpr (sizeof(K) == 16)
        return (K)ordered << 64 | ordered;
    else
        return (K)key_order_decode(order, 8 * sizeof(K), ordered >> (64 - 8 * sizeof(K)));
}

template <typename K>
static K encoded(struct key_order order, K item)
{
    if constexpr (sizeof(K) == 16)
        return item;
    else
        return (K)key_order_encode(order, 8 * sizeof(K), item);
}

template <typename K>
static std::vector<K> make_items(const struct shape &shape, struct key_order order, size_t count)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, shape.key(i, count));
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

template <typename K>
static std::vector<K> sorted_copy(struct key_order order, std::vector<K> items)
{
    std::sort(items.begin(), items.end(),
              [order](K a, K b) { return encoded(order, a) < encoded(order, b); });
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
    struct cuda_sort sort; /* scratch and note for whole sorts alone */
    unsigned *answers;
    struct radix_segments *whole;
    struct radix_totals *totals;
};

static const unsigned char untouched = 0x5c;

static bool device_open(struct device_memory *memory, size_t count, unsigned item_bytes,
                        struct error *error)
{
    *memory = {};
    memory->sort.count = count;
    memory->sort.item_bytes = item_bytes;
    return check(cudaMalloc(&memory->sort.items, count * item_bytes), error) &&
           check(cudaMalloc(&memory->answers, RADIX_ORDER_ANSWERS * sizeof(unsigned)), error) &&
           check(cudaMalloc(&memory->whole, sizeof *memory->whole), error) &&
           check(cudaMalloc(&memory->totals, sizeof *memory->totals), error);
}

static bool device_open_sort(struct device_memory *memory, size_t tile_size, struct error *error)
{
    struct cuda_sort *const sort = &memory->sort;
    const size_t bytes = sort->count * sort->item_bytes;
    sort->tile_size = tile_size;
    return check(cudaMalloc(&sort->scratch, bytes), error) &&
           check(cudaMemset(sort->scratch, untouched, bytes), error) &&
           check(cudaMalloc(&sort->workspace,
                            radix_workspace_bytes(sort->count, tile_size, sort->item_bytes)),
                 error) &&
           check(cudaMallocHost((void **)&sort->note, sizeof *sort->note), error);
}

static void device_close(struct device_memory *memory)
{
    (void)cudaFreeHost(memory->sort.note);
    (void)cudaFree(memory->sort.workspace);
    (void)cudaFree(memory->sort.scratch);
    (void)cudaFree(memory->sort.items);
    (void)cudaFree(memory->answers);
    (void)cudaFree(memory->whole);
    (void)cudaFree(memory->totals);
}

template <typename K>
static bool send(const struct device_memory &memory, const std::vector<K> &items,
                 struct error *error)
{
    return check(cudaMemcpy(memory.sort.items, items.data(), items.size() * sizeof(K),
                            cudaMemcpyHostToDevice),
                 error);
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

/* ---- the kernels ---- */

template <typename K>
static bool start_kernels(const struct device_memory &memory, size_t blocks, struct error *error)
{
    K *const items = static_cast<K *>(memory.sort.items);
    const struct launch order = {"radix_order_kernel", blocks, RADIX_ORDER_THREADS, 0, NULL};
    const struct launch whole = {"radix_whole_kernel", blocks, RADIX_ORDER_THREADS, 0, NULL};
    return launch_kernel(order, error, radix_order_kernel<K>, static_cast<const K *>(items),
                         memory.sort.count, memory.sort.order, memory.answers) &&
           launch_kernel(whole, error, radix_whole_kernel<K>, items, memory.sort.count,
                         static_cast<const unsigned *>(memory.answers),
                         static_cast<unsigned>(blocks), memory.whole, memory.totals);
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
    if (!send(*memory, items, error) || !start_kernels<K>(*memory, blocks, error) ||
        !check(cudaMemcpy(&whole, memory->whole, sizeof whole, cudaMemcpyDeviceToHost), error))
        return false;
    const unsigned tiles = is_ordered ? 0 : radix_tiles_of<K>(items.size());
    if (whole.keys[0] != (is_ordered ? 0 : items.size()) || whole.tiles[RADIX_SEGMENTS] != tiles)
        return error_set(error, "%zu items %s order make a segment of %llu in %u tiles",
                         items.size(), is_ordered ? "in" : "out of", whole.keys[0],
                         whole.tiles[RADIX_SEGMENTS]);
    return holds(*memory, is_ordered ? sorted_copy(order, items) : items, error);
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
            items[place] = item_of<K>(order, key);
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
    const bool is_seen = items.size() >= RADIX_ORDER_LEAST && is_in_order(order, items);
    bool is_untouched = false;
    struct device_memory memory;
    bool passed = device_open(&memory, items.size(), sizeof(K), error) &&
                  device_open_sort(&memory, tile_size, error) && send(memory, items, error);
    memory.sort.order = order;
    passed = passed && radix_sort(&memory.sort, error) && finish_sort(memory.sort, error) &&
             is_scratch_untouched(memory.sort, &is_untouched, error) &&
             holds(memory, sorted_copy(order, items), error);
    device_close(&memory);
    if (passed && is_untouched != is_seen)
        return error_set(error, "%zu items, tiles of %zu: scratch is %s", items.size(), tile_size,
                         is_untouched ? "untouched" : "used");
    return passed;
}

template <typename K>
static bool check_sorts(size_t largest, struct error *error)
{
    const struct key_order order = orders_of<K>().back();
    if (largest <= RADIX_ORDER_LEAST)
        return true;
    for (const struct shape &shape : shapes)
        if (!check_sort(make_items<K>(shape, order, RADIX_ORDER_LEAST), order, 4096, error) ||
            !check_sort(make_items<K>(shape, order, RADIX_ORDER_LEAST + 1), order, 256, error))
            return false;
    std::vector<K> items = make_items<K>(shapes[0], order, RADIX_ORDER_LEAST);
    items[items.size() - 2] = item_of<K>(order, 0);
    return check_sort(items, order, 4096, error);
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
    struct error order_error = {}, place_error = {}, sort_error = {};
    bool finds_order = true, finds_places = true;
    for (const size_t count : kernel_counts<K>()) {
        finds_order = finds_order && check_count<K>(count, false, &order_error);
        finds_places = finds_places && check_count<K>(count, true, &place_error);
    }
    tap_print(tap, finds_order, "what is in order is sorted at once", sizeof(K), order_error);
    tap_print(tap, finds_places, "one key out of place is seen", sizeof(K), place_error);
    tap_print(tap, check_sorts<K>(largest, &sort_error), "a sort leaves scratch alone if it can",
              sizeof(K), sort_error);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const size_t largest = argc > 1 ? strtoull(argv[1], &end, 10) : RADIX_ORDER_LEAST + 1;
    if (argc > 2 || (argc > 1 && (*argv[1] < '0' || *argv[1] > '9' || *end))) {
        fprintf(stderr, "usage: ordered_matrix [LARGEST]\n");
        return 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("1..0 # SKIP no GPU\n");
        return 0;
    }
    printf("1..9\n");
    struct tap tap = {};
    check_width<uint32_t>(largest, &tap);
    check_width<uint64_t>(largest, &tap);
    check_width<key_u128>(largest, &tap);
    return tap.failed ? 1 : 0;
}
