/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.c - the CPU as a backend: see core/backend.h for the contract.
 *
 *   lend: the next part of the final array --reader fills--> take ... sort (array_sort.c)
 *   give: the sorted prefix of the same array --writer empties--> take_back
 *
 * So the reader writes each number once and the writer reads it once. The array for a known count
 * is mapped at once. For an unknown count, addresses are reserved and committed as they fill, so
 * that no item is moved to make room.
 *
 * Many keys of 4 or 8 bytes are partitioned while they are read (stream/stream_sort.c): the first
 * chunk of the array is lent repeatedly, and partitioned each time, by the reading threads if
 * possible. During the sort this chunk is the ring for sorted keys; the whole array is, if the
 * items are to stay in memory.
 *
 * With --top of less than half of the items, the array holds candidates (top_select.c): the reader
 * fills the room after them, and take keeps the items that may be among the first K.
 *
 * No thread touches a large array or scratch beforehand (pages.c): the threads that read and sort
 * take the page faults in parallel. 1e8 f64, 2 cores of an AMD EPYC (Zen 4), huge pages, 2026-11:
 * 0.73 s with fresh scratch; 0.70 s, and 0.04 s before, with scratch populated by both threads
 * (MADV_POPULATE_WRITE).
 */
#include "core/backend.h"
#include "core/clock.h"
#include "core/group.h"
#include "core/host_limits.h"
#include "cpu/cpu_sorts.h"
#include "cpu/items/item_kernels.h"
#include "cpu/pages.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#    include <cpuid.h>
#endif

struct engine {
    struct sort_spec spec;
    struct pages items;
    struct pages scratch;
    struct top_select *select;  /* NULL: all items are kept */
    size_t taken;               /* items taken so far */
    size_t count;               /* items in the array; of a stream that is sorted, its items */
    size_t wanted;              /* while a chunk is lent: items requested of `lend`, at most those
                                 * to come */
    bool may_stream;            /* the keys may still be partitioned while read */
    void *sample;               /* copy of a sample of the whole input, of spec.sample_count
                                 * items; NULL: none */
    struct stream_sort *stream; /* NULL: items go to the array */
    struct rank_memory *ranks;  /* for `share` */
    struct array_sort *sorting; /* from cpu_sort until all is sorted; stored in the scratch */
    uint64_t sort_start_ns;
    struct key_check check; /* of all items, sorted, if they are given twice */
    size_t given;           /* items */
    struct engine_times times;
};

static const struct algorithm cpu_algorithms[] = {
    {"radix",
     "partition by a learned model of the keys, then networks or radix sort in cache; parallel",
     NULL, 2, SIZE_MAX, array_sort_workspace_bytes},
};

/* ---- Facts ---- */

/* Writes the processor's name without surrounding blanks, or "CPU" if it is unknown. name_bytes:
 * size of `name`. CPUID has it; reading /proc/cpuinfo takes longer than a small sort. */
