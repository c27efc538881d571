/* SPDX-License-Identifier: Apache-2.0 */
/* memory_words.c - see memory_words.h. */
#include "cli/options/memory_words.h"

#include "cli/options/quote.h"
#include "core/memory_limits.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A letter means 1024 to the power of its position, from 1 on. The first four may be small
 * letters. */
static const char units[] = "KMGTPEZYRQ", small_units[] = "kmgt";

unsigned memory_words_unit_power(char letter)
{
    const char *const unit = letter ? strchr(units, letter) : NULL;
    const char *const small = letter ? strchr(small_units, letter) : NULL;
    return unit ? (unsigned)(unit - units) + 1 : small ? (unsigned)(small - small_units) + 1 : 0;
}

static bool multiply(size_t *bytes, unsigned power)
{
    for (; power > 0; power--)
        if (__builtin_mul_overflow(*bytes, (size_t)1024, bytes))
            return false;
    return true;
}

/* Sets *bytes to `number` percent of all memory. */
static bool take_percent(size_t number, size_t *bytes)
{
    const double part = (double)memory_total() / 100 * (double)number;
    *bytes = part < (double)SIZE_MAX ? (size_t)part : 0;
    return part < (double)SIZE_MAX;
}

bool memory_words_set_size(struct memory_size *size, const char *option, const char *word,
                           struct error *error)
{
    struct quoted quoted;
    const char *begin = word + strspn(word, " \t\n\v\f\r");
    char *end = (char *)begin;
    size_t bytes = 1; /* for a unit without a number */
    errno = 0;
    if (*begin != '-')
        bytes = strtoull(begin, &end, 10);
    bool fits = errno == 0;
    const bool is_number = end > begin;
    if (!is_number && memory_words_unit_power(*begin) == 0)
        return error_set(error, "invalid %s argument %s", option, quote_word(word, &quoted));
    if (!is_number)
        bytes = 1;
    if (is_number && !*end)
        fits = fits && multiply(&bytes, 1);
    else if (is_number && strcmp(end, "%") == 0)
        fits = fits && take_percent(bytes, &bytes);
    else if (memory_words_unit_power(*end) > 0 && !end[1])
        fits = multiply(&bytes, memory_words_unit_power(*end)) && fits;
    else if (strcmp(end, "b") != 0)
        return error_set(error, "invalid suffix in %s argument %s", option,
                         quote_word(word, &quoted));
    if (!fits)
        return error_set(error, "%s argument %s too large", option, quote_word(word, &quoted));
    size->bytes = size->is_said && size->bytes > bytes ? size->bytes : bytes;
    size->is_said = true;
    return true;
}

bool memory_words_add_directory(struct memory_words *words, const char *directory,
                                struct error *error)
{
    const char **const directories =
        realloc(words->directories, (words->directory_count + 1) * sizeof *directories);
    if (!directories)
        return error_set(error, "out of memory");
    words->directories = directories;
    words->directories[words->directory_count++] = directory;
    return true;
}

void memory_words_free(struct memory_words *words)
{
    free(words->directories);
}
