/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - argp's table; --files0-from, and names with {rank}. See options.h. */
#include "cli/options/options.h"

#include "cli/options/option_words.h"
#include "cli/options/quote.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Input and output:", 1},
    {"input", 'i', "FILE", 0, "Sort FILE (may be repeated)", 0},
    {"files0-from", KEY_FILES0_FROM, "F", 0,
     "Sort the files whose names, each ended by a NUL, are in F (- is standard input)", 0},
    {"output", 'o', "FILE", 0, "Write to FILE, which may be an input, instead of standard output",
     0},
    {"in-place", KEY_IN_PLACE, NULL, 0,
     "Overwrite FILE with its sorted content, without a second copy of it; a crash during the "
     "write damages FILE",
     0},
    {"force", KEY_FORCE, NULL, 0, "Write binary data even to a terminal", 0},
    {"verify", KEY_VERIFY, NULL, 0,
     "Read the written file back, and check it again before it replaces the old one", 0},
    {NULL, 0, NULL, 0, "Data:", 2},
    {"format", KEY_FORMAT, "FORMAT[:CODEC]", 0,
     "Format and compression of the input (default auto: detected; CODEC:", 0},
    {"output-format", KEY_OUTPUT_FORMAT, "FORMAT", 0,
     "Format of the output (default: by its name if it is text or .npy, otherwise same): same,", 0},
    {"type", KEY_TYPE, "TYPE", 0,
     "Type of the numbers, or its NumPy name such as <f8 (default: by header or name; f64 for "
     ".bin, .raw, --format=raw and text that is converted):",
     0},
    {"endian", KEY_ENDIAN, "ORDER", 0, "Raw numbers are little or big endian (default little)", 0},
    {"zstd", KEY_ZSTD, "LEVEL", OPTION_ARG_OPTIONAL,
     "Compress the output, at LEVEL 1 to 22 (default 3)", 0},
    {"no-zstd", KEY_NO_ZSTD, NULL, 0, "Do not compress the output (default: by its name)", 0},
    {"long", KEY_LONG, "WINDOWLOG", OPTION_ARG_OPTIONAL,
     "Decompress zstd data with windows of up to 2^WINDOWLOG bytes, 10 to 31 (default 27)", 0},
    {NULL, 0, NULL, 0, "Order:", 3},
    {"reverse", 'r', NULL, 0, "Sort in descending order", 0},
    {"nan", KEY_NAN, "RULE", 0,
     "Write NaNs of binary data first or last, or treat them as an error (default: they are "
     "greatest)",
     0},
    {"argsort", KEY_ARGSORT, "TYPE", OPTION_ARG_OPTIONAL,
     "Write the sorted order as indices (0-based) instead of the numbers, as u32, u64, i32 or "
     "i64 (default u64); equal numbers stay in the order of the input",
     0},
    {"top", KEY_TOP, "K", 0,
     "Write only the first K of the sorted output (K may be 5000, 5e3 or 5K)", 0},
    {NULL, 0, NULL, 0, "Order of lines, as in LC_ALL=C sort:", 4},
    {"general-numeric-sort", 'g', NULL, 0,
     "Sort by the number that strtold(3) reads; no number first, then NaNs", 0},
    {"numeric-sort", 'n', NULL, 0, "Sort by the decimal number, exact at any length", 0},
    {"human-numeric-sort", 'h', NULL, 0, "Sort by the number with its suffix (2K, 1G)", 0},
    {"sort", KEY_SORT, "WORD", 0,
     "Sort by WORD: general-numeric (-g), numeric (-n) or human-numeric (-h)", 0},
    {"key", 'k', "KEYDEF", 0,
     "Sort by the key F[.C][LETTERS][,F[.C][LETTERS]]: from field F, character C, to the end "
     "of the line, or to the second; LETTERS of bghnr apply to this key alone (may be "
     "repeated)",
     0},
    {"field-separator", 't', "SEP", 0, "Fields end at SEP (default: before blanks)", 0},
    {"ignore-leading-blanks", 'b', NULL, 0, "Ignore leading blanks of fields", 0},
    {"stable", 's', NULL, 0, "Keep lines with equal keys in the order of the input", 0},
    {"unique", 'u', NULL, 0,
     "Write only the first of lines with equal keys, such as 7 and 7.0 (18 digits count; with -n "
     "or -h, all)",
     0},
    {"zero-terminated", 'z', NULL, 0, "Lines end with NUL, not newline", 0},
    {"header", KEY_HEADER, "N", OPTION_ARG_OPTIONAL,
     "Write the first N lines (default 1) of each input first, unsorted; they must be the same "
     "in all inputs",
     0},
    {"dictionary-order", 'd', NULL, OPTION_HIDDEN, NULL, 0},
    {"ignore-case", 'f', NULL, OPTION_HIDDEN, NULL, 0},
    {"ignore-nonprinting", KEY_IGNORE_NONPRINTING, NULL, OPTION_HIDDEN, NULL, 0},
    {"month-sort", 'M', NULL, OPTION_HIDDEN, NULL, 0},
    {"random-sort", 'R', NULL, OPTION_HIDDEN, NULL, 0},
    {"version-sort", 'V', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '0', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '1', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '2', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '3', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '4', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '5', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '6', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '7', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '8', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, '9', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, "Check the order, or merge lines:", 5},
    {NULL, 'c', NULL, 0, "Check the order, and print the first line or number out of order", 0},
    {NULL, 'C', NULL, 0, "Check the order, and print nothing", 0},
    {"check", KEY_CHECK, "HOW", OPTION_ARG_OPTIONAL,
     "Check as -c (diagnose-first, the default) or as -C (quiet, silent)", 0},
    {"merge", 'm', NULL, 0, "Merge inputs that are sorted already", 0},
    {NULL, 0, NULL, 0, "Device, threads and memory:", 6},
    {"algorithm", 'a', "PATH[:TILE]", 0,
     "Sort by the algorithm PATH, in tiles of TILE numbers (default auto)", 0},
    {"device", KEY_DEVICE, "DEVICE", 0, "Sort on auto, cpu, gpu, gpu:N,N or gpu:all (default auto)",
     0},
    {"parallel", KEY_PARALLEL, "N", 0, "Use at most N threads", 0},
    {"buffer-size", 'S', "SIZE", 0,
     "Use at most SIZE of memory, in KiB or with a unit of b % K M G T P E (default: most "
     "of the free memory); sort larger data in parts",
     0},
    {"device-memory", KEY_DEVICE_MEMORY, "SIZE", 0, "Use at most SIZE of the GPU's memory", 0},
    {"temporary-directory", 'T', "DIR", 0,
     "Store temporary files in DIR (default $TMPDIR, else /tmp, or /var/tmp if that is in "
     "memory; may be repeated, to use several)",
     0},
    {"batch-size", KEY_BATCH_SIZE, "N", 0, "Ignored, for compatibility with sort(1)", 0},
    {"compress-program", KEY_COMPRESS_PROGRAM, "PROG", 0, "Ignored, for compatibility with sort(1)",
     0},
    {"random-source", KEY_RANDOM_SOURCE, "FILE", OPTION_HIDDEN, NULL, 0},
    {"debug", KEY_DEBUG, NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, "Reports:", 7},
    {"explain", KEY_EXPLAIN, NULL, 0, "Print the plan and its reasons, and do not sort", 0},
    {"list", KEY_LIST, NULL, 0, "List types, formats, codecs, devices and paths", 0},
    {"verbose", 'v', NULL, 0, "Print the plan and the time of each stage on standard error", 0},
    {"quiet", 'q', NULL, 0, "Print only errors (and the reports of --stats and -c, if requested)",
     0},
    {"progress", KEY_PROGRESS, NULL, 0,
     "Show progress on standard error after a second (default: on a terminal)", 0},
    {"no-progress", KEY_NO_PROGRESS, NULL, 0, "Do not show progress", 0},
    {"stats", KEY_STATS, "FORM", OPTION_ARG_OPTIONAL,
     "Print timings and byte counts to standard error when done, as text or json (default text)",
     0},
    {"trace", KEY_TRACE, "FILE", 0,
     "Write a timeline of the threads and the GPU to FILE, for Perfetto", 0},
    {"version", KEY_VERSION, NULL, 0, "Print the version, the build and the license", -1},
    {"help", '?', NULL, 0, "Print this list of the options", 0},
    {"usage", KEY_USAGE, NULL, 0, "Print a short list of the options", 0},
    {0},
};

