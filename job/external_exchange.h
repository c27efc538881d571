/* SPDX-License-Identifier: Apache-2.0 */
/* external_exchange.h - each rank sends ranges of its sorted runs to the other ranks, receives its
 * own range of all runs, and merges it.
 *
 *   run of this rank, in memory --------------------> message -> a rank
 *                     on disk -> buffer ------------> message -> a rank
 *   a rank -> message -> buffer -> `merge`, which reads the ranges of all runs
 *
 * An item is a number, an index, or a byte of a run of lines. The range of one run for one rank is
 * a stream of messages, all full except for the last one. Two messages of a stream are under way at
 * most, on either side, and a receiver takes the next one when the merge has used a buffer: that
 * bounds the memory; there is no other flow control. The calling thread moves the messages, and
 * another thread merges and writes meanwhile.
 *
 * Between ranks of one host no message is sent if `merge` can read their memory.
 *
 * A rank that fails ends each of its streams by messages without bytes, one for each message that
 * the receiver may wait for. A rank that receives such a message ends its own streams in the same
 * way, so that soon no message is under way.
 */
#ifndef JOB_EXTERNAL_EXCHANGE_H
#define JOB_EXTERNAL_EXCHANGE_H

#include "core/group.h"
#include "job/external_cuts.h"

struct external_exchange {
    struct group *group;
    unsigned item_bytes;
    unsigned threads; /* maximum number of threads of `merge` */
    /* Merges the range of this rank in each run, in the order of all runs. Called once, in a thread
     * of its own if messages are sent. Items of other ranks have `read`. */
    bool (*merge)(void *context, struct item_run *runs, size_t run_count, struct error *error);
    void *context;
    const struct item_run *runs; /* of this rank */
    size_t run_count;
    const struct rank_runs *numbered;    /* at most GROUP_TAG_MAX runs: their numbers are tags */
    size_t message_bytes;                /* maximum; a multiple of item_bytes; equal on all ranks */
    uint64_t sent_bytes, received_bytes; /* out: the bytes of this rank */
};

/* Returns the bytes of a message if the buffers of `streams` streams have `memory_bytes` bytes. */
size_t external_exchange_message_bytes(size_t memory_bytes, size_t streams, unsigned item_bytes);

/* Collective: merges the range of this rank. Fails if a run cannot be read, `merge` fails, or
 * memory runs out. If another rank has failed, fails without an error. The caller calls
 * group_agree() afterwards. */
bool external_exchange_run(struct external_exchange *exchange, struct error *error);

#endif
