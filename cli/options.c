/* options.c - argp's tables and the words they take. See options.h. */
#include "cli/options.h"

#include "cli/quote.h"
#include "cli/word_list.h"
#include "core/key_types.h"
#include "formats/codec.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { /* long options without a letter */
       KEY_FORMAT = 256,
       KEY_OUTPUT_FORMAT,
       KEY_TYPE,
       KEY_ENDIAN,
       KEY_NAN,
       KEY_ARGSORT,
       KEY_TOP,
       KEY_DEVICE,
       KEY_PARALLEL,
       KEY_DEVICE_MEMORY,
       KEY_ZSTD,
       KEY_NO_ZSTD,
       KEY_EXPLAIN,
       KEY_LIST,
       KEY_PROGRESS,
       KEY_NO_PROGRESS,
       KEY_STATS,
       KEY_TRACE,
       KEY_FORCE,
       KEY_VERIFY,
       KEY_FILES0_FROM,
       KEY_SORT,
       KEY_CHECK,
       KEY_HEADER,
       KEY_IGNORE_NONPRINTING, /* sort(1)'s -i, which is another one here */
       KEY_VERSION
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Input and output:", 1},
    {"input", 'i', "FILE", 0, "Sort FILE (as FILE without the option; may be repeated)", 0},
    {"files0-from", KEY_FILES0_FROM, "F", 0,
     "Sort the files whose names, each ended by a NUL, are in F (- is standard input)", 0},
    {"output", 'o', "FILE", 0, "Write to FILE, which may be an input, instead of standard output",
     0},
    {"force", KEY_FORCE, NULL, 0, "Write binary data to a terminal", 0},
    {"verify", KEY_VERIFY, NULL, 0,
     "Read the file back that was written, and prove it again, before it takes the place of the "
     "old "
     "one",
     0},
    {NULL, 0, NULL, 0, "Data:", 2},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "The input is of FORMAT (default auto: by first bytes, name, content): auto,", 0},
    {"output-format", KEY_OUTPUT_FORMAT, "FORMAT", 0,
     "Write FORMAT (default: by the output's name where that says text or npy, else same): same,",
     0},
    {"type", KEY_TYPE, "TYPE", 0,
     "The numbers are of TYPE, here or as NumPy spells it (<f8, float64):", 0},
    {"endian", KEY_ENDIAN, "ORDER", 0, "Raw numbers are little or big endian (default little)", 0},
    {"zstd", KEY_ZSTD, "LEVEL", OPTION_ARG_OPTIONAL, "Compress the output", 0},
    {"no-zstd", KEY_NO_ZSTD, NULL, 0,
     "Do not compress the output (default: by the output's name; input is recognised)", 0},
    {NULL, 0, NULL, 0, "Order:", 3},
    {"reverse", 'r', NULL, 0, "Descending", 0},
    {"nan", KEY_NAN, "RULE", 0,
     "NaNs in binary data go first or last, or are an error (default: they are greatest)", 0},
    {"argsort", KEY_ARGSORT, "TYPE", OPTION_ARG_OPTIONAL,
     "Write where each number stood in the input, from 0, instead of the number, as u32 or u64 "
     "(default u64); equal numbers in the order of the input",
     0},
    {"top", KEY_TOP, "K", 0, "Write only the first K in the wanted order, sorted", 0},
    {NULL, 0, NULL, 0, "Order of lines, as LC_ALL=C sort has it:", 4},
    {"general-numeric-sort", 'g', NULL, 0, "By the number that strtold(3) reads, NaN first", 0},
    {"numeric-sort", 'n', NULL, 0, "By the decimal number, exact at any length", 0},
    {"human-numeric-sort", 'h', NULL, 0, "By the number with its suffix (2K, 1G)", 0},
    {"sort", KEY_SORT, "WORD", 0, "general-numeric (-g), numeric (-n) or human-numeric (-h)", 0},
    {"key", 'k', "KEYDEF", 0,
     "By the key F[.C][LETTERS][,F[.C][LETTERS]]: from field F, character C, to the end of the "
     "line, or to the second; LETTERS of bghnr are for this key alone (may be repeated)",
     0},
    {"field-separator", 't', "SEP", 0, "Fields end at SEP (default: before blanks)", 0},
    {"ignore-leading-blanks", 'b', NULL, 0, "A key, or a place in it, begins behind its blanks", 0},
    {"stable", 's', NULL, 0, "Leave lines with equal keys in the order of the input", 0},
    {"unique", 'u', NULL, 0, "Keep only the first of lines with equal keys", 0},
    {"zero-terminated", 'z', NULL, 0, "Lines end with NUL, not newline", 0},
    {"header", KEY_HEADER, "N", OPTION_ARG_OPTIONAL,
     "The first N lines (default 1) of each input, the same in all, are not sorted; write them "
     "first",
     0},
    {"dictionary-order", 'd', NULL, OPTION_HIDDEN, NULL, 0},
    {"ignore-case", 'f', NULL, OPTION_HIDDEN, NULL, 0},
    {"ignore-nonprinting", KEY_IGNORE_NONPRINTING, NULL, OPTION_HIDDEN, NULL, 0},
    {"month-sort", 'M', NULL, OPTION_HIDDEN, NULL, 0},
    {"random-sort", 'R', NULL, OPTION_HIDDEN, NULL, 0},
    {"version-sort", 'V', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, "Instead of a sort, for lines:", 5},
    {NULL, 'c', NULL, 0, "Check the order: show the first line that is out of it", 0},
    {NULL, 'C', NULL, 0, "Check the order, and say nothing", 0},
    {"check", KEY_CHECK, "HOW", OPTION_ARG_OPTIONAL,
     "As -c (diagnose-first, the default) or as -C (quiet, silent)", 0},
    {"merge", 'm', NULL, 0, "Merge inputs that are sorted already", 0},
    {NULL, 0, NULL, 0, "How it is done:", 6},
    {"algorithm", 'a', "PATH[:TILE]", 0, "Sort by PATH, in tiles of TILE numbers (default auto)",
     0},
    {"device", KEY_DEVICE, "DEVICE", 0, "Sort on auto, cpu, gpu or gpu:N (default auto)", 0},
    {"parallel", KEY_PARALLEL, "N", 0, "Use at most N threads", 0},
    {"buffer-size", 'S', "SIZE", 0,
     "Take at most SIZE of memory, in KiB or with one of b % K M G T P E Z Y (default: most of "
     "what "
     "is free); sort what is larger in parts",
     0},
    {"device-memory", KEY_DEVICE_MEMORY, "SIZE", 0, "The same of the GPU's memory", 0},
    {"temporary-directory", 'T', "DIR", 0,
     "Put sorted parts in DIR (default $TMPDIR, else /tmp; may be repeated, to use several)", 0},
    {NULL, 0, NULL, 0, "What it tells:", 7},
    {"explain", KEY_EXPLAIN, NULL, 0, "Print the plan and the reasons for it; sort nothing", 0},
    {"list", KEY_LIST, NULL, 0, "List types, formats, codecs, devices and paths", 0},
    {"verbose", 'v', NULL, 0, "Print the plan and the time of each stage on standard error", 0},
    {"quiet", 'q', NULL, 0, "Tell nothing but errors, and what --stats is asked for", 0},
    {"progress", KEY_PROGRESS, NULL, 0,
     "Show on standard error how far it is, once a second has passed (default: on a terminal)", 0},
    {"no-progress", KEY_NO_PROGRESS, NULL, 0, "Do not show it", 0},
    {"stats", KEY_STATS, "FORM", OPTION_ARG_OPTIONAL,
     "Print figures of the run on standard error at its end, as text or json (default text)", 0},
    {"trace", KEY_TRACE, "FILE", 0,
     "Write to FILE what each thread and the GPU did when; Perfetto shows it", 0},
    {"version", KEY_VERSION, NULL, 0, "Print the version", -1},
    {0},
};