static const char documentation[] =
    "Sort numbers (raw binary, NumPy .npy or text, plain or zstd) or lines of text, as "
    "sort(1) does, on the GPU or on the CPU.\v"
    "With no FILE, or when FILE is -, read standard input. Text is kept line by line. Without -g, "
    "-n, -h and -k it is ordered as LC_ALL=C sort -g orders it, but a line that is not one number "
    "is an error.\n\n"
    "Exit status: 0 success, 1 -c or -C found disorder, 2 error. After an error, "
    "the old file named by -o is unchanged.";

struct parse {
    struct options *options;
    struct error *error;
};

/* Returns true if the word, which argp takes for a file, is -o after a file. With POSIXLY_CORRECT,
 * argp takes all words after the first file for files, but sort(1) reads this one. After "--" it is
 * a file. */
static bool is_late_output(const char *word, const struct argp_state *state)
{
    const struct parse *const parse = state->input;
    return parse->options->input_count > 0 && !state->quoted && strncmp(word, "-o", 2) == 0 &&
           (word[2] || state->next < state->argc);
}

static error_t parse_option(int key, char *word, struct argp_state *state)
{
    const struct parse *const parse = state->input;
    struct options *const options = parse->options;
    bool known;
    if (key == ARGP_KEY_ARG && is_late_output(word, state)) {
        key = 'o';
        word = word[2] ? word + 2 : state->argv[state->next++];
    }
    switch (key) {
    case ARGP_KEY_ARG:
    case 'i':
        if (key == 'i' && word[0] == '-' && word[1] != '\0')
            options->dashed_input = word;
        options->inputs[options->input_count++] = word;
        return 0;
    case '?':
        if (quote_holds_text()) /* the letter 0xFF: getopt(3) refuses it, but argp reads it as -? */
            argp_state_help(state, stderr, ARGP_HELP_STD_ERR);
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        break;
    case KEY_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        break;
    case KEY_VERSION:
        version_print(stdout);
        exit(EXIT_SUCCESS);
    }
    const bool ok = option_words_set(key, word, options, &known, parse->error);
    return !ok ? EINVAL : known ? 0 : ARGP_ERR_UNKNOWN;
}

