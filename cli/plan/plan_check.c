/* SPDX-License-Identifier: Apache-2.0 */
/* plan_check.c - plan_begin: checks options and files before the program waits for any input.
 *
 * check_foreign_output() and check_lines_early() in plan.c follow in plan_make(), as they need the
 * formats.
 */
#include "cli/options/quote.h"
#include "cli/plan/plan.h"
#include "formats/codec/codec.h"
#include "formats/descriptor.h"
#include "formats/io/output_path.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"
#include "formats/io/spill.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Called if the program will wait for an input or the list of inputs. Otherwise, and for -c and -m,
 * an unusable directory of -T is reported when it is needed, as by sort(1). */
static bool check_directories(const struct options *options, struct error *error)
{
    return options->check != CHECK_NO || options->merge ||
           spill_check(options->memory.directories, options->memory.directory_count, error);
}

/* Checks an input. The error for a name such as +1 says that it is not read as a key, and for an
 * option after -i that this is not the -i of sort(1). */
static bool check_input(const struct options *options, const char *path, struct stat *status,
                        struct error *error)
{
    if (source_check(path, status, error))
        return true;
    if (path[0] == '+' && path[1] >= '0' && path[1] <= '9')
        error_add(error, "; " OBSOLETE_KEYS);
    if (path == options->dashed_input)
        error_add(error, "; -i takes the name of an input, and is no order as in sort(1)");
    return false;
}

/* Returns true if the job writes to standard output, and this is an empty file that was not opened
 * by >>, so the shell may have emptied it (`gpusort FILE >FILE`). Sets *output to its status. */
static bool is_output_empty(const struct options *options, struct stat *output)
{
    const bool prints = !options->output || strcmp(options->output, "-") == 0;
    return prints && options->action == ACTION_SORT && options->check == CHECK_NO &&
           fstat(STDOUT_FILENO, output) == 0 && S_ISREG(output->st_mode) && output->st_size == 0 &&
           !(fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND);
}

/* Returns the bytes of a file that follow the position of standard input, if the path is "-". */
static uint64_t unread_bytes(const char *path, const struct stat *status, const struct plan *plan)
{
    const off_t read = strcmp(path, "-") == 0 ? plan->input_position : 0;
    return read > 0 && read <= status->st_size ? (uint64_t)(status->st_size - read)
                                               : (uint64_t)status->st_size;
}

/* Checks all inputs, and adds up plan->file_bytes. Fails if all are the empty standard output. */
static bool check_inputs(const struct options *options, struct plan *plan, struct error *error)
{
    bool is_awaited = false, is_sized = true;
    struct stat output;
    bool are_emptied = is_output_empty(options, &output);
    for (size_t i = 0; i < options->input_count; i++) {
        struct stat status;
        if (!check_input(options, options->inputs[i], &status, error))
            return false;
        are_emptied = are_emptied && descriptor_same_file(&status, &output);
        is_awaited |= !S_ISREG(status.st_mode);
        is_sized &= S_ISREG(status.st_mode);
        if (!is_sized || __builtin_add_overflow(plan->file_bytes,
                                                unread_bytes(options->inputs[i], &status, plan),
                                                &plan->file_bytes))
            plan->file_bytes = SIZE_UNKNOWN;
    }
    if (are_emptied)
        return error_set(error,
                         "%s: this input is standard output too, and is empty: if '>' emptied it, "
                         "its content is gone; -o may name an input",
                         source_path_name(options->inputs[0]));
    return !is_awaited || check_directories(options, error);
}

/* Returns true if the list of inputs is not a regular file, so that reading it may wait. */
static bool is_list_awaited(const struct options *options)
{
    struct stat status;
    const char *const path = options->input_list;
    return path &&
           (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status)) == 0 &&
           !S_ISREG(status.st_mode);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return strcmp(a, b) == 0 ||
           (stat(a, &first) == 0 && stat(b, &second) == 0 && descriptor_same_file(&first, &second));
}

