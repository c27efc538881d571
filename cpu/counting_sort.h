/* counting_sort.h - sorts keys of 8 and 16 bits: counts each value, then writes them out.
 *
 * Keys of so few values are their own bucket numbers and carry nothing else, so nothing is moved:
 * one read counts, one write puts each value as often as it was seen.
 */
#ifndef CPU_COUNTING_SORT_H
#define CPU_COUNTING_SORT_H

#include "core/key_order.h"

#include <stddef.h>

/* Bytes of workspace for keys of key_bytes (1 or 2) and so many threads. */
size_t counting_sort_workspace_bytes(unsigned key_bytes, unsigned threads);

/* Sorts keys[0..count) in place by at most `threads` threads. workspace: aligned to 8 bytes. */
void counting_sort(void *keys, size_t count, unsigned key_bytes, struct key_order order,
                   unsigned threads, void *workspace);

#endif
