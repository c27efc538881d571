/* SPDX-License-Identifier: Apache-2.0 */
/* option_words.c - see option_words.h. */
#include "cli/options/option_words.h"

#include "cli/options/quote.h"
#include "core/host_limits.h"
#include "core/key_types.h"
#include "formats/codec/codec.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A word of a list, which may be abbreviated as in sort(1) ---- */

struct word_choice {
    const char *word;
    int value; /* words with the same value are synonyms, and never ambiguous */
};

/* Finds the word, or the one choice that it is a prefix of. `option` and `words`, which lists the
 * choices, are for the message. */
static bool word_list_find(const char *option, const char *word, const struct word_choice *choices,
                           size_t count, const char *words, int *value, struct error *error)
{
    const struct word_choice *found = NULL;
    bool is_ambiguous = false;
    struct quoted quoted;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(choices[i].word, word, strlen(word)) != 0)
            continue;
        *value = choices[i].value;
        if (choices[i].word[strlen(word)] == '\0')
            return true;
        is_ambiguous |= found && found->value != choices[i].value;
        found = &choices[i];
    }
    return (found && !is_ambiguous) ||
           error_set(error, "%s argument %s for '%s': it is %s", found ? "ambiguous" : "invalid",
                     quote_word(word, &quoted), option, words);
}

/* ---- Arguments ----
 *
 * Each setter sets *options from its argument, or fails with a message about valid arguments.
 * `word` is NULL for an optional argument that is not given.
 */

/* none: the argument that means no particular format, and sets *format to NULL. */
static bool set_format(const char *word, const char *none, const struct format **format,
                       struct error *error)
{
    *format = strcmp(word, none) == 0 ? NULL : format_find(word);
    if (*format || strcmp(word, none) == 0)
        return true;
    return error_set(error, "unknown format '%s': it is %s, text, raw or npy", word, none);
}

/* FORMAT or FORMAT:CODEC */
static bool set_input_format(char *word, struct options *options, struct error *error)
{
    char *const colon = strchr(word, ':');
    if (colon)
        *colon = '\0';
    options->input_codec = colon ? codec_find(colon + 1) : NULL;
    if (colon && !options->input_codec)
        return error_set(error, "unknown codec '%s': --list names the codecs", colon + 1);
    return set_format(word, "auto", &options->input_format, error);
}

static bool set_output_format(const char *word, struct options *options, struct error *error)
{
    options->output_format_same = strcmp(word, "same") == 0;
    return set_format(word, "same", &options->output_format, error);
}

static bool set_type(const char *word, struct options *options, struct error *error)
{
    enum key_endian endian;
    options->type = key_type_find(word, strlen(word), &endian);
    options->type_word = word;
    const struct key_type *const time =
        options->type ? NULL : key_type_find_dtype(word, strlen(word), &endian);
    const struct foreign_type *const foreign =
        options->type ? NULL : key_type_find_foreign(word, strlen(word));
    if (time)
        return error_set(error,
                         "unknown type '%s': use --type='%.*s', for times of any unit, but not for "
                         ".npy output",
                         word, (int)strcspn(word, "["), word);
    if (foreign)
        return error_set(error, "unknown type '%s', a name of %s: --list names the types%s%s", word,
                         foreign->kind, *foreign->remedy ? "; " : "", foreign->remedy);
    if (!options->type)
        return error_set(error, "unknown type '%s': --list names the types", word);
    return true;
}

static bool set_endian(const char *word, struct options *options, struct error *error)
{
    options->endian_said = true;
    options->endian = strcmp(word, "big") == 0 ? ENDIAN_BIG : ENDIAN_LITTLE;
    if (options->endian == ENDIAN_BIG || strcmp(word, "little") == 0)
        return true;
    return error_set(error, "unknown byte order '%s': it is little or big", word);
}

