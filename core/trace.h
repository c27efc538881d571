/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the progress of a job for observers: the bytes processed by each kind of work, the
 * current stage, and, if a trace is recorded, a span of time for each chunk.
 *
 *   work on a chunk:  trace_begin -> the work -> trace_end
 *
 * trace_end() counts the chunk's bytes and, in a trace, adds a span to the lane of the work.
 * Progress, --stats and --trace read these, so working code makes one call for all three. The state
 * is global, like standard error: code in any thread can record its work without a context
 * argument.
 *
 * The cost is an atomic addition per chunk of at least some KiB, and only trace_stage() reads the
 * clock while nothing is recorded. Any thread may call these functions, except trace_start(),
 * trace_restart(), trace_write_*(), trace_stop() and trace_ranks_share().
 */
#ifndef CORE_TRACE_H
#define CORE_TRACE_H

#include "core/error.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of work. A trace has a row in the lane for each thread that did such work. */
enum trace_lane {
    TRACE_STAGE,    /* the job as a whole; no bytes */
    TRACE_START,    /* device start-up and allocation by an engine; no bytes */
    TRACE_READ,     /* bytes of the inputs, as their files hold them */
    TRACE_DECODE,   /* bytes of content after decompression */
    TRACE_PARSE,    /* bytes of text that keys are made of */
    TRACE_UPLOAD,   /* bytes to the device */
    TRACE_KERNEL,   /* bytes processed by the device */
    TRACE_PEER,     /* bytes copied from one device to another */
    TRACE_DOWNLOAD, /* bytes from the device */
    TRACE_SPILL,    /* bytes of sorted runs written and read again */
    TRACE_MERGE,    /* bytes of sorted runs merged */
    TRACE_MAKE,     /* bytes of text made for the output */
    TRACE_ENCODE,   /* bytes of content before compression */
    TRACE_SPACE,    /* bytes of file space allocated for the output in advance */
    TRACE_WRITE,    /* bytes of the output, as its file holds them */
    TRACE_LANE_COUNT
};

/* Returns the time in ns (clock.h) if a trace is recorded; else 0. */
uint64_t trace_begin(void);

/* Counts `bytes` for the lane, and records the time since trace_begin() in a trace. */
void trace_end(enum trace_lane lane, uint64_t begin_ns, uint64_t bytes);

/* As trace_end(), for a span with both ends known and a name of its own. The name is not copied. */
void trace_span(enum trace_lane lane, const char *name, uint64_t begin_ns, uint64_t end_ns,
                uint64_t bytes);

/* As trace_span(), for work of a device. In a trace each device has its own rows in the lane. */
void trace_device_span(enum trace_lane lane, unsigned device, const char *name, uint64_t begin_ns,
                       uint64_t end_ns, uint64_t bytes);

bool trace_is_recording(void);

/* Sets the current stage, unless it is already the current one. Returns the time in ns, which the
 * caller passes to trace_span() when the stage ends. The name is not copied, and stages are
 * compared by its address. */
uint64_t trace_stage(const char *name);

/* Announces how many bytes of content will be written, before compression. A later call replaces
 * the number; 0: not known. */
void trace_expect(uint64_t bytes);

/* Records that the device has `bytes` bytes in use, by all processes. The maximum is kept. */
void trace_note_device_bytes(uint64_t bytes);

/* Records how a device sorts, and why. The texts are not copied; a later call replaces them. */
void trace_note_strategy(const char *strategy, const char *reason);

struct trace_view {
    const char *stage; /* NULL: none yet */
    uint64_t stage_begin_ns;
    uint64_t bytes[TRACE_LANE_COUNT];
    uint64_t expected_bytes; /* 0: not known */
    uint64_t device_bytes;   /* the maximum; 0: no device */
    const char *strategy;    /* of the device's sort; NULL: none was recorded */
    const char *strategy_reason;
};

/* Copies the current state. */
void trace_look(struct trace_view *view);

/* Resets all counters for a new job, and starts recording if is_recorded. Recording takes at most
 * 24 MiB: spans beyond that are dropped, and trace_write_head() writes their number. */
bool trace_start(bool is_recorded, struct error *error);

/* Resets all counters for a job that starts again, without other ranks. What is recorded stays. */
void trace_restart(void);

/* Write the recorded spans as JSON, Chrome's trace event format, with times in microseconds since
 * trace_start(): first the head, then each process, by its own trace_write_process(), then the end.
 * No other thread may record meanwhile. They return false with errno if writing fails. */
bool trace_write_head(FILE *stream);
bool trace_write_process(FILE *stream, unsigned process, const char *name);
bool trace_write_end(FILE *stream);

/* Stops recording and frees the spans. */
void trace_stop(void);

/* ---- the counters of all ranks, for progress ----
 *
 * Rank 0 reads the counters in the memory of the other ranks (rank_memory.h), at any time and
 * without a message. If it cannot, or the ranks are on several hosts, it has its own alone. */

struct group;

/* Collective, after trace_start(). Lets rank 0 read the counters of all ranks, if it wants that and
 * can. Fails only if the group does, or memory runs out. */
bool trace_ranks_share(struct group *group, bool is_wanted, struct error *error);

/* For rank 0: adds the bytes of the other ranks to the view. Returns the number of ranks whose
 * bytes it has; 1 if it cannot read those of others. */
unsigned trace_ranks_look(struct trace_view *view);

#ifdef __cplusplus
}
#endif
#endif
