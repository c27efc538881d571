/* plan_format.c - see plan_format.h.
 *
 * The words of the user, else the first bytes, else the name, else the content. What the content
 * leaves open is asked and not guessed: a wrong guess would ruin a file that is sorted in place.
 */
#include "cli/plan_format.h"

#include "cli/line_words.h"
#include "formats/codec.h"
#include "formats/file_name.h"
#include "formats/line_error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* How much of an input is looked at to tell text from binary data. */
#define CONTENT_PROBE_BYTES ((size_t)64 << 10)

/* Enough to know by what an input is wrapped in. */
#define MAGIC_BYTES_MAX 64

/* The first bytes of an input, all of it if `whole`. */
struct probe {
    const unsigned char *head;
    size_t bytes;
    bool whole;
};

/* What numbers and lines come wrapped in, and what unwraps it. */
static const struct wrapping {
    const char *name;
    const char *extension;
    const char *magic;
    const char *remedy;
} wrappings[] = {
    {"gzip", ".gz", "\x1f\x8b\x08", "gzip -dc"},
    {"gzip", ".tgz", "\x1f\x8b\x08", "gzip -dc"},
    {"bzip2", ".bz2", "BZh", "bzip2 -dc"},
    {"xz", ".xz", "\3757zXZ", "xz -dc"},
    {"LZ4", ".lz4", "\x04\x22\x4d\x18", "lz4 -dc"},
    {"zip", ".zip", "PK\x03\x04", "unzip, for .npz too"},
    {"zip", ".npz", "PK\x03\x04", "unzip, for .npz too"},
};

static bool probe_source(struct source *source, struct probe *probe, struct error *error)
{
    const size_t most =
        source_bytes_left(source) == SIZE_UNKNOWN ? SOURCE_PEEK_MAX : CONTENT_PROBE_BYTES;
    if (!source_peek(source, most, &probe->head, &probe->bytes, error))
        return false;
    probe->bytes = probe->bytes < CONTENT_PROBE_BYTES ? probe->bytes : CONTENT_PROBE_BYTES;
    probe->whole = source_bytes_left(source) == probe->bytes;
    return true;
}

static bool begins_wrapped(const struct probe *probe, const struct wrapping *wrapping)
{
    const size_t length = strlen(wrapping->magic);
    return probe->bytes >= length && memcmp(probe->head, wrapping->magic, length) == 0;
}

/* By the first bytes; NULL if it is none. */
static const struct wrapping *find_wrapping(const struct probe *probe)
{
    for (size_t i = 0; i < sizeof wrappings / sizeof wrappings[0]; i++)
        if (begins_wrapped(probe, &wrappings[i]))
            return &wrappings[i];
    return NULL;
}

static const struct wrapping *find_wrapping_by_name(const char *path)
{
    for (size_t i = 0; i < sizeof wrappings / sizeof wrappings[0]; i++)
        if (file_name_has_extension(path, strlen(path), wrappings[i].extension))
            return &wrappings[i];
    return NULL;
}

static bool refuse_wrapping(const struct wrapping *wrapping, const char *name, const char *but_for,
                            struct error *error)
{
    return error_set(error, "%s: this is %s data, to be unpacked first (%s)%s%s", name,
                     wrapping->name, wrapping->remedy, but_for ? ": or else say --format=" : "",
                     but_for ? but_for : "");
}

/* The bytes of the printable character, or white space, that begins so; 0: none does. */
static size_t character_bytes(unsigned char first)
{
    return isprint(first) || isspace(first) ? 1
           : first >= 0xc2 && first < 0xe0  ? 2
           : first >= 0xe0 && first < 0xf0  ? 3
           : first >= 0xf0 && first < 0xf5  ? 4
                                            : 0;
}