bool option_words_settle_endian(struct options *options, struct error *error)
{
    const char first = options->type_word ? options->type_word[0] : '\0';
    const enum key_endian endian = first == '>' ? ENDIAN_BIG : ENDIAN_LITTLE;
    if (first != '<' && first != '>')
        return true;
    if (options->endian_said && options->endian != endian)
        return error_set(error, "--type=%s and --endian=%s contradict each other: leave one out",
                         options->type_word, first == '>' ? "little" : "big");
    options->endian = endian;
    options->endian_said = true;
    return true;
}

static bool set_nan(const char *word, struct options *options, struct error *error)
{
    options->nan_said = true;
    options->nan = strcmp(word, "first") == 0  ? NAN_FIRST
                   : strcmp(word, "last") == 0 ? NAN_LAST
                                               : NAN_ERROR;
    return options->nan != NAN_ERROR || strcmp(word, "error") == 0 ||
           error_set(error, "unknown NaN rule '%s': it is first, last or error", word);
}

static bool set_argsort(const char *word, struct options *options, struct error *error)
{
    enum key_endian endian = ENDIAN_LITTLE;
    const struct key_type *const type =
        word ? key_type_find(word, strlen(word), &endian) : &key_types[KEY_TYPE_u64];
    const bool is_integer = type && (type->kind == KEY_UNSIGNED || type->kind == KEY_SIGNED);
    if (!is_integer || (type->bytes != 4 && type->bytes != 8))
        return error_set(error, "unknown type of indices '%s': it is u32, u64, i32 or i64", word);
    if (endian == ENDIAN_BIG)
        return error_set(
            error, "--argsort=%s: indices have the byte order of the numbers: use --argsort=%s",
            word, type->name);
    options->index_type = type;
    return true;
}

/* A letter means 1024 to the power of its position, from 1 on. The first four may be small
 * letters. */
static const char units[] = "KMGTPEZYRQ", small_units[] = "kmgt";

/* Returns the power of 1024 (or of 1000) for the letter of a unit: 1 for K, 2 for M, and so on; 0
 * for other letters. */
static unsigned unit_power(char letter)
{
    const char *const unit = letter ? strchr(units, letter) : NULL;
    const char *const small = letter ? strchr(small_units, letter) : NULL;
    return unit ? (unsigned)(unit - units) + 1 : small ? (unsigned)(small - small_units) + 1 : 0;
}

/* The factor of an exponent or a unit after a count: base^power. */
struct scale {
    unsigned long base, power;
};

/* Parses the text after the digits of a count: an exponent (e6), a unit as in head(1) (K or KiB,
 * kB), or nothing. Returns false for other text. */
static bool parse_scale(const char *text, struct scale *scale)
{
    *scale = (struct scale){.base = 10};
    if ((*text == 'e' || *text == 'E') && strspn(text + 1, "+0123456789") > 0) {
        text += text[1] == '+' ? 2 : 1;
        char *end = (char *)text;
        if (text[0] >= '0' && text[0] <= '9')
            scale->power = strtoul(text, &end, 10);
        return end > text && *end == '\0';
    }
    const unsigned power = unit_power(*text);
    const bool is_decimal = power > 0 && strcmp(text + 1, "B") == 0;
    *scale = (struct scale){is_decimal ? 1000 : 1024, power};
    return *text == '\0' || is_decimal ||
           (power > 0 && (text[1] == '\0' || strcmp(text + 1, "iB") == 0));
}

/* Returns false on overflow. */
static bool multiply(size_t *value, struct scale scale)
{
    for (; scale.power > 0 && *value > 0; scale.power--)
        if (__builtin_mul_overflow(*value, scale.base, value))
            return false;
    return true;
}

__extension__ typedef unsigned __int128 wide;

/* Reads digits, optionally with a fraction, and with an exponent or a unit. Returns false unless
 * the value is a whole number, and for one that is too large. */
