/* SPDX-License-Identifier: Apache-2.0 */
/* plan_format.c - see plan.h.
 *
 * The format is taken from the options, else from the first bytes, else from the name, else from
 * the content. An ambiguous content is an error, not a guess: a wrong guess would destroy a file
 * that is sorted onto itself.
 */
#include "cli/plan/plan.h"

#include "cli/plan/raw_content.h"
#include "formats/array/foreign.h"
#include "formats/codec/codec.h"
#include "formats/lines/line_error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Maximum bytes of an input that are examined to distinguish text from binary data. */
#define CONTENT_PROBE_BYTES ((size_t)64 << 10)

/* Up to this many bytes of raw numbers may be printable by chance. */
#define SOME_NUMBERS_BYTES ((size_t)32)

/* Bytes in which every known magic is found. */
#define MAGIC_BYTES_MAX 64

/* The first bytes of an input; all of it if `whole`. */
struct probe {
    const unsigned char *head;
    size_t bytes;
    bool whole;
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

static bool begins_as_npy(const struct probe *probe)
{
    return format_npy.recognises(probe->head, probe->bytes, probe->whole);
}

/* Refuses another program's format. otherwise: the option that reads the input anyway, for the
 * message; "" if that could do damage. */
static bool refuse_foreign(const struct foreign *foreign, const char *name, const char *otherwise,
                           struct error *error)
{
    if (!foreign->unpack)
        return error_set(error, "%s: this is %s data, to be converted to .npy or text first%s",
                         name, foreign->name, otherwise);
    return error_set(error, "%s: this is %s data, to be unpacked first (%s)%s", name, foreign->name,
                     foreign->unpack, otherwise);
}

/* Returns the bytes of the printable character or white space that has this first byte; 0 for
 * none. */
static size_t character_bytes(unsigned char first)
{
    return isprint(first) || isspace(first) ? 1
           : first >= 0xc2 && first < 0xe0  ? 2
           : first >= 0xe0 && first < 0xf0  ? 3
           : first >= 0xf0 && first < 0xf5  ? 4
                                            : 0;
}

/* Returns true if the probe has only printable ASCII or UTF-8 and white space. */
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

/* Returns true if the probe may be text: numbers or words. A few raw numbers may be printable by
 * chance, but hardly with a line feed among them. Without a type they cannot be raw numbers. */
static bool may_be_text(const struct probe *probe, const struct key_type *type)
{
    return format_text.recognises(probe->head, probe->bytes, probe->whole) ||
           (!type && line_error_finds_mark(probe->head, probe->bytes)) ||
           (is_printable(probe) && (!type || memchr(probe->head, '\n', probe->bytes)));
}

static bool refuse_doubtful(const char *name, const struct key_type *type, struct error *error)
{
    return error_set(error, "%s: this may be text or raw %s: say --format=text or --format=raw",
                     name, type->name);
}

/* Finds the format by the content, which is not an .npy file. */
static bool detect_by_content(const struct options *options, const struct probe *probe,
                              const char *name, const struct format **format, char reason[256],
                              struct error *error)
{
    const struct key_type *const type = options->type;
    const struct foreign *const foreign = foreign_find_by_magic(probe->head, probe->bytes);
    if (may_be_text(probe, type)) { /* if a line is not a number, its reader names the line */
        const bool is_text = format_text.recognises(probe->head, probe->bytes, probe->whole);
        if (type && (!is_text || type->bytes == 1))
            return refuse_doubtful(name, type, error);
        *format = &format_text;
        snprintf(reason, 256, "by its content");
        return true;
    }
    if (foreign && !options->input_codec)
        return refuse_foreign(foreign, name, type ? ": or else say --format=raw" : "", error);
    if (!type)
        return error_set(
            error, "%s: neither .npy nor text, nor named as raw data: say --type, or --format",
            name);
    *format = &format_raw;
    snprintf(reason, 256, "neither .npy nor text, and --type says of what");
    return true;
}

/* Checks the content of an input whose name gives its format. If the name is that of raw numbers,
 * the content must not be text, whatever their type. It must never be another program's format. */
static bool check_named(const struct options *options, const struct format *named,
                        const struct key_type *named_type, const struct probe *probe,
                        const char *name, struct error *error)
{
    const struct key_type *const type = options->type ? options->type
                                        : named_type  ? named_type
                                                      : &key_types[KEY_TYPE_f64];
    const bool is_raw = named == &format_raw;
    const struct foreign *const foreign = foreign_find_by_magic(probe->head, probe->bytes);
    /* A few numbers may look like a word by chance, or, less often, like a line of words. */
    const bool is_short = probe->bytes <= SOME_NUMBERS_BYTES;
    const bool has_lines = !is_short || memchr(probe->head, '\n', probe->bytes);
    if (is_raw && probe->bytes > 0 && has_lines && may_be_text(probe, type)) {
        if (type->bytes == 1 ||
            (is_short && !format_text.recognises(probe->head, probe->bytes, probe->whole)))
            return refuse_doubtful(name, type, error);
        return error_set(error, "%s: named as raw data, and this is text: say --format=text", name);
    }
    if (!foreign || options->input_codec || is_printable(probe))
        return true;
    return refuse_foreign(foreign, name,
                          is_raw && options->type ? ": or else say --format=raw" : "", error);
}

/* Finds the format by --format, else by magic, else by the name, else by the content. */
static bool detect_format(const struct options *options, const struct format *named,
                          const struct key_type *named_type, struct source *source,
                          const struct format **format, char reason[256], struct error *error)
{
    struct probe probe;
    if (!probe_source(source, &probe, error))
        return false;
    if (options->input_format) {
        *format = options->input_format;
        snprintf(reason, 256, "as --format says");
        return *format == &format_npy || !begins_as_npy(&probe) ||
               error_set(error,
                         "%s: this is a NumPy array, and --format=%s would take its header for "
                         "data: leave --format out",
                         source_name(source), (*format)->name);
    }
    if (begins_as_npy(&probe)) {
        *format = &format_npy;
        snprintf(reason, 256, "by its first bytes");
    } else if (named) {
        *format = named;
        snprintf(reason, 256, "by its name");
        return check_named(options, named, named_type, &probe, source_name(source), error);
    } else if (probe.bytes == 0 && options->type) {
        *format = &format_raw;
        snprintf(reason, 256, "empty");
    } else {
        return detect_by_content(options, &probe, source_name(source), format, reason, error);
    }
    return true;
}

/* Sets *is_npy if the source begins as a NumPy array. Waits only for the first byte if that
 * excludes an array. */
static bool look_for_npy(struct source *source, bool *is_npy, struct error *error)
{
    struct probe probe = {0};
    *is_npy = false;
    for (size_t want = 1; want <= 6; want += 5) { /* the first byte, then all of the magic */
        if (!source_peek(source, want, &probe.head, &probe.bytes, error))
            return false;
        if (probe.bytes == 0 || probe.head[0] != 0x93)
            return true;
    }
    *is_npy = begins_as_npy(&probe);
    return true;
}

/* Options for lines make text of any input. Refused are a NumPy array, and content that is binary
 * where the name is that of binary numbers or of another program: as lines it would be cut up and
 * lost. -z and --format=text allow such content. */
static bool check_lines(const struct options *options, const char *path, const struct format *named,
                        const char *line_word, struct source *source, struct error *error)
{
    struct probe probe;
    bool is_npy;
    const struct foreign *const foreign = foreign_find_by_name(path, strlen(path));
    const bool is_suspect = foreign || (named && named != &format_text);
    if (!look_for_npy(source, &is_npy, error))
        return false;
    if (is_npy && named != &format_npy)
        return error_set(error,
                         "%s: %s is for lines of text, and this is a NumPy array: leave %s out",
                         source_name(source), line_word, line_word);
    if (!is_npy && (options->input_format || options->order.zero_terminated || !is_suspect))
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    if (foreign && !is_npy)
        return !foreign_begins_so(foreign, probe.head, probe.bytes) ||
               refuse_foreign(foreign, source_name(source), "", error);
    return is_printable(&probe) ||
           error_set(error,
                     "%s: %s is for lines of text, and this is named as %s and is no text: leave "
                     "%s out",
                     source_name(source), line_word, named->name, line_word);
}

/* Refuses data that is compressed twice, or a foreign format inside compressed data. Any bytes
 * would pass as lines or raw numbers. */
static bool check_content(struct source *source, struct error *error)
{
    struct probe probe = {0};
    const char *const codec = source_codec(source)->name;
    if (!source_peek(source, MAGIC_BYTES_MAX, &probe.head, &probe.bytes, error))
        return false;
    const struct codec *const inner = codec_find_by_magic(probe.head, probe.bytes);
    const struct foreign *const foreign = foreign_find_by_magic(probe.head, probe.bytes);
    if (!inner->decode && (!foreign || is_printable(&probe)))
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
                     source_name(source), inner->decode ? inner->name : foreign->name, codec,
                     codec);
}

