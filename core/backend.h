/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - between the pipeline and what sorts: the engine lends, the reader fills.
 *
 *   open -> { lend -> (reader fills) -> take }*
 *        -> sort
 *        -> { give -> (writer empties) -> take_back }* -> close, or restart for the next part
 *
 * A backend lends the very memory that it wants the numbers in (the final array on the CPU, a small
 * pinned ring on a GPU), and gives the sorted numbers out of its own memory in the same way. So
 * neither side copies for the other and the pipeline is one code for both. Uploads of chunks taken
 * and downloads of chunks to be given next run while the caller reads or writes another one.
 *
 * All calls on an engine come from one thread at a time.
 */
#ifndef CORE_BACKEND_H
#define CORE_BACKEND_H

#include "core/check_sum.h"
#include "core/error.h"
#include "core/key_order.h"
#include "core/line_order.h"
#include "core/tap.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COUNT_UNKNOWN SIZE_MAX

/* An item of 16 bytes: a key that carries where it came from. Read as one little-endian integer of
 * 128 bits, key above index; with distinct indices that order is total, so that any sorter, stable
 * or not, leaves equal keys in the order of their indices. */
struct key_index {
    uint64_t index;
    uint64_t key;
};

/* A run of items in memory that the engine owns. */
struct chunk {
    void *items;
    size_t capacity; /* items that there is room for */
    size_t count;    /* items that are there */
    size_t slot;     /* the engine's own mark */
};

/* A path: one way to sort. The rows are the backend's; `sort` is reached through the engine. */
struct algorithm {
    const char *name;         /* as --algorithm takes it */
    const char *summary;      /* one line for --list */
    const size_t *tile_sizes; /* in items, ended by 0; NULL: the path has no tiles */
    unsigned buffers;         /* arrays of the size of the data: 1 in place, 2 with scratch */
    size_t count_max;         /* items that it sorts at most, SIZE_MAX: any; more are refused */
};

struct device_facts {
    char name[128];
    unsigned units;      /* threads of a CPU, multiprocessors of a GPU */
    size_t memory_bytes; /* free for our use, as far as it was looked for */
    size_t l2_bytes;     /* of a GPU; else 0 */
    size_t shared_bytes; /* memory that a block of a GPU can share at most; else 0 */
};

/* What an engine of lines does not do exactly by itself, and asks of its caller, who has the text
 * too. Items are as core/line_item.h has them. Called while the engine sorts, on its thread. */
struct line_helper {
    void *context;
    /* Keys the lines that items[0..count) name; they are in the order of the text. */
    bool (*key)(void *context, struct key_index *items, size_t count, struct error *error);
    /* Puts runs of equal keys among items[0..*count), sorted by key and equal keys by index, into
     * the exact order. If that is unique, *count says how many are kept. */
    bool (*refine)(void *context, struct key_index *items, size_t *count, struct error *error);
};

/* What an engine is opened for. One of lines takes text and gives text: what it takes and gives are
 * bytes, and what it sorts are struct key_index. */
struct sort_spec {
    unsigned item_bytes;               /* 1, 2, 4, 8: keys; 16: struct key_index */
    struct key_order order;            /* of the keys; the identity for struct key_index */
    size_t count;                      /* exactly so many will come, or COUNT_UNKNOWN; of text, at
                                          most so many bytes */
    size_t most;                       /* of an unknown count: no more than so many */
    const struct algorithm *algorithm; /* a row of this backend */
    size_t tile_size;                  /* one of algorithm->tile_sizes, or 0 when it has none */
    unsigned device;                   /* index among the backend's devices */
    unsigned threads;                  /* at most so many on the host, at least 1 */
    bool is_top;                       /* only the first `top` items in order are given */
    size_t top;
    const struct line_order *line_order; /* of an engine of lines, as is the helper */
    struct line_helper helper;
    bool is_given_twice; /* `rewind` may be called: what is given is kept until then */
    const void *sample; /* NULL, or some items of all that will come, as they will come, from all */
    size_t sample_count; /* over them: only a help, and there for the call of `open` */
};

/* The items that an engine gives when `count` were taken. */
static inline size_t sort_spec_given(const struct sort_spec *spec, size_t count)
{
    return spec->is_top && spec->top < count ? spec->top : count;
}

/* True if so few are wanted of what comes that an engine keeps the first ones alone, in memory that
 * goes by their number: less than half of the items, or some of an unknown number. Else it sorts
 * all and gives the first. */
static inline bool sort_spec_selects(const struct sort_spec *spec)
{
    return spec->is_top && spec->top < spec->count - spec->count / 2;
}