static const char *check_word(const struct options *options)
{
    return options->check == CHECK_SHOW ? "-c" : options->check == CHECK_QUIET ? "-C" : NULL;
}

static const char *find_word_against_in_place(const struct options *options)
{
    return options->check != CHECK_NO               ? check_word(options)
           : options->merge                         ? "-m"
           : options->order.unique                  ? "-u"
           : options->top_said                      ? "--top"
           : options->index_type                    ? "--argsort"
           : options->compression == COMPRESSION_ON ? "--zstd"
                                                    : NULL;
}

bool in_place_word_fits(const struct options *options)
{
    return !options->in_place && options->input_count == 1 &&
           strcmp(options->inputs[0], "-") != 0 && !find_word_against_in_place(options);
}

/* Returns true if --in-place is not given but could write this output. */
static bool can_be_in_place(const struct options *options)
{
    struct error error = {0};
    size_t stem_length;
    return in_place_word_fits(options) && is_same_file(options->inputs[0], options->output) &&
           !options->output_format && !codec_find_by_name(options->output, &stem_length)->encode &&
           sink_check(options->output, true, &error);
}

/* Checks the path of the output. Once the inputs are known, the error for a file that cannot be
 * replaced suggests --in-place if that could overwrite it. */
static bool check_output_path(const struct options *options, struct error *error)
{
    if (!options->output || sink_check(options->output, options->in_place, error))
        return true;
    if (can_be_in_place(options))
        error_add(error, ", or sort it with --in-place");
    return false;
}

static bool check_in_place(struct options *options, struct error *error)
{
    const char *const input = options->inputs[0];
    const char *const refused = find_word_against_in_place(options);
    if (!options->in_place)
        return true;
    if (refused)
        return error_set(error, "%s cannot be done with --in-place, which keeps what a file holds",
                         refused);
    if (options->input_count != 1)
        return error_set(error, "--in-place sorts one file, and here are %zu: sort each by itself",
                         options->input_count);
    if (strcmp(input, "-") == 0)
        return error_set(error, "--in-place needs the name of a file, and standard input has none");
    if (options->output && !is_same_file(options->output, input))
        return error_set(error,
                         "%s: --in-place writes to the input alone: leave out either it or -o",
                         options->output);
    options->output = input;
    return true;
}

/* ---- Options for lines of text ----
 *
 * -g -n -h -k -t -b -z -m and --header are for lines: with one of them the input is text, whatever
 * its name is. A NumPy array is refused, and so are, without -z or --format=text, UTF-16 and binary
 * content in a file with the name of a binary format (check_lines() in plan_format.c).
 */

const char *line_words_find(const struct options *options)
{
    const struct order_words *const order = &options->order;
    const struct order_letters *const letters = &order->letters;
    return options->merge               ? "-m"
           : order->key_count > 0       ? "-k"
           : letters->general           ? "-g"
           : letters->human             ? "-h"
           : letters->numeric           ? "-n"
           : order->separator_said      ? "-t"
           : letters->skip_begin_blanks ? "-b"
           : order->zero_terminated     ? "-z"
           : options->header_said       ? "--header"
                                        : NULL;
}

/* -c and -C, of lines or numbers, read one input and write nothing. The messages are as in sort(1).
 */
static bool check_operands(const struct options *options, struct error *error)
{
    const char *const check = check_word(options);
    struct quoted quoted;
    if (check && options->input_count > 1)
        return error_set(error, "extra operand %s not allowed with %s",
                         quote_word(options->inputs[1], &quoted), check);
    if (check && options->output)
        return error_set(error, "options '-%so' are incompatible", check + 1);
    if (check && options->verify)
        return error_set(error, "--verify checks the output, but %s writes none", check);
    const char *const refused = options->output_format                   ? "--output-format"
                                : options->compression == COMPRESSION_ON ? "--zstd"
                                                                         : NULL;
    return !check || !refused ||
           error_set(error, "%s is for the output, but %s writes none", refused, check);
}

