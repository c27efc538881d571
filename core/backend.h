/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - the interface between the pipeline and the sorting engines.
 *
 *   open -> { lend -> (reader fills) -> take }*
 *        -> sort (or share, with other ranks)
 *        -> { give -> (writer empties) -> take_back }* -> close, or restart for the next part
 *
 * An engine lends the memory that it wants the numbers in: on the CPU the final array, or a chunk
 * from which threads partition keys; on a GPU a small pinned ring. It gives the sorted numbers out
 * of its own memory in the same way. So neither side copies for the other, and one pipeline serves
 * both. While the caller reads or writes a chunk, chunks already taken are uploaded, and the next
 * chunks to give are downloaded.
 *
 * Calls on one engine must not overlap.
 */
#ifndef CORE_BACKEND_H
#define CORE_BACKEND_H

#include "core/check/tap.h"
#include "core/error.h"
#include "core/key_order.h"
#include "core/line/line_order.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COUNT_UNKNOWN SIZE_MAX

/* An item of 16 bytes: a key with its index in the input. As one little-endian integer of 128 bits,
 * key above index, and with distinct indices, its order is total. So any sorter, stable or not,
 * keeps equal keys in the order of their indices. */
struct key_index {
    uint64_t index;
    uint64_t key;
};

/* Consecutive items in memory that the engine owns. */
struct chunk {
    void *items;
    size_t capacity; /* maximum number of items */
    size_t count;    /* number of items */
    size_t slot;     /* for the engine's own use */
};

/* A path: one strategy of sorting. Each backend has a table of paths, which engine->sort() runs. */
struct algorithm {
    const char *name;         /* as in --algorithm */
    const char *summary;      /* one line for --list */
    const size_t *tile_sizes; /* in items, ascending, then 0; NULL: the path has no tiles */
    unsigned buffers;         /* arrays as large as the data: 1 in place, 2 with scratch */
    size_t count_max;         /* maximum number of items, more are refused; SIZE_MAX: no limit */

    /* Returns the host memory that the threads need beside the arrays. NULL: none. */
    size_t (*workspace_bytes)(size_t count, unsigned item_bytes, unsigned threads);
};

struct device_facts {
    char name[128];
    uint64_t id;         /* of a GPU, the same for all processes; else 0 */
    unsigned units;      /* threads of a CPU, multiprocessors of a GPU */
    size_t memory_bytes; /* of a GPU: free, or all of it if that was not determined; else 0 */
    size_t shared_bytes; /* maximum shared memory of a block of a GPU; else 0 */
};

/* Callbacks for the steps that an engine of lines cannot do exactly. The caller has the text too.
 * Items are defined by core/line/line_image.h. The engine's `sort` calls them, in its thread. */
struct line_helper {
    void *context;
    /* Keys the lines of items[0..count), which are in the order of the text. */
    bool (*key)(void *context, struct key_index *items, size_t count, struct error *error);
    /* Puts tie groups among items[0..*count), which are sorted by key and then by index, into the
     * exact order. If the order is unique, drops lines and sets *count to the number kept. */
    bool (*refine)(void *context, struct key_index *items, size_t *count, struct error *error);
};

/* Maximum number of devices that sort together. */
#define BACKEND_DEVICES_MOST 64

/* A device of several that sort together. */
struct device_room {
    unsigned device; /* index among the backend's devices */
    size_t bytes;    /* memory that it may take, at least 1 */
};

/* The task of an engine. An engine of lines takes and gives text: its chunks count bytes, and it
 * sorts struct key_index. */
struct sort_spec {
    unsigned item_bytes;    /* 1, 2, 4, 8: keys; 16: struct key_index */
    struct key_order order; /* of the keys; for struct key_index the identity */
    size_t count; /* exact number of items, or COUNT_UNKNOWN; for text, maximum number of bytes */
    size_t most;  /* maximum of an unknown count, and of items after `share`; 0: none, which only
                     the CPU's engine accepts for an unknown count */
    const struct algorithm *algorithm; /* a row of this backend */
    size_t tile_size;                  /* one of algorithm->tile_sizes; 0 if it has none */
    unsigned device;                   /* index among the backend's devices; the first of several */
    const struct device_room *devices; /* for an engine of several devices */
    unsigned device_count;             /* their number; 0 or 1: one device sorts */
    unsigned threads;                  /* maximum number of host threads, at least 1 */
    bool is_top;                       /* gives only the first `top` items */
    size_t top;
    const struct line_order *line_order; /* for an engine of lines, as is the helper */
    struct line_helper helper;
    bool is_given_twice; /* `rewind` may be called */
    bool is_kept;        /* for the CPU's engine of keys: given items follow each other in memory,
                            and stay there until `close`, also after `take_back` */
    const void *sample;  /* NULL, or a sample from all over the input, as stored: a hint */
    size_t sample_count; /* valid only during `open` */
    size_t shared_count; /* items of all ranks, if all ranks have the same sample of all of them;
                            else 0 */
    size_t shared_given; /* if `share` may be called: items of this rank's range; else 0 */
};

