/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - makes one plan of the parsed options and the facts of files, host and devices.
 *
 * Every "auto" is resolved here, once, and the reason for each choice is kept in words.
 */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/options/options.h"
#include "core/auto_model.h"
#include "formats/io/spill.h"
#include "job/pipeline.h"

#include <sys/types.h>

/* How ranks read an input that cannot be read at arbitrary positions: see plan_spool.c. */
struct plan_spool {
    struct spill *spill; /* NULL: the input can be read at any position */
    struct spill_run run;
    uint64_t facts[3];   /* of the whole input: decoded bytes, the number of its codec, and whether
                            each rank decodes the frames of its part */
    unsigned char *head; /* first decoded bytes of an input that ranks share */
    size_t head_bytes;
    struct source *original; /* of rank 0, or of a rank with inputs of its own: the input; once it
                                is stored, at its end */
    struct source_spec spec; /* of the input */
};

struct plan {
    struct job job;
    unsigned processors;        /* that the process may use at the same time */
    struct device_facts device; /* of job.backend; of several: name and id of the first,
                                   the memory of all, the least other facts */
    struct device_room rooms[BACKEND_DEVICES_MOST]; /* of several devices, as job.sort.devices */
    char device_names[BACKEND_DEVICES_MOST][sizeof((struct device_facts *)0)->name];
    unsigned device_ranks; /* ranks that take the same GPU, this one included */
    unsigned device_total; /* number of GPUs, for --explain with gpu:all; 0: not known */
    bool has_estimate;
    struct auto_estimate estimate; /* of the whole job on either device */
    uint64_t file_bytes;       /* of all input files, unread, as stored; SIZE_UNKNOWN: not known */
    struct plan_spool *spools; /* of each reader if a group shares the job; see plan_spool.c */
    size_t spool_count;        /* one for each input, also for those that were left out */
    uint64_t plan_ns;          /* time spent on planning: reading headers, starting a GPU */
    const char *default_directory; /* of temporary files, without -T */
    off_t input_position;          /* of standard input, if that is a regular file */
    uint64_t failed_devices;       /* bits of the GPUs that have failed and are not used */
    struct error failure;          /* of the last of them */
    char format_reason[256];       /* why job.input_format */
    const char *output_reason;     /* why job.output_format */
    const char *codec_reason;      /* why job.output.codec; NULL: plain by default */
    char device_reason[256 + sizeof((struct error *)0)->message]; /* why job.backend */
    const char *algorithm_reason;                                 /* why job.sort.algorithm */
};

/* Collective, before plan_begin(): fails if ranks differ in the options that decide on collective
 * calls (plan_share() compares their plans), or have options that ranks do not share. Reads the
 * list of --files0-from on rank 0, for all ranks. */
bool plan_share_options(struct options *options, struct group *group, struct error *error);

/* Starts the plan with the checks that need no input data: options that exclude each other, and
 * files that do not exist or may not be used. Waits only for the list of --files0-from; before
 * that, checks the output and the directories of -T. For --in-place, sets the output to the input.
 * Overwrites *plan. The caller calls plan_free, also if this fails. */
bool plan_begin(struct options *options, struct plan *plan, struct error *error);

/* Completes the plan: opens the inputs, reads their headers, and chooses devices, path and memory.
 * May wait for an input, and may read it ahead. May open the output and request its space. Sets the
 * number of OpenMP threads. If plan->job.group is set after plan_begin(), the call is collective,
 * and the plan is for the part of this rank. */
bool plan_make(struct options *options, struct plan *plan, struct error *error);

/* Called after the job of the plan has failed with *error and was undone. If a GPU that auto or
 * gpu:all chose caused the error, there are no MPI ranks, and the inputs can be read again,
 * replaces the plan by one without this GPU. Otherwise returns false and keeps the plan. Also
 * returns false if the new plan fails, which the caller then only frees. *error is not changed. */
bool plan_again(struct options *options, struct plan *plan, const struct error *error);

/* If the error is that of a GPU which was not recorded before, records that this GPU is not to be
 * used, and returns true. */
bool plan_note_failure(struct plan *plan, const struct error *error);

/* Returns true if all inputs are regular files, so that they can be read again. */
bool plan_has_files_only(const struct options *options);

/* Returns true if the path of an output leads to a regular file, or to none yet. */
bool plan_writes_file(const char *path);

/* Writes the format and the type of an input for messages: "npy <M8[ns]", "raw big-endian f64". */
#define INPUT_NAME_BYTES 48
void plan_name_input(const struct format *format, const struct layout *layout,
                     char name[INPUT_NAME_BYTES]);

void plan_free(struct plan *plan);

/* ---- options for lines of text, and --in-place: plan_check.c ---- */

/* Returns the first option for lines that is given, for messages; NULL if none is. */
const char *line_words_find(const struct options *options);

/* For a job that does not keep lines: refuses options for lines, and -u. input_format and
 * output_format are the formats of the job. reader: of the first input; may be NULL for text. */
bool line_words_refuse(const struct options *options, const struct format *input_format,
                       const struct reader *reader, const struct format *output_format,
                       struct error *error);