static void find_processor_name(char *name, size_t name_bytes)
{
    unsigned words[12] = {0};
#ifdef __x86_64__
    for (unsigned leaf = 0; leaf < 3; leaf++)
        (void)__get_cpuid(0x80000002u + leaf, &words[4 * leaf], &words[4 * leaf + 1],
                          &words[4 * leaf + 2], &words[4 * leaf + 3]);
#endif
    char text[sizeof words + 1] = {0};
    memcpy(text, words, sizeof words);
    const char *begin = text + strspn(text, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ')
        length--;
    snprintf(name, name_bytes, "%.*s", length > 0 ? (int)length : 3, length > 0 ? begin : "CPU");
}

/* Leaves memory_bytes 0: host_limits.h finds how much memory there is, when a job is planned. */
static bool cpu_probe(unsigned device, struct device_facts *facts, struct error *error)
{
    if (device != 0)
        return error_set(error, "cpu:%u: there is only device 0", device);
    *facts = (struct device_facts){.units = (unsigned)omp_get_num_procs()};
    find_processor_name(facts->name, sizeof facts->name);
    return true;
}

/* ---- The request ---- */

/* Maximum bytes of a chunk if the count is unknown, and for --top. */
#define LEND_BYTES_MAX ((size_t)64 << 20)

/* Minimum chunks and maximum threads for partitioning while reading. With more threads, reading
 * and writing in parallel is faster than one thread that hands on sorted keys. 1e8 f64, file to
 * file in tmpfs, 16 cores of an Intel Xeon, 2026-11, by 2, 4, 8 and 16 threads: 0.98, 0.55, 0.36
 * and 0.29 s, and in an array, with twice the memory, 1.01, 0.54, 0.29 and 0.24; by two cores of
 * an AMD EPYC 0.36 and 0.39. */
#define STREAM_CHUNKS_MIN 2
#define STREAM_THREADS_MAX 4

/* Minimum bytes of spec->most keys, per thread, to stream an unknown number of keys: the buckets
 * need more memory than a scratch would. */
#define STREAM_THREAD_BYTES ((size_t)32 << 20)

/* Bytes of a chunk of --top per thread, and the minimum: parallel reading starts at that size. */
#define SELECTION_THREAD_BYTES ((size_t)4 << 20)
#define SELECTION_BYTES_MIN ((size_t)16 << 20)

/* Returns the number of threads that sort: at most the processors, as more are slower. 1e8 f64, two
 * cores of an AMD EPYC (Zen 5), 2026-11, by 2, 4, 16 and 128 threads: 0.27, 0.29, 0.31 and 0.77 s.
 */
static unsigned spec_threads(const struct sort_spec *spec)
{
    const unsigned processors = (unsigned)omp_get_num_procs();
    return spec->threads < processors ? spec->threads : processors;
}

/* True if items may be partitioned while read: at least two chunks of keys of 4 or 8 bytes, with
 * few threads and without a selection. If the count is unknown, spec->most must be large enough,
 * and items need not stay in memory. spec->threads: from spec_threads. */
static bool spec_can_stream(const struct sort_spec *spec)
{
    const size_t chunks = STREAM_CHUNKS_MIN * stream_sort_chunk(spec->threads);
    return (!spec->is_kept || spec->count != COUNT_UNKNOWN) &&
           spec->threads <= STREAM_THREADS_MAX &&
           (spec->item_bytes == 4 || spec->item_bytes == 8) && !sort_spec_selects(spec) &&
           spec->count >= chunks / spec->item_bytes &&
           (spec->count != COUNT_UNKNOWN ||
            spec->most / spec->threads >= STREAM_THREAD_BYTES / spec->item_bytes);
}

/* Maximum items of a chunk for --top: small enough for the cache, large enough for parallel
 * reading. */
static size_t spec_selection_chunk(const struct sort_spec *spec)
{
    const size_t bytes = spec->threads * SELECTION_THREAD_BYTES;
    const size_t least = bytes > SELECTION_BYTES_MIN ? bytes : SELECTION_BYTES_MIN;
    return (least < LEND_BYTES_MAX ? least : LEND_BYTES_MAX) / spec->item_bytes;
}

/* Returns the bytes of `most` items; SIZE_MAX if `most` is 0 (unknown) or the product overflows. */
static size_t spec_bytes(const struct sort_spec *spec, size_t most)
{
    size_t bytes;
    const bool is_known = most > 0 && !__builtin_mul_overflow(most, spec->item_bytes, &bytes);
    return is_known ? bytes : SIZE_MAX;
}

/* Returns a copy of the sample, which the caller frees; NULL without memory, as the sample is
 * optional. */
static void *spec_copy_sample(const struct sort_spec *spec)
{
    const size_t bytes = spec->sample_count * spec->item_bytes;
    void *const copy = malloc(bytes);
    if (copy)
        memcpy(copy, spec->sample, bytes);
    return copy;
}

/* ---- Life ---- */

/* Addresses that stay free for each thread's stack: libgomp ends the program if it gets none. */
#define STREAM_SPARE_BYTES ((size_t)16 << 20)

/* Items at the beginning of the input that are checked for order. */
#define ORDER_COUNT ((size_t)16 << 10)

/* Up to this size the output is given in parts without a look at the free memory, which takes
 * longer. */
#define PARTS_BYTES_SURE ((size_t)16 << 20)

static void cpu_close(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->sorting)
        array_sort_end(engine->sorting);
    stream_sort_close(engine->stream);
    free(engine->ranks);
    pages_release(&engine->scratch);
    pages_release(&engine->items);
    top_select_free(engine->select);
    free(engine->sample);
    free(engine);
}

static struct sort_task make_task(const struct engine *engine, size_t count)
{
    return (struct sort_task){.item_bytes = engine->spec.item_bytes,
                              .order = engine->spec.order,
                              .count = count,
                              .threads = engine->spec.threads};
}