/* Returns the number of items that an engine gives after it took `count` items. */
static inline size_t sort_spec_given(const struct sort_spec *spec, size_t count)
{
    return spec->is_top && spec->top < count ? spec->top : count;
}

/* Returns true if the engine keeps only the first items while it takes the others, in memory for
 * the kept ones: if less than half of the items are wanted, or some of an unknown number. Otherwise
 * it sorts all and gives the first ones. */
static inline bool sort_spec_selects(const struct sort_spec *spec)
{
    return spec->is_top && spec->top < spec->count - spec->count / 2;
}

/* Returns true if the arrays take at most a quarter of the memory of several devices: the items and
 * as much scratch, or for a selection eight times the wanted items on each device. Then these are
 * expected to have room, so they may be started while items are read. */
static inline bool sort_spec_is_small(const struct sort_spec *spec)
{
    const bool selects = sort_spec_selects(spec);
    const size_t count = selects ? spec->top : spec->count;
    const size_t arrays = selects ? (size_t)8 * spec->device_count : 2;
    size_t quarter = 0, bytes;
    for (unsigned i = 0; i < spec->device_count; i++)
        quarter += spec->devices[i].bytes / 4;
    return count != COUNT_UNKNOWN &&
           !__builtin_mul_overflow(count, arrays * spec->item_bytes, &bytes) && bytes <= quarter;
}

/* Checksums of an engine of lines for the proof of output (core/check/check.h), valid after it gave
 * everything. */
struct text_proof {
    struct check_sum gathered; /* the output's bytes, by their positions in the input text */
    struct check_sum given;    /* the output's bytes, by their positions in the output */
    uint64_t disorder; /* the first line, counted from 1, whose key is less than the key of the line
                          before; 0: none */
};

/* Busy times of the stages inside the engine. They overlap with reading and writing. */
struct engine_times {
    uint64_t start_ns;    /* device start-up and allocation */
    uint64_t upload_ns;   /* 0 if nothing is uploaded */
    uint64_t parse_ns;    /* finding and keying lines */
    uint64_t sort_ns;     /* the sort only, from items to items */
    uint64_t exchange_ns; /* exchange of items between devices, with the merge after it */
    uint64_t refine_ns;   /* ordering lines with equal keys */
    uint64_t download_ns;
    size_t lines;            /* number of lines that an engine of lines found */
    struct text_proof proof; /* of its output */
};

/* Writes sorted items to positions in a file, from `begin` on, with at most `threads` threads.
 * Several threads may call `write` at once. The tap observes the items. */
struct item_writer {
    bool (*write)(void *context, uint64_t position, const void *items, size_t bytes,
                  unsigned threads, struct tap *tap, struct error *error);
    void *context;
    uint64_t begin;
};

struct group;

/* What the engines of the ranks of one host sort together. */
struct shared_sort {
    struct group *group;
    const uint64_t *targets; /* where the range of each rank begins in the sorted items of all
                                ranks; and an end */
    uint64_t sent_bytes, received_bytes; /* out: bytes of this rank's items that other ranks read,
                                            and of other ranks' items that this rank reads */
};

struct engine; /* defined by each backend */

/* The operations on an engine for one kind of data. They are used as one set. */
struct engine_functions {
    bool (*open)(const struct sort_spec *spec, struct engine **engine, struct error *error);

    /* Lends room for 1..want items; waits until there is some. Fails if memory runs out, or if the
     * engine has taken spec.count items already. The chunk belongs to the caller until `take`. */
    bool (*lend)(struct engine *engine, size_t want, struct chunk *chunk, struct error *error);

    /* Takes the last chunk lent, with the first chunk.count items filled. */
    bool (*take)(struct engine *engine, struct chunk chunk, struct error *error);

    /* Sorts the items taken, or as many of them as will be given. It may return early and continue
     * while items are given. Called once. */
    bool (*sort)(struct engine *engine, struct error *error);

    /* Gives the next items in order, decoded to their stored bits; chunk.count is 0 at the end. The
     * caller may hold up to two chunks at once, and returns them in order by take_back. */
    bool (*give)(struct engine *engine, struct chunk *chunk, struct error *error);
    bool (*take_back)(struct engine *engine, struct chunk chunk, struct error *error);

