/* SPDX-License-Identifier: Apache-2.0 */
/* file_list.c - see file_list.h. */
#include "cli/options/file_list.h"

#include "cli/options/quote.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_name(struct file_list *list, const char *name, struct error *error)
{
    /* Room is doubled when the count is a power of two. */
    if ((list->count & (list->count - 1)) == 0) {
        const char **names =
            reallocarray(list->names, list->count > 0 ? 2 * list->count : 1, sizeof *list->names);
        if (!names)
            return error_set(error, "out of memory");
        list->names = names;
    }
    const char *copy = strdup(name);
    if (!copy)
        return error_set(error, "out of memory");
    list->names[list->count++] = copy;
    return true;
}

static bool read_names(FILE *file, const char *path, struct file_list *list, struct error *error)
{
    bool ok = false;
    char *name = NULL;
    size_t room = 0;
    struct quoted quoted;
    while (getdelim(&name, &room, '\0', file) > 0) {
        if (strcmp(path, "-") == 0 && strcmp(name, "-") == 0) {
            error_set(error, "when reading file names from stdin, no file name of '-' allowed");
            goto done;
        }
        if (name[0] == '\0') {
            error_set(error, "%s:%zu: invalid zero-length file name", path, list->count + 1);
            goto done;
        }
        TRY(add_name(list, name, error));
    }
    TRY(feof(file) ||
        error_set_errno(error, "cannot read file names from %s", quote_word(path, &quoted)));
    TRY(list->count > 0 || error_set(error, "no input from %s", quote_word(path, &quoted)));
    ok = true;
done:
    free(name);
    return ok;
}

bool file_list_read(const char *path, struct file_list *list, struct error *error)
{
    FILE *const file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return error_set_errno(error, "open failed: %s", *path ? path : "''");
    const bool ok = read_names(file, path, list, error);
    if (file != stdin)
        fclose(file);
    return ok;
}

void file_list_free(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->names[i]);
    free(list->names);
    *list = (struct file_list){0};
}
