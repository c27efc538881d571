/* SPDX-License-Identifier: Apache-2.0 */
/* flips.c - inverts one bit in the path of the data, or cuts it at a wrong position. It is linked
 * into build/tests/gpusort_flips and wraps functions of the program (ld --wrap), so gpusort itself
 * has no hook; see tests/job/proof.sh.
 *
 *   FLIP=STAGE     the first time that data passes the stage
 *   FLIP=STAGE:N   the N-th time
 *
 * The bit is the lowest of the middle byte, if no other is named. The stages are the names in the
 * comments below. For a device, the stand-in does the same (tests/simt/simt_memory.cc).
 */
#include "core/argsort.h"
#include "core/check/check.h"
#include "core/line/line_key.h"
#include "cpu/cpu_sorts.h"
#include "cpu/stream/bucket_blocks.h"
#include "formats/io/output_file.h"
#include "formats/io/sink.h"
#include "formats/io/spill.h"
#include "formats/lines/lines.h"
#include "formats/merge/merge_steps.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Set by the thread that puts a buffer, until the buffer is sealed. */
static _Thread_local bool is_put;

/* Returns true if this pass of the stage is the one in FLIP. */
static bool is_turn(const char *stage)
{
    static atomic_int calls;
    const char *const flip = getenv("FLIP");
    const size_t length = strlen(stage);
    if (!flip || strncmp(flip, stage, length) != 0 || (flip[length] && flip[length] != ':'))
        return false;
    return atomic_fetch_add(&calls, 1) + 1 == (flip[length] ? atoi(flip + length + 1) : 1);
}

static void flip(const char *stage, const void *data, size_t bytes)
{
    if (bytes > 0 && is_turn(stage))
        ((unsigned char *)data)[bytes / 2] ^= 1;
}

static void flip_in_file(const char *stage, int file, uint64_t begin, uint64_t bytes)
{
    unsigned char byte;
    const off_t position = (off_t)(begin + bytes / 2);
    if (bytes == 0 || !is_turn(stage) || pread(file, &byte, 1, position) != 1)
        return;
    byte ^= 1;
    if (pwrite(file, &byte, 1, position) != 1)
        abort();
}

/* Declares the wrapped function, and starts the definition of its wrapper. */
#define WRAP(type, name, parameters)                                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

/* "keys": the numbers that items are made from; "items": those items. */
WRAP(void, argsort_fill,
     (const struct argsort *argsort, const void *keys, uint64_t first, const struct chunk *chunk,
      unsigned threads, const struct argsort_taps *taps))
{
    flip("keys", keys, chunk->count * argsort->key_bytes);
    __real_argsort_fill(argsort, keys, first, chunk, threads, taps);
    flip("items", chunk->items, chunk->count * argsort->item_bytes);
}

/* "read": the input of the CPU's sort. */
static struct {
    unsigned char *items;
    unsigned item_bytes;
} sorted_last;

WRAP(struct array_sort *, array_sort_begin,
     (const struct sort_task *task, void *items, void *scratch))
{
    flip("read", items, task->count * task->item_bytes);
    sorted_last.items = items;
    sorted_last.item_bytes = task->item_bytes;
    return __real_array_sort_begin(task, items, scratch);
}

WRAP(void, bucket_chains_put,
     (struct block_pool * pool, const struct bucket_chains *heap, unsigned width, const void *items,
      size_t count, struct key_order order, const struct bucket_model *model,
      const struct fine_table *fine))
{
    flip("read", items, count);
    __real_bucket_chains_put(pool, heap, width, items, count, order, model, fine);
}

/* "stored": sorted keys where they are checked: in the engine's memory, before they are given, or
 * in its output. */
WRAP(void, key_check_begin_chunk, (struct key_check * check, const void *keys, size_t count))
{
    flip("stored", keys, count * check->key_bytes);
    __real_key_check_begin_chunk(check, keys, count);
}

/* "sort": a part of the CPU's sorted output. */
WRAP(size_t, array_sort_await, (struct array_sort * sorting, size_t known))
{
    const size_t sorted = __real_array_sort_await(sorting, known);
    flip("sort", sorted_last.items + known * sorted_last.item_bytes,
         (sorted - known) * sorted_last.item_bytes);
    return sorted;
}

WRAP(bool, stream_sort_give,
     (struct stream_sort * stream, void **keys, size_t *count, struct error *error))
{
    const bool ok = __real_stream_sort_give(stream, keys, count, error);
    flip("sort", *keys, ok ? *count : 0);
    return ok;
}

/* "write": the input of the sink. */
WRAP(bool, sink_write_observed,
     (struct sink * sink, const void *data, size_t bytes, struct tap *tap, struct error *error))
{
    flip("write", data, bytes);
    return __real_sink_write_observed(sink, data, bytes, tap, error);
}

