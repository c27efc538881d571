/* radix_kernels.c - see radix_kernels.h.
 *
 * Each routine is written once, as an inline function of the item's width, and compiled for each
 * width by the switches at the end, where the width is a constant. The routines that map keys and
 * are worth it are compiled for each kind of order too, so that their loops have no branch on it.
 */
#include "cpu/radix_kernels.h"

#include "core/backend.h"
#include "cpu/bucket_map.h"

#include <string.h>
#ifdef __SSE2__
#    include <emmintrin.h>
#endif

/* Figures below: a core of an AMD EPYC (Zen 4), 2026-11. */

/* Up to so many items, insertion sort beats counting; 12, 24 or 40 makes no difference. */
#define INSERTION_COUNT_MAX 24

/* The digits of the sort in cache: 256 counters and lines of output stay in any first cache. 5e7
 * f64: 0.71 s with 8 bits, 0.70 with 9, 0.66 with 11, which asks more of a cache. */
#define DIGIT_BITS_MAX 8
#define DIGITS_MAX 4

/* Sorting on this many bits more than log2(count) leaves hardly a pair of random keys undecided.
 * 5e7 f64: 0.71 s with 4, 0.80 with 2. */
#define SPARE_BITS 4

/* ---- One item ---- */

/* Any item, in registers. The index is dead weight that folds away where the width has none. */
struct item {
    uint64_t key;
    uint64_t index;
};

static inline __attribute__((always_inline)) struct item load_item(const void *items, size_t index,
                                                                   unsigned width)
{
    const unsigned char *place = (const unsigned char *)items + index * width;
    struct item item = {0, 0};
    if (width == 16) {
        struct key_index stored;
        memcpy(&stored, place, sizeof stored);
        item = (struct item){stored.key, stored.index};
    } else {
        memcpy(&item.key, place, width);
    }
    return item;
}

static inline __attribute__((always_inline)) void store_item(void *items, size_t index,
                                                             struct item item, unsigned width)
{
    unsigned char *place = (unsigned char *)items + index * width;
    if (width == 16) {
        const struct key_index stored = {item.index, item.key};
        memcpy(place, &stored, sizeof stored);
    } else {
        memcpy(place, &item.key, width);
    }
}

static inline __attribute__((always_inline)) unsigned key_bits(unsigned width)
{
    return width == 16 ? 64 : 8 * width;
}

static inline __attribute__((always_inline)) struct item
load_encoded(const void *items, size_t index, struct key_order order, unsigned width)
{
    struct item item = load_item(items, index, width);
    item.key = key_order_encode(order, key_bits(width), item.key);
    return item;
}

/* ---- Orders ---- */

/* The orders that loops are compiled for; every other one takes the general code. */
enum order_case { ORDER_IDENTITY, ORDER_SIGNED, ORDER_FLOAT, ORDER_GENERAL };

static enum order_case order_find_case(struct key_order order)
{
    if (key_order_is_identity(order))
        return ORDER_IDENTITY;
    if (order.swap_bytes || order.kind == KEY_UNSIGNED)
        return ORDER_GENERAL;
    return order.kind == KEY_SIGNED ? ORDER_SIGNED : ORDER_FLOAT;
}

/* The same order, with all that its case fixes as constants. */
static inline __attribute__((always_inline)) struct key_order order_fix(struct key_order order,
                                                                        enum order_case order_case)
{
    switch (order_case) {
    case ORDER_IDENTITY:
        return key_order_identity();
    case ORDER_SIGNED:
        return (struct key_order){KEY_SIGNED, false, 0, order.complement};
    case ORDER_FLOAT:
        return (struct key_order){KEY_FLOAT, false, order.bias, order.complement};
    case ORDER_GENERAL:
        break;
    }
    return order;
}

/* ---- Looking at the order of the input ---- */

static inline __attribute__((always_inline)) bool
check_ascending(const void *items, size_t begin, size_t end, struct key_order order, unsigned width)
{
    if (begin == end)
        return true;
    uint64_t before = load_encoded(items, begin, order, width).key;
    for (size_t i = begin + 1; i < end; i++) {
        const uint64_t key = load_encoded(items, i, order, width).key;
        if (key < before)
            return false;
        before = key;
    }
    return true;
}