static bool read_count(const char *word, unsigned long *count)
{
    while (word[0] == '0' && word[1] >= '0' && word[1] <= '9')
        word++;
    const size_t whole = strspn(word, "0123456789");
    const bool has_point = word[whole] == '.';
    const size_t fraction = has_point ? strspn(word + whole + 1, "0123456789") : 0;
    wide digits = 0, unit = 1; /* the value is digits / unit */
    struct scale scale;
    if (whole == 0 || (has_point && fraction == 0) || whole + fraction > 30 ||
        !parse_scale(word + whole + has_point + fraction, &scale))
        return false;
    for (size_t i = 0; i < whole + fraction; i++)
        digits = digits * 10 + (wide)(word[i + (i >= whole)] - '0');
    for (size_t i = 0; i < fraction; i++)
        unit *= 10;
    for (; scale.power > 0 && digits > 0; scale.power--)
        if (__builtin_mul_overflow(digits, scale.base, &digits))
            return false;
    *count = (unsigned long)(digits / unit);
    return digits % unit == 0 && digits / unit <= ULONG_MAX;
}

static bool parse_count(const char *word, const char *what, unsigned long least, unsigned long most,
                        unsigned long *count, struct error *error)
{
    if (!read_count(word, count) || *count < least || *count > most)
        return error_set(error, "invalid %s '%s': it is a whole number from %lu to %lu%s", what,
                         word, least, most, most < 5000 ? "" : ", as 5000, 5e3 or 5K");
    return true;
}

static bool set_sort(const char *word, struct options *options, struct error *error)
{
    static const struct word_choice choices[] = {
        {"general-numeric", 'g'}, {"human-numeric", 'h'}, {"numeric", 'n'},
        {"month", 'M'},           {"random", 'R'},        {"version", 'V'},
    };
    int letter;
    if (!word_list_find("--sort", word, choices, sizeof choices / sizeof *choices,
                        "general-numeric, human-numeric or numeric", &letter, error))
        return false;
    return !order_letter_refuse((char)letter, "--sort", error) &&
           order_letters_set(&options->order.letters, (char)letter, BLANKS_AT_BOTH);
}

static bool algorithm_is_known(const char *name)
{
    for (size_t i = 0; i < backend_count; i++)
        if (backend_find_algorithm(backends[i], name))
            return true;
    return false;
}

/* PATH or PATH:TILE */
static bool set_algorithm(char *word, struct options *options, struct error *error)
{
    char *colon = strchr(word, ':');
    unsigned long tile_size = 0;
    if (colon) {
        *colon = '\0';
        if (!parse_count(colon + 1, "tile size", 1, LONG_MAX, &tile_size, error))
            return false;
    }
    options->tile_size = tile_size;
    options->algorithm = strcmp(word, "auto") == 0 ? NULL : word;
    if (!options->algorithm && colon)
        return error_set(error, "a tile size needs a path: --algorithm=PATH:TILE");
    if (options->algorithm && !algorithm_is_known(word))
        return error_set(error, "unknown algorithm '%s': --list names those of this build", word);
    return true;
}

#define DEVICE_NUMBER_MOST 1023

/* Parses the number of a device, which is a name and not a quantity: digits only. */
static bool parse_device(const char *word, unsigned long *device, struct error *error)
{
    *device = strtoul(word, NULL, 10);
    if (*word == '\0' || word[strspn(word, "0123456789")] != '\0' || *device > DEVICE_NUMBER_MOST)
        return error_set(error, "invalid device number '%s': it is a whole number from 0 to %d",
                         word, DEVICE_NUMBER_MOST);
    return true;
}

/* Parses the device numbers after "gpu:", which commas separate, or the word "all". */
static bool parse_devices(char *word, struct options *options, struct error *error)
{
    options->all_devices = strcmp(word, "all") == 0;
    for (char *next = word; next && !options->all_devices;) {
        char *const number = strsep(&next, ",");
        unsigned long device;
        if (!parse_device(number, &device, error))
            return false;
        if (options->device_count == BACKEND_DEVICES_MOST)
            return error_set(error, "more than %d device numbers", BACKEND_DEVICES_MOST);
        for (unsigned i = 0; i < options->device_count; i++)
            if (options->devices[i] == device)
                return error_set(error, "device number %lu is given twice", device);
        options->devices[options->device_count++] = (unsigned)device;
    }
    return true;
}

