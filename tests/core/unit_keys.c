/* SPDX-License-Identifier: Apache-2.0 */
/* unit_keys.c - items that carry an index: their size and their greatest index, which no file of a
 * test can reach; and the items before a cut of a merge. types.sh, argsort.sh and external.sh test
 * keys and merges by the program.
 */
#include "core/argsort.h"
#include "core/item_merge.h"
#include "core/key_order.h"
#include "tests/unit_test.h"

#include <stdlib.h>
#include <string.h>

/* ---- Items that carry an index ---- */

static struct argsort make_argsort(enum key_type_id id, size_t count)
{
    struct argsort argsort = {.index_type = &key_types[KEY_TYPE_u64]};
    const struct key_type *const type = &key_types[id];
    argsort_set_keys(&argsort, type, key_order_make(type, ENDIAN_LITTLE, NAN_GREATEST, true),
                     count);
    return argsort;
}

static void an_item_is_packed_where_it_fits(void **state)
{
    const size_t most = (size_t)1 << 32;
    const struct {
        enum key_type_id type;
        size_t count;
        unsigned bytes;
    } items[] = {{KEY_TYPE_i8, COUNT_UNKNOWN, 8},
                 {KEY_TYPE_u16, COUNT_UNKNOWN, 8},
                 {KEY_TYPE_bf16, COUNT_UNKNOWN, 8},
                 {KEY_TYPE_f32, 0, 8},
                 {KEY_TYPE_f32, most, 8},
                 {KEY_TYPE_f32, most + 1, 16},
                 {KEY_TYPE_f32, COUNT_UNKNOWN, 16},
                 {KEY_TYPE_u64, 0, 16},
                 {KEY_TYPE_u64, 1, 16}};
    for (size_t i = 0; i < LENGTH(items); i++)
        assert_int_equal(make_argsort(items[i].type, items[i].count).item_bytes, items[i].bytes);
}

/* The spare bits of an item of 8 bytes, if the count is unknown. */
static void indices_count_up_to_their_greatest(void **state)
{
    const struct argsort argsort = make_argsort(KEY_TYPE_u16, COUNT_UNKNOWN);
    struct error error = {0};
    assert_true(argsort_check_count(&argsort, (size_t)1 << 48, &error));
    assert_false(argsort_check_count(&argsort, ((size_t)1 << 48) + 1, &error));
}

/* Large enough for several threads. In the last index all 32 bits are set. */
static void an_index_comes_back(void **state)
{
    static const enum key_type_id ids[] = {KEY_TYPE_u8, KEY_TYPE_i16, KEY_TYPE_f32, KEY_TYPE_f64};
    enum { COUNT = 300007 };
    static unsigned char keys[COUNT * 8];
    static struct key_index items[COUNT];
    memset(keys, 0xa5, sizeof keys);
    for (size_t k = 0; k < LENGTH(ids); k++) {
        const struct argsort argsort = make_argsort(ids[k], (size_t)1 << 32);
        const uint64_t first = ((uint64_t)1 << 32) - COUNT;
        const struct chunk chunk = {.items = items, .capacity = COUNT, .count = COUNT};
        argsort_fill(&argsort, keys, first, &chunk, 3, &(struct argsort_taps){NULL, NULL});
        const bool is_pair = argsort.item_bytes == sizeof items[0];
        const unsigned shift = is_pair ? 0 : argsort.index_bits;
        const uint64_t key = items[0].key, word = ((uint64_t *)items)[0] >> shift;
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(argsort_index(&argsort, items, i) == first + i);
            assert_true(is_pair ? items[i].key == key : ((uint64_t *)items)[i] >> shift == word);
        }
    }
}

/* ---- Merges ---- */

__extension__ typedef unsigned __int128 u128;

/* Items are little-endian integers. Some are equal, or differ by one. */
static void items_before_a_cut_are_counted(void **state)
{
    for (unsigned round = 0; round < 1200; round++) {
        const unsigned width = 4u << round % 3;
        const size_t count = (size_t)rand() % 100;
        const u128 step = round % 2 == 0 ? 1 : ~(u128)0 >> (128 - 8 * width) >> 7;
        const u128 cut = (u128)(rand() % 100) * step + (u128)(rand() % 2);
        _Alignas(16) unsigned char items[100 * 16];
        size_t less = 0, equal = 0;
        u128 item = 0;
        for (size_t i = 0; i < count; i++) {
            item += (u128)(rand() % 3) * step / 2;
            less += item < cut;
            equal += item == cut;
            memcpy(items + i * width, &item, width);
        }
        const struct item_array array = {items, count};
        assert_int_equal(item_count_before(width, array, &cut, false), less);
        assert_int_equal(item_count_before(width, array, &cut, true), less + equal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_packed_where_it_fits),
        cmocka_unit_test(indices_count_up_to_their_greatest),
        cmocka_unit_test(an_index_comes_back),
        cmocka_unit_test(items_before_a_cut_are_counted),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