static bool find_scratch_bytes(const struct engine *engine, size_t count, size_t *bytes,
                               struct error *error)
{
    const struct sort_task task = make_task(engine, count);
    return array_sort_scratch_bytes(&task, bytes) ||
           error_set(error, "out of memory: the scratch for %zu items of %u bytes exceeds any",
                     count, engine->spec.item_bytes);
}

static bool map_scratch(struct engine *engine, size_t count, struct error *error)
{
    size_t bytes;
    return find_scratch_bytes(engine, count, &bytes, error) &&
           pages_map(&engine->scratch, bytes, error);
}

/* Creates the selection, and its array for the kept items and a chunk, of which only addresses are
 * reserved if the count is unknown. cpu_sort maps the scratch. */
static bool open_selection(struct engine *engine, struct error *error)
{
    const struct sort_spec *spec = &engine->spec;
    const struct top_task task = {.item_bytes = spec->item_bytes,
                                  .order = spec->order,
                                  .top = spec->top,
                                  .threads = spec->threads};
    const size_t limit = top_select_limit(spec->top), chunk = spec_selection_chunk(spec);
    const bool is_counted = spec->count != COUNT_UNKNOWN;
    const size_t come = is_counted || spec->most == 0 ? spec->count : spec->most;
    const size_t most = limit < come && chunk < come - limit ? limit + chunk : come;
    return top_select_create(&task, &engine->select, error) &&
           (is_counted ? pages_map(&engine->items, most * spec->item_bytes, error)
                       : pages_reserve(&engine->items, spec_bytes(spec, most), error));
}

/* Maps the array and the scratch of a known count, so that a shortage is found before the input is
 * read. A selection has no scratch yet. */
static bool cpu_open(const struct sort_spec *spec, struct engine **engine, struct error *error)
{
    const uint64_t start = clock_now_ns();
    struct engine *opened = NULL;
    TRY(spec->count == COUNT_UNKNOWN || spec->count <= SIZE_MAX / spec->item_bytes ||
        error_set(error, "out of memory: %zu items of %u bytes exceed any memory", spec->count,
                  spec->item_bytes));
    opened = calloc(1, sizeof *opened);
    TRY(opened ||
        error_set(error, "out of memory: %zu bytes are needed for the engine", sizeof *opened));
    opened->spec = *spec;
    opened->spec.sample = NULL; /* owned by the caller */
    opened->spec.threads = spec_threads(spec);
    key_check_start_ordered(&opened->check, spec->item_bytes, spec->order);
    if (sort_spec_selects(spec)) {
        TRY(open_selection(opened, error));
    } else if (spec->count == COUNT_UNKNOWN) {
        TRY(pages_reserve(&opened->items, spec_bytes(spec, spec->most), error));
    } else {
        TRY(pages_map(&opened->items, spec->count * spec->item_bytes, error));
        TRY(map_scratch(opened, spec->count, error));
    }
    opened->may_stream = spec_can_stream(&opened->spec);
    if (opened->may_stream && spec->sample_count > 0)
        opened->sample = spec_copy_sample(spec);
    opened->times.start_ns = clock_now_ns() - start;
    *engine = opened;
    return true;
done:
    cpu_close(opened);
    return false;
}

/* ---- In ---- */

/* Items per chunk of the stream. */
static size_t stream_chunk(const struct engine *engine)
{
    return stream_sort_chunk(engine->spec.threads) / engine->spec.item_bytes;
}

/* Fails if `count` items could not be sorted for lack of scratch. */
static bool check_scratch(const struct engine *engine, size_t count, struct error *error)
{
    size_t bytes;
    return find_scratch_bytes(engine, count, &bytes, error) && pages_check(bytes, error);
}

/* Sets *room to the number of items to lend, `want` or fewer: at most a chunk for --top and while
 * keys are partitioned, and at most those to come if the count is known. Otherwise they take at
 * most LEND_BYTES_MAX, which are committed. */