WRAP(bool, sink_write_at,
     (void *sink, uint64_t position, const void *data, size_t bytes, unsigned threads,
      struct tap *tap, struct error *error))
{
    flip("write", data, bytes);
    return __real_sink_write_at(sink, position, data, bytes, threads, tap, error);
}

/* "buffer": the content of a sink's buffer, after it was filled. */
WRAP(bool, sink_put, (struct sink * sink, unsigned char *buffer, size_t bytes, struct error *error))
{
    is_put = true;
    return __real_sink_put(sink, buffer, bytes, error);
}

WRAP(struct check_sum, text_check_sum, (uint64_t position, const void *data, size_t bytes))
{
    const struct check_sum sum = __real_text_check_sum(position, data, bytes);
    if (is_put)
        flip("buffer", data, bytes);
    is_put = false;
    return sum;
}

/* "cut": the cuts of sorted texts into parts that are merged separately. In the first text, half of
 * a part's lines move to the next part. */
WRAP(bool, merge_cut_evenly,
     (const struct merge_texts *texts, size_t parts, size_t *cuts, unsigned threads,
      struct error *error))
{
    const bool ok = __real_merge_cut_evenly(texts, parts, cuts, threads, error);
    size_t *const cut = &cuts[parts / 2 * texts->count];
    if (ok && parts > 1 && is_turn("cut"))
        *cut -= (*cut - cut[-(ptrdiff_t)texts->count]) / 2;
    return ok;
}

/* "bound": the position up to which a text is merged before more is read; it becomes half as far.
 */
WRAP(size_t, merge_cut_find_after,
     (const struct merge_texts *texts, size_t i, size_t begin, const struct splitter *splitter))
{
    const size_t position = __real_merge_cut_find_after(texts, i, begin, splitter);
    return i == 0 && is_turn("bound") ? begin + (position - begin) / 2 : position;
}

/* "spill": a run on disk. */
WRAP(bool, spill_end, (struct spill_run * run, struct error *error))
{
    const bool ok = __real_spill_end(run, error);
    flip_in_file("spill", run->file, run->begin, run->bytes);
    return ok;
}

/* "item": an item of a run, read back: its highest bit but one, so that it is out of order. "line":
 * the last line of what is read of a run: a bit of its ninth byte, so that a letter becomes a
 * digit. */
WRAP(bool, spill_read,
     (const struct spill_run *run, uint64_t offset, void *data, size_t bytes, struct error *error))
{
    const bool ok = __real_spill_read(run, offset, data, bytes, error);
    unsigned char *const text = data;
    const size_t top = bytes / 2 | 15; /* the last byte of an item of any width */
    size_t line = bytes;
    if (ok && top < bytes && is_turn("item"))
        text[top] ^= 0x40;
    for (size_t ends = 0; line > 0 && (ends += text[line - 1] == '\n') < 2;)
        line--;
    if (ok && line + 8 < bytes && is_turn("line"))
        text[line + 8] ^= 0x40;
    return ok;
}

/* "file": the written file, before it is verified. */
WRAP(bool, output_file_store, (struct output_file * output, struct error *error))
{
    const bool ok = __real_output_file_store(output, error);
    flip_in_file("file", output->file, 0, output->claimed);
    return ok;
}

/* Returns true if two consecutive lines have equal keys and differ. */
static bool are_tied(const struct lines *lines, struct key_index a, struct key_index b)
{
    const char *const text = lines_whole_text(lines);
    const char *const x = text + line_offset(a), *const y = text + line_offset(b);
    const size_t length = strcspn(x, "\n") + 1;
    return a.key == b.key && memcmp(x, y, length) != 0;
}

static void exchange_ties(const struct lines *lines, struct key_index *items, size_t count)
{
    size_t i = count / 2;
    if (count == 0 || !is_turn("ties"))
        return;
    while (i + 1 < count && !are_tied(lines, items[i], items[i + 1]))
        i++;
    if (i + 1 == count)
        return;
    const struct key_index kept = items[i];
    items[i] = items[i + 1];
    items[i + 1] = kept;
}

/* "text": lines after reading; "gather": lines to be written; "ties": two of these that only the
 * last resort distinguishes, swapped. */
WRAP(bool, lines_index, (struct lines * lines, struct error *error))
{
    flip("text", lines_whole_text(lines), lines_bytes(lines));
    return __real_lines_index(lines, error);
}

WRAP(bool, lines_write,
     (const struct lines *lines, const struct key_index *items, size_t count, struct sink *sink,
      struct lines_written *written, struct error *error))
{
    flip("gather", lines_whole_text(lines), lines_bytes(lines));
    exchange_ties(lines, (struct key_index *)items, count);
    return __real_lines_write(lines, items, count, sink, written, error);
}
