/* SPDX-License-Identifier: Apache-2.0 */
/* without_proof.c - in place of core/check/check_kernels.cc and core/check/check_line.c: looks at
 * nothing, so that all hashes are 0 and all is in order. build/bench/gpusort_unproved is gpusort
 * with this file; scripts/measure_files.sh compares both to show what the proof costs.
 */
#include "core/check/check_kernels.h"
#include "core/check/check_line.h"

uint64_t check_hash_keys(unsigned key_bytes, const void *keys, size_t count)
{
    (void)key_bytes, (void)keys, (void)count;
    return 0;
}

size_t check_find_disorder(unsigned key_bytes, struct key_order order, const void *previous,
                           const void *keys, size_t count, uint64_t *hash)
{
    (void)key_bytes, (void)order, (void)previous, (void)keys, (void)hash;
    return count;
}

uint64_t check_sum_text(uint64_t position, const void *data, size_t bytes)
{
    (void)position, (void)data, (void)bytes;
    return 0;
}

struct check_sum check_sum_lines(const struct check_lines *lines, const unsigned char *text,
                                 size_t room)
{
    (void)text, (void)room;
    return (struct check_sum){lines->bounds[lines->count] - lines->bounds[0], 0};
}

struct check_items check_line_items(struct check_lines *lines, const struct key_index *items,
                                    uint64_t previous_key)
{
    (void)lines, (void)items, (void)previous_key;
    return (struct check_items){0, 0, 0};
}

bool check_keys_rise(const struct key_index *items, size_t count)
{
    (void)items, (void)count;
    return true;
}

uint64_t check_lines_open(const struct check_lines *lines, uint64_t which, uint64_t tied,
                          bool reversed, const unsigned char *text)
{
    (void)lines, (void)which, (void)tied, (void)reversed, (void)text;
    return 0;
}