static bool make_room(struct engine *engine, size_t want, size_t *room, struct error *error)
{
    const size_t width = engine->spec.item_bytes;
    if (engine->select && want > spec_selection_chunk(&engine->spec))
        want = spec_selection_chunk(&engine->spec);
    if (engine->may_stream && want > stream_chunk(engine) - engine->count)
        want = stream_chunk(engine) - engine->count;
    if (engine->spec.count != COUNT_UNKNOWN) {
        const size_t left = engine->spec.count - engine->taken;
        if (left == 0 && want > 0)
            return error_set(error, "cpu: more than the promised %zu items came",
                             engine->spec.count);
        *room = want < left ? want : left;
        return true;
    }
    *room = want < LEND_BYTES_MAX / width ? want : LEND_BYTES_MAX / width;
    if (engine->count > SIZE_MAX / width - *room)
        return error_set(error, "out of memory: more than %zu items of %zu bytes exceed any memory",
                         engine->count, width);
    return pages_commit(&engine->items, (engine->count + *room) * width, error) &&
           (engine->select || engine->stream ||
            check_scratch(engine, engine->count + *room, error));
}

static bool cpu_lend(struct engine *engine, size_t want, struct chunk *chunk, struct error *error)
{
    size_t room = 0;
    if (!make_room(engine, want, &room, error))
        return false;
    *chunk = (struct chunk){.items = engine->items.data + engine->count * engine->spec.item_bytes,
                            .capacity = room};
    engine->wanted =
        want < engine->spec.count - engine->taken ? want : engine->spec.count - engine->taken;
    return true;
}

/* Moves the partitioned keys to the array, after its other items, and closes the stream. */
static bool stream_undo(struct engine *engine, struct error *error)
{
    const size_t width = engine->spec.item_bytes;
    if (engine->spec.count == COUNT_UNKNOWN &&
        !pages_commit(&engine->items, engine->taken * width, error))
        return false;
    stream_sort_undo(engine->stream, engine->items.data + engine->count * width);
    engine->may_stream = false;
    engine->count = engine->taken;
    engine->times.sort_ns += stream_sort_busy_ns(engine->stream);
    stream_sort_close(engine->stream);
    engine->stream = NULL;
    return true;
}

/* Opens the stream, unless the first items are sorted or reversed, as all may be, or addresses
 * are short. */
static void stream_begin(struct engine *engine)
{
    const unsigned width = engine->spec.item_bytes;
    const struct key_order order = engine->spec.order;
    const void *const items = engine->items.data;
    const struct sort_task task = make_task(engine, engine->spec.count);
    struct pages spare = {0};
    struct error error = {0};
    const size_t sampled = engine->sample ? engine->spec.sample_count : 0;
    const struct stream_example examples[] = {
        /* for buckets of all ranks, for those of this engine alone, and without a sample */
        {engine->sample, sampled, true, engine->spec.shared_count},
        {engine->sample, sampled, true, 0},
        {items, engine->count, false, 0},
    };
    engine->may_stream = !items_are_ascending(width, items, 0, ORDER_COUNT, order) &&
                         !items_are_descending(width, items, 0, ORDER_COUNT, order) &&
                         pages_map(&spare, task.threads * STREAM_SPARE_BYTES, &error);
    for (size_t i = 0; engine->may_stream && !engine->stream && i < 3; i++)
        if (examples[i].count > 0 && (i != 1 || engine->spec.shared_count > 0))
            stream_sort_open(&task, &examples[i], &engine->stream, &error);
    engine->may_stream = engine->stream != NULL;
    pages_release(&spare);
}

/* Partitions the items of the array. If the stream cannot be opened, does not suit or lacks memory,
 * all items are in the array afterwards. */
static bool stream_put(struct engine *engine, struct error *error)
{
    struct error shortage = {0};
    bool is_even = true;
    if (!engine->stream)
        stream_begin(engine);
    if (!engine->stream)
        return true;
    if (stream_sort_put(engine->stream, engine->items.data, engine->count, &is_even, &shortage))
        engine->count = 0;
    return (is_even && !shortage.is_set) || stream_undo(engine, error);
}

/* The tap for reading threads, once the stream is open and the array holds no items. */
static struct tap *cpu_consumer(struct engine *engine, size_t *most)
{
    struct tap *const tap =
        engine->stream && engine->count == 0 ? stream_sort_tap(engine->stream) : NULL;
    if (tap)
        *most = engine->wanted;
    return tap;
}

/* Items that went through the tap since the chunk was lent. */
static size_t shown_count(const struct engine *engine)
{
    return engine->stream ? stream_sort_count(engine->stream) + engine->count - engine->taken : 0;
}

/* Keeps the lent items in the array, or partitions all there as soon as they fill half a chunk. */
static bool keep_taken(struct engine *engine, size_t count, struct error *error)
{
    engine->count += count;
    return !engine->may_stream || engine->count < stream_chunk(engine) / 2 ||
           stream_put(engine, error);
}