/* auto, cpu, gpu, gpu:N,N or gpu:all */
static bool set_device(char *word, struct options *options, struct error *error)
{
    char *colon = strchr(word, ':');
    options->device_count = 0;
    options->all_devices = false;
    if (colon) {
        *colon = '\0';
        if (strcmp(word, "gpu") == 0 && !parse_devices(colon + 1, options, error))
            return false;
    }
    options->backend = strcmp(word, "auto") == 0 ? NULL : word;
    const bool known = !options->backend || strcmp(word, "cpu") == 0 || strcmp(word, "gpu") == 0;
    if (!known || (colon && strcmp(word, "gpu") != 0))
        return error_set(error, "unknown device '%s%s%s': it is auto, cpu, gpu, gpu:N,N or gpu:all",
                         word, colon ? ":" : "", colon ? colon + 1 : "");
    return true;
}

static bool set_zstd(const char *word, struct options *options, struct error *error)
{
    unsigned long level = 0;
    if (word && !parse_count(word, "zstd level", (unsigned long)codec_zstd.level_min,
                             (unsigned long)codec_zstd.level_max, &level, error))
        return false;
    options->compression = COMPRESSION_ON;
    options->compression_level = (int)level;
    return true;
}

static bool set_long(const char *word, struct options *options, struct error *error)
{
    unsigned long window_log = codec_zstd.window_log_default;
    if (word && !parse_count(word, "zstd window", codec_zstd.window_log_min,
                             codec_zstd.window_log_max, &window_log, error))
        return false;
    options->window_log = (unsigned)window_log;
    return true;
}

static bool set_stats(const char *word, struct options *options, struct error *error)
{
    static const struct word_choice choices[] = {{"text", STATS_TEXT}, {"json", STATS_JSON}};
    int form = STATS_TEXT;
    if (word && !word_list_find("--stats", word, choices, sizeof choices / sizeof *choices,
                                "text or json", &form, error))
        return false;
    options->stats = (enum stats_form)form;
    return true;
}

/* Parses a number as sort(1) does for its long options. A number that is too large becomes
 * ULONG_MAX. */
static bool parse_sort_number(const char *option, const char *word, unsigned long *number,
                              struct error *error)
{
    struct quoted quoted;
    const char *const first = word + strspn(word, " \t\n\v\f\r");
    char *end = (char *)word;
    *number = *first == '-' ? 0 : strtoul(word, &end, 10);
    if (end == word)
        return error_set(error, "invalid %s argument %s", option, quote_word(word, &quoted));
    return !*end ||
           error_set(error, "invalid suffix in %s argument %s", option, quote_word(word, &quoted));
}

static bool set_threads(const char *word, struct options *options, struct error *error)
{
    unsigned long threads;
    if (!parse_sort_number("--parallel", word, &threads, error))
        return false;
    options->threads = threads < UINT_MAX ? (unsigned)threads : UINT_MAX;
    return threads > 0 || error_set(error, "number in parallel must be nonzero");
}

/* --batch-size has no effect. */
static bool check_batch_size(const char *word, struct error *error)
{
    unsigned long size;
    struct quoted quoted;
    if (!parse_sort_number("--batch-size", word, &size, error))
        return false;
    return size >= 2 ||
           error_set(error,
                     "invalid --batch-size argument %s: minimum --batch-size argument is '2'",
                     quote_word(word, &quoted));
}

static bool set_top(const char *word, struct options *options, struct error *error)
{
    unsigned long top;
    if (!parse_count(word, "number of items", 0, ULONG_MAX, &top, error))
        return false;
    options->top_said = true;
    options->top = top;
    return true;
}

/* Sets *said for an option that may be repeated only with the same argument. what: the plural of
 * its name, for the message. */
