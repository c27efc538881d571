/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - see plan.h. The inputs are opened, and must have one layout. Then the output, the order,
 * the device (plan_device.c) and the memory (plan_memory.c) are chosen.
 */
#include "cli/plan/plan.h"

#include "core/clock.h"
#include "core/host_limits.h"
#include "core/trace.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "formats/io/output_path.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Completes the layout from the options, the format's header and the defaults. */
static bool read_header(const struct options *options, const struct format *format,
                        struct reader *reader, struct error *error)
{
    struct layout *layout = &reader->layout;
    const char *name = source_name(reader->source);
    const char *const type_word = options->type_word;
    const bool is_in_type = type_word && (*type_word == '<' || *type_word == '>');
    char said[64]; /* what names the byte order */
    if (is_in_type)
        snprintf(said, sizeof said, "--type='%s'", type_word);
    else
        snprintf(said, sizeof said, "--endian=%s",
                 options->endian == ENDIAN_BIG ? "big" : "little");
    if (format == &format_text && options->endian == ENDIAN_BIG)
        return error_set(error,
                         "%s: text has no byte order, and %s is not for numbers or indices made "
                         "from it: %s%s",
                         name, said, is_in_type ? "use --type=" : "leave it out",
                         is_in_type ? options->type->name : "");
    layout->endian = options->endian;
    if (!format->read_header(reader, error))
        return false;
    if (options->endian_said && layout->type->bytes > 1 && layout->endian != options->endian)
        return error_set(error, "%s: its header says the other byte order than %s: leave that out",
                         name, said);
    return true;
}

static bool add_up_counts(struct plan *plan, const struct reader *reader, struct error *error)
{
    size_t *count = &plan->job.sort.count;
    const uint64_t bytes = source_stop_and_get_left(reader->source);
    if (reader->layout.count == COUNT_UNKNOWN || *count == COUNT_UNKNOWN)
        *count = COUNT_UNKNOWN;
    else if (__builtin_add_overflow(*count, reader->layout.count, count))
        return error_set(error, "%s: too many numbers", source_name(reader->source));
    if (bytes == SIZE_UNKNOWN || plan->job.input_bytes == SIZE_UNKNOWN)
        plan->job.input_bytes = SIZE_UNKNOWN;
    else if (__builtin_add_overflow(plan->job.input_bytes, bytes, &plan->job.input_bytes))
        return error_set(error, "%s: too many bytes", source_name(reader->source));
    return true;
}

/* Sets *blank if the input is empty, no option gives it a format, and its name gives it neither a
 * format nor a codec. Such an input agrees with every other one. */
static bool is_blank(const struct options *options, const char *path, struct source *source,
                     bool *blank, struct error *error)
{
    const unsigned char *head;
    size_t bytes;
    const struct key_type *type;
    size_t stem_length;
    *blank = false;
    if (options->input_format || line_words_find(options) || format_find_by_name(path, &type) ||
        codec_find_by_name(path, &stem_length)->decode)
        return true;
    if (!source_peek(source, 1, &head, &bytes, error))
        return false;
    *blank = bytes == 0;
    return true;
}

/* Opens input i as the next reader; *pipe is its named pipe, if that is open. A blank input is left
 * out if there are other inputs. */
static bool open_input(const struct options *options, size_t i, int *pipe, struct plan *plan,
                       struct error *error)
{
    const char *const path = options->inputs[i];
    const bool is_last = i + 1 == options->input_count;
    struct job *job = &plan->job;
    struct reader *reader = &job->readers[job->reader_count];
    const struct format *format = NULL;
    bool blank;
    char reason[256];
    /* Inputs are read one after another, each by all threads. A merge reads all at once. */
    const unsigned readers = options->merge ? (unsigned)options->input_count : 1;
    const unsigned threads = job->sort.threads / readers;
    const struct source_spec spec = {.path = path,
                                     .pipe = *pipe,
                                     .codec = options->input_codec,
                                     .window_log = options->window_log,
                                     .threads = threads > 0 ? threads : 1,
                                     .readers = readers * (job->group ? job->group->host_size : 1)};
    *pipe = -1;
    if (!plan_open_input(options, &spec, plan, error))
        return false;
    job->reader_count++; /* plan_free closes it */
    if (!is_blank(options, path, reader->source, &blank, error))
        return false;
    if (blank && (job->reader_count > 1 || !is_last)) {
        source_close(reader->source);
        job->reader_count--;
        return true;
    }
    if (!plan_choose_format(options, path, reader, &format, reason, error) ||
        !read_header(options, format, reader, error))
        return false;
    if (job->reader_count == 1) {
        job->input_format = format;
        snprintf(plan->format_reason, sizeof plan->format_reason, "%s", reason);
    }
    return plan_check_agreement(options, plan, format, reader, error) &&
           add_up_counts(plan, reader, error);
}