/* What an engine of lines can say for the proof of its output (core/check.h), once all was given.
 */
struct text_proof {
    struct check_sum gathered; /* bytes of the output where they stood in the text */
    struct check_sum given;    /* the same where they stand in the output */
    uint64_t disorder;         /* the first line, counted from 1, whose key is less than that of the
                                  one before it; 0: none */
};

/* Busy times of the stages inside the engine; they overlap with reading and writing. */
struct engine_times {
    uint64_t start_ns;  /* device start-up and allocation */
    uint64_t upload_ns; /* 0 where nothing is uploaded */
    uint64_t parse_ns;  /* lines: find and key them */
    uint64_t sort_ns;   /* the sort alone, items in place */
    uint64_t refine_ns; /* lines: runs of equal keys */
    uint64_t download_ns;
    size_t lines;            /* that an engine of lines found */
    struct text_proof proof; /* of its output */
};

struct engine; /* each backend has its own */

/* The life of an engine, for one kind of data: the functions are always used as one set. */
struct engine_functions {
    bool (*open)(const struct sort_spec *spec, struct engine **engine, struct error *error);

    /* Lends room for 1..want items; waits until there is some. Fails when memory runs out or more
     * than spec.count items are asked for. The chunk stays the caller's until it is taken. */
    bool (*lend)(struct engine *engine, size_t want, struct chunk *chunk, struct error *error);

    /* Takes back the last chunk lent, with the first chunk.count items filled. */
    bool (*take)(struct engine *engine, struct chunk chunk, struct error *error);

    /* Sorts all that was taken, or as much of it as is to be given; or begins to, and goes on while
     * it is given. Once. */
    bool (*sort)(struct engine *engine, struct error *error);

    /* The next items in order, decoded to their stored bits; chunk.count 0 at the end. At most two
     * chunks may be with the caller at a time. */
    bool (*give)(struct engine *engine, struct chunk *chunk, struct error *error);
    bool (*take_back)(struct engine *engine, struct chunk chunk, struct error *error);

    void (*times)(const struct engine *engine, struct engine_times *times);

    /* Frees all; engine may be NULL. */
    void (*close)(struct engine *engine);

    /* Begins anew, in the memory that it has, with an engine that gave all: for a spec that differs
     * in how many will come. False where it cannot, and is to be closed; NULL: it never can. */
    bool (*restart)(struct engine *engine, const struct sort_spec *spec);

    /* For a spec that is_given_twice, when all was given and taken back: gives it once more, from
     * the first item on. */
    bool (*rewind)(struct engine *engine, struct error *error);

    /* May be NULL. Of the chunk that is lent: a tap that takes items as they are read, by any
     * thread, so that they need not stay in its memory and *most of them, no more than were wanted,
     * may go through that; NULL, *most as it was: they are to stay. The chunk is taken as ever
     * then, with as many as the tap was shown. */
    struct tap *(*taker)(struct engine *engine, size_t *most);
};

struct backend {
    const char *name; /* as --device takes it: "cpu", "gpu" */
    const char *summary;
    const struct algorithm *algorithms;
    size_t algorithm_count;

    /* False if the machine surely has no device, which is found out at once. */
    bool (*is_possible)(void);

    /* Fills *facts for a device of this backend; false, with the reason, when it cannot be used. */
    bool (*probe)(unsigned device, struct device_facts *facts, struct error *error);

    /* The same without starting the device, which may take longer than reading the data: of its
     * memory, memory_bytes then says all that there is. */
    bool (*look)(unsigned device, struct device_facts *facts, struct error *error);

    /* Writes what the backend was compiled with and for, "CUDA 13.0, sm_80 sm_90". */
    void (*describe_build)(char *text, size_t room);

    const struct engine_functions *keys;  /* of items, as struct sort_spec has them */
    const struct engine_functions *lines; /* NULL: lines are the caller's work, but for the sort */
};

/* The backends of this build, the CPU first. */
extern const struct backend *const backends[];
extern const size_t backend_count;

/* NULL if this build has no such backend. */
const struct backend *backend_find(const char *name);

/* NULL if the backend has no such path. */
const struct algorithm *backend_find_algorithm(const struct backend *backend, const char *name);

/* The path's largest tile that is no larger than tile_size, which may have been measured on another
 * path; its smallest where all are larger, 0 where it has no tiles. */
size_t algorithm_find_tile_size(const struct algorithm *algorithm, size_t tile_size);

#ifdef __cplusplus
}
#endif
#endif