static bool cpu_take(struct engine *engine, struct chunk chunk, struct error *error)
{
    const size_t shown = shown_count(engine);
    engine->taken += chunk.count;
    const uint64_t start = clock_now_ns();
    bool taken = true;
    if (engine->select)
        engine->count =
            top_select_add(engine->select, engine->items.data, engine->count, chunk.count);
    else if (shown > 0) /* the tap has partitioned them */
        taken = stream_sort_suits(engine->stream) || stream_undo(engine, error);
    else
        taken = keep_taken(engine, chunk.count, error);
    engine->times.sort_ns += clock_now_ns() - start;
    return taken;
}

/* ---- Sort ---- */

/* Called when all items are sorted. */
static void end_sort(struct engine *engine)
{
    array_sort_end(engine->sorting);
    engine->sorting = NULL;
    pages_release(&engine->scratch);
    engine->times.sort_ns += clock_now_ns() - engine->sort_start_ns;
}

/* Returns the length of the sorted prefix, more than `known`. Drops scratch that is no longer
 * used. */
static size_t await_sorted(struct engine *engine, size_t known)
{
    if (!engine->sorting)
        return engine->count;
    const size_t sorted = array_sort_await(engine->sorting, known);
    if (sorted == engine->count)
        end_sort(engine);
    else if (engine->spec.item_bytes >= 4) /* the scratch is as large as the items */
        pages_drop(&engine->scratch, sorted * engine->spec.item_bytes);
    return sorted;
}

static void await_all(struct engine *engine)
{
    for (size_t sorted = 0; sorted < engine->count;)
        sorted = array_sort_await(engine->sorting, sorted);
    end_sort(engine);
}

/* False for items with an index, as lines are gathered when all items are sorted, and if memory is
 * so short that output buffers must wait until the scratch is released. */
static bool is_given_in_parts(const struct engine *engine)
{
    const size_t width = engine->spec.item_bytes, bytes = engine->count * width;
    return width != sizeof(struct key_index) &&
           (bytes <= PARTS_BYTES_SURE || bytes <= memory_ahead_most());
}

/* Starts the sort of the partitioned keys; if they do not suit, they are in the array
 * afterwards. */
static bool stream_sort(struct engine *engine, struct error *error)
{
    const struct sort_spec *const spec = &engine->spec;
    bool is_even;
    if (!stream_put(engine, error) || !engine->stream)
        return !engine->stream;
    stream_sort_start(engine->stream, engine->items.data,
                      spec->is_kept ? engine->taken * spec->item_bytes
                                    : stream_sort_chunk(spec->threads),
                      spec->is_given_twice ? &engine->check : NULL, &is_even);
    if (!is_even)
        return stream_undo(engine, error);
    engine->count = engine->taken;
    engine->times.sort_ns += clock_now_ns() - engine->sort_start_ns;
    pages_release(&engine->scratch);
    return true;
}

static bool cpu_sort(struct engine *engine, struct error *error)
{
    const struct sort_spec *spec = &engine->spec;
    if (spec->count != COUNT_UNKNOWN && engine->taken != spec->count)
        return error_set(error, "cpu: %zu items came where %zu were promised", engine->taken,
                         spec->count);
    engine->sort_start_ns = clock_now_ns();
    if (engine->stream && !stream_sort(engine, error))
        return false;
    if (engine->stream)
        return true;
    if (engine->select)
        engine->count = top_select_finish(engine->select, engine->items.data, engine->count);
    if (spec->count == COUNT_UNKNOWN)
        pages_trim(&engine->items); /* the scratch may need the addresses */
    if ((engine->select || spec->count == COUNT_UNKNOWN) &&
        !map_scratch(engine, engine->count, error))
        return false;
    const struct sort_task task = make_task(engine, engine->count);
    engine->sorting = array_sort_begin(&task, engine->items.data, engine->scratch.data);
    if (!is_given_in_parts(engine))
        await_all(engine);
    return true;
}

/* ---- Out ---- */

static bool stream_give(struct engine *engine, size_t most, struct chunk *chunk,
                        struct error *error)
{
    size_t count;
    if (!stream_sort_give(engine->stream, &chunk->items, &count, error))
        return false;
    if (count > most - engine->given)
        count = most - engine->given;
    chunk->count = chunk->capacity = count;
    engine->given += count;
    return true;
}