/* Returns true if --in-place is not given, and the options and the number of inputs allow it, so
 * that a message may suggest it. */
bool in_place_word_fits(const struct options *options);

/* ---- inputs that cannot be read at arbitrary positions: plan_spool.c ---- */

/* Opens the next input as plan->job.readers[plan->job.reader_count].source; the caller counts it.
 * Records in plan->job.output if the output will replace it. Collective if ranks share the inputs.
 */
bool plan_open_input(const struct options *options, const struct source_spec *spec,
                     struct plan *plan, struct error *error);

/* For a job of a group: returns true if the input of reader i cannot be read at arbitrary
 * positions. */
bool plan_is_spooled(const struct plan *plan, size_t i);

/* Collective, for text: rank 0 decodes and stores the inputs of which each rank would decode its
 * part, because it must find the lines in them. */
bool plan_store_spools(struct plan *plan, struct error *error);

/* Bytes at the beginning of a spooled input that all ranks have while they plan. */
#define PLAN_SPOOL_HEAD_BYTES SOURCE_PEEK_MAX

/* Collective: narrows reader i to `bytes` bytes, `position` bytes after the position of its source.
 * Other ranks than 0 receive the bytes of a spooled input, or each rank decodes them. */
bool plan_take_part(struct plan *plan, size_t i, uint64_t position, uint64_t bytes,
                    struct error *error);

void plan_free_spools(struct plan *plan);

/* ---- steps of plan_make(): plan_format.c, plan_raw.c, plan_raw_name.c, plan_raw_header.c,
 * plan_device.c, plan_memory.c, plan_group.c ---- */

/* f64 with other exponents are far from 1: beyond 1e-90 and 1e90, which is about 2^299. */
#define FAR_EXPONENT 299

/* Finds the format of the input `path`, which is open as the reader's source. Sets *format, writes
 * the reason to `reason`, and sets the type in the reader's layout as far as it is known. May read
 * ahead, but consumes nothing. Fails if the format cannot be found, or is ambiguous. */
bool plan_choose_format(const struct options *options, const char *path, struct reader *reader,
                        const struct format **format, char reason[256], struct error *error);

/* Refuses an input that has not the format, type and byte order of the first one, or the unit of
 * its times. */
bool plan_check_agreement(const struct options *options, const struct plan *plan,
                          const struct format *format, const struct reader *reader,
                          struct error *error);

/* Sets the type of raw numbers, f64 if neither --type nor the name (named_type, or NULL) gives one,
 * and adds that to `reason`. Refuses what plan_check_raw_header() refuses, unless --format is
 * given, and numbers that surely have another byte order or type, unless options give it
 * unambiguously. Consumes nothing. */
bool plan_check_raw(const struct options *options, const struct key_type *named_type,
                    struct reader *reader, char reason[256], struct error *error);

/* For the message that asks for --type: writes what raw numbers look like, as in " (these look like
 * f64)", or "" if no type is sure. Consumes nothing. */
bool plan_guess_raw(struct source *source, char guess[64], struct error *error);

/* Refuses raw data that has lengths, a count or a header in addition to its numbers of `type`, and
 * bool with several values other than 0. Consumes nothing. */
bool plan_check_raw_header(struct source *source, const struct key_type *type,
                           enum key_endian endian, struct error *error);

/* Sets *are_swapped for floating point numbers that are unlikely in the given byte order, and
 * surely in the other one. Consumes nothing. */
bool plan_look_for_swapped(struct source *source, const struct key_type *type,
                           enum key_endian endian, bool *are_swapped, struct error *error);

/* Refuses numbers for which plan_look_for_swapped() sets *are_swapped. */
bool plan_check_byte_order(struct source *source, const struct key_type *type,
                           enum key_endian endian, struct error *error);

/* Chooses the backend, its device, its path and the spare backend, with the reasons. The plan has
 * its inputs and its order already. May read much of an input of unknown size into memory. Before a
 * GPU is started, begins to read ahead, and may open the output. */
bool plan_choose_device(const struct options *options, struct plan *plan, struct error *error);

/* Collective: finds how many ranks take the GPU of this rank. Each of them uses an equal part of
 * the GPU's memory. */
bool plan_find_device_ranks(struct plan *plan, struct error *error);

/* If the job sorts: starts reading ahead from the open inputs if `next` is a named pipe, and from
 * open named pipes if `next` is standard input. The writer of these may write to `next` only after
 * they have been read. */
void plan_read_ahead(const struct options *options, const struct plan *plan, const char *next);

/* Returns the estimated seconds of the plan's job on `devices` GPUs that sort together. */
double plan_several_seconds(const struct plan *plan, unsigned devices);

/* Sets the directories of temporary files. */
void plan_choose_directories(const struct options *options, struct plan *plan);

/* Sets the memory limits and part sizes of a plan that is complete otherwise. */
void plan_choose_memory(const struct options *options, struct plan *plan);

/* Called once the order is known: refuses what ranks cannot share, and plans that are not for the
 * same job. Then narrows the inputs to the part of this rank, or receives that part. Collective;
 * without a group it does nothing. */
bool plan_share(struct plan *plan, struct error *error);

#endif
