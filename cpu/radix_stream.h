/* radix_stream.h - a sort of keys that are partitioned as they come, and given in parts.
 *
 *   the first keys --sample--> model
 *   keys, as they come --all threads--> blocks of buckets (radix_blocks.h)
 *   at the end: buckets in order --a thread each--> gathered, sorted in cache, decoded --> a ring
 *               of output --the caller--> away
 *
 * The keys are in memory once, and what they came in and go out by is small and stays in a cache:
 * a sort in an array (radix_sort.h) touches twice as much fresh memory, and goes through it twice
 * more. A bucket that comes out too large for a cache is sorted in an array; where most keys are in
 * such, what was taken is put together again, for an array of all.
 */
#ifndef CPU_RADIX_STREAM_H
#define CPU_RADIX_STREAM_H

#include "core/error.h"
#include "cpu/radix_sort.h"

struct radix_stream;

/* Keys that are put at a time, at least. In bytes: what a thread has of them stays in its cache. */
#define RADIX_STREAM_BYTES_MIN ((size_t)16 << 20)

/* Bytes of a chunk for so many threads, which is also the room for the output that it needs. */
size_t radix_stream_chunk(unsigned threads);

/* For keys of the task, of 4 or 8 bytes; task->count SIZE_MAX: not known. Learns from the first
 * keys, a chunk of them, which are not taken yet. */
bool radix_stream_open(const struct radix_task *task, const void *first, size_t count,
                       struct radix_stream **stream, struct error *error);

/* Takes keys; if it fails, none of them. *suits: whether the buckets are even enough: else undo it.
 */
bool radix_stream_put(struct radix_stream *stream, const void *keys, size_t count, bool *suits,
                      struct error *error);

/* Puts all keys that were taken back, as they came but for their order; there is room for them. */
void radix_stream_undo(struct radix_stream *stream, void *keys);

/* Begins to sort; room, of radix_stream_chunk, is where what is given will be. *suits as before. */
void radix_stream_sort(struct radix_stream *stream, void *room, bool *suits);

/* The next keys in order; *count 0 at the end. With the last ones the memory of what was put is let
 * go of. The calling thread, always the same, sorts while there are none. */
void radix_stream_give(struct radix_stream *stream, void **keys, size_t *count);

/* What was given is not needed any more, the oldest first. */
void radix_stream_take_back(struct radix_stream *stream, size_t count);

/* How long all threads together have sorted so far, behind radix_stream_sort; who waits for the
 * caller to take what is sorted does not sort. */
uint64_t radix_stream_sort_ns(struct radix_stream *stream);

/* Drops what was not given; stream may be NULL. */
void radix_stream_close(struct radix_stream *stream);

#endif