    void (*times)(const struct engine *engine, struct engine_times *times);

    /* Frees the engine, which may be NULL. */
    void (*close)(struct engine *engine);

    /* Restarts an engine that gave everything, in the memory it has, for a spec that differs only
     * in the number of items. Returns false if it cannot; it must be closed then. NULL: it never
     * can. */
    bool (*restart)(struct engine *engine, const struct sort_spec *spec);

    /* For a spec with is_given_twice, after everything was checked, or given and taken back: starts
     * giving from the first item. */
    bool (*rewind)(struct engine *engine, struct error *error);

    /* May be NULL. Returns a direct consumer for the chunk that is lent: a tap that takes items
     * while they are read, in any thread, so that they need not stay in the chunk. *most becomes
     * the number of items that may pass through the chunk's memory, at most as many as `lend` was
     * called for. Returns NULL, and keeps *most, if the items must stay. `take` follows as usual;
     * chunk.count is then the number of items that the tap observed. */
    struct tap *(*consumer)(struct engine *engine, size_t *most);

    /* NULL for lines, which are given twice. For a spec with is_given_twice: checks the sorted
     * items where the engine keeps them, before the first one is given. As if all were given, *sum
     * is their sum (core/check/check.h), and *disorder the first item, from 1, that belongs before
     * the one before it; 0: none. */
    bool (*check)(struct engine *engine, struct check_sum *sum, uint64_t *disorder,
                  struct error *error);

    /* May be NULL. For a spec with is_given_twice, after `rewind`: writes all items in the engine's
     * own threads, and checks them again, as `check` does. If it cannot, *sum and *disorder stay as
     * they are, and the items are to be given. */
    bool (*write)(struct engine *engine, const struct item_writer *writer, struct check_sum *sum,
                  uint64_t *disorder, struct error *error);

    /* May be NULL. For ranks of one host with engines of the same backend, in place of `sort`, when
     * the engine of each rank has taken all items of its rank. Collective: lets the engines sort
     * together, if all of them are able to. Then sets *is_shared, and the engine gives the items of
     * its rank's range; no engine may be closed before all have given theirs. Else `sort` is to be
     * called. Fails on all ranks if it fails on one. */
    bool (*share)(struct engine *engine, struct shared_sort *shared, bool *is_shared,
                  struct error *error);
};

struct backend {
    const char *name; /* as in --device: "cpu", "gpu" */
    const char *summary;
    const struct algorithm *algorithms;
    size_t algorithm_count;

    /* Returns false if the machine certainly has no device. The check is immediate. NULL for the
     * CPU. */
    bool (*is_possible)(void);

    /* Fills *facts for a device of this backend. Fails with the reason if it cannot be used. */
    bool (*probe)(unsigned device, struct device_facts *facts, struct error *error);

    /* As `probe`, but does not start the device, which may take longer than reading the data.
     * memory_bytes is then the whole memory of a GPU. */
    bool (*look)(unsigned device, struct device_facts *facts, struct error *error);

    /* Writes the build options of the backend, such as "CUDA 13.0, sm_80 sm_90". */
    void (*describe_build)(char *text, size_t room);

    /* Returns the number of devices, at most `most`; 0 if there is none that can be used. Before
     * the first device is used, hides the devices after the first `most`, which is faster: CUDA
     * starts all that it can see, one after the other. */
    unsigned (*count)(unsigned most);

    /* Returns true if the device can use memory of the other one, so that an engine of lines can
     * have both. NULL: there is only one. */
    bool (*reaches)(unsigned device, unsigned other);

    const struct backend *several;        /* for several of the devices; NULL: there is none */
    const struct engine_functions *keys;  /* for items, as in struct sort_spec */
    const struct engine_functions *lines; /* for text; NULL: the caller handles the lines */
};

/* The backends of this build, the CPU first. */
extern const struct backend *const backends[];
extern const size_t backend_count;

/* Returns NULL if this build has no such backend. */
const struct backend *backend_find(const char *name);

/* Returns NULL if the backend has no such path. */
const struct algorithm *backend_find_algorithm(const struct backend *backend, const char *name);

/* Returns the path's largest tile, which "auto" takes; 0 if it has no tiles. */
size_t algorithm_largest_tile(const struct algorithm *algorithm);

/* Returns true if the path has tiles of that size. */
bool algorithm_has_tile(const struct algorithm *algorithm, size_t tile_size);

#ifdef __cplusplus
}
#endif
#endif
