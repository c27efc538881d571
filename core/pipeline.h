/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - one job from end to end: read -> decode -> sort -> encode -> write.
 *
 *   keys:   source -> [codec] -> format reads numbers into memory the engine lends
 *             -> upload -> sort -> download -> format writes them -> [codec] -> sink
 *   argsort: the same with items that carry their index, made of the numbers on the way in and
 *             left out for the index on the way out
 *   lines:  source -> [codec] -> text kept whole; one struct key_index a line goes through the
 *             engine; runs of equal keys are refined; the lines, or their numbers, are gathered ->
 *             [codec] -> sink; or the engine takes the text, and gives it back sorted
 *   check:  source -> [codec] -> blocks of lines, compared where they stand
 *   merge:  the same of all inputs at once -> [codec] -> sink
 *
 * Numbers move in chunks. The engine's uploads and downloads run while the next chunk is read or
 * the last one written; text and compressed output are written by a thread of the sink's. Memory
 * for keys is the engine's (twice the data at most) and a fixed number of chunks.
 */
#ifndef CORE_PIPELINE_H
#define CORE_PIPELINE_H

#include "core/argsort.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/key_order.h"
#include "core/line_order.h"
#include "core/memory_limits.h"
#include "core/pipeline_proof.h"
#include "formats/format.h"
#include "formats/sink.h"

/* What is done with the inputs. But for JOB_SORT, they are lines. */
enum job_action {
    JOB_SORT,
    JOB_CHECK, /* -c, -C: the one input is read, and nothing is written */
    JOB_MERGE  /* -m: the inputs are sorted already */
};

/* What is to be done, with nothing left to decide. */
struct job {
    enum job_action action;
    struct reader *readers; /* the inputs in order, their headers read; all of one layout */
    size_t reader_count;
    const struct format *input_format;
    const struct format *output_format;
    bool keep_lines;              /* lines of text, verbatim; else numbers */
    struct argsort argsort;       /* index_type NULL: numbers or lines are written, not indices */
    struct line_order line_order; /* if keep_lines */
    size_t header_lines; /* of each input, the same in all; not sorted, written first, once */
    enum nan_rule nan;
    const struct backend *backend;
    struct sort_spec sort;               /* of lines, all are sorted and `top` are written */
    const struct backend *spare_backend; /* NULL, or it sorts lines that `backend` cannot, and
                                            numbers where that cannot begin */
    struct sort_spec spare_sort;         /* by the spare backend */
    struct memory_limits memory;
    size_t part_count; /* numbers that are sorted at a time at most: more go by external_keys.c */
    size_t part_bytes; /* the same of lines: of their text and items; see external_lines.c */
    size_t keys_bytes; /* numbers that are read at a time when items are made of them */
    struct sink_spec output;
    struct sink *sink;       /* of pipeline_open_early(); NULL: pipeline_run() opens the output */
    bool binary_to_terminal; /* allowed */
    bool verify;             /* the file that was written is read back and proved again */
};

enum stage {
    STAGE_START,    /* the engine's: device start-up and allocation */
    STAGE_READ,     /* read and decode */
    STAGE_PARSE,    /* lines: find and key them */
    STAGE_UPLOAD,   /* overlaps with read */
    STAGE_SORT,     /* the engine's sort alone */
    STAGE_REFINE,   /* lines: runs of equal keys */
    STAGE_DOWNLOAD, /* overlaps with write */
    STAGE_SPILL,    /* sorted parts put aside, as memory has no room for all */
    STAGE_WRITE,    /* encode and write, close and rename */
    STAGE_VERIFY,   /* what was written, read back */
    STAGE_COUNT
};
extern const char *const stage_names[STAGE_COUNT];

/* The first line that is out of order. */
struct disorder {
    bool is_found;
    uint64_t line; /* counted from 1, from the beginning of the input */
    char *text;    /* of the line, without its terminator; the caller frees it */
    size_t length;
};

/* What a job took, and, if it was to check, what it found. */
struct job_report {
    uint64_t stage_ns[STAGE_COUNT]; /* 0: the job has no such stage */
    uint64_t total_ns;
    size_t count;              /* numbers or lines */
    size_t run_count;          /* sorted parts that were put aside; 0: all fitted into memory */
    uint64_t spilled_bytes;    /* of these, to disk */
    uint64_t item_bytes;       /* bytes of the numbers, or of the text */
    uint64_t read_bytes;       /* of the inputs, as their files hold them; not by --verify */
    struct disorder disorder;  /* of JOB_CHECK */
    struct error spare_reason; /* why the spare backend did it, if it did */
    struct proof_report proof;
};

/* Sets the error for --argsort of lines, all of which must be in memory, where that has no room for
 * them. Returns false. */
bool job_refuse_line_indices(const struct job *job, struct error *error);

/* Opens the output of a sort of numbers before the job runs, and requests its space, so that the
 * file system allocates it while a GPU starts. pipeline_run() takes job->sink over; a caller that
 * does not run the job discards it. On failure job->sink is NULL, and pipeline_run() reports why.
 */
void pipeline_open_early(struct job *job);

/* Runs the job. On failure the output is as it was before. */
bool pipeline_run(struct job *job, struct job_report *report, struct error *error);

#endif
