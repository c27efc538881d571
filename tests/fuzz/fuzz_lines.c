/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lines.c - checks (-c) and merges (-m) lines, by keys and options of all kinds.
 *
 * The reference compares with model.h, line by line.
 */
#include "formats/check/lines_check.h"
#include "formats/codec/codec.h"
#include "formats/merge/lines_merge.h"
#include "tests/fuzz/model.h"

#include <ctype.h>

#define SOURCES_MAX 4
#define LINES_MAX 512
#define TEXT_MAX ((size_t)2048)
#define KEYS_MAX 2

/* Separates the texts of an input. */
#define TEXT_END 0xee

/* ---- the job ---- */

struct text {
    struct fuzz_text text;
    struct model_span lines[LINES_MAX];
    size_t count;
};

struct job {
    struct line_key keys[KEYS_MAX];
    struct line_order order;
    bool is_merge, is_sorted;
    size_t memory_bytes, part_bytes;
    struct text texts[SOURCES_MAX];
    size_t count;
};

static struct line_place take_place(struct fuzz_input *input)
{
    const unsigned byte = fuzz_take(input);
    return (struct line_place){
        .field = byte & 3, .character = byte >> 2 & 7, .skip_blanks = byte >> 5 & 1};
}

static struct line_key take_key(struct fuzz_input *input)
{
    const unsigned byte = fuzz_take(input);
    struct line_key key = {.kind = LINE_GENERAL + (byte & 3), .reverse = byte >> 2 & 1};
    if (byte & 8)
        key.begin = take_place(input);
    key.end_kind = (enum line_end)((byte >> 4 & 3) % 3);
    if (key.end_kind != LINE_END_OF_LINE)
        key.end = take_place(input);
    if (key.end_kind == LINE_END_AT_PLACE)
        key.end.character++;
    else
        key.end.skip_blanks = false;
    return key;
}

static void take_order(struct fuzz_input *input, struct job *job)
{
    const unsigned flags = fuzz_take(input), more = fuzz_take(input);
    job->order =
        (struct line_order){.keys = job->keys,
                            .key_count = 1 + (more & 1),
                            .separator = more & 2 ? (int)(more >> 2) : LINE_SEPARATOR_BLANKS,
                            .terminator = flags & 1 ? '\0' : '\n',
                            .reverse = flags >> 1 & 1,
                            .stable = flags >> 2 & 1,
                            .unique = flags >> 3 & 1};
    for (size_t i = 0; i < job->order.key_count; i++)
        job->keys[i] = take_key(input);
    if ((flags & 0xc0) == 0xc0) {
        job->order.key_count = 1;
        job->keys[0] = (struct line_key){.kind = LINE_STRICT, .reverse = job->order.reverse};
    }
    job->is_merge = flags >> 4 & 1;
    job->is_sorted = flags >> 5 & 1;
}

/* Finds the lines; those past LINES_MAX are dropped. A missing last terminator is added only in the
 * model. */
static void split_lines(struct text *text, char terminator)
{
    size_t begin = 0;
    text->count = 0;
    while (begin < text->text.length && text->count < LINES_MAX) {
        const char *const line = text->text.data + begin;
        const char *const end = memchr(line, terminator, text->text.length - begin);
        const size_t length = end ? (size_t)(end - line) : text->text.length - begin;
        text->lines[text->count++] = (struct model_span){line, length};
        begin += length + 1;
    }
    if (begin < text->text.length)
        text->text.length = begin;
}

static bool is_strict_number(const struct line_order *order, struct model_span line)
{
    if (order->keys[0].kind != LINE_STRICT)
        return true;
    char *const text = model_terminated(line), *end;
    (void)strtold(text, &end);
    const bool any = end != text;
    while (isspace((unsigned char)*end))
        end++;
    const bool is_number = any && end == text + line.length;
    free(text);
    return is_number;
}

/* Sorts the lines by insertion, and rewrites the text. */
static void sort_text(const struct line_order *order, struct text *text)
{
    for (size_t i = 1; i < text->count; i++) {
        const struct model_span line = text->lines[i];
        size_t at = i;
        for (; at > 0 && model_compare_lines(order, text->lines[at - 1], line) > 0; at--)
            text->lines[at] = text->lines[at - 1];
        text->lines[at] = line;
    }
    char *const sorted = malloc(text->text.length + 1);
    size_t bytes = 0;
    for (size_t i = 0; i < text->count; i++) {
        if (text->lines[i].length > 0)
            memcpy(sorted + bytes, text->lines[i].text, text->lines[i].length);
        bytes += text->lines[i].length;
        sorted[bytes++] = order->terminator;
    }
    free(text->text.data);
    text->text = (struct fuzz_text){sorted, bytes};
    split_lines(text, order->terminator);
}

static void take_job(struct fuzz_input *input, struct job *job)
{
    take_order(input, job);
    job->memory_bytes = 1 + ((size_t)fuzz_take(input) << 3); /* 0 means 64 MiB */
    job->part_bytes = 1 + fuzz_take(input);
    for (job->count = 0; job->count < SOURCES_MAX && (input->bytes > 0 || job->count == 0);) {
        struct text *const text = &job->texts[job->count++];
        text->text = fuzz_take_text(input, TEXT_END, TEXT_MAX);
        split_lines(text, job->order.terminator);
        if (job->is_sorted)
            sort_text(&job->order, text);
    }
}

static struct source *open_text(const struct fuzz_text *text)
{
    static struct error error;
    struct source *source;
    const int file = fuzz_open_file(text->data, text->length);
    if (!source_open_file(file, "lines", &codecs[0], 1, &source, &error))
        fuzz_fail("%s", error.message);
    close(file);
    return source;
}

