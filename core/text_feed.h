/* SPDX-License-Identifier: Apache-2.0 */
/* text_feed.h - a text on its way to an engine of lines while it is still being read.
 *
 *   text_feed_start: a thread opens the engine, which may take longer than reading the first bytes
 *     -> { text_feed_send: all that has been read, once the engine is open }*
 *     -> text_feed_finish: all of the text is there, and the engine has it
 *
 * The text stays the caller's; it may grow and move between the calls.
 */
#ifndef CORE_TEXT_FEED_H
#define CORE_TEXT_FEED_H

#include "core/backend.h"

#include <pthread.h>

struct text_feed {
    const struct engine_functions *functions;
    struct sort_spec spec; /* of what is open, or is being opened */
    struct engine *engine; /* owned, until text_feed_finish gives it away */
    struct error error;    /* the first failure: nothing is sent any more, and finish tells it */
    pthread_t opener;
    bool is_opening; /* the thread has not been joined */
    size_t sent;     /* bytes that the engine has taken */
};

/* Begins to open an engine for spec.count bytes; if those are COUNT_UNKNOWN, nothing begins. */
void text_feed_start(struct text_feed *feed, const struct engine_functions *functions,
                     const struct sort_spec *spec);

/* Sends what the engine does not have of the first `bytes` bytes, if it is open. */
void text_feed_send(struct text_feed *feed, const char *text, size_t bytes);

/* Sees to it that the engine has the whole text, and gives it away; it is the caller's to close. */
bool text_feed_finish(struct text_feed *feed, const char *text, size_t bytes,
                      struct engine **engine, struct error *error);

/* Frees what is left. */
void text_feed_close(struct text_feed *feed);

#endif
