/* output_file.h - the descriptor that a sink writes to, and what becomes of it at the end.
 *
 *   regular file:   temporary beside it -> close -> rename over it
 *   anything else:  opened and written straight
 */
#ifndef FORMATS_OUTPUT_FILE_H
#define FORMATS_OUTPUT_FILE_H

#include "core/error.h"

struct output_file {
    int file;     /* open for writing */
    char *target; /* absolute path of what the temporary replaces; NULL: written straight */
};

/* path: NULL is standard output. name: for messages. Fills *output, which the caller ends with
 * commit or discard. */
bool output_file_open(const char *path, const char *name, struct output_file *output,
                      struct error *error);

/* Closes, checked, and renames; on failure the temporary is removed. */
bool output_file_commit(struct output_file *output, const char *name, struct error *error);

/* Closes and removes the temporary. */
void output_file_discard(struct output_file *output);

#endif
