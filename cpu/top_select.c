/* SPDX-License-Identifier: Apache-2.0 */
/* top_select.c - see cpu_sorts.h.
 *
 *   new items --each thread keeps items below the bound--> parts --moved together--> kept
 *   too many kept --radix select on their keys--> a bound with at least `top`, and not many more,
 *                                                 items below it --thinned as above--> kept
 *
 * The bound need not be the key of rank `top`: radix select stops at the first digit that leaves
 * few enough items. With the last digit the bound is exact, and the first items equal to it are
 * kept up to a quota. So frequent keys cost nothing extra, and the number of rounds is limited by
 * the key width. As long as `top` items below the bound, or equal to it, are kept, later items from
 * the bound on can be dropped.
 *
 * Each thinning but the last follows at least 7/8 of `top` items that passed the previous bound; of
 * n items in random order, about top ln(n / top) pass.
 *
 * Source: radix selection, D. E. Knuth, "The Art of Computer Programming", volume 3, section 5.2.2
 * exercise.
 */
#include "cpu/cpu_sorts.h"

#include "core/backend.h"
#include "core/key_map.h"
#include "cpu/items/item_access.h"
#include "cpu/items/item_kernels.h"
#include "cpu/team.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGIT_VALUES ((size_t)1 << DIGIT_BITS)

/* Items kept beyond twice `top`, so that a small `top` is not thinned all the time. */
#define SLACK_COUNT ((size_t)16 << 10)

/* Minimum items per thread. */
#define PART_COUNT_MIN ((size_t)32 << 10)

/* Keys encoded as one block, which stays in L1. */
#define BLOCK_COUNT ((size_t)64)

/* The items of one thread. */
struct part {
    size_t begin, end;
    size_t kept;  /* items kept, from `begin` on */
    size_t quota; /* maximum kept items equal to the bound */
    uint64_t lowest, greatest;
    size_t counts[DIGIT_VALUES];
};

/* A selection. It keeps the items below the bound, and as many equal to it as the quotas allow. */
struct top_select {
    struct top_task task;
    bool is_bounded; /* false: every item is kept */
    uint64_t bound;
    struct part parts[];
};

/* A digit: value v stands for the keys from lowest + (v << shift) on. All higher digits are
 * decided. */
struct digit {
    uint64_t lowest;
    unsigned shift, bits;
};

/* ---- One part: the inner loops, compiled for each width ---- */

/* Returns `count` items as ordered bits, up to BLOCK_COUNT: `items` itself if it has these, else
 * `block`, to which they are encoded. */
INLINE const unsigned char *encode_block(const struct top_task *task, const unsigned char *items,
                                         size_t count, unsigned char *block, unsigned width)
{
    if (key_order_is_identity(task->order))
        return items;
    key_map_encode(width, task->order, items, count, block);
    return block;
}

/* Compacts the part without a branch: every item is stored after the kept ones, and the count
 * grows if it is kept. A branch would be mispredicted where half of the items are kept. */
INLINE void keep_in_part(const struct top_select *select, unsigned char *items, struct part *part,
                         unsigned width)
{
    _Alignas(64) unsigned char block[BLOCK_COUNT * sizeof(struct key_index)];
    const uint64_t bound = select->bound;
    size_t quota = part->quota, kept = part->begin;
    for (size_t begin = part->begin; begin < part->end; begin += BLOCK_COUNT) {
        const size_t left = part->end - begin, count = left < BLOCK_COUNT ? left : BLOCK_COUNT;
        unsigned char *const from = items + begin * width;
        const unsigned char *const keys = encode_block(&select->task, from, count, block, width);
        size_t below = 0;
        for (size_t i = 0; i < count; i++)
            below += load_item(keys, i, width).key < bound;
        if (below == 0 && quota == 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            const uint64_t key = load_item(keys, i, width).key;
            const size_t is_equal = (key == bound) & (quota > 0);
            memmove(items + kept * width, from + i * width, width);
            kept += (key < bound) + is_equal;
            quota -= is_equal;
        }
    }
    part->kept = kept - part->begin;
}