static const char documentation[] =
    "Sort numbers: raw binary, NumPy .npy or text, plain or zstd, on the GPU or the CPU. And lines "
    "of text, as sort(1) does.\v"
    "With no FILE, or when FILE is -, read standard input. Text is kept line by line. Without -g, "
    "-n, -h and -k it is ordered as LC_ALL=C sort -g orders it, but a line that is not one number "
    "is an error.\n\n"
    "Exit status: 0 done, 1 -c or -C found a line out of order, 2 any error. On an error a file "
    "named by -o stays as it was.";

/* Options and where their errors go. */
struct parse {
    struct options *options;
    struct error *error;
};

static bool parse_format(const char *word, const char *none, const struct format **format,
                         struct error *error)
{
    *format = strcmp(word, none) == 0 ? NULL : format_find(word);
    if (*format || strcmp(word, none) == 0)
        return true;
    return error_set(error, "unknown format '%s': it is %s, text, raw or npy", word, none);
}

static bool parse_type(const char *word, struct options *options, struct error *error)
{
    enum key_endian endian = options->endian;
    options->type = key_type_find(word, strlen(word), &endian);
    if (!options->type)
        return error_set(error, "unknown type '%s': --list names the types", word);
    if (strchr("<>", word[0])) { /* the spelling said the byte order */
        options->endian = endian;
        options->endian_said = true;
    }
    return true;
}

