/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - one job from end to end: read -> decode -> sort -> encode -> write.
 *
 *   keys:    source -> [codec] -> format reads numbers into memory that the engine lends
 *              -> upload -> sort -> download -> format writes them -> [codec] -> sink
 *   argsort: as keys, with items that carry their index: items are made of the numbers that are
 *              read, and only their indices are written
 *   lines:   source -> [codec] -> the whole text in memory; one struct key_index per line goes
 *              through the engine; tie groups are refined; the lines, or their numbers, are
 *              gathered -> [codec] -> sink; or the engine takes the text and returns it sorted
 *   check:   source -> [codec] -> blocks of lines or numbers, compared where they are
 *   merge:   blocks of lines of all inputs at once -> [codec] -> sink
 */
#ifndef JOB_PIPELINE_H
#define JOB_PIPELINE_H

#include "core/argsort.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/group.h"
#include "core/host_limits.h"
#include "core/key_order.h"
#include "core/line/line_order.h"
#include "formats/array/format.h"
#include "formats/io/sink.h"
#include "formats/lines/lines.h"

/* The action on the inputs, which are lines for JOB_MERGE. */
enum job_action {
    JOB_SORT,
    JOB_CHECK, /* -c, -C: reads the one input and writes nothing */
    JOB_MERGE  /* -m: merges inputs that are sorted */
};

/* A job, with no decisions open. */
struct job {
    enum job_action action;
    struct reader *readers; /* the inputs in order, their headers read; all have one format, type
                               and byte order */
    size_t reader_count;
    const struct format *input_format;
    const struct format *output_format;
    bool keep_lines;              /* sorts lines of text and keeps them as they are; else numbers */
    struct argsort argsort;       /* index_type NULL: writes numbers or lines, not indices */
    struct line_order line_order; /* if keep_lines */
    size_t header_lines; /* header lines of each input, equal in all; not sorted, written once,
                            first */
    enum nan_rule nan;
    const struct backend *backend;
    struct sort_spec sort; /* if lines are kept, all are sorted and only `top` are written */
    const struct backend *spare_backend; /* NULL, or sorts lines that `backend` cannot sort, and
                                            numbers if `backend` cannot begin */
    struct sort_spec spare_sort;         /* for the spare backend */
    struct memory_limits memory;
    size_t part_count; /* maximum items sorted at once; external_runs.c sorts more in parts */
    size_t part_bytes; /* maximum bytes of text and items sorted at once; see external_lines.c */
    size_t keys_bytes; /* bytes of numbers read at once, if items are made of them, or to check
                          their order or the written file */
    struct sink_spec output;
    bool could_be_in_place;  /* the output replaces the input, and --in-place could do so */
    struct sink *sink;       /* from pipeline_open_early() or pipeline_open_group(); NULL:
                                pipeline_run() opens the output */
    bool binary_to_terminal; /* binary output may go to a terminal */
    struct group *group;     /* NULL, or the ranks that share the job. Then the readers are at this
                              * rank's part of the inputs, counts are of that part, and output.group
                              * is NULL if only rank 0 writes the output, which is no regular file,
                              * or with has_rank_output. */
    uint64_t group_count;    /* numbers of all ranks; of lines 0 unless they were counted */
    uint64_t input_bytes;    /* of all inputs, decoded; SIZE_UNKNOWN: not known */
    struct lines_header header; /* of lines that a group sorts: taken already; pipeline_run() takes
                                   it over */
    bool has_rank_inputs;       /* the inputs are files of this rank, after files of lower ranks */
    bool has_rank_output;       /* the output is a file of this rank: its range, with a header */
    bool verify;                /* reads the written file back and checks it again */
};

enum stage {
    STAGE_START,    /* device start-up and allocation, by the engine */
    STAGE_READ,     /* read and decode; makes numbers of text, and items for --argsort */
    STAGE_PARSE,    /* finding and keying lines */
    STAGE_UPLOAD,   /* overlaps with read */
    STAGE_SORT,     /* the engine's sort only */
    STAGE_EXCHANGE, /* of items between several devices */
    STAGE_REFINE,   /* ordering lines with equal keys */
    STAGE_DOWNLOAD, /* overlaps with write */
    STAGE_SPILL,    /* storing sorted runs, in memory or on disk, or their counts of keys; merging
                       adjacent runs until they are few */
    STAGE_WRITE,    /* encode and write, close and rename */
    STAGE_VERIFY,   /* reading the written file back */
    STAGE_COUNT
};
extern const char *const stage_names[STAGE_COUNT];