/* Counts the values of the digit among keys that agree in the higher digits. */
INLINE void count_in_part(const struct top_select *select, const unsigned char *items,
                          struct part *part, struct digit digit, unsigned width)
{
    _Alignas(64) unsigned char block[BLOCK_COUNT * sizeof(struct key_index)];
    memset(part->counts, 0, sizeof part->counts);
    for (size_t begin = part->begin; begin < part->end; begin += BLOCK_COUNT) {
        const size_t left = part->end - begin, count = left < BLOCK_COUNT ? left : BLOCK_COUNT;
        const unsigned char *const keys =
            encode_block(&select->task, items + begin * width, count, block, width);
        for (size_t i = 0; i < count; i++) {
            /* A key below `lowest` wraps to a value that is too large. */
            const uint64_t value = (load_item(keys, i, width).key - digit.lowest) >> digit.shift;
            if (value >> digit.bits == 0)
                part->counts[value]++;
        }
    }
}

/* ---- All parts ---- */

/* Divides items[begin..begin + count) into parts. Returns the number of parts. */
static unsigned share_out(struct top_select *select, size_t begin, size_t count)
{
    const size_t useful = count / PART_COUNT_MIN + 1;
    const unsigned threads = select->task.threads;
    const unsigned parts = useful < threads ? (unsigned)useful : threads;
    for (unsigned i = 0; i < parts; i++) {
        struct part *const part = &select->parts[i];
        part->begin = begin + team_range_begin(count, i, parts);
        part->end = begin + team_range_begin(count, i + 1, parts);
        part->quota = 0;
    }
    return parts;
}

/* Keeps items below the bound, and equal ones by quota. Returns how many; they are moved together,
 * from the first part's begin on. */
static size_t keep_below(struct top_select *select, unsigned char *items, unsigned parts)
{
    const size_t width = select->task.item_bytes;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++)
        BY_WIDTH(width, keep_in_part, select, items, &select->parts[i]);
    size_t kept = select->parts[0].kept;
    for (unsigned i = 1; i < parts; i++) {
        const struct part *const part = &select->parts[i];
        memmove(items + (select->parts[0].begin + kept) * width, items + part->begin * width,
                part->kept * width);
        kept += part->kept;
    }
    return kept;
}

static struct digit first_digit(uint64_t lowest, unsigned bits)
{
    const unsigned digit_bits = bits < DIGIT_BITS ? bits : DIGIT_BITS;
    return (struct digit){lowest, bits - digit_bits, digit_bits};
}

/* Returns the highest digit in which the keys differ; for 1 and 2 bytes, the highest digit. */
static struct digit find_first_digit(struct top_select *select, const unsigned char *items,
                                     unsigned parts)
{
    const struct top_task *const task = &select->task;
    if (task->item_bytes <= 2)
        return first_digit(0, 8 * task->item_bytes);
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        struct part *const part = &select->parts[i];
        part->lowest = UINT64_MAX;
        part->greatest = 0;
        items_find_range(task->item_bytes, items, part->begin, part->end, task->order,
                         &part->lowest, &part->greatest);
    }
    uint64_t lowest = UINT64_MAX, greatest = 0;
    for (unsigned i = 0; i < parts; i++) {
        lowest = select->parts[i].lowest < lowest ? select->parts[i].lowest : lowest;
        greatest = select->parts[i].greatest > greatest ? select->parts[i].greatest : greatest;
    }
    const uint64_t range = greatest - lowest;
    return first_digit(lowest, range == 0 ? 1 : 64 - (unsigned)__builtin_clzll(range));
}

/* Returns the digit value of the key of rank `rank` among the counted keys. Sets *before to the
 * number of keys with smaller values, *same to those with this value. */