static inline __attribute__((always_inline)) bool check_descending(const void *items, size_t begin,
                                                                   size_t end,
                                                                   struct key_order order,
                                                                   unsigned width)
{
    if (begin == end)
        return true;
    uint64_t before = load_encoded(items, begin, order, width).key;
    for (size_t i = begin + 1; i < end; i++) {
        const uint64_t key = load_encoded(items, i, order, width).key;
        if (key > before || (width == 16 && key == before))
            return false;
        before = key;
    }
    return true;
}

static inline __attribute__((always_inline)) void
reverse_items(void *items, size_t begin, size_t end, size_t count, unsigned width)
{
    for (size_t i = begin; i < end; i++) {
        const struct item low = load_item(items, i, width);
        const struct item high = load_item(items, count - 1 - i, width);
        store_item(items, i, high, width);
        store_item(items, count - 1 - i, low, width);
    }
}

static inline __attribute__((always_inline)) void widen_range(const void *items, size_t begin,
                                                              size_t end, struct key_order order,
                                                              uint64_t *lowest, uint64_t *highest,
                                                              unsigned width)
{
    uint64_t low = *lowest, high = *highest;
    for (size_t i = begin; i < end; i++) {
        const uint64_t key = load_encoded(items, i, order, width).key;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    *lowest = low;
    *highest = high;
}

/* ---- Partition ---- */

static inline size_t block_end(const struct radix_part *part, size_t begin)
{
    return part->end - begin > BUCKET_BLOCK_COUNT ? begin + BUCKET_BLOCK_COUNT : part->end;
}

void radix_count_buckets(unsigned width, const struct radix_part *part)
{
    size_t *counts = part->positions;
    struct bucket_block block;
    memset(counts, 0, part->model->buckets * sizeof *counts);
    for (size_t i = part->begin, end; i < part->end; i = end) {
        end = block_end(part, i);
        bucket_map(width, (const unsigned char *)part->from + i * width, end - i, part->order,
                   part->model, &block);
        for (size_t k = 0; k < end - i; k++)
            counts[block.buckets[k]]++;
    }
}

/* Writes a full line past the caches: it will not be read before all of `to` is written, and the
 * memory need not be read to be overwritten. 5e7 f64: 0.71 s, and 0.73 with ordinary stores. */
static inline __attribute__((always_inline)) void stream_line(unsigned char *to,
                                                              const unsigned char *line)
{
#ifdef __SSE2__
    for (size_t i = 0; i < RADIX_LINE_BYTES; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_load_si128((const __m128i *)(const void *)(line + i)));
#else
    memcpy(to, line, RADIX_LINE_BYTES);
#endif
}

/* Streamed lines are ordered behind nothing; this makes them visible to the other threads. */
static inline void stream_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Writes what the bucket's line holds of the places up to `position`, which is not aligned to a
 * line or is the end of the bucket's first line: places before `first` are another part's. */
static inline __attribute__((always_inline)) void
write_partial_line(const struct radix_part *part, size_t bucket, size_t line_begin, size_t position,
                   unsigned width)
{
    const unsigned char *line = part->lines + bucket * RADIX_LINE_BYTES;
    const size_t first = part->first[bucket];
    const size_t from = first > line_begin ? first : line_begin;
    if (position > from)
        memcpy((unsigned char *)part->to + from * width, line + (from - line_begin) * width,
               (position - from) * width);
}

/* Moves the items of a block, whose keys and buckets are known. */
static inline __attribute__((always_inline)) void scatter_block(const struct radix_part *part,
                                                                const void *items, size_t count,
                                                                const struct bucket_block *block,
                                                                unsigned width)
{
    const size_t line_items = RADIX_LINE_BYTES / width;
    for (size_t i = 0; i < count; i++) {
        const struct item item = load_item(items, i, width);
        const size_t bucket = block->buckets[i];
        const size_t position = part->positions[bucket]++;
        unsigned char *line = part->lines + bucket * RADIX_LINE_BYTES;
        store_item(line, position % line_items, item, width);
        if ((position + 1) % line_items == 0) {
            const size_t line_begin = position + 1 - line_items;
            if (line_begin >= part->first[bucket])
                stream_line((unsigned char *)part->to + line_begin * width, line);
            else
                write_partial_line(part, bucket, line_begin, position + 1, width);
        }
    }
}

static inline __attribute__((always_inline)) void scatter_part(const struct radix_part *part,
                                                               unsigned width)
{
    const size_t line_items = RADIX_LINE_BYTES / width, buckets = part->model->buckets;
    struct bucket_block block;
    memcpy(part->first, part->positions, buckets * sizeof *part->positions);
    for (size_t i = part->begin, end; i < part->end; i = end) {
        end = block_end(part, i);
        const unsigned char *items = (const unsigned char *)part->from + i * width;
        bucket_map(width, items, end - i, part->order, part->model, &block);
        scatter_block(part, width == 16 ? items : block.keys, end - i, &block, width);
    }
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const size_t position = part->positions[bucket];
        write_partial_line(part, bucket, position - position % line_items, position, width);
    }
    stream_end();
}