/* Called by argp, which prints the returned text instead of the option's. Appends the types,
 * formats and paths from their tables. */
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
    for (size_t i = 0; key == KEY_FORMAT && i < codec_count; i++)
        fprintf(stream, "%s %s", i == 0 ? "" : ",", codecs[i]->name);
    fputs(key == KEY_FORMAT ? "): auto," : "", stream);
    for (size_t i = 0; (key == KEY_FORMAT || key == KEY_OUTPUT_FORMAT) && i < format_count; i++)
        fprintf(stream, "%s %s", i == 0 ? "" : ",", formats[i]->name);
    for (size_t i = 0; key == 'a' && i < backend_count; i++) {
        fprintf(stream, "; on the %s:", backends[i]->name);
        for (size_t j = 0; j < backends[i]->algorithm_count; j++)
            fprintf(stream, " %s", backends[i]->algorithms[j].name);
    }
    return fclose(stream) == 0 ? completed : (char *)text;
}

static bool check_device(const struct options *options, struct error *error)
{
    return !options->backend || backend_find(options->backend) ||
           error_set(error,
                     "this build has no GPU backend: it was built without nvcc, or with CUDA=0");
}

static bool check_operands(struct options *options, struct error *error)
{
    struct quoted quoted;
    if (!options->input_list && options->input_count == 0)
        options->inputs[options->input_count++] = "-";
    return !options->input_list || options->input_count == 0 ||
           error_set(error, "extra operand %s: file operands cannot be combined with --files0-from",
                     quote_word(options->inputs[0], &quoted));
}

/* Returns true if --stats=json is given. Options after a wrong one are not parsed, so this searches
 * argv. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--stats=json") == 0)
            return true;
    return false;
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
    (void)unsetenv("ARGP_HELP_FMT"); /* with a narrow margin argp prints its help without end */
    argv[0] = (char *)"gpusort";     /* the prefix of argp's messages */
    quote_hold_stderr();             /* released by end_process(), if argp ends here */
    /* argp's own options for help would add --program-name, and --HANG, which sleeps. */
    const error_t status = argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &parse);
    options->verbose &= !options->quiet;
    quote_release_stderr();
    if (status && wants_json(argc, argv))
        options->stats = STATS_JSON;
    if (status)
        return error_set(error, "command line: %s", strerror(status));
    return options->action == ACTION_LIST ||
           (option_words_settle_endian(options, error) && check_device(options, error) &&
            check_operands(options, error));
}

/* ---- The list of --files0-from: names, each terminated by NUL ---- */

static bool add_name(struct file_list *list, const char *name, struct error *error)
{
    const char **const names = reallocarray(list->names, list->count + 1, sizeof *names);
    if (!names)
        return error_set(error, "out of memory");
    list->names = names;
    names[list->count] = strdup(name);
    return names[list->count++] || error_set(error, "out of memory");
}