static bool set_once(const char *word, const char *what, const char **said, struct error *error)
{
    if (*said && strcmp(*said, word) != 0)
        return error_set(error, "multiple %s specified", what);
    *said = word;
    return true;
}

static bool set_check(enum check check, struct options *options, struct error *error)
{
    if (options->check != CHECK_NO && options->check != check)
        return error_set(error, "options '-cC' are incompatible");
    options->check = check;
    return true;
}

static bool set_check_word(const char *word, struct options *options, struct error *error)
{
    static const struct word_choice choices[] = {
        {"quiet", CHECK_QUIET}, {"silent", CHECK_QUIET}, {"diagnose-first", CHECK_SHOW}};
    int check = CHECK_SHOW;
    if (word && !word_list_find("--check", word, choices, sizeof choices / sizeof *choices,
                                "quiet, silent or diagnose-first", &check, error))
        return false;
    return set_check((enum check)check, options, error);
}

static bool set_header(const char *word, struct options *options, struct error *error)
{
    unsigned long lines = 1;
    if (word && !parse_count(word, "number of lines", 0, LONG_MAX, &lines, error))
        return false;
    options->header_said = true;
    options->header_lines = lines;
    return true;
}

/* Sets *bytes to `number` percent of all memory. */
static bool take_percent(size_t number, size_t *bytes)
{
    const double part = (double)memory_total() / 100 * (double)number;
    *bytes = part < (double)SIZE_MAX ? (size_t)part : 0;
    return part < (double)SIZE_MAX;
}

/* -S and --device-memory. Parses a size: a number with one of the units b (bytes), % (of the host's
 * memory) and K M G T P E Z Y R Q (of 1024), or in KiB without a unit. Keeps the greatest of
 * several sizes. Syntax and errors are as in sort(1). option: its name for messages. */
static bool set_size(struct memory_size *size, const char *option, const char *word,
                     struct error *error)
{
    struct quoted quoted;
    const char *begin = word + strspn(word, " \t\n\v\f\r");
    char *end;
    errno = 0;
    size_t bytes = strtoull(begin, &end, 10);
    bool fits = errno == 0;
    const bool is_number = end > begin && *begin != '-';
    if (!is_number && unit_power(*word) == 0) /* " K" is wrong, " 1K" is not */
        return error_set(error, "invalid %s argument %s", option, quote_word(word, &quoted));
    if (!is_number) /* a unit alone */
        bytes = 1;
    if (!*end)
        fits = fits && multiply(&bytes, (struct scale){1024, 1});
    else if (strcmp(end, "%") == 0)
        fits = fits && take_percent(bytes, &bytes);
    else if (unit_power(*end) > 0 && !end[1])
        fits = multiply(&bytes, (struct scale){1024, unit_power(*end)}) && fits;
    else if (strcmp(end, "b") != 0)
        return error_set(error, "invalid suffix in %s argument %s", option,
                         quote_word(word, &quoted));
    if (!fits)
        return error_set(error, "%s argument %s too large", option, quote_word(word, &quoted));
    size->bytes = size->is_said && size->bytes > bytes ? size->bytes : bytes;
    size->is_said = true;
    return true;
}

static bool add_directory(struct memory_words *words, const char *directory, struct error *error)
{
    if (!*directory)
        return error_set(error, "invalid -T argument '': it names no directory");
    const char **const directories =
        realloc(words->directories, (words->directory_count + 1) * sizeof *directories);
    if (!directories)
        return error_set(error, "out of memory");
    words->directories = directories;
    words->directories[words->directory_count++] = directory;
    return true;
}

/* ---- All options ---- */