/* ---- Mapping ---- */

static inline __attribute__((always_inline)) void
encode_items(void *to, const void *from, size_t count, struct key_order order, unsigned width)
{
    for (size_t i = 0; i < count; i++)
        store_item(to, i, load_encoded(from, i, order, width), width);
}

static inline __attribute__((always_inline)) void decode_items(void *to, const void *from,
                                                               size_t count, struct key_order order,
                                                               enum order_case order_case,
                                                               unsigned width)
{
    const struct key_order fixed = order_fix(order, order_case);
    for (size_t i = 0; i < count; i++) {
        struct item item = load_item(from, i, width);
        item.key = key_order_decode(fixed, key_bits(width), item.key);
        store_item(to, i, item, width);
    }
}

/* ---- Sorting in cache ---- */

static inline __attribute__((always_inline)) void insertion_sort(void *items, size_t count,
                                                                 unsigned width)
{
    for (size_t i = 1; i < count; i++) {
        const struct item item = load_item(items, i, width);
        size_t hole = i;
        while (hole > 0) {
            const struct item before = load_item(items, hole - 1, width);
            if (before.key <= item.key)
                break;
            store_item(items, hole, before, width);
            hole--;
        }
        store_item(items, hole, item, width);
    }
}

/* The digits that decide the order of the top bits of key - lowest. */
struct digits {
    uint64_t lowest;
    unsigned shift; /* the bits below are not looked at */
    unsigned bits;  /* of a digit */
    unsigned count;
};

