/* SPDX-License-Identifier: Apache-2.0 */
/* trace_ranks.h - the counters of core/trace.h of all ranks on the host of rank 0, for progress.
 *
 * Rank 0 creates memory without a name, which the other ranks of its host map by its path in /proc
 * and count in from then on. So rank 0 reads all counters at any time, without a message. Ranks of
 * other hosts, and those that cannot map the memory, are not counted.
 */
#ifndef CORE_TRACE_RANKS_H
#define CORE_TRACE_RANKS_H

#include "core/group.h"
#include "core/trace.h"

/* Collective, after trace_start() and before other threads count. Shares the counters if rank 0
 * wants it, and it is possible. Fails only if the group does. */
bool trace_ranks_share(struct group *group, bool is_wanted, struct error *error);

/* For rank 0: adds the bytes of the other ranks to the view. Returns the number of ranks whose
 * bytes it has; 1 if the counters are not shared. */
unsigned trace_ranks_look(struct trace_view *view);

#endif