/* Without sorting, there is nothing to select and no device or path to choose. */
static bool check_action(const struct options *options, struct error *error)
{
    const char *const check = check_word(options);
    const char *const action = check ? check : options->merge ? "-m" : NULL;
    const char *const refused = !action               ? NULL
                                : options->top_said   ? "--top"
                                : options->index_type ? "--argsort"
                                : options->algorithm  ? "--algorithm"
                                : options->backend && strcmp(options->backend, "cpu") != 0
                                    ? "--device=gpu"
                                    : NULL;
    return !refused || error_set(error, "%s is for sorting, but %s does not sort", refused, action);
}

static bool line_words_check(const struct options *options, struct error *error)
{
    const char *const word = line_words_find(options);
    if (!check_operands(options, error) || !check_action(options, error))
        return false;
    if (word && options->input_format && options->input_format != &format_text)
        return error_set(error, "%s is for lines of text, and --format=%s is not", word,
                         options->input_format->name);
    if ((word || options->order.unique) && options->type)
        return error_set(error, "%s is for lines of text, and --type makes numbers of them",
                         word ? word : "-u");
    if (word && options->nan_said)
        return error_set(error, "%s is for lines of text, and --nan is for numbers", word);
    return true;
}

/* Returns the end of a message about -u and an array: commands that write its different numbers as
 * text, unless there are other options that they would need too. uniq(1) is enough for integers and
 * times, and the order of -u has no NaT. Only floating point numbers may be equal and have two
 * texts, -0 and 0. */
static const char *lines_without_repeats(const struct options *options, const struct key_type *type)
{
    const bool has_others = options->check != CHECK_NO || options->index_type ||
                            options->type_word || options->input_format ||
                            options->endian == ENDIAN_BIG || options->order.letters.reverse;
    return has_others                ? ""
           : type->kind == KEY_FLOAT ? ", or use gpusort --output-format=text FILE | gpusort -u"
                                     : ", or use gpusort --output-format=text FILE | uniq";
}

bool line_words_refuse(const struct options *options, const struct format *input_format,
                       const struct reader *reader, const struct format *output_format,
                       struct error *error)
{
    const char *const line_word = line_words_find(options);
    const char *const word = line_word ? line_word : options->order.unique ? "-u" : NULL;
    if (!word)
        return true;
    if (input_format != &format_text)
        return error_set(error, "%s: %s is for lines of text, and this is %s: leave %s out%s",
                         source_name(reader->source), word, input_format->name, word,
                         lines_without_repeats(options, reader->layout.type));
    if (options->output && !options->output_format &&
        is_same_file(options->inputs[0], options->output))
        return error_set(error,
                         "%s: named as %s, and %s is for lines of text: use --output-format=text",
                         options->output, output_format->name, word);
    return error_set(error,
                     "%s is for lines of text, and %s output would not keep them: leave %s out, or "
                     "%s",
                     word, output_format->name, word,
                     options->output_format ? "use --output-format=text" : "name it .txt");
}

/* ---- The checks ---- */

/* --verify without a regular file that -o names is an error before any input is awaited. */
static bool check_verify(const struct options *options, struct error *error)
{
    const char *const output = options->output;
    const bool is_named = plan_writes_file(output) && output_path_descriptor(output) < 0;
    return !options->verify || options->in_place || is_named ||
           pipeline_refuse_verify(output && strcmp(output, "-") != 0 ? output : "standard output",
                                  error);
}

bool plan_begin(struct options *options, struct plan *plan, struct error *error)
{
    *plan = (struct plan){.input_position = lseek(STDIN_FILENO, 0, SEEK_CUR)};
    if (is_list_awaited(options) &&
        (!check_directories(options, error) || !check_output_path(options, error)))
        return false;
    return options_read_list(options, error) &&
           order_words_resolve(&options->order, &plan->job.line_order, error) &&
           line_words_check(options, error) && check_in_place(options, error) &&
           check_inputs(options, plan, error) && check_output_path(options, error) &&
           check_verify(options, error);
}