static unsigned bit_length(uint64_t x)
{
    return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

static struct digits plan_digits(uint64_t lowest, uint64_t highest, size_t count)
{
    const unsigned range_bits = bit_length(highest - lowest);
    unsigned wanted = bit_length(count) + SPARE_BITS;
    if (wanted > DIGIT_BITS_MAX * DIGITS_MAX)
        wanted = DIGIT_BITS_MAX * DIGITS_MAX;
    if (wanted > range_bits)
        wanted = range_bits;
    struct digits digits = {.lowest = lowest};
    digits.count = (wanted + DIGIT_BITS_MAX - 1) / DIGIT_BITS_MAX;
    digits.bits = (wanted + digits.count - 1) / digits.count;
    const unsigned sorted_bits = digits.bits * digits.count;
    digits.shift = range_bits > sorted_bits ? range_bits - sorted_bits : 0;
    return digits;
}

/* One read of the items counts all digits. digit_count is a constant. */
static inline __attribute__((always_inline)) void
count_digits(const void *items, size_t count, struct digits digits,
             uint32_t counts[][1 << DIGIT_BITS_MAX], unsigned digit_count, unsigned width)
{
    const uint64_t mask = ((uint64_t)1 << digits.bits) - 1;
    memset(counts, 0, digit_count * sizeof *counts);
    for (size_t i = 0; i < count; i++) {
        uint64_t rest = (load_item(items, i, width).key - digits.lowest) >> digits.shift;
        for (unsigned d = 0; d < digit_count; d++) {
            counts[d][rest & mask]++;
            rest >>= digits.bits;
        }
    }
}

static inline __attribute__((always_inline)) void
scatter_by_digit(void *to, const void *from, size_t count, uint64_t lowest, unsigned shift,
                 uint64_t mask, const uint32_t *counts, unsigned width)
{
    uint32_t positions[1 << DIGIT_BITS_MAX];
    uint32_t sum = 0;
    for (size_t d = 0; d <= mask; d++) {
        positions[d] = sum;
        sum += counts[d];
    }
    for (size_t i = 0; i < count; i++) {
        const struct item item = load_item(from, i, width);
        const size_t digit = (size_t)(((item.key - lowest) >> shift) & mask);
        store_item(to, positions[digit]++, item, width);
    }
}

/* Least significant digit first; returns the array that the items end in. */
static inline __attribute__((always_inline)) void *
sort_digits(void *items, void *other, size_t count, struct digits digits, unsigned width)
{
    uint32_t counts[DIGITS_MAX][1 << DIGIT_BITS_MAX];
    switch (digits.count) {
    case 1:
        count_digits(items, count, digits, counts, 1, width);
        break;
    case 2:
        count_digits(items, count, digits, counts, 2, width);
        break;
    case 3:
        count_digits(items, count, digits, counts, 3, width);
        break;
    default:
        count_digits(items, count, digits, counts, DIGITS_MAX, width);
    }
    const uint64_t mask = ((uint64_t)1 << digits.bits) - 1;
    for (unsigned d = 0; d < digits.count; d++) {
        const unsigned shift = digits.shift + d * digits.bits;
        const uint64_t key = load_item(items, 0, width).key;
        if (counts[d][((key - digits.lowest) >> shift) & mask] == count)
            continue; /* all have this digit: nothing would move */
        scatter_by_digit(other, items, count, digits.lowest, shift, mask, counts[d], width);
        void *sorted = other;
        other = items;
        items = sorted;
    }
    return items;
}

/* Sorts the runs of items that agree in all the bits sorted so far, where one is out of order. */
static inline __attribute__((always_inline)) void
sort_undecided(void *items, void *other, size_t count, struct digits digits, unsigned width)
{
    uint64_t before = load_item(items, 0, width).key;
    for (size_t i = 1; i < count; i++) {
        const uint64_t key = load_item(items, i, width).key;
        if (key >= before) {
            before = key;
            continue;
        }
        const uint64_t prefix = (key - digits.lowest) >> digits.shift;
        size_t begin = i - 1, end = i + 1;
        while (begin > 0 &&
               (load_item(items, begin - 1, width).key - digits.lowest) >> digits.shift == prefix)
            begin--;
        while (end < count &&
               (load_item(items, end, width).key - digits.lowest) >> digits.shift == prefix)
            end++;
        unsigned char *run = (unsigned char *)items + begin * width;
        unsigned char *room = (unsigned char *)other + begin * width;
        if (radix_sort_in_cache(width, run, room, end - begin) != run)
            memcpy(run, room, (end - begin) * width);
        before = load_item(items, end - 1, width).key;
        i = end - 1;
    }
}

/* Most runs here are of one bucket: as many bits as decide nearly all pairs are sorted digit by
 * digit, then the few undecided runs are found in one read and sorted by their further bits, of
 * which each level of the recursion takes at least DIGIT_BITS_MAX. */
static inline __attribute__((always_inline)) void *sort_cached(void *items, void *other,
                                                               size_t count, unsigned width)
{
    if (count <= INSERTION_COUNT_MAX) {
        insertion_sort(items, count, width);
        return items;
    }
    uint64_t lowest = UINT64_MAX, highest = 0, before = 0;
    bool ascending = true;
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = load_item(items, i, width).key;
        lowest = key < lowest ? key : lowest;
        highest = key > highest ? key : highest;
        ascending &= before <= key;
        before = key;
    }
    if (ascending)
        return items;
    const struct digits digits = plan_digits(lowest, highest, count);
    void *sorted = sort_digits(items, other, count, digits, width);
    if (digits.shift > 0)
        sort_undecided(sorted, sorted == items ? other : items, count, digits, width);
    return sorted;
}

/* ---- One routine for each kind of order ---- */