/* Sets *is_read if an earlier input is the same pipe, socket or standard input. All inputs are open
 * at once, and two readers of one pipe would each get some of its bytes. So the first reads all of
 * it, and an input that names the same open descriptor again is empty. A named pipe that is opened
 * again may have another writer, which the first reader would never serve, so that is an error. */
static bool look_for_pipe(const struct plan *plan, const char *path, bool *is_read,
                          struct error *error)
{
    const struct job *const job = &plan->job;
    struct stat status;
    const bool is_standard_input = strcmp(path, "-") == 0;
    *is_read = false;
    if ((is_standard_input ? fstat(STDIN_FILENO, &status) : stat(path, &status)) != 0 ||
        (S_ISREG(status.st_mode) && !is_standard_input))
        return true;
    for (size_t i = 0; i < job->reader_count && !*is_read; i++) {
        const bool is_spooled = plan->spools && plan->spools[i].original;
        const struct source *const source =
            is_spooled ? plan->spools[i].original : job->readers[i].source;
        *is_read = source_is_all_of(source, path, &status);
    }
    const bool is_open =
        is_standard_input || strcmp(path, "/dev/stdin") == 0 || output_path_descriptor(path) >= 0;
    return !*is_read || is_open ||
           error_set(error, "%s: a named pipe can be read once only, and is named twice", path);
}

/* Raises the limit of open files as far as the system allows, and returns it. */
static size_t raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return SIZE_MAX;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* if this fails, a later open reports it */
    return limit.rlim_max;
}

/* Opens the named pipes among several inputs, up to `most`, as their one writer may open all of
 * them before it writes to the first. */
static void open_pipes(const struct options *options, size_t most, int *pipes)
{
    for (size_t i = 0; i < options->input_count; i++) {
        pipes[i] = options->input_count > 1 && most > 0 ? source_open_pipe(options->inputs[i]) : -1;
        most -= pipes[i] >= 0;
    }
}

/* Opens the inputs. The first `open_most` stay open, the others are parked. pipes: the named pipes
 * among them that are open; set to -1 when they are taken over. */
static bool open_each_input(const struct options *options, size_t open_most, int *pipes,
                            struct plan *plan, struct error *error)
{
    struct group *const group = plan->job.group;
    for (size_t i = 0; i < options->input_count; i++) {
        bool is_read = false;
        const bool looks = !group || group->rank == 0 || plan->job.has_rank_inputs;
        if (!group_agree(group, !looks || look_for_pipe(plan, options->inputs[i], &is_read, error),
                         error) ||
            (group && !plan->job.has_rank_inputs &&
             !group_broadcast(group, &is_read, sizeof is_read, error)))
            return false;
        if (!group && !is_read)
            plan_read_ahead(options, plan, options->inputs[i]);
        /* With {rank}, is_read may differ between ranks, but all call group_agree(). */
        if (!group_agree(group, is_read || open_input(options, i, &pipes[i], plan, error), error))
            return false;
        if (is_read)
            continue;
        const size_t opened = plan->job.reader_count;
        if (opened > open_most && !(group && plan_is_spooled(plan, opened - 1)))
            source_park(plan->job.readers[opened - 1].source);
    }
    return true;
}

/* Opens all inputs. A quarter of the files that may be open are for inputs, the others for threads,
 * devices and temporary files. */