static bool parse_endian(const char *word, struct options *options, struct error *error)
{
    options->endian_said = true;
    options->endian = strcmp(word, "big") == 0 ? ENDIAN_BIG : ENDIAN_LITTLE;
    if (options->endian == ENDIAN_BIG || strcmp(word, "little") == 0)
        return true;
    return error_set(error, "unknown byte order '%s': it is little or big", word);
}

static bool parse_nan(const char *word, struct options *options, struct error *error)
{
    static const struct {
        const char *word;
        enum nan_rule rule;
    } rules[] = {{"first", NAN_FIRST}, {"last", NAN_LAST}, {"error", NAN_ERROR}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(word, rules[i].word) == 0) {
            options->nan = rules[i].rule;
            options->nan_said = true;
            return true;
        }
    return error_set(error, "unknown NaN rule '%s': it is first, last or error", word);
}

static bool parse_argsort(const char *word, struct options *options, struct error *error)
{
    static const enum key_type_id types[] = {KEY_TYPE_u64, KEY_TYPE_u32};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!word || strcmp(word, key_types[types[i]].name) == 0) {
            options->index_type = &key_types[types[i]];
            return true;
        }
    return error_set(error, "unknown type of indices '%s': it is u32 or u64", word);
}

static bool parse_count(const char *word, const char *what, unsigned long least, unsigned long most,
                        unsigned long *count, struct error *error)
{
    char *end;
    errno = 0;
    *count = strtoul(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end || errno || *count < least || *count > most)
        return error_set(error, "invalid %s '%s': it is a number from %lu to %lu", what, word,
                         least, most);
    return true;
}

static bool algorithm_is_known(const char *name)
{
    for (size_t i = 0; i < backend_count; i++)
        if (backend_find_algorithm(backends[i], name))
            return true;
    return false;
}

/* PATH or PATH:TILE; the word is cut in two in place, as it is argv's to do with as we like. */
static bool parse_algorithm(char *word, struct options *options, struct error *error)
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

static bool parse_device(char *word, struct options *options, struct error *error)
{
    char *colon = strchr(word, ':');
    unsigned long device = 0;
    if (colon) {
        if (!parse_count(colon + 1, "device number", 0, 1023, &device, error))
            return false;
        *colon = '\0';
    }
    options->device = (unsigned)device;
    options->backend = strcmp(word, "auto") == 0 ? NULL : word;
    const bool known = !options->backend || strcmp(word, "cpu") == 0 || strcmp(word, "gpu") == 0;
    if (!known || (colon && strcmp(word, "gpu") != 0))
        return error_set(error, "unknown device '%s%s%s': it is auto, cpu, gpu or gpu:N", word,
                         colon ? ":" : "", colon ? colon + 1 : "");
    if (options->backend && !backend_find(options->backend))
        return error_set(error, "this build has no GPU backend: nvcc was not there to build it");
    return true;
}

static bool parse_zstd(const char *word, struct options *options, struct error *error)
{
    const struct codec *zstd = codec_find("zstd");
    unsigned long level = 0;
    if (word && !parse_count(word, "zstd level", (unsigned long)zstd->level_min,
                             (unsigned long)zstd->level_max, &level, error))
        return false;
    options->compression = COMPRESSION_ON;
    options->compression_level = (int)level;
    return true;
}