static bool read_names(FILE *file, const char *path, struct file_list *list, struct error *error)
{
    bool ok = false;
    char *name = NULL;
    size_t room = 0;
    struct quoted quoted;
    while (getdelim(&name, &room, '\0', file) > 0) {
        TRY(strcmp(path, "-") != 0 || strcmp(name, "-") != 0 ||
            error_set(error, "when reading file names from stdin, no file name of '-' allowed"));
        TRY(name[0] != '\0' ||
            error_set(error, "%s:%zu: invalid zero-length file name", path, list->count + 1));
        TRY(add_name(list, name, error));
    }
    TRY(feof(file) ||
        error_set_errno(error, "cannot read file names from %s", quote_word(path, &quoted)));
    TRY(list->count > 0 || error_set(error, "no input from %s", quote_word(path, &quoted)));
    TRY(list->count > 1 || !strchr(list->names[0], '\n') || access(list->names[0], F_OK) == 0 ||
        error_set(error,
                  "%s: its lines are read as one name, and names end with NUL: use find -print0, "
                  "or tr '\\n' '\\0'",
                  path));
    ok = true;
done:
    free(name);
    return ok;
}

static void file_list_free(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->names[i]);
    free(list->names);
    *list = (struct file_list){0};
}

static void use_list(struct options *options)
{
    free(options->inputs);
    options->inputs = options->list.names;
    options->input_count = options->list.count;
}

bool options_read_list(struct options *options, struct error *error)
{
    const char *const path = options->input_list;
    if (!path || options->list.count > 0)
        return true;
    FILE *const file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return error_set_errno(error, "open failed: %s", *path ? path : "''");
    const bool ok = read_names(file, path, &options->list, error);
    if (file != stdin)
        fclose(file);
    if (ok)
        use_list(options);
    return ok;
}

bool options_take_list(struct options *options, const char *text, size_t bytes, struct error *error)
{
    for (const char *name = text; name < text + bytes; name += strlen(name) + 1)
        if (!add_name(&options->list, name, error))
            return false;
    use_list(options);
    return true;
}

/* ---- Names with {rank} ---- */

static const char rank_mark[] = "{rank}";

/* Replaces each {rank} in a name. Sets *has_rank if there is one. */
static bool name_rank(struct options *options, unsigned rank, const char **name, bool *has_rank,
                      struct error *error)
{
    const char *found;
    *has_rank = false;
    while (*name && (found = strstr(*name, rank_mark)) != NULL) {
        char **const names =
            realloc(options->rank_names, (options->rank_name_count + 1) * sizeof *names);
        char *replaced;
        if (names)
            options->rank_names = names;
        if (!names || asprintf(&replaced, "%.*s%u%s", (int)(found - *name), *name, rank,
                               found + strlen(rank_mark)) < 0)
            return error_set(error, "out of memory");
        names[options->rank_name_count++] = replaced;
        *name = replaced;
        *has_rank = true;
    }
    return true;
}

/* Refuses the mark in the name of the output, or of an input that does not exist, if there is no
 * rank. */
static bool check_no_rank(const struct options *options, struct error *error)
{
    const char *name =
        options->output && strstr(options->output, rank_mark) ? options->output : NULL;
    for (size_t i = 0; i < options->input_count; i++)
        if (strstr(options->inputs[i], rank_mark) && access(options->inputs[i], F_OK) != 0)
            name = options->inputs[i];
    return !name ||
           error_set(error,
                     "%s: {rank} is the number of an MPI rank, and neither mpirun nor srun "
                     "--mpi=pmix has started this process: start it by one of them, or give the "
                     "file another name",
                     name);
}

bool options_name_rank(struct options *options, const unsigned *rank, struct error *error)
{
    size_t count = 0;
    if (!rank)
        return check_no_rank(options, error);
    for (size_t i = 0; i < options->input_count; i++) {
        bool has_rank;
        if (!name_rank(options, *rank, &options->inputs[i], &has_rank, error))
            return false;
        count += has_rank;
    }
    options->has_rank_inputs = count > 0;
    if (count > 0 && count < options->input_count)
        return error_set(error, "{rank} is in the name of every input or of none: a rank reads "
                                "either files of its own or its part of all");
    return name_rank(options, *rank, &options->output, &options->has_rank_output, error);
}

void options_free(struct options *options)
{
    for (size_t i = 0; i < options->rank_name_count; i++)
        free(options->rank_names[i]);
    free(options->rank_names);
    if (options->inputs != options->list.names)
        free(options->inputs);
    file_list_free(&options->list);
    order_words_free(&options->order);
    free(options->memory.directories);
}
