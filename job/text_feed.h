/* SPDX-License-Identifier: Apache-2.0 */
/* text_feed.h - sends a text to an engine of lines while the text is still being read.
 *
 *   text_feed_start: a thread opens the engine, which may take longer than reading the first bytes
 *     -> { text_feed_send: sends all that has been read, once the engine is open }*
 *     -> text_feed_finish: the text is complete, and the engine gets the rest of it
 *
 * The caller owns the text, which may grow and move between the calls. All calls come from one
 * thread.
 */
#ifndef JOB_TEXT_FEED_H
#define JOB_TEXT_FEED_H

#include "core/backend.h"

#include <pthread.h>

struct text_feed {
    const struct engine_functions *functions;
    struct sort_spec spec; /* of the engine that is open or being opened */
    struct engine *engine; /* owned, until text_feed_finish passes it to the caller */
    struct error error;    /* the first failure: ends sending, and finish reports it */
    pthread_t opener;
    bool is_opening; /* the opener thread has not been joined */
    size_t sent;     /* bytes that the engine has taken */
};

/* Starts to open an engine for spec.count bytes, in a thread. COUNT_UNKNOWN: it is opened by
 * text_feed_finish(). */
void text_feed_start(struct text_feed *feed, const struct engine_functions *functions,
                     const struct sort_spec *spec);

/* Sends the part of the first `bytes` bytes that the engine does not have yet, if the engine is
 * open and has room for it. Errors are reported by text_feed_finish(). */
void text_feed_send(struct text_feed *feed, const char *text, size_t bytes);

/* Sends the rest of the text, and passes the engine to the caller, which closes it. */
bool text_feed_finish(struct text_feed *feed, const char *text, size_t bytes,
                      struct engine **engine, struct error *error);

/* Waits for the opener thread, and closes the engine unless the caller owns it. */
void text_feed_close(struct text_feed *feed);

#endif