/* word may be NULL: it is optional. */
static bool parse_stats(const char *word, struct options *options, struct error *error)
{
    static const struct word_choice choices[] = {{"text", STATS_TEXT}, {"json", STATS_JSON}};
    int form = STATS_TEXT;
    if (word &&
        !word_list_find("--stats", word, choices, sizeof choices / sizeof *choices, &form, error))
        return false;
    options->stats = (enum stats_form)form;
    return true;
}

static bool parse_threads(const char *word, struct options *options, struct error *error)
{
    unsigned long threads;
    if (!parse_count(word, "number of threads", 1, 4096, &threads, error))
        return false;
    options->threads = (unsigned)threads;
    return true;
}

static bool parse_top(const char *word, struct options *options, struct error *error)
{
    unsigned long top;
    if (!parse_count(word, "number of items", 0, ULONG_MAX, &top, error))
        return false;
    options->top_said = true;
    options->top = top;
    return true;
}

static bool parse_output(const char *word, struct options *options, struct error *error)
{
    if (options->output && strcmp(options->output, word) != 0)
        return error_set(error, "multiple output files specified");
    options->output = word;
    return true;
}

static bool set_check(enum check check, struct options *options, struct error *error)
{
    if (options->check != CHECK_NO && options->check != check)
        return error_set(error, "options '-cC' are incompatible");
    options->check = check;
    return true;
}

/* word may be NULL: it is optional. */
static bool parse_check(const char *word, struct options *options, struct error *error)
{
    static const struct word_choice choices[] = {
        {"quiet", CHECK_QUIET}, {"silent", CHECK_QUIET}, {"diagnose-first", CHECK_SHOW}};
    int check = CHECK_SHOW;
    if (word &&
        !word_list_find("--check", word, choices, sizeof choices / sizeof *choices, &check, error))
        return false;
    return set_check((enum check)check, options, error);
}

static bool parse_header(const char *word, struct options *options, struct error *error)
{
    unsigned long lines = 1;
    if (word && !parse_count(word, "number of lines", 0, LONG_MAX, &lines, error))
        return false;
    options->header_said = true;
    options->header_lines = lines;
    return true;
}

/* The options of sort(1) but for -o. *known: it was one of them. */
static bool parse_sort_option(int key, const char *word, struct options *options, bool *known,
                              struct error *error)
{
    struct order_words *const order = &options->order;
    *known = true;
    switch (key) {
    case 'k':
        return order_words_add_key(order, word, error);
    case 't':
        return order_words_set_separator(order, word, error);
    case KEY_SORT:
        return order_words_set_sort(order, word, error);
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
    case KEY_CHECK:
        return parse_check(word, options, error);
    case 'm':
        return options->merge = true;
    case KEY_FILES0_FROM:
        options->input_list = word;
        return true;
    case KEY_IGNORE_NONPRINTING:
        return !order_letter_refuse('i', "--ignore-nonprinting", error);
    }
    const char letter = (char)(key < 128 ? key : 0);
    const char option[] = {'-', letter, '\0'};
    *known = letter && (order_letters_set(&order->letters, letter, BLANKS_AT_BOTH) ||
                        order_letter_refuse(letter, option, error));
    return !error->is_set;
}

/* The options that are gpusort's own, and -o. *known: it was one of them. */
static bool parse_own_option(int key, char *word, struct options *options, bool *known,
                             struct error *error)
{
    *known = true;
    switch (key) {
    case 'o':
        return parse_output(word, options, error);
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
    case KEY_STATS:
        return parse_stats(word, options, error);
    case KEY_TRACE:
        options->trace = word;
        return true;
    case 'a':
        return parse_algorithm(word, options, error);
    case KEY_FORCE:
        return options->force = true;
    case KEY_VERIFY:
        return options->verify = true;
    case KEY_FORMAT:
        return parse_format(word, "auto", &options->input_format, error);
    case KEY_OUTPUT_FORMAT:
        options->output_format_same = strcmp(word, "same") == 0;
        return parse_format(word, "same", &options->output_format, error);
    case KEY_TYPE:
        return parse_type(word, options, error);
    case KEY_ENDIAN:
        return parse_endian(word, options, error);
    case KEY_NAN:
        return parse_nan(word, options, error);
    case KEY_ARGSORT:
        return parse_argsort(word, options, error);
    case KEY_TOP:
        return parse_top(word, options, error);
    case KEY_HEADER:
        return parse_header(word, options, error);
    case KEY_DEVICE:
        return parse_device(word, options, error);
    case KEY_PARALLEL:
        return parse_threads(word, options, error);
    case 'S':
        return memory_words_set_size(&options->memory.host, "-S", word, error);
    case KEY_DEVICE_MEMORY:
        return memory_words_set_size(&options->memory.device, "--device-memory", word, error);
    case 'T':
        return memory_words_add_directory(&options->memory, word, error);
    case KEY_ZSTD:
        return parse_zstd(word, options, error);
    case KEY_NO_ZSTD:
        options->compression = COMPRESSION_OFF;
        return true;
    case KEY_EXPLAIN:
        options->action = ACTION_EXPLAIN;
        return true;
    case KEY_LIST:
        options->action = ACTION_LIST;
        return true;
    }
    *known = false;
    return true;
}

