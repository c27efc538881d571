/* SPDX-License-Identifier: Apache-2.0 */
/* plan_format.c - see plan.h.
 *
 * The format is taken from the options, else from the first bytes, else from the name, else from
 * the content. An ambiguous content is an error, not a guess: a wrong guess would destroy a file
 * that is sorted onto itself.
 */
#include "cli/plan/plan.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "formats/lines/line_error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Maximum bytes of an input that are examined to distinguish text from binary data. */
#define CONTENT_PROBE_BYTES ((size_t)64 << 10)

/* Up to this many bytes of numbers or lines may look like text, or UTF-16, by chance. */
#define SOME_NUMBERS_BYTES ((size_t)32)

#define MAGIC_BYTES_MAX 348  /* has the magic of NIfTI, 4 bytes at 344 */
#define MAGIC_BYTES_USUAL 64 /* has the magic of most formats */

struct probe {
    const unsigned char *head;
    size_t bytes;
};

static bool probe_source(struct source *source, struct probe *probe, struct error *error)
{
    const size_t most =
        source_stop_and_get_left(source) == SIZE_UNKNOWN ? SOURCE_PEEK_MAX : CONTENT_PROBE_BYTES;
    if (!source_peek(source, most, &probe->head, &probe->bytes, error))
        return false;
    probe->bytes = probe->bytes < CONTENT_PROBE_BYTES ? probe->bytes : CONTENT_PROBE_BYTES;
    return true;
}

static bool begins_as_npy(const struct probe *probe)
{
    return format_npy.recognises(probe->head, probe->bytes);
}

/* Refuses another program's format. otherwise: the option that reads the input anyway, for the
 * message; "" if that could do damage. */
static bool refuse_foreign(const struct foreign *foreign, const struct probe *probe,
                           const char *name, const char *otherwise, struct error *error)
{
    const char *const known = foreign_begins_so(foreign, probe->head, probe->bytes)
                                  ? "this is"
                                  : "not text, and named as";
    if (!foreign->unpack)
        return error_set(error, "%s: %s %s data, to be converted to .npy or text first%s", name,
                         known, foreign->name, otherwise);
    return error_set(error, "%s: %s %s data, to be unpacked first (%s)%s", name, known,
                     foreign->name, foreign->unpack, otherwise);
}

/* Returns the bytes of the printable character of ASCII or UTF-8, or white space, that the text
 * begins with; 0 for none. The end of the text may cut it off. */