static bool open_inputs(const struct options *options, struct plan *plan, struct error *error)
{
    struct group *const group = plan->job.group;
    const size_t count = options->input_count, open_most = raise_file_limit() / 4;
    int *const pipes = calloc(count, sizeof *pipes);
    plan->job.readers = calloc(count, sizeof *plan->job.readers);
    if (group)
        plan->spools = calloc(count, sizeof *plan->spools);
    plan->spool_count = plan->spools ? count : 0;
    bool ok = (pipes && plan->job.readers && (!group || plan->spools)) ||
              error_set(error, "out of memory");
    if (pipes)
        open_pipes(options, group ? 0 : open_most, pipes);
    ok = group_agree(group, ok, error) && open_each_input(options, open_most, pipes, plan, error);
    for (size_t i = 0; pipes && i < count; i++)
        if (pipes[i] >= 0)
            close(pipes[i]);
    free(pipes);
    return ok;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void choose_output_format(const struct options *options, struct plan *plan)
{
    struct job *job = &plan->job;
    const struct key_type *type = NULL;
    const struct format *named =
        options->output ? format_find_by_name(options->output, &type) : NULL;
    const bool is_of_indices = type && type == options->index_type;
    const bool name_decides =
        named && (named != &format_raw || is_of_indices) && !options->output_format_same;
    job->output_format = options->output_format ? options->output_format
                         : name_decides         ? named
                                                : job->input_format;
    plan->output_reason = options->output_format || options->output_format_same
                              ? "as --output-format says"
                          : name_decides ? "by its name"
                                         : "as the input";
}

/* Returns the type of the numbers or indices that are written; NULL if it is not known before the
 * inputs are open. */
static const struct key_type *output_type(const struct plan *plan)
{
    const struct key_type *index_type = plan->job.argsort.index_type;
    return index_type ? index_type : plan->job.readers ? plan->job.readers[0].layout.type : NULL;
}

/* True if an option is for lines, and lines, not indices, are written: the output is text. */
static bool writes_lines(const struct options *options)
{
    return !options->index_type && (line_words_find(options) || options->order.unique);
}

/* True if numbers are made of text and no option gives their type, so that they are f64. */
static bool is_type_unsaid(const struct options *options, const struct job *job)
{
    return job->input_format == &format_text && !options->type && !options->index_type &&
           !writes_lines(options);
}

/* Writes the advice of an error message: an option that makes the output agree with its name, or
 * another name. named: the type in the name, NULL for .bin and .raw. */
static void suggest_words(const struct options *options, const struct plan *plan,
                          const struct key_type *named, char words[96])
{
    const struct job *const job = &plan->job;
    const bool is_raw = job->output_format == &format_raw;
    const bool is_text = job->output_format == &format_text;
    const bool is_index =
        named && (named->kind == KEY_UNSIGNED || named->kind == KEY_SIGNED) && named->bytes >= 4;
    size_t stem_length;
    const char *const extension = codec_find_by_name(options->output, &stem_length)->extensions[0];
    const char *const packed = extension ? extension : "";
    if (options->in_place)
        snprintf(words, 96, "use --output-format=%s", job->output_format->name);
    else if (is_text && writes_lines(options))
        snprintf(words, 96, "name it .txt%s, or use --output-format=text", packed);
    else if (options->index_type && is_index)
        snprintf(words, 96, "use --argsort=%s%s%s", named->name,
                 is_raw ? "" : " or --output-format=", is_raw ? "" : job->output_format->name);
    else if (named && is_type_unsaid(options, job))
        snprintf(words, 96, "use --type=%s%s", named->name,
                 is_raw ? "" : " --output-format=raw, or --output-format=text");
    else if (!named || named == output_type(plan))
        snprintf(words, 96, "use --output-format=raw, or --output-format=%s",
                 job->output_format->name);
    else
        snprintf(words, 96, "name it .%s%s",
                 is_raw    ? output_type(plan)->name
                 : is_text ? "txt"
                           : job->output_format->name,
                 packed);
}

/* Returns true if the output has the name of an input, which was already as wrong before. */
static bool overwrites_input(const struct options *options)
{
    for (size_t i = 0; i < options->input_count; i++)
        if (strcmp(options->inputs[i], options->output) == 0)
            return true;
    return false;
}

/* Refuses an output name of raw numbers that its content would not match: "-o x.u32" for doubles,
 * or x.bin for text, would mislead the next reader of the file. An output format that is given by
 * an option allows any name, except for raw numbers made of text without --type, which are doubles
 * only by default. The name of an input is accepted if it gives no type. */
static bool check_output_name(const struct options *options, const struct plan *plan,
                              struct error *error)
{
    const struct job *const job = &plan->job;
    const struct key_type *type = output_type(plan), *named = NULL;
    const bool is_raw = job->output_format == &format_raw;
    const bool is_said = options->output_format || options->output_format_same;
    char words[96];
    if (!options->output || (is_said && !(is_raw && is_type_unsaid(options, job))))
        return true;
    const struct format *const format = format_find_by_name(options->output, &named);
    const bool is_true = is_raw && (!named || named == type);
    if (format != &format_raw || is_true || (!named && overwrites_input(options)))
        return true;
    const bool is_text = job->output_format == &format_text;
    const unsigned char *head;
    size_t bytes;
    if (is_type_unsaid(options, job) && !options->in_place) {
        if (!source_peek(job->readers[0].source, 1, &head, &bytes, error))
            return false;
        if (bytes == 0) /* the program that should have written it has probably failed */
            return error_set(error, "%s: it is empty; if it should be, use --type=%s%s",
                             source_name(job->readers[0].source), named ? named->name : "TYPE",
                             is_raw ? "" : " --output-format=raw");
    }
    suggest_words(options, plan, named, words);
    return error_set(error, "%s: named as raw %s, but %s%s%s would be written: %s", options->output,
                     named ? named->name : "numbers", job->output_format->name, is_text ? "" : " ",
                     is_text ? "" : type->name, words);
}

/* Refuses an output name that belongs to another program's files, with or without .zst at its end,
 * unless an input has this name. --output-format allows such a name, and options for lines allow
 * that of a text format, because lines may be such a text, but indices are not. Only --no-zstd
 * allows the name of a compressed format. */
static bool check_foreign_output(const struct options *options, struct error *error)
{
    size_t length;
    if (!options->output || overwrites_input(options))
        return true;
    codec_find_by_name(options->output, &length);
    const struct foreign *const foreign = foreign_find_by_name(options->output, length);
    const bool is_said = options->output_format || options->output_format_same;
    const bool is_compressed = foreign && foreign->kind == FOREIGN_COMPRESSED;
    if (!foreign || (is_compressed ? options->compression == COMPRESSION_OFF : is_said) ||
        (foreign->kind == FOREIGN_TEXT && line_words_find(options) && !options->index_type))
        return true;
    if (!is_compressed)
        return error_set(error, "%s: named as %s data, which is not written: name it %s",
                         options->output, foreign->name,
                         writes_lines(options) ? ".txt, or use --output-format=text"
                                               : ".npy or .txt");
    while (options->output[--length] != '.') /* the extension begins with one */
        ;
    const char *const stem = options->output;
    const bool ends_zst = length >= 4 && strncasecmp(stem + length - 4, ".zst", 4) == 0;
    return error_set(error, "%s: named as %s data, which is not written: name it %.*s%s", stem,
                     foreign->name, (int)length, stem, ends_zst ? "" : ".zst");
}

/* Maximum output bytes whose pages are made ahead, except while large files are sorted. A job that
 * does not sort has no time for more; one whose input is of unknown size may wait for it so long
 * that Linux writes the pages to the disk (dirty_expire_centisecs, 30 s). */
#define AHEAD_BYTES ((size_t)64 << 20)

/* Returns how many bytes of the output may be made in the page cache before they are written: while
 * large files are sorted, a sixteenth of the free memory, which is less than what makes Linux write
 * them to the disk at once (dirty_background_ratio, a tenth); at most a sixteenth of -S. */
static size_t choose_ahead_bytes(const struct options *options, const struct plan *plan)
{
    const struct job *const job = &plan->job;
    const struct memory_size *const said = &options->memory.host;
    const bool is_large =
        plan->job.input_bytes != SIZE_UNKNOWN && plan->job.input_bytes > AHEAD_BYTES;
    size_t ahead = AHEAD_BYTES;
    if (job->action == JOB_SORT && is_large) /* else it is not worth reading a dozen files */
        ahead = memory_at_start() / 16 / (job->group ? job->group->host_size : 1);
    return said->is_said && said->bytes / 16 < ahead ? said->bytes / 16 : ahead;
}

/* In place, the output has the same bytes as the input in another order. */
static bool check_in_place(const struct plan *plan, struct error *error)
{
    const struct job *const job = &plan->job;
    const struct source *const source = job->readers[0].source;
    if (source_codec(source)->decode || job->output.codec->encode)
        return error_set(error,
                         "%s: it is compressed, or named so, and --in-place is for plain files: "
                         "use -o instead",
                         source_name(source));
    return job->output_format == job->input_format ||
           error_set(error,
                     "%s: --in-place keeps the format, and %s would become %s: write another file, "
                     "or use --output-format=%s",
                     source_name(source), job->input_format->name, job->output_format->name,
                     job->input_format->name);
}

/* The output replaces the input, which is a regular file. */
static bool could_be_in_place(const struct options *options, const struct plan *plan)
{
    struct error ignored = {0};
    return !plan->job.group && in_place_word_fits(options) && check_in_place(plan, &ignored);
}

/* Refuses to write times from raw numbers or text as .npy, whose header must give their unit. They
 * are not written as integers instead, of which NaT would be the least. */
static bool refuse_unit(const struct reader *reader, struct error *error)
{
    const struct key_type *const type = reader->layout.type;
    char descr[5];
    key_type_numpy_dtype(type, reader->layout.endian, descr);
    return error_set(error,
                     "%s: the unit of its %s is not known, and .npy names one: write raw numbers "
                     "(--output-format=raw -o NEW.%s), which numpy.fromfile('NEW.%s', '%s[UNIT]') "
                     "reads",
                     source_name(reader->source), type->name, type->name, type->name, descr);
}

static bool choose_output(const struct options *options, struct plan *plan, struct error *error)
{
    struct job *job = &plan->job;
    size_t stem_length;
    const struct codec *by_name =
        options->output ? codec_find_by_name(options->output, &stem_length) : codecs[0];
    choose_output_format(options, plan);
    /* .npy indices are little-endian, as their header states. */
    job->argsort.index_type = options->index_type;
    job->argsort.index_endian = job->output_format == &format_raw ? options->endian : ENDIAN_LITTLE;
    job->output = (struct sink_spec){
        .path = options->output,
        .codec = options->compression == COMPRESSION_ON    ? &codec_zstd
                 : options->compression == COMPRESSION_OFF ? codecs[0]
                                                           : by_name,
        .level = options->compression_level,
        .threads = (unsigned)smaller(job->sort.threads, (unsigned)omp_get_num_procs()),
        .is_in_place = options->in_place,
        .replaces_input = job->output.replaces_input,
        .input = job->output.input,
        .ahead_bytes = choose_ahead_bytes(options, plan),
    };
    plan->codec_reason = options->compression == COMPRESSION_ON    ? "as --zstd says"
                         : options->compression == COMPRESSION_OFF ? "as --no-zstd says"
                         : by_name->encode                         ? "by its name"
                                                                   : NULL;
    job->binary_to_terminal = options->force;
    job->verify = options->verify;
    job->sort.is_given_twice = options->in_place;
    job->could_be_in_place = job->output.replaces_input && could_be_in_place(options, plan);
    if (options->in_place && !check_in_place(plan, error))
        return false;
    const struct key_type *type = output_type(plan);
    if (job->output_format == &format_npy && type->kind == KEY_TIME &&
        !job->readers[0].layout.descr[0])
        return refuse_unit(&job->readers[0], error);
    return check_output_name(options, plan, error);
}

/* ---- what is sorted -------------------------------------------------------------------------- */

/* Sets whether lines are kept, from the formats, and checks the options for them. */
static bool choose_lines(const struct options *options, struct plan *plan,
                         const struct reader *reader, struct error *error)
{
    struct job *job = &plan->job;
    job->keep_lines = job->input_format == &format_text && !options->type &&
                      (job->output_format == &format_text || job->argsort.index_type);
    if (!job->keep_lines)
        return line_words_refuse(options, job->input_format, reader, job->output_format, error);
    return !options->nan_said ||
           error_set(error,
                     "--nan is for numbers, and these are lines of text, ordered as sort -g "
                     "orders them, NaNs first%s",
                     options->order.unique ? "" : " (--type makes them numbers)");
}

/* If an option makes the inputs text, checks for options and names that do not agree with text
 * before an input is awaited. If all inputs are regular files, this is checked after their content.
 */
static bool check_lines_early(const struct options *options, struct plan *plan, struct error *error)
{
    const char *const word = line_words_find(options);
    if ((!word && !options->order.unique && options->input_format != &format_text) ||
        (options->input_format && options->input_format != &format_text) ||
        plan_has_files_only(options))
        return true;
    if (word && options->endian == ENDIAN_BIG)
        return error_set(
            error, "%s is for text, and --endian=big is for numbers: leave one of them out", word);
    plan->job.input_format = &format_text;
    plan->job.argsort.index_type = options->index_type;
    choose_output_format(options, plan);
    return choose_lines(options, plan, NULL, error) &&
           (options->type || is_type_unsaid(options, &plan->job) ||
            check_output_name(options, plan, error));
}

static bool choose_number_order(const struct options *options, struct plan *plan,
                                struct error *error)
{
    struct job *job = &plan->job;
    const struct layout *const layout = &job->readers[0].layout;
    job->sort.item_bytes = layout->type->bytes;
    job->sort.order =
        key_order_make(layout->type, layout->endian, options->nan, options->order.letters.reverse);
    if (!job->argsort.index_type)
        return true;
    argsort_set_keys(&job->argsort, layout->type, job->sort.order, job->sort.count);
    job->sort.item_bytes = job->argsort.item_bytes; /* items that carry their index */
    job->sort.order = key_order_identity();
    return job->sort.count == COUNT_UNKNOWN ||
           argsort_check_count(&job->argsort, job->sort.count, error);
}

/* Sets the order of numbers or lines. Indices come from a stable sort. */
static bool choose_order(const struct options *options, struct plan *plan, struct error *error)
{
    struct job *job = &plan->job;
    job->nan = options->nan;
    job->sort.is_top = options->top_said;
    job->sort.top = options->top;
    if (!choose_lines(options, plan, &job->readers[0], error))
        return false;
    if (!job->keep_lines)
        return choose_number_order(options, plan, error);
    job->line_order.stable |= options->index_type != NULL;
    job->header_lines = options->header_lines;
    job->sort.item_bytes = sizeof(struct key_index);
    job->sort.order = key_order_identity();
    job->sort.count = COUNT_UNKNOWN;
    argsort_set_key_index(&job->argsort);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Minimum bytes of input per thread. 1,000 lines take 0.5 ms with one thread and 1.0 ms with two,
 * 0.7 MB of lines take 3.4 and 4.3 ms (two busy cores of an AMD EPYC (Zen 5), 2026-11). */
#define THREAD_INPUT_BYTES ((uint64_t)256 << 10)

/* True if one thread will read the input: it is small, and not named as compressed data. */
static bool is_small(const struct options *options, const struct plan *plan)
{
    size_t stem_length;
    bool is_packed = false;
    for (size_t i = 0; i < options->input_count; i++)
        is_packed = is_packed || codec_find_by_name(options->inputs[i], &stem_length)->decode;
    return plan->file_bytes < THREAD_INPUT_BYTES && !is_packed;
}

/* Returns the processors that the process may use at the same time. For a small input the limits of
 * the control group are ignored, because several files have to be read to find them. */
static unsigned count_processors(const struct options *options, const struct plan *plan)
{
    const unsigned processors = (unsigned)omp_get_num_procs();
    return is_small(options, plan) ? processors
                                   : (unsigned)smaller(processors, control_groups_processors());
}

/* The default is one thread for each processor in the process's affinity mask, within the control
 * group's quota and the threads that it may start. Threads beyond the quota wait for its next
 * period, and other threads wait for them. OMP_NUM_THREADS replaces this default. The upper limit
 * allows a few threads for each processor, because more only cost memory and time. */
static unsigned choose_threads(const struct options *options, unsigned processors)
{
    const unsigned most = 64 + 4 * (unsigned)omp_get_num_procs();
    const bool is_said = getenv("OMP_NUM_THREADS") != NULL; /* main.c unsets one without a number */
    const unsigned threads = (unsigned)omp_get_max_threads();
    if (options->threads)
        return (unsigned)smaller(options->threads, most);
    return (unsigned)smaller(is_said ? threads : (unsigned)smaller(threads, processors), most);
}

/* Ranks on one host share its processors, or the quota of their control group, unless the launcher
 * has bound each to its own. */
static unsigned share_threads(const struct group *group, unsigned threads)
{
    if (!group)
        return threads;
    const unsigned processors =
        (unsigned)smaller((size_t)sysconf(_SC_NPROCESSORS_ONLN), control_groups_processors());
    const unsigned each = processors / group->host_size;
    return (unsigned)smaller(threads, each > 0 ? each : 1);
}

static void set_threads(struct plan *plan, unsigned threads)
{
    plan->job.sort.threads = threads;
    omp_set_num_threads((int)threads);
}

/* Reduces the number of threads for small inputs, unless the user gives it. The inputs are open. */
static void limit_threads(const struct options *options, struct plan *plan)
{
    const uint64_t useful = 1 + plan->job.input_bytes / THREAD_INPUT_BYTES;
    if (!options->threads && plan->job.input_bytes != SIZE_UNKNOWN &&
        useful < plan->job.sort.threads)
        set_threads(plan, (unsigned)useful);
}

bool plan_make(struct options *options, struct plan *plan, struct error *error)
{
    const uint64_t start = clock_now_ns();
    /* A -S of all memory or more is ignored: the system would end a process that takes that. */
    if (options->memory.host.is_said)
        options->memory.host.is_said = options->memory.host.bytes < memory_total();
    plan->processors = count_processors(options, plan);
    const unsigned threads = choose_threads(options, plan->processors);
    set_threads(plan, memory_limits_prepare(
                          options->threads ? threads : share_threads(plan->job.group, threads)));
    plan->job.action = options->check != CHECK_NO ? JOB_CHECK
                       : options->merge           ? JOB_MERGE
                                                  : JOB_SORT;
    plan->job.has_rank_inputs = plan->job.group && options->has_rank_inputs;
    plan->job.has_rank_output = plan->job.group && options->has_rank_output;
    bool made = check_foreign_output(options, error) && check_lines_early(options, plan, error);
    made = group_agree(plan->job.group, made, error) && open_inputs(options, plan, error);
    if (made)
        limit_threads(options, plan);
    made = made && choose_output(options, plan, error) && choose_order(options, plan, error) &&
           plan_share(plan, error);
    if (made && options->action == ACTION_SORT &&
        (plan->job.output.group || plan->job.has_rank_output))
        made = pipeline_open_group(&plan->job, error);
    made = group_agree(plan->job.group, made && plan_choose_device(options, plan, error), error) &&
           plan_find_device_ranks(plan, error);
    if (made)
        plan_choose_memory(options, plan);
    plan->plan_ns = clock_now_ns() - start;
    return made;
}

void plan_free(struct plan *plan)
{
    for (size_t i = 0; i < plan->job.reader_count; i++)
        source_close(plan->job.readers[i].source);
    sink_discard(plan->job.sink);
    plan_free_spools(plan);
    free(plan->job.header.text);
    free(plan->job.readers);
    free(plan->job.line_order.keys);
}

bool plan_writes_file(const char *path)
{
    struct stat status;
    return path && strcmp(path, "-") != 0 &&
           (stat(path, &status) == 0 ? S_ISREG(status.st_mode) : errno == ENOENT);
}

bool plan_has_files_only(const struct options *options)
{
    struct error ignored = {0};
    struct stat status;
    for (size_t i = 0; i < options->input_count; i++)
        if (!source_check(options->inputs[i], &status, &ignored) || !S_ISREG(status.st_mode))
            return false;
    return true;
}

/* Moves back to where standard input began, if it is one of the inputs. */
static bool rewind_standard_input(const struct options *options, const struct plan *plan)
{
    for (size_t i = 0; i < options->input_count; i++)
        if (strcmp(options->inputs[i], "-") == 0)
            return lseek(STDIN_FILENO, plan->input_position, SEEK_SET) >= 0;
    return true;
}

bool plan_note_failure(struct plan *plan, const struct error *error)
{
    const uint64_t device = UINT64_C(1) << error->device % BACKEND_DEVICES_MOST;
    if (!error->is_of_device || (plan->failed_devices & device))
        return false;
    plan->failed_devices |= device;
    plan->failure = *error;
    return true;
}

bool plan_again(struct options *options, struct plan *plan, const struct error *error)
{
    const bool is_named = !options->all_devices && (options->backend || options->algorithm);
    static struct plan next; /* large for a stack */
    struct error ignored = {0};
    if (is_named || plan->job.group || !plan_note_failure(plan, error) ||
        !plan_has_files_only(options))
        return false;
    const bool has_begun = plan_begin(options, &next, &ignored);
    next.input_position = plan->input_position;
    next.file_bytes = plan->file_bytes;
    next.failed_devices = plan->failed_devices;
    next.failure = plan->failure;
    plan_free(plan); /* ends its reading threads, which move standard input and count bytes */
    *plan = next;
    trace_restart();
    return has_begun && rewind_standard_input(options, plan) && plan_make(options, plan, &ignored);
}