static error_t parse_option(int key, char *word, struct argp_state *state)
{
    const struct parse *const parse = state->input;
    struct options *const options = parse->options;
    bool ok = true, known = true;
    switch (key) {
    case ARGP_KEY_ARG:
    case 'i':
        options->inputs[options->input_count++] = word;
        return 0;
    case KEY_VERSION:
        printf("gpusort " GPUSORT_VERSION "\n");
        exit(EXIT_SUCCESS);
    }
    ok = parse_own_option(key, word, options, &known, parse->error);
    if (ok && !known)
        ok = parse_sort_option(key, word, options, &known, parse->error);
    return !ok ? EINVAL : known ? 0 : ARGP_ERR_UNKNOWN;
}

/* argp prints what this returns in the place of an option's text: the tables have the last word on
 * which types, formats and paths there are. */
static char *complete_help(int key, const char *text, void *input)
{
    (void)input;
    char *completed = NULL;
    size_t length;
    FILE *stream = open_memstream(&completed, &length);
    if (!stream)
        return (char *)text;
    fputs(text ? text : "", stream);
    for (size_t i = 0; key == KEY_TYPE && i < KEY_TYPE_COUNT; i++)
        fprintf(stream, " %s", key_types[i].name);
    for (size_t i = 0; (key == KEY_FORMAT || key == KEY_OUTPUT_FORMAT) && i < format_count; i++)
        fprintf(stream, "%s %s", i == 0 ? "" : ",", formats[i]->name);
    for (size_t i = 0; key == 'a' && i < backend_count; i++) {
        fprintf(stream, "; on the %s:", backends[i]->name);
        for (size_t j = 0; j < backends[i]->algorithm_count; j++)
            fprintf(stream, " %s", backends[i]->algorithms[j].name);
    }
    return fclose(stream) == 0 ? completed : (char *)text;
}

/* The inputs, if they are not said one by one. */
static bool complete_inputs(struct options *options, struct error *error)
{
    struct quoted quoted;
    if (!options->input_list) {
        if (options->input_count == 0)
            options->inputs[options->input_count++] = "-";
        return true;
    }
    if (options->input_count > 0)
        return error_set(error,
                         "extra operand %s: file operands cannot be combined with --files0-from",
                         quote_word(options->inputs[0], &quoted));
    if (!file_list_read(options->input_list, &options->list, error))
        return false;
    free(options->inputs);
    options->inputs = options->list.names;
    options->input_count = options->list.count;
    return true;
}

bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    static const struct argp argp = {option_table, parse_option,  "[FILE...]", documentation,
                                     NULL,         complete_help, NULL};
    struct parse parse = {options, error};
    *options = (struct options){.inputs = calloc((size_t)argc + 1, sizeof(char *))};
    if (!options->inputs)
        return error_set(error, "out of memory");
    argp_err_exit_status = 2;
    argv[0] = (char *)"gpusort"; /* how its messages begin */
    const error_t status = argp_parse(&argp, argc, argv, 0, NULL, &parse);
    if (status)
        return error_set(error, "command line: %s", strerror(status));
    return options->action == ACTION_LIST || complete_inputs(options, error);
}

void options_free(struct options *options)
{
    if (options->inputs != options->list.names)
        free(options->inputs);
    file_list_free(&options->list);
    order_words_free(&options->order);
    memory_words_free(&options->memory);
}
