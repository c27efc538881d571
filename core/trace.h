/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - what a run is doing, for who looks at it from outside: how many bytes each kind of work
 * has done, the stage that the job is at, and, if a trace is recorded, a span of time for each
 * chunk.
 *
 *   work on a chunk:  trace_begin -> the work -> trace_end
 *
 * counts the chunk's bytes and, in a trace, draws a box in the lane of the work. Progress, --stats
 * and --trace read what these leave, so that a place that works calls once for all three. There is
 * one of it in a process, as there is one standard error: a thread anywhere can tell what it does
 * without having been handed something to tell it to.
 *
 * It costs an atomic addition for a chunk, of some KiB at least, and no look at the clock while
 * nothing is recorded. All but trace_start, trace_write and trace_stop may be called by any thread.
 */
#ifndef CORE_TRACE_H
#define CORE_TRACE_H

#include "core/error.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of work. In a trace a lane has a row for each thread that did such work. */
enum trace_lane {
    TRACE_STAGE,    /* the job as a whole; no bytes */
    TRACE_START,    /* of an engine: device start-up and allocation; no bytes */
    TRACE_READ,     /* bytes of the inputs, as their files hold them */
    TRACE_DECODE,   /* bytes of content, decompressed */
    TRACE_PARSE,    /* bytes of text, of which keys are made */
    TRACE_UPLOAD,   /* bytes to the device */
    TRACE_KERNEL,   /* bytes that the device worked on */
    TRACE_DOWNLOAD, /* bytes from the device */
    TRACE_SPILL,    /* bytes of sorted parts, put aside and read again */
    TRACE_MERGE,    /* bytes of sorted parts, merged */
    TRACE_MAKE,     /* bytes of text, made for the output */
    TRACE_ENCODE,   /* bytes of content, compressed */
    TRACE_SPACE,    /* bytes of space, taken for the output ahead */
    TRACE_WRITE,    /* bytes of the output, as its file holds them */
    TRACE_LANE_COUNT
};

/* Now, in ns of clock.h, if a trace is recorded; else 0. */
uint64_t trace_begin(void);

/* Counts `bytes` for the lane, and records the time since trace_begin. */
void trace_end(enum trace_lane lane, uint64_t begin_ns, uint64_t bytes);

/* The same for a span of which both ends are known, under a name of its own, which is kept. */
void trace_span(enum trace_lane lane, const char *name, uint64_t begin_ns, uint64_t end_ns,
                uint64_t bytes);

bool trace_is_recording(void);

/* The job is at a stage from now on, or still. Returns now, in ns; trace_span ends it. The name is
 * kept; stages are told apart by where it stands in memory. */
uint64_t trace_stage(const char *name);

/* So many bytes of content will be written, if the output is not compressed; the last word counts.
 */
void trace_expect(uint64_t bytes);

/* The device has so many bytes in use for us. The most is kept. */
void trace_note_device_bytes(uint64_t bytes);

/* A device sorts by a strategy, for a reason. Both texts are kept; the last ones count. */
void trace_note_strategy(const char *strategy, const char *reason);

struct trace_view {
    const char *stage; /* NULL: none yet */
    uint64_t stage_begin_ns;
    uint64_t bytes[TRACE_LANE_COUNT];
    uint64_t expected_bytes; /* 0: not told */
    uint64_t device_bytes;   /* the most; 0: no device */
    const char *strategy;    /* NULL: none was told */
    const char *strategy_reason;
};

/* What there is to be seen now. */
void trace_look(struct trace_view *view);

/* A run begins: all is 0 again. If it is to be recorded, so it is from now on, in memory of at most
 * 24 MiB: spans that have no room are left out, and how many is written. */
bool trace_start(bool is_recorded, struct error *error);

/* Writes what was recorded, when no other thread records any more: Chrome's trace events as JSON,
 * times in microseconds since trace_start. False with errno when writing fails. */
bool trace_write(FILE *stream);

/* Forgets what was recorded. */
void trace_stop(void);

#ifdef __cplusplus
}
#endif
#endif
