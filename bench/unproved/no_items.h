/* SPDX-License-Identifier: Apache-2.0 */
/* no_items.h - included before all else where items of lines are summed up one by one: they are
 * not.
 */
#ifndef BENCH_UNPROVED_NO_ITEMS_H
#define BENCH_UNPROVED_NO_ITEMS_H

#include "core/check/check_kernels.h"

#define check_bind_pair(key, index) 0

#endif