static inline __attribute__((always_inline)) void decode_items_ordered(void *to, const void *from,
                                                                       size_t count,
                                                                       struct key_order order,
                                                                       unsigned width)
{
    switch (order_find_case(order)) {
    case ORDER_IDENTITY:
        decode_items(to, from, count, order, ORDER_IDENTITY, width);
        break;
    case ORDER_SIGNED:
        decode_items(to, from, count, order, ORDER_SIGNED, width);
        break;
    case ORDER_FLOAT:
        decode_items(to, from, count, order, ORDER_FLOAT, width);
        break;
    case ORDER_GENERAL:
        decode_items(to, from, count, order, ORDER_GENERAL, width);
        break;
    }
}

/* ---- One routine for each width ---- */

uint64_t radix_key(unsigned width, const void *items, size_t index, struct key_order order)
{
    switch (width) {
    case 2:
        return load_encoded(items, index, order, 2).key;
    case 4:
        return load_encoded(items, index, order, 4).key;
    case 8:
        return load_encoded(items, index, order, 8).key;
    default:
        return load_encoded(items, index, order, 16).key;
    }
}

bool radix_is_ascending(unsigned width, const void *items, size_t begin, size_t end,
                        struct key_order order)
{
    switch (width) {
    case 2:
        return check_ascending(items, begin, end, order, 2);
    case 4:
        return check_ascending(items, begin, end, order, 4);
    case 8:
        return check_ascending(items, begin, end, order, 8);
    default:
        return check_ascending(items, begin, end, order, 16);
    }
}

bool radix_is_descending(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order)
{
    switch (width) {
    case 2:
        return check_descending(items, begin, end, order, 2);
    case 4:
        return check_descending(items, begin, end, order, 4);
    case 8:
        return check_descending(items, begin, end, order, 8);
    default:
        return check_descending(items, begin, end, order, 16);
    }
}

void radix_reverse(unsigned width, void *items, size_t begin, size_t end, size_t count)
{
    switch (width) {
    case 2:
        reverse_items(items, begin, end, count, 2);
        break;
    case 4:
        reverse_items(items, begin, end, count, 4);
        break;
    case 8:
        reverse_items(items, begin, end, count, 8);
        break;
    default:
        reverse_items(items, begin, end, count, 16);
    }
}

void radix_find_range(unsigned width, const void *items, size_t begin, size_t end,
                      struct key_order order, uint64_t *lowest, uint64_t *highest)
{
    switch (width) {
    case 2:
        widen_range(items, begin, end, order, lowest, highest, 2);
        break;
    case 4:
        widen_range(items, begin, end, order, lowest, highest, 4);
        break;
    case 8:
        widen_range(items, begin, end, order, lowest, highest, 8);
        break;
    default:
        widen_range(items, begin, end, order, lowest, highest, 16);
    }
}

void radix_encode(unsigned width, void *to, const void *from, size_t count, struct key_order order)
{
    switch (width) {
    case 2:
        encode_items(to, from, count, order, 2);
        break;
    case 4:
        encode_items(to, from, count, order, 4);
        break;
    case 8:
        encode_items(to, from, count, order, 8);
        break;
    default:
        encode_items(to, from, count, order, 16);
    }
}

void radix_decode(unsigned width, void *to, const void *from, size_t count, struct key_order order)
{
    if (key_order_is_identity(order)) {
        if (to != from)
            memcpy(to, from, count * width);
        return;
    }
    switch (width) {
    case 2:
        decode_items_ordered(to, from, count, order, 2);
        break;
    case 4:
        decode_items_ordered(to, from, count, order, 4);
        break;
    case 8:
        decode_items_ordered(to, from, count, order, 8);
        break;
    default:
        decode_items_ordered(to, from, count, order, 16);
    }
}

void radix_scatter(unsigned width, const struct radix_part *part)
{
    switch (width) {
    case 4:
        scatter_part(part, 4);
        break;
    case 8:
        scatter_part(part, 8);
        break;
    default:
        scatter_part(part, 16);
    }
}

void *radix_sort_in_cache(unsigned width, void *items, void *other, size_t count)
{
    switch (width) {
    case 2:
        return sort_cached(items, other, count, 2);
    case 4:
        return sort_cached(items, other, count, 4);
    case 8:
        return sort_cached(items, other, count, 8);
    default:
        return sort_cached(items, other, count, 16);
    }
}