/* ---- -c ---- */

static void check_text(const struct line_order *order, const struct text *text)
{
    static struct error error;
    struct lines_check found;
    struct source *const source = open_text(&text->text);
    size_t expected = 0;
    error.is_set = false;
    const bool ok = lines_check(source, order, 0, 1, &found, &error);
    source_close(source);
    for (; expected < text->count; expected++) {
        if (!is_strict_number(order, text->lines[expected])) {
            if (ok)
                fuzz_fail("line %zu, which is no number, is taken", expected + 1);
            return;
        }
        const struct model_span *const line = &text->lines[expected];
        if (expected > 0 && (model_compare_lines(order, line[-1], line[0]) > 0 ||
                             (order->unique && model_compare_keys(order, line[-1], line[0]) == 0)))
            break;
    }
    const bool is_disordered = expected < text->count;
    if (!ok)
        fuzz_fail("%s", error.message);
    if (found.is_disordered != is_disordered || found.lines != expected)
        fuzz_fail("%zu lines are in order, expected %zu of %zu", (size_t)found.lines, expected,
                  text->count);
    if (is_disordered && (found.length != text->lines[expected].length ||
                          memcmp(found.text, text->lines[expected].text, found.length) != 0))
        fuzz_fail("another line than %zu is out of order", expected + 1);
    free(found.text);
}

/* ---- -m ---- */

struct output {
    char data[SOURCES_MAX * (TEXT_MAX + 1) + 1];
    size_t bytes;
};

/* Merges the lines of all texts: repeatedly takes the least of the next lines. */
static void merge_model(const struct job *job, struct output *output)
{
    const struct line_order *const order = &job->order;
    size_t next[SOURCES_MAX] = {0};
    const struct model_span *last = NULL;
    output->bytes = 0;
    for (;;) {
        const struct model_span *least = NULL;
        size_t from = 0;
        for (size_t i = 0; i < job->count; i++) {
            const struct model_span *const line = &job->texts[i].lines[next[i]];
            if (next[i] < job->texts[i].count &&
                (!least || model_compare_lines(order, *line, *least) < 0)) {
                least = line;
                from = i;
            }
        }
        if (!least)
            return;
        next[from]++;
        if (order->unique && last && model_compare_keys(order, *last, *least) == 0)
            continue;
        memcpy(output->data + output->bytes, least->text, least->length);
        output->bytes += least->length;
        output->data[output->bytes++] = order->terminator;
        last = least;
    }
}

static void fail_at_difference(const struct output *found, const struct output *expected)
{
    size_t i = 0;
    while (i < found->bytes && i < expected->bytes && found->data[i] == expected->data[i])
        i++;
    fuzz_fail("-m: %zu bytes, expected %zu; from byte %zu on '%.*s', expected '%.*s'", found->bytes,
              expected->bytes, i, (int)(found->bytes - i), found->data + i,
              (int)(expected->bytes - i), expected->data + i);
}

/* Merges to a file in memory. Returns false if lines_merge_run does. */
static bool merge_ours(const struct job *job, size_t lines, struct output *output,
                       struct error *error)
{
    struct source *sources[SOURCES_MAX];
    struct sink *sink;
    static int memory = -1;
    static char path[40];
    const struct sink_spec spec = {.path = path, .codec = &codecs[0], .threads = 1};
    struct lines_merge merge = {.order = &job->order,
                                .sources = sources,
                                .count = job->count,
                                .threads = 1,
                                .memory_bytes = job->memory_bytes,
                                .part_bytes = job->part_bytes};
    if (memory < 0) {
        memory = fuzz_open_file("", 0);
        snprintf(path, sizeof path, "/dev/fd/%d", memory);
    }
    if (ftruncate(memory, 0) != 0 || lseek(memory, 0, SEEK_SET) != 0)
        abort();
    for (size_t i = 0; i < job->count; i++)
        sources[i] = open_text(&job->texts[i].text);
    bool ok = sink_open(&spec, &sink, error);
    if (ok && lines_merge_run(&merge, sink, error))
        ok = sink_commit(sink, error);
    else if (ok)
        sink_discard(sink), ok = false;
    for (size_t i = 0; i < job->count; i++)
        source_close(sources[i]);
    if (ok && merge.lines != lines)
        fuzz_fail("-m: %zu lines are counted, there are %zu", (size_t)merge.lines, lines);
    output->bytes = (size_t)pread(memory, output->data, sizeof output->data, 0);
    return ok;
}

static void check_merge(const struct job *job)
{
    static struct output found, expected;
    static struct error error;
    size_t lines = 0;
    bool are_numbers = true;
    for (size_t i = 0; i < job->count; i++) {
        lines += job->texts[i].count;
        for (size_t k = 0; k < job->texts[i].count; k++)
            are_numbers &= is_strict_number(&job->order, job->texts[i].lines[k]);
    }
    error.is_set = false;
    const bool ok = merge_ours(job, lines, &found, &error);
    if (ok != are_numbers)
        fuzz_fail("-m: %s", ok ? "lines that are no numbers are taken" : error.message);
    if (!ok)
        return;
    merge_model(job, &expected);
    if (found.bytes != expected.bytes || memcmp(found.data, expected.data, found.bytes) != 0)
        fail_at_difference(&found, &expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct job job;
    struct fuzz_input input = {data, bytes};
    take_job(&input, &job);
    if (job.is_merge)
        check_merge(&job);
    else
        check_text(&job.order, &job.texts[0]);
    for (size_t i = 0; i < job.count; i++)
        free(job.texts[i].text.data);
    return 0;
}