/* As option_words_set(), for the letters of orders, and for options of sort(1) that are refused. */
static bool set_letter(int key, struct options *options, bool *known, struct error *error)
{
    if (key == KEY_DEBUG)
        return error_set(error, "--debug: gpusort does not mark keys (--debug of sort(1)): "
                                "--explain prints how they are read");
    if (key == KEY_IGNORE_NONPRINTING)
        return !order_letter_refuse('i', "--ignore-nonprinting", error);
    const char letter = (char)(key < 128 ? key : 0);
    const char option[] = {'-', letter, '\0'};
    if (letter >= '0' && letter <= '9')
        return error_set(error, "%s: " OBSOLETE_KEYS, option);
    *known = letter && (order_letters_set(&options->order.letters, letter, BLANKS_AT_BOTH) ||
                        order_letter_refuse(letter, option, error));
    return !error->is_set;
}

/* Sets an option without a word, or a letter of an order. *known is false for any other key. */
static bool set_flag(int key, struct options *options, bool *known, struct error *error)
{
    struct order_words *const order = &options->order;
    switch (key) {
    case KEY_IN_PLACE:
        return options->in_place = true;
    case KEY_FORCE:
        return options->force = true;
    case KEY_VERIFY:
        return options->verify = true;
    case KEY_NO_ZSTD:
        options->compression = COMPRESSION_OFF;
        return true;
    case 's':
        return order->stable = true;
    case 'u':
        return order->unique = true;
    case 'z':
        return order->zero_terminated = true;
    case 'c':
        return set_check(CHECK_SHOW, options, error);
    case 'C':
        return set_check(CHECK_QUIET, options, error);
    case 'm':
        return options->merge = true;
    case KEY_EXPLAIN:
        options->action = ACTION_EXPLAIN;
        return true;
    case KEY_LIST:
        options->action = ACTION_LIST;
        return true;
    case 'v':
        return options->verbose = true;
    case 'q':
        return options->quiet = true;
    case KEY_PROGRESS:
        options->progress = PROGRESS_ON;
        return true;
    case KEY_NO_PROGRESS:
        options->progress = PROGRESS_OFF;
        return true;
    }
    return set_letter(key, options, known, error);
}

bool option_words_set(int key, char *word, struct options *options, bool *known,
                      struct error *error)
{
    struct order_words *const order = &options->order;
    *known = true;
    switch (key) {
    case 'o':
        return set_once(word, "output files", &options->output, error);
    case KEY_FILES0_FROM:
        options->input_list = word;
        return true;
    case KEY_FORMAT:
        return set_input_format(word, options, error);
    case KEY_OUTPUT_FORMAT:
        return set_output_format(word, options, error);
    case KEY_TYPE:
        return set_type(word, options, error);
    case KEY_ENDIAN:
        return set_endian(word, options, error);
    case KEY_ZSTD:
        return set_zstd(word, options, error);
    case KEY_LONG:
        return set_long(word, options, error);
    case KEY_NAN:
        return set_nan(word, options, error);
    case KEY_ARGSORT:
        return set_argsort(word, options, error);
    case KEY_TOP:
        return set_top(word, options, error);
    case KEY_SORT:
        return set_sort(word, options, error);
    case 'k':
        return order_words_add_key(order, word, error);
    case 't':
        return order_words_set_separator(order, word, error);
    case KEY_HEADER:
        return set_header(word, options, error);
    case KEY_CHECK:
        return set_check_word(word, options, error);
    case 'a':
        return set_algorithm(word, options, error);
    case KEY_DEVICE:
        return set_device(word, options, error);
    case KEY_PARALLEL:
        return set_threads(word, options, error);
    case 'S':
        return set_size(&options->memory.host, "-S", word, error);
    case KEY_DEVICE_MEMORY:
        return set_size(&options->memory.device, "--device-memory", word, error);
    case 'T':
        return add_directory(&options->memory, word, error);
    case KEY_BATCH_SIZE:
        return check_batch_size(word, error);
    case KEY_COMPRESS_PROGRAM:
        return set_once(word, "compress programs", &options->compress_program, error);
    case KEY_RANDOM_SOURCE:
        return set_once(word, "random sources", &options->random_source, error);
    case KEY_STATS:
        return set_stats(word, options, error);
    case KEY_TRACE:
        options->trace = word;
        return true;
    }
    return set_flag(key, options, known, error);
}