/* The first line or number that is out of order. */
struct disorder {
    bool is_found;
    uint64_t place; /* counted from 1, from the beginning of the input */
    char *text;     /* of the line, without its terminator; the caller frees it */
    size_t length;
};

/* The work of one rank in a job of several ranks. */
enum rank_figure {
    RANK_READ_BYTES,
    RANK_SENT_BYTES, /* of its numbers, lines or indices, to other ranks */
    RANK_RECEIVED_BYTES,
    RANK_WRITTEN_BYTES, /* to the output; of standard output or a pipe, rank 0 writes all */
    RANK_MEMORY_BYTES,  /* peak memory of the process */
    RANK_SORT_NS,       /* reading and sorting its part of the input */
    RANK_WRITE_NS,      /* finding the cuts, exchange, merge and writing */
    RANK_FIGURES
};

/* Times and counts of a job, and the result of JOB_CHECK. */
struct job_report {
    uint64_t stage_ns[STAGE_COUNT]; /* 0: the job has no such stage */
    uint64_t total_ns;
    size_t count;     /* numbers or lines */
    size_t run_count; /* sorted parts that were stored, in memory or on disk; 0: one engine held
                         all items, or keys were counted */
    uint64_t spilled_bytes; /* written to -T: runs, also merged ones, and ranges of ranks */
    uint64_t item_bytes;    /* bytes of the numbers, or of the text, that this rank has read */
    uint64_t total_bytes;   /* item_bytes of all ranks */
    uint64_t read_bytes;    /* bytes of the inputs, as their files hold them; without those read by
                               --verify */
    bool is_undone;         /* the job has failed, and nothing of its output is left */
    struct disorder disorder;  /* of JOB_CHECK */
    struct error spare_reason; /* set if the spare backend sorted: why */
    bool is_verified;          /* the file was read back and checked */
    uint64_t *ranks; /* a row of RANK_FIGURES for each rank of the group, which the caller frees;
                        NULL: no group, or the job failed before its figures were gathered */
};

/* Reads the header lines of every input, so that the rest are lines to sort. The headers must be
 * equal, because only one is written. Sets *header, whose text the caller frees, also after a
 * failure. */
bool job_take_headers(const struct job *job, struct lines_header *header, struct error *error);

/* Returns the least bytes that the output will have; 0: not known. */
uint64_t job_output_bytes(const struct job *job);

/* Returns false only if all data is certain to be sorted in one part: numbers of a known count that
 * fits, or lines that fit even if each byte is a line. Ranks store their lines in any case. */
bool job_may_have_parts(const struct job *job);

/* Returns the least bytes of sorted runs that the ranks of this host will store in the directories
 * of -T; 0: none, or not known. */
uint64_t job_spilled_bytes(const struct job *job);

/* Fails if the job certainly has no memory beside `output` bytes of its output and `spilled` bytes
 * of runs, as far as they are stored in memory. */
bool job_has_memory(const struct job *job, uint64_t output, uint64_t spilled, struct error *error);

/* Opens the output of a sort of numbers before the job runs, and requests its space, so that the
 * file system allocates it while a GPU starts. pipeline_run() takes job->sink over; a caller that
 * does not run the job must discard it. On failure job->sink is NULL, and pipeline_run() reports
 * why. */
void pipeline_open_early(struct job *job);

/* Collective, for a sort whose ranks write to one shared file, or to a file each: opens the output
 * before each rank starts its device. Requests its space if it is of numbers and its size is known.
 * pipeline_run() takes job->sink over, too. Fails on all ranks if it fails on one. */
bool pipeline_open_group(struct job *job, struct error *error);

/* Sets the error for --verify and an output that cannot be read back; returns false. */
bool pipeline_refuse_verify(const char *name, struct error *error);

/* Runs the job and fills *report. If it fails, a file that would have been replaced is unchanged.
 * Output that is written directly keeps what was written. A file that was being overwritten in
 * place is damaged, and the error says that. Call it once per job: it consumes the readers. */
bool pipeline_run(struct job *job, struct job_report *report, struct error *error);

#endif