static bool cpu_give(struct engine *engine, struct chunk *chunk, struct error *error)
{
    const size_t most = sort_spec_given(&engine->spec, engine->count), begin = engine->given;
    if (engine->stream && begin < most)
        return stream_give(engine, most, chunk, error);
    if (begin < most)
        engine->given = await_sorted(engine, begin);
    if (engine->given > most)
        engine->given = most;
    const size_t count = engine->given - begin;
    *chunk = (struct chunk){.items = engine->items.data + begin * engine->spec.item_bytes,
                            .capacity = count,
                            .count = count};
    return true;
}

static bool cpu_take_back(struct engine *engine, struct chunk chunk, struct error *error)
{
    (void)error;
    if (engine->stream && !engine->spec.is_kept)
        stream_sort_take_back(engine->stream, chunk.count);
    return true;
}

/* A stream has checked its keys when it sorted them. */
static bool cpu_check(struct engine *engine, struct check_sum *sum, uint64_t *disorder,
                      struct error *error)
{
    struct key_check *const check = &engine->check;
    struct chunk chunk;
    while (!engine->stream) {
        if (!cpu_give(engine, &chunk, error))
            return false;
        if (chunk.count == 0)
            break;
        key_check_begin_chunk(check, chunk.items, chunk.count);
        tap_observe_all(&check->tap, chunk.items, chunk.count * check->key_bytes,
                        engine->spec.threads);
    }
    *sum = check->sum;
    *disorder = check->disorder;
    return true;
}

/* Only a stream writes its keys. */
static bool cpu_write(struct engine *engine, const struct item_writer *writer,
                      struct check_sum *sum, uint64_t *disorder, struct error *error)
{
    struct key_check check;
    if (!engine->stream)
        return true;
    if (!stream_sort_write(engine->stream, writer, &check, error))
        return false;
    engine->given = engine->count;
    *sum = check.sum;
    *disorder = check.disorder;
    return true;
}

static bool cpu_rewind(struct engine *engine, struct error *error)
{
    (void)error;
    if (engine->stream)
        stream_sort_rewind(engine->stream);
    engine->given = 0;
    return true;
}

static bool cpu_share(struct engine *engine, struct shared_sort *shared, bool *is_shared,
                      struct error *error)
{
    const uint64_t *const target = &shared->targets[shared->group->rank];
    *is_shared = false;
    if (engine->spec.shared_count == 0)
        return true;
    if (!rank_memory_open(shared->group, &engine->ranks, error))
        return false;
    if (!engine->ranks)
        return true;
    if (!group_agree(shared->group, !engine->stream || stream_put(engine, error), error) ||
        !stream_sort_share(engine->stream, shared, engine->ranks, is_shared, error))
        return false;
    if (!*is_shared)
        return true;
    const uint64_t start_ns = clock_now_ns();
    pages_release(&engine->scratch);
    bool suits; /* if it does not, stream_sort_give reports why */
    stream_sort_start(engine->stream, engine->items.data, stream_sort_chunk(engine->spec.threads),
                      NULL, &suits);
    engine->spec.is_kept = false;
    engine->count = (size_t)(target[1] - target[0]);
    engine->times.sort_ns += clock_now_ns() - start_ns;
    return true;
}

static void cpu_times(const struct engine *engine, struct engine_times *times)
{
    *times = engine->times;
    if (engine->stream)
        times->sort_ns += stream_sort_busy_ns(engine->stream);
}

static const struct engine_functions cpu_keys = {
    .open = cpu_open,
    .lend = cpu_lend,
    .take = cpu_take,
    .sort = cpu_sort,
    .give = cpu_give,
    .take_back = cpu_take_back,
    .times = cpu_times,
    .close = cpu_close,
    .rewind = cpu_rewind,
    .consumer = cpu_consumer,
    .check = cpu_check,
    .write = cpu_write,
    .share = cpu_share,
};

static unsigned cpu_count(unsigned most)
{
    return most < 1 ? most : 1;
}

static void cpu_describe_build(char *text, size_t room)
{
    snprintf(text, room, "CPU");
}

extern const struct backend cpu_backend;
const struct backend cpu_backend = {
    .name = "cpu",
    .summary = "the processor's cores",
    .algorithms = cpu_algorithms,
    .algorithm_count = sizeof cpu_algorithms / sizeof *cpu_algorithms,
    .probe = cpu_probe,
    .look = cpu_probe,
    .describe_build = cpu_describe_build,
    .count = cpu_count,
    .keys = &cpu_keys,
};