static size_t find_value(const struct top_select *select, unsigned parts, size_t rank,
                         size_t *before, size_t *same)
{
    *before = 0;
    for (size_t value = 0;; value++) {
        *same = 0;
        for (unsigned i = 0; i < parts; i++)
            *same += select->parts[i].counts[value];
        if (rank < *before + *same)
            return value;
        *before += *same;
    }
}

/* Sets the quotas so that the first `quota` items of the value are kept, in order of the parts. */
static void set_quotas(struct top_select *select, unsigned parts, size_t value, size_t quota)
{
    for (unsigned i = 0; i < parts; i++) {
        struct part *const part = &select->parts[i];
        part->quota = part->counts[value] < quota ? part->counts[value] : quota;
        quota -= part->quota;
    }
}

/* True if at most an eighth more than `top` are kept: accepting these saves rounds. */
static bool is_thin(const struct top_select *select, size_t kept)
{
    const size_t top = select->task.top;
    return kept <= top || kept - top <= top / 8;
}

/* Sets the bound, and perhaps quotas, so that of the parts' items, which are too many, at least
 * `top` are kept, and at most as many as is_thin() accepts. */
static void find_bound(struct top_select *select, const unsigned char *items, unsigned parts)
{
    const size_t rank = select->task.top - 1; /* of the key to find */
    struct digit digit = find_first_digit(select, items, parts);
    size_t below = 0; /* items below digit.lowest */
    for (;;) {
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
        for (unsigned i = 0; i < parts; i++)
            BY_WIDTH(select->task.item_bytes, count_in_part, select, items, &select->parts[i],
                     digit);
        size_t before, same;
        const size_t value = find_value(select, parts, rank - below, &before, &same);
        below += before;
        digit.lowest += (uint64_t)value << digit.shift;
        if (is_thin(select, below + same)) {
            /* Some keys are above, so that the bound does not wrap. */
            select->bound = digit.lowest + ((uint64_t)1 << digit.shift);
            return;
        }
        if (digit.shift == 0) {
            select->bound = digit.lowest;
            set_quotas(select, parts, value, rank + 1 - below);
            return;
        }
        digit.bits = digit.shift < DIGIT_BITS ? digit.shift : DIGIT_BITS;
        digit.shift -= digit.bits;
    }
}

/* Finds a bound for items[0..kept), of which is_thin() is false, and keeps the items below it, and
 * some equal to it. Returns how many. */
static size_t thin_out(struct top_select *select, unsigned char *items, size_t kept)
{
    const unsigned parts = share_out(select, 0, kept);
    find_bound(select, items, parts);
    select->is_bounded = true;
    return keep_below(select, items, parts);
}

/* ---- The stream ---- */

bool top_select_create(const struct top_task *task, struct top_select **select, struct error *error)
{
    const size_t bytes = sizeof **select + task->threads * sizeof(struct part);
    *select = calloc(1, bytes);
    if (!*select)
        return error_set(error, "out of memory: %zu bytes are needed to select", bytes);
    (*select)->task = *task;
    return true;
}

size_t top_select_limit(size_t top)
{
    size_t limit;
    return __builtin_mul_overflow(top, (size_t)2, &limit) ||
                   __builtin_add_overflow(limit, SLACK_COUNT, &limit)
               ? SIZE_MAX
               : limit;
}

size_t top_select_add(struct top_select *select, void *items, size_t kept, size_t added)
{
    const size_t limit = top_select_limit(select->task.top);
    if (select->task.top == 0)
        return 0;
    if (select->is_bounded)
        kept += keep_below(select, items, share_out(select, kept, added));
    else
        kept += added;
    return kept > limit ? thin_out(select, items, kept) : kept;
}

size_t top_select_finish(struct top_select *select, void *items, size_t kept)
{
    return is_thin(select, kept) ? kept : thin_out(select, items, kept);
}

void top_select_free(struct top_select *select)
{
    free(select);
}