/* Refuses an input with the name of compressed data and other content. It may be damaged, and any
 * bytes would pass as raw numbers or lines. An empty input is refused too, because zstd(1) writes a
 * frame even for no data. Printable text and .npy files are accepted. */
static bool check_codec(const struct options *options, const char *path, struct source *source,
                        const struct format *format, struct error *error)
{
    struct probe probe;
    size_t stem_length;
    char otherwise[64];
    const struct codec *const named = codec_find_by_name(path, &stem_length);
    if (options->input_codec || !named->decode || source_codec(source) == named ||
        format == &format_npy)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    const struct foreign *const foreign = foreign_find_by_magic(probe.head, probe.bytes);
    const bool is_text = format == &format_text && is_printable(&probe);
    snprintf(otherwise, sizeof otherwise, ": or else say --format=%s:plain", format->name);
    if (foreign && !is_text)
        return refuse_foreign(foreign, source_name(source), otherwise, error);
    const bool may_be_text = is_text || (format == &format_text && options->order.zero_terminated);
    return (may_be_text && probe.bytes > 0) ||
           error_set(error,
                     "%s: named as %s data, and is none: say --format=%s:plain to read it so",
                     source_name(source), named->name, format->name);
}

/* Sets and checks the type of raw numbers. f64 is assumed if neither --type nor the name gives one.
 * An assumed type must agree with the numbers, and so must a name that NumPy uses for another
 * type. */
static bool check_raw_type(const struct options *options, struct reader *reader, char reason[256],
                           struct error *error)
{
    struct layout *const layout = &reader->layout;
    const bool is_spelled_as_ours =
        !options->type_word || strcmp(options->type_word, options->type->name) == 0;
    if (!layout->type) {
        layout->type = &key_types[KEY_TYPE_f64];
        reader->is_type_assumed = true;
        snprintf(reason + strlen(reason), 256 - strlen(reason), "; f64, as no type is said");
        return raw_content_check_doubles(reader->source, options->endian, error);
    }
    return !is_spelled_as_ours ||
           raw_content_check_name(reader->source, layout->type, options->endian, error);
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
    } else if (!detect_format(options, named, named_type, reader->source, format, reason, error)) {
        return false;
    }
    if (!check_codec(options, path, reader->source, *format, error))
        return false;
    reader->layout.type = options->type            ? options->type
                          : *format == &format_raw ? named_type
                                                   : NULL;
    return *format != &format_raw || check_raw_type(options, reader, reason, error);
}