/* Words, perhaps, in ASCII or UTF-8, but nothing that only binary data has. */
static bool is_printable(const struct probe *probe)
{
    for (size_t i = 0, end; i < probe->bytes; i = end) {
        const size_t length = character_bytes(probe->head[i]);
        if (length == 0)
            return false;
        for (end = i + 1; end < i + length && end < probe->bytes; end++)
            if ((probe->head[end] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* By the content, which is not that of an .npy file. */
static bool detect_by_content(const struct options *options, const struct probe *probe,
                              const char *name, const struct format **format, char reason[256],
                              struct error *error)
{
    const struct key_type *const type = options->type;
    const struct wrapping *const wrapping = find_wrapping(probe);
    const bool is_text = format_text.recognises(probe->head, probe->bytes, probe->whole);
    /* A few raw numbers are printable by chance, but hardly with a line's end among them. */
    const bool may_be_text =
        is_text || (!type && line_error_finds_mark(probe->head, probe->bytes)) ||
        (is_printable(probe) && (!type || memchr(probe->head, '\n', probe->bytes)));
    if (may_be_text && type && (!is_text || type->bytes == 1))
        return error_set(error, "%s: this may be text or raw %s: say --format=text or --format=raw",
                         name, type->name);
    if (may_be_text) { /* its reader will name the line that is no number */
        *format = &format_text;
        snprintf(reason, 256, "by its content");
        return true;
    }
    if (wrapping)
        return refuse_wrapping(wrapping, name, type ? "raw" : NULL, error);
    if (!type)
        return error_set(
            error, "%s: neither .npy nor text, nor named as raw data: say --type, or --format",
            name);
    *format = &format_raw;
    snprintf(reason, 256, "neither .npy nor text, and --type says of what");
    return true;
}

/* What the user's words leave open: magic, else name, else content. */
static bool detect_format(const struct options *options, const struct format *named,
                          struct source *source, const struct format **format, char reason[256],
                          struct error *error)
{
    struct probe probe;
    if (!probe_source(source, &probe, error))
        return false;
    if (options->input_format) {
        *format = options->input_format;
        snprintf(reason, 256, "as --format says");
    } else if (format_npy.recognises(probe.head, probe.bytes, probe.whole)) {
        *format = &format_npy;
        snprintf(reason, 256, "by its first bytes");
    } else if (named) {
        *format = named;
        snprintf(reason, 256, "by its name");
    } else if (probe.bytes == 0 && options->type) {
        *format = &format_raw;
        snprintf(reason, 256, "empty");
    } else {
        return detect_by_content(options, &probe, source_name(source), format, reason, error);
    }
    return true;
}

/* Words for lines make text of everything, but not of what is binary numbers, or compressed, by its
 * name and its content: these would be cut up and lost. Who says that lines end with NUL knows what
 * it is. */
static bool check_lines(const struct options *options, const char *path, const struct format *named,
                        const char *line_word, struct source *source, struct error *error)
{
    struct probe probe;
    const struct wrapping *const wrapping = find_wrapping_by_name(path);
    const bool is_suspect = wrapping || (named && named != &format_text);
    if (options->input_format || options->order.zero_terminated || !is_suspect)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    if (wrapping)
        return !begins_wrapped(&probe, wrapping) ||
               refuse_wrapping(wrapping, source_name(source), "text", error);
    return is_printable(&probe) ||
           error_set(error,
                     "%s: %s is for lines of text, and this is named as %s and is no text: leave "
                     "%s out, or say --format=text",
                     source_name(source), line_word, named->name, line_word);
}

/* Refuses data that were compressed twice: any bytes are lines, or raw numbers. */
static bool check_content(struct source *source, struct error *error)
{
    struct probe probe = {0};
    const char *const codec = source_codec(source)->name;
    if (!source_peek(source, MAGIC_BYTES_MAX, &probe.head, &probe.bytes, error))
        return false;
    const struct codec *const inner = codec_find_by_magic(probe.head, probe.bytes);
    const struct wrapping *const wrapping = find_wrapping(&probe);
    if (!inner->decode && (!wrapping || is_printable(&probe)))
        return true;
    if (inner->decode) {
        if (!source_peek(source, SOURCE_PEEK_MAX, &probe.head, &probe.bytes, error))
            return false;
        const uint64_t skipped = inner->skippable_bytes(probe.head, probe.bytes);
        if (skipped >= probe.bytes ||
            !inner->recognises(probe.head + skipped, probe.bytes - skipped) ||
            !inner->is_sound(probe.head + skipped, probe.bytes - skipped))
            return true;
    }
    return error_set(error,
                     "%s: this is %s data inside %s data, to be unpacked first: or else say "
                     "--format=FORMAT:%s",
                     source_name(source), inner->decode ? inner->name : wrapping->name, codec,
                     codec);
}

/* Named as compressed, and not: what once was is damaged, and any bytes are raw numbers, or lines,
 * and so are none: zstd(1) makes a frame of nothing. Text and .npy files show what they are. */
static bool check_codec(const struct options *options, const char *path, struct source *source,
                        const struct format *format, struct error *error)
{
    struct probe probe;
    size_t stem_length;
    char words[32];
    const struct codec *const named = codec_find_by_name(path, &stem_length);
    if (options->input_codec || !named->decode || source_codec(source) == named ||
        format == &format_npy)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    const struct wrapping *const wrapping = find_wrapping(&probe);
    const bool is_text = format == &format_text && is_printable(&probe);
    snprintf(words, sizeof words, "%s:plain", format->name);
    if (wrapping && !is_text)
        return refuse_wrapping(wrapping, source_name(source), words, error);
    const bool may_be_text = is_text || (format == &format_text && options->order.zero_terminated);
    return (may_be_text && probe.bytes > 0) ||
           error_set(error, "%s: named as %s data, and is none: say --format=%s to read it so",
                     source_name(source), named->name, words);
}

bool plan_choose_format(const struct options *options, const char *path, struct reader *reader,
                        const struct format **format, char reason[256], struct error *error)
{
    const struct key_type *named_type = NULL;
    const struct format *const named = format_find_by_name(path, &named_type);
    const char *const line_word = line_words_find(options);
    if (!options->input_codec && source_codec(reader->source)->decode &&
        !check_content(reader->source, error))
        return false;
    if (line_word) {
        if (!check_lines(options, path, named, line_word, reader->source, error))
            return false;
        *format = &format_text;
        snprintf(reason, 256, "as %s says", line_word);
    } else if (!detect_format(options, named, reader->source, format, reason, error)) {
        return false;
    }
    if (!check_codec(options, path, reader->source, *format, error))
        return false;
    reader->layout.type = options->type            ? options->type
                          : *format == &format_raw ? named_type
                                                   : NULL;
    return true;
}
