/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - where bytes go: safely, all of them, or not at all.
 *
 *   sink_write / sink_lend + sink_put -> [codec] -> temporary in the target's directory -> rename
 *
 * A regular file is written to a temporary in the target's directory, which takes the target's
 * place by sink_commit, with the owner, mode, ACL and attributes of the file that it replaces,
 * where allowed; so the target may be an input, and on any failure the old one stays. A symbolic
 * link is followed: the file that it names is replaced. A device, pipe or socket, and standard
 * output, are written straight. What ends the process leaves no temporary (temporary.h).
 */
#ifndef FORMATS_SINK_H
#define FORMATS_SINK_H

#include "core/check.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sink;
struct codec;

struct sink_spec {
    const char *path;          /* NULL or "-": standard output */
    const struct codec *codec; /* codecs[0]: plain */
    int level;                 /* of the codec; 0: its default */
    unsigned threads;          /* at most so many compress or write */
    bool is_in_place;          /* the regular file at the path is overwritten; see sink_is_trial */
};

/* Reports what sink_open would refuse by what is at the path, before any work and without creating
 * anything: a missing directory, a file that may not be written or replaced. NULL or "-": nothing.
 */
bool sink_check(const char *path, bool is_in_place, struct error *error);

/* Opens for writing, so that a missing directory, a read-only target or a full disk is known before
 * the work begins. The caller ends it with commit or discard. */
bool sink_open(const struct sink_spec *spec, struct sink **sink, struct error *error);

/* The same for plain bytes that are appended to a run that was begun; committing it leaves the run
 * to be ended. The run stays where it is until then. */
struct spill_run;
bool sink_open_run(struct spill_run *run, unsigned threads, struct sink **sink,
                   struct error *error);

/* The name for messages: the path, or "standard output". */
const char *sink_name(const struct sink *sink);

bool sink_is_terminal(const struct sink *sink);

/* "NAME: the proof failed: WHAT; NAME is left as it was", or what else becomes of it. Returns
 * false. */
bool sink_fail_proof(const struct sink *sink, const char *what, struct error *error);

/* Whether it is a new file that takes another's place, or a free one, in the end. */
bool sink_replaces(const struct sink *sink);

/* Whether it overwrites a file, and only counts and shows what it is given until sink_end_trial. So
 * all of the output is proved before the first byte is overwritten. */
bool sink_is_trial(const struct sink *sink);

/* Whether a file is overwritten, so that a failure leaves it neither old nor new. */
bool sink_is_overwriting(const struct sink *sink);

/* All of the output was given, and is what the file is to hold: the same is given again, and
 * overwrites it. Fails, and leaves it as it was, if the size would change, if it has been changed
 * or replaced since it was opened, or if there is no space for its holes. From here on signals that
 * end the process wait until the sink is gone. */
bool sink_end_trial(struct sink *sink, struct error *error);

/* Whether what is written goes to the very file that the source reads. */
struct source;
bool sink_writes_to(const struct sink *sink, const struct source *source);

/* Tells, before anything is written, that about so many bytes will come, to standard output exactly
 * so many; more than INT64_MAX: not known. Of a large plain file the space is then taken behind the
 * caller's back, and several threads write. A hint, of which the first stays; what fails is a
 * failure of the writing. */
void sink_expect(struct sink *sink, uint64_t bytes);

/* The same before sink_expect, while the number grows: at least so many bytes will come. Of such a
 * file their space is taken. */
void sink_expect_least(struct sink *sink, uint64_t bytes);

/* Writes all of data; done with it on return. Plain data is written from where it is. */
bool sink_write(struct sink *sink, const void *data, size_t bytes, struct error *error);

/* The same, where a tap, which may be NULL, sees the data right before it goes to the file or to
 * the codec. They are whole units, and go to a multiple of the unit in the file. */
bool sink_write_seen(struct sink *sink, const void *data, size_t bytes, struct tap *tap,
                     struct error *error);

/* For data that is made on the fly: lends a buffer of SINK_BUFFER_BYTES, waiting until one is free,
 * which sink_put hands back with `bytes` filled; threads of the sink's write it behind the
 * caller's back, in order. Several buffers may be lent at a time; order is that of sink_put. What a
 * buffer holds when it is put is what must be in it when it is written: else that is an error. */
#define SINK_BUFFER_BYTES ((size_t)1 << 20)
bool sink_lend(struct sink *sink, unsigned char **buffer, struct error *error);
bool sink_put(struct sink *sink, unsigned char *buffer, size_t bytes, struct error *error);

/* What the buffers take in all at most, once one was lent by a sink of so many threads. */
size_t sink_buffers_bytes(unsigned threads);

/* From now on, before anything is written, the content is summed up for sink_content. */
void sink_sum_content(struct sink *sink);

/* For a sink that replaces a file: ends the codec's stream and writes what is left, so that all is
 * in the new file, and on its disk. Nothing more is written. *file: open for reading, the sink's.
 */
bool sink_store(struct sink *sink, int *file, struct error *error);

/* After sink_store: the bytes that were written, before the codec, and their sum as a text
 * (check.h). */
struct check_sum sink_content(const struct sink *sink);

/* Ends the codec's stream, writes what is left, closes (checked) and renames. After it, succeeded
 * or not, the sink is gone. */
bool sink_commit(struct sink *sink, struct error *error);

/* As sink_commit, for a sink of a run, whose content it says. */
bool sink_commit_run(struct sink *sink, struct check_sum *content, struct error *error);

/* Closes and removes the temporary; sink may be NULL. */
void sink_discard(struct sink *sink);

#endif