static size_t character_bytes(const unsigned char *text, size_t bytes)
{
    const unsigned char first = *text;
    const size_t length = isprint(first) || isspace(first) ? 1
                          : first >= 0xc2 && first < 0xe0  ? 2
                          : first >= 0xe0 && first < 0xf0  ? 3
                          : first >= 0xf0 && first < 0xf5  ? 4
                                                           : 0;
    for (size_t i = 1; i < length && i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* Returns true if the probe has only printable ASCII or UTF-8 and white space. */
static bool is_printable(const struct probe *probe)
{
    for (size_t i = 0, length; i < probe->bytes; i += length) {
        length = character_bytes(probe->head + i, probe->bytes - i);
        if (length == 0)
            return false;
    }
    return true;
}

/* Minimum bytes of text for each control character that is not white space. Of random bytes, one in
 * nine is such a character. */
#define CONTROL_BYTES_MIN ((size_t)256)

/* Maximum bytes of text, on average, for each line. */
#define LINE_BYTES_MAX ((size_t)1024)

/* Returns true for text of which seven eighths of the bytes are printable, and, if the numbers
 * would have 4 or 8 bytes, for text of another encoding, which has few control characters. Numbers
 * may have a byte that is always printable, or always a line feed. So lines must end at even and at
 * odd offsets; printable text need not, if the numbers would have 4 or 8 bytes. Numbers of one byte
 * may be any text, and other programs' formats may contain text: returns false. type: NULL is taken
 * as 8 bytes. */
static bool is_mostly_text(const struct probe *probe, const struct key_type *type)
{
    const size_t width = type ? type->bytes : sizeof(uint64_t);
    size_t strange = 0, controls = 0, ends[2] = {0};
    unsigned char before = '\n';
    for (size_t i = 0, step; i < probe->bytes; i += step) {
        const unsigned char byte = probe->head[i];
        const size_t length = character_bytes(probe->head + i, probe->bytes - i);
        step = length > 0 ? length : 1;
        strange += length == 0;
        controls += iscntrl(byte) && !isspace(byte);
        ends[i % 2] += byte == '\n' && before != '\n';
        before = byte;
        if (8 * strange > probe->bytes && CONTROL_BYTES_MIN * controls > probe->bytes)
            return false;
    }
    const size_t lines = ends[0] + ends[1], fewer = ends[ends[0] > ends[1]];
    const bool are_lines = 16 * fewer > lines && LINE_BYTES_MAX * lines >= probe->bytes;
    const bool has_few_strange = 8 * strange <= probe->bytes && (width > 2 || are_lines);
    const bool is_encoded = width > 2 && are_lines && probe->bytes >= CONTROL_BYTES_MIN &&
                            CONTROL_BYTES_MIN * controls <= probe->bytes;
    return width > 1 && probe->bytes > SOME_NUMBERS_BYTES && (has_few_strange || is_encoded) &&
           !foreign_find_by_magic(probe->head, probe->bytes);
}

/* Returns the other program's format that the name indicates, with or without .zst, or NULL. */
static const struct foreign *find_named_foreign(const char *name)
{
    size_t stem_length;
    codec_find_by_name(name, &stem_length);
    return foreign_find_by_name(name, stem_length);
}

/* Returns the other program's format that the content has: by its magic, or by the name, unless
 * that is a format of text or the content is text. A file whose format packs its content (.xlsx as
 * zip) is known by its name. */
static const struct foreign *find_foreign(const char *name, const struct probe *probe)
{
    const struct foreign *const found = foreign_find_by_magic(probe->head, probe->bytes);
    const struct foreign *const named = find_named_foreign(name);
    if (!named || named->kind == FOREIGN_TEXT || is_printable(probe))
        return found;
    return !found || (found->unpack && !named->unpack) ? named : found;
}

/* Returns true if the probe of this input may be text. type: that of the option or of the name, or
 * NULL. A few numbers may be printable by chance, but rarely with a line feed among them or in a
 * file with a name of text. With a type, a byte order mark is no sign of text, and neither is
 * UTF-16 if the type has 2 bytes, or UTF-32 if it has 4, because small numbers look like these.
 * Seven bytes of eight are printable in a double such as 243/255, so other bytes are no text
 * without an end of a line or a name of text. */
static bool may_be_text(const struct options *options, const struct probe *probe, const char *name,
                        const struct key_type *type)
{
    const struct foreign *const named = find_named_foreign(name);
    const bool is_named_text = named && named->kind == FOREIGN_TEXT;
    const size_t unit_bytes = line_error_unit_bytes(probe->head, probe->bytes);
    const bool is_no_chance = is_named_text || memchr(probe->head, '\n', probe->bytes) ||
                              (!type && memchr(probe->head, '\r', probe->bytes));
    return format_text.recognises(probe->head, probe->bytes) ||
           (!type && line_error_find_mark(probe->head, probe->bytes)) ||
           ((!type || is_no_chance) &&
            (is_printable(probe) || (unit_bytes > 0 && (!type || type->bytes != unit_bytes)))) ||
           (is_no_chance && (!named || is_named_text || options->input_codec) &&
            is_mostly_text(probe, type));
}

/* Returns true for lines without control characters, as in text of any encoding of single bytes. */
static bool may_be_lines(const struct probe *probe)
{
    for (size_t i = 0; i < probe->bytes; i++)
        if (iscntrl(probe->head[i]) && !isspace(probe->head[i]))
            return false;
    return memchr(probe->head, '\n', probe->bytes) != NULL;
}

static bool refuse_doubtful(const char *name, const struct key_type *type, struct error *error)
{
    return error_set(error, "%s: this may be text or raw %s: use --format=text or --format=raw",
                     name, type->name);
}

/* Maximum bytes of an input that may be one number without a line feed. */
#define NUMBER_BYTES ((size_t)64)

static bool detect_by_content(const struct options *options, const struct probe *probe,
                              struct source *source, const struct format **format, char reason[256],
                              struct error *error)
{
    const char *const name = source_name(source);
    const struct key_type *const type = options->type;
    char guess[64];
    const struct foreign *const foreign = find_foreign(name, probe);
    if (may_be_text(options, probe, name, type)) {
        /* If a line is not a number, the reader of the text names the line. */
        const bool is_text = format_text.recognises(probe->head, probe->bytes);
        const bool has_end =
            probe->bytes <= NUMBER_BYTES || memchr(probe->head, '\n', probe->bytes);
        if (type && (!is_text || !has_end || type->bytes == 1))
            return refuse_doubtful(name, type, error);
        *format = &format_text;
        snprintf(reason, 256, "by its content");
        return true;
    }
    if (foreign && !options->input_codec)
        return refuse_foreign(foreign, probe, name, type ? "; if it is not, use --format=raw" : "",
                              error);
    if (!type)
        return plan_guess_raw(source, guess, error) &&
               error_set(error,
                         "%s: neither .npy nor text, nor named as raw data: use --type%s, or "
                         "--format%s",
                         name, guess,
                         may_be_lines(probe) ? ", or -k1 for lines of text in another encoding"
                                             : "");
    *format = &format_raw;
    snprintf(reason, 256, "neither .npy nor text, and --type says of what");
    return true;
}

/* ---- Text without newlines ----
 *
 * Such text is recognised only if the name gives a type of 4 bytes or more, or none. Random bytes
 * are ASCII text of 12 bytes, or UTF-8 of 16, with a probability of 1e-5.
 */

#define ASCII_BYTES_MIN ((size_t)12)
#define UTF_8_BYTES_MIN ((size_t)16)

/* Numbers that differ only in their lowest bytes, this many, may be consecutive and all printable,
 * such as the addresses of a network. */
#define LOWEST_BYTES ((size_t)2)

static bool is_ascii(const struct probe *probe)
{
    for (size_t i = 0; i < probe->bytes; i++)
        if (probe->head[i] >= 0x80)
            return false;
    return true;
}

/* Returns true if printable numbers may be such by chance: integers that differ only in their
 * lowest bytes, or floating point numbers near 1, such as 12.6, whose upper bytes are all from '='
 * to 'D'. */
static bool may_be_numbers(const struct probe *probe, const struct key_type *type,
                           enum key_endian endian)
{
    const size_t width = type->bytes, first = endian == ENDIAN_BIG ? 0 : LOWEST_BYTES;
    const size_t top = endian == ENDIAN_BIG ? 0 : width - 1;
    bool are_near = true, are_alike = true;
    for (size_t i = 0; i + width <= probe->bytes; i += width) {
        const unsigned char *const number = probe->head + i;
        are_near = are_near && number[top] >= '=' && number[top] <= 'D';
        are_alike =
            are_alike && memcmp(number + first, probe->head + first, width - LOWEST_BYTES) == 0;
    }
    return are_alike || (are_near && type->kind == KEY_FLOAT);
}

/* Refuses text that is named as raw numbers of this type, or as raw data (NULL). */
static bool check_text_alone(const struct options *options, const struct key_type *named_type,
                             const struct probe *probe, const char *name, struct error *error)
{
    const struct key_type *const type = named_type ? named_type : &key_types[KEY_TYPE_f64];
    if (type->bytes < 4 || probe->bytes < ASCII_BYTES_MIN || !is_printable(probe) ||
        (probe->bytes < UTF_8_BYTES_MIN && !is_ascii(probe)) ||
        may_be_numbers(probe, type, options->endian))
        return true;
    return error_set(error,
                     "%s: this is text without newlines, and no %s: write each item to a line of "
                     "its own in a file of text (fold -w N, if each has N characters); if these "
                     "are numbers, use --%s",
                     name, type->name, named_type ? "format=raw" : "type=TYPE");
}

/* Checks the content of an input whose name gives its format. If the name is that of raw numbers,
 * the content must not be text, whatever their type. Another program's format is refused,
 * unless it is printable or a codec is named. */
static bool check_named(const struct options *options, const struct format *named,
                        const struct key_type *named_type, const struct probe *probe,
                        const char *name, struct error *error)
{
    const struct key_type *const type = options->type ? options->type
                                        : named_type  ? named_type
                                                      : &key_types[KEY_TYPE_f64];
    const bool is_raw = named == &format_raw, has_type = is_raw && (options->type || named_type);
    const struct foreign *const foreign = foreign_find_by_magic(probe->head, probe->bytes);
    /* A few numbers may look like a word by chance, or, less often, like a line of words. */
    const bool is_short = probe->bytes <= SOME_NUMBERS_BYTES;
    const bool has_lines = !is_short || memchr(probe->head, '\n', probe->bytes);
    if (is_raw && probe->bytes > 0 && has_lines && may_be_text(options, probe, name, type)) {
        if (type->bytes == 1 || !is_printable(probe) ||
            (is_short && !format_text.recognises(probe->head, probe->bytes)))
            return refuse_doubtful(name, type, error);
        return error_set(error, "%s: named as raw data, but it is text: use --format=text%s", name,
                         options->type || format_text.recognises(probe->head, probe->bytes)
                             ? ""
                             : " for numbers, or -k1 for lines");
    }
    if (is_raw && !options->type && !check_text_alone(options, named_type, probe, name, error))
        return false;
    if (!foreign || options->input_codec || is_printable(probe))
        return true;
    return refuse_foreign(foreign, probe, name, has_type ? "; if it is not, use --format=raw" : "",
                          error);
}

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
        return detect_by_content(options, &probe, source, format, reason, error);
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

/* The first bytes of UTF-16 that is mostly ASCII have a NUL among them. */
#define FIRST_BYTES ((size_t)64)

/* Sets *has_mark if the text begins with a byte order mark of UTF-8, and refuses UTF-16 and
 * UTF-32, whose lines do not end where their bytes 0x0a are. is_said: -z or --format=text is given,
 * with which nothing is refused. Waits only for the first bytes if they exclude all of these. */
static bool look_for_mark(struct source *source, bool is_said, bool *has_mark, struct error *error)
{
    struct probe probe;
    const size_t want = is_said ? 3 : FIRST_BYTES;
    if (!source_peek(source, 1, &probe.head, &probe.bytes, error) ||
        (probe.bytes < want && !source_can_read_at(source) && /* more of a pipe may come */
         !source_peek(source, want, &probe.head, &probe.bytes, error)))
        return false;
    *has_mark = probe.bytes >= 3 && memcmp(probe.head, "\xef\xbb\xbf", 3) == 0;
    if (is_said || *has_mark || probe.bytes < 2 ||
        (!memchr("\xff\xfe", probe.head[0], 2) && !memchr(probe.head, '\0', probe.bytes)))
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    const char *const remedy = line_error_find_mark(probe.head, probe.bytes);
    const char *const order = line_error_find_wide(probe.head, probe.bytes);
    const bool is_short = probe.bytes <= SOME_NUMBERS_BYTES;
    if (remedy && !(is_short && probe.bytes % 2 != 0) &&
        line_error_unit_bytes(probe.head, probe.bytes) > 0)
        return error_set(error, "%s: %s%s; if it is not, use --format=text", source_name(source),
                         remedy, source_command_note(source));
    return remedy || is_short || !order ||
           error_set(error,
                     "%s: this looks like UTF-16, to be converted first (iconv -f UTF-16%s -t "
                     "UTF-8)%s; if it is not, use --format=text",
                     source_name(source), order, source_command_note(source));
}

/* With an option for lines any input is text, except a NumPy array. Without -z and --format=text,
 * UTF-16, UTF-32, and binary content in a file with the name of a binary format are refused too:
 * sorting their lines destroys them. */
static bool check_lines(const struct options *options, const char *path, const struct format *named,
                        const char *line_word, struct reader *reader, struct error *error)
{
    struct source *const source = reader->source;
    struct probe probe;
    bool is_npy;
    const struct foreign *const named_foreign = find_named_foreign(path);
    const bool is_suspect = named_foreign || (named && named != &format_text);
    if (!look_for_npy(source, &is_npy, error))
        return false;
    if (is_npy)
        return error_set(error,
                         "%s: %s is for lines of text, and this is a NumPy array: leave %s out",
                         source_name(source), line_word, line_word);
    const bool is_said = options->input_format || options->order.zero_terminated;
    if (!look_for_mark(source, is_said, &reader->begins_with_mark, error))
        return false;
    if (is_said || !is_suspect)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    if (named_foreign) {
        const struct foreign *const foreign =
            is_printable(&probe) ? named_foreign : find_foreign(path, &probe);
        const bool is_sure = foreign && foreign_begins_so(foreign, probe.head, probe.bytes);
        return !foreign || (!is_sure && is_printable(&probe)) ||
               refuse_foreign(foreign, &probe, source_name(source),
                              is_sure ? "" : "; if it is not, use --format=text", error);
    }
    return is_printable(&probe) ||
           error_set(
               error,
               "%s: %s is for lines of text, and this is named as %s and is neither ASCII nor "
               "UTF-8: if it is text in another encoding, use --format=text, and otherwise "
               "leave %s out",
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
    const struct probe begin = {
        .head = probe.head,
        .bytes = probe.bytes < MAGIC_BYTES_USUAL ? probe.bytes : MAGIC_BYTES_USUAL,
    };
    const struct foreign *const usual = foreign_find_by_magic(begin.head, begin.bytes);
    const struct foreign *const foreign =
        usual ? usual : foreign_find_by_magic(probe.head, probe.bytes);
    if (!inner->decode && (!foreign || is_printable(usual ? &begin : &probe)))
        return true;
    return error_set(error,
                     "%s: this is %s data inside %s data, to be unpacked first; if it is not, "
                     "use --format=FORMAT:%s",
                     source_name(source), inner->decode ? inner->name : foreign->name, codec,
                     codec);
}

/* Refuses an input with the name of compressed data and other content. It may be damaged, and any
 * bytes would pass as raw numbers or lines. An empty input is refused too, because zstd(1) writes a
 * frame even for no data. Printable text, any text with -z, and .npy files are accepted. */
static bool check_codec(const struct options *options, const char *path, struct source *source,
                        const struct format *format, struct error *error)
{
    struct probe probe;
    size_t stem_length;
    char otherwise[64];
    const struct codec *const named = codec_find_by_name(path, &stem_length);
    if (options->input_codec || !named->decode || source_codec(source)->decode ||
        format == &format_npy)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    if (probe.bytes == 0)
        return error_set(error,
                         "%s: it is empty, and %s data has some bytes even for no content: leave "
                         "it out if it should be empty",
                         source_name(source), named->name);
    const struct foreign *const foreign = foreign_find_by_magic(probe.head, probe.bytes);
    const bool is_text = format == &format_text && is_printable(&probe);
    snprintf(otherwise, sizeof otherwise, "; if it is not, use --format=%s:plain", format->name);
    if (foreign && !is_text)
        return refuse_foreign(foreign, &probe, source_name(source), otherwise, error);
    const bool may_be_text = is_text || (format == &format_text && options->order.zero_terminated);
    return may_be_text ||
           error_set(error,
                     "%s: named as %s data, but it is not: unless it is damaged, --format=%s:plain "
                     "reads it as it is",
                     source_name(source), named->name, format->name);
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
        if (!check_lines(options, path, named, line_word, reader, error))
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
    return *format != &format_raw || plan_check_raw(options, named_type, reader, reason, error);
}

/* ---- Several inputs ---- */

void plan_name_input(const struct format *format, const struct layout *layout,
                     char name[INPUT_NAME_BYTES])
{
    const bool is_big = layout->endian == ENDIAN_BIG && !layout->descr[0];
    snprintf(name, INPUT_NAME_BYTES, "%s %s%s", format->name, is_big ? "big-endian " : "",
             layout->descr[0] ? layout->descr : layout->type->name);
}

/* Returns true if numbers of both layouts can be compared as they are stored. Times of two units
 * cannot. */
static bool layouts_agree(const struct layout *a, const struct layout *b)
{
    return a->type == b->type && a->endian == b->endian &&
           (a->type->kind != KEY_TIME || strcmp(a->descr, b->descr) == 0);
}

/* Writes the end of the message for inputs that differ: what makes them agree. A sorted copy in
 * another format is not advised with --argsort, whose indices would be those of the copy, nor for
 * times and text, because a line NaT is no number without --type. */
static void suggest_conversion(const struct options *options, const struct format *a_format,
                               const struct layout *a, const struct format *b_format,
                               const struct layout *b, char words[96])
{
    const bool has_text = a_format == &format_text || b_format == &format_text;
    const bool is_time = a->type->kind == KEY_TIME || b->type->kind == KEY_TIME;
    if (a_format == b_format || (!has_text && (a->type != b->type || a->endian != b->endian)))
        snprintf(words, 96, ": convert one with NumPy's astype, to a dtype that holds both");
    else if (options->index_type || (has_text && is_time))
        *words = '\0';
    else if (has_text)
        snprintf(words, 96, ": convert numbers by gpusort --output-format=text FILE -o NEW.txt");
    else
        snprintf(words, 96, ": convert .npy by gpusort --output-format=raw FILE -o NEW.%s",
                 a->type->name);
}

bool plan_check_agreement(const struct options *options, const struct plan *plan,
                          const struct format *format, const struct reader *reader,
                          struct error *error)
{
    const struct reader *first = &plan->job.readers[0];
    if (format == plan->job.input_format && layouts_agree(&reader->layout, &first->layout))
        return true;
    char name[INPUT_NAME_BYTES], first_name[INPUT_NAME_BYTES], words[96];
    plan_name_input(format, &reader->layout, name);
    plan_name_input(plan->job.input_format, &first->layout, first_name);
    suggest_conversion(options, plan->job.input_format, &first->layout, format, &reader->layout,
                       words);
    return error_set(error, "%s: %s, where %s is %s: all inputs must agree%s",
                     source_name(reader->source), name, source_name(first->source), first_name,
                     words);
}
