/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - numbers as text, one per line, to and from binary.
 *
 *   in:  source -> a block of whole lines -> pieces, one per thread -> items
 *   out: items -> pieces, formatted by several threads -> buffers of the sink, in order
 *
 * A block is filled from source_peek: only whole lines are consumed, and no more of them than fit.
 * So no state is kept between calls, and line numbers follow from the number of keys read. (Text
 * that is sorted as text, and keeps its bytes, is in lines.h.)
 */
#include "core/backend.h"
#include "core/byte_words.h"
#include "core/trace.h"
#include "formats/array/format.h"
#include "formats/io/piece_writer.h"
#include "formats/lines/line_error.h"
#include "formats/number/number_text.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a block, enough to divide among threads: one thread parses 4 MiB of text in about 8
 * ms. */
#define BLOCK_BYTES ((size_t)4 << 20)
_Static_assert(BLOCK_BYTES > SOURCE_PEEK_MAX, "a block holds what is peeked at");

/* Bytes of a block for each thread after the first. */
#define PIECE_BYTES ((size_t)64 << 10)

static const char *const text_extensions[] = {".txt", ".text",  ".csv",    ".tsv", ".tab",
                                              ".log", ".jsonl", ".ndjson", NULL};

/* Whole lines, each with its newline. */
struct block {
    char *text;
    size_t bytes;
    size_t lines;
};

/* A part of a block for one thread: lines from first_line on. */
struct piece {
    const char *begin, *end;
    size_t first_line;
    size_t bad_line; /* the first line that is not a number of the type; SIZE_MAX: none */
    const char *bad_text;
    size_t bad_bytes;
    enum number_status status;
};

static bool text_recognises(const unsigned char *head, size_t bytes)
{
    static const char characters[] = "0123456789+-.abcdefABCDEFxXpPinfatyINFATY() \t\n\r\v\f";
    bool is_of_numbers[256] = {false};
    for (const char *c = characters; *c != 0; ++c)
        is_of_numbers[(unsigned char)*c] = true;
    for (size_t i = 0; i < bytes; ++i)
        if (!is_of_numbers[head[i]])
            return false;
    return true;
}

static bool text_read_header(struct reader *reader, struct error *error)
{
    struct layout *layout = &reader->layout;
    reader->is_type_assumed = layout->type == NULL;
    if (reader->is_type_assumed)
        layout->type = &key_types[KEY_TYPE_f64];
    layout->endian = ENDIAN_LITTLE;
    layout->count = COUNT_UNKNOWN;
    (void)error;
    return true;
}

/* Returns the bytes of the first `lines` lines of text[0..bytes), which has more lines. */
static size_t bytes_of_lines(const char *text, size_t bytes, size_t lines)
{
    const char *p = text;
    for (; lines > 0; --lines)
        p = (const char *)memchr(p, '\n', bytes - (size_t)(p - text)) + 1;
    return (size_t)(p - text);
}

/* Moves the next whole lines, at most `room`, from the source to the end of the block; none at the
 * end of the source. The last line of a source may lack its newline. */
static bool take_lines(const struct reader *reader, size_t room, struct block *block,
                       struct error *error)
{
    const unsigned char *data;
    size_t bytes, got;
    if (!source_peek(reader->source, SOURCE_PEEK_MAX, &data, &bytes, error))
        return false;
    if (bytes == 0)
        return true;
    const bool is_end = bytes < SOURCE_PEEK_MAX;
    bytes = is_end ? bytes : SOURCE_PEEK_MAX;
    const char *const text = (const char *)data;
    const char *const newline = memrchr(text, '\n', bytes);
    if (newline == NULL && !is_end) /* an error of the next call, if the block has lines */
        return block->lines > 0 ||
               line_error_set_too_long(error, source_name(reader->source),
                                       reader->keys_before + reader->keys_read + 1);
    const bool is_cut = newline == NULL;
    size_t take = is_cut ? bytes : (size_t)(newline - text) + 1;
    size_t lines = is_cut ? 1 : bytes_count(text, take, '\n');
    if (lines > room) {
        lines = room;
        take = bytes_of_lines(text, take, room);
    }
    if (!source_read(reader->source, block->text + block->bytes, take, &got, error))
        return false;
    block->bytes += got;
    if (is_cut)
        block->text[block->bytes++] = '\n';
    block->lines += lines;
    return true;
}

/* Fills the block with up to `room` lines; none at the end of the source. */
static bool fill_block(const struct reader *reader, size_t room, struct block *block,
                       struct error *error)
{
    size_t before;
    do {
        before = block->lines;
        if (!take_lines(reader, room - block->lines, block, error))
            return false;
    } while (block->lines > before && block->lines < room &&
             block->bytes <= BLOCK_BYTES - SOURCE_PEEK_MAX);
    return true;
}

/* Returns true for a 64-bit integer, written only in decimal or hexadecimal digits, that no f64
 * equals. Such integers are usually identifiers; other numbers are already rounded, or have a point
 * or an exponent. bits: the rounded number. */
static bool is_rounded(const char *text, size_t length, uint64_t bits)
{
    double rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    if (!(rounded >= 0x1p53 || rounded <= -0x1p53))
        return false;
    const bool is_hexadecimal = memchr(text, 'x', length) || memchr(text, 'X', length);
    for (size_t i = 0; i < length; ++i)
        if (strchr(is_hexadecimal ? ".pP" : ".eE", text[i]) != NULL)
            return false;
    const bool is_negative = rounded < 0;
    uint64_t whole;
    if (number_parse(&key_types[is_negative ? KEY_TYPE_i64 : KEY_TYPE_u64], text, length, &whole) !=
        NUMBER_OK)
        return false;
    return is_negative ? (__int128)rounded != (int64_t)whole : (__int128)rounded != whole;
}

static void parse_piece(struct piece *piece, const struct reader *reader, unsigned char *items)
{
    const uint64_t begin_ns = trace_begin();
    const struct key_type *const type = reader->layout.type;
    const size_t item_bytes = type->bytes;
    size_t line = piece->first_line;
    piece->bad_line = SIZE_MAX;
    for (const char *p = piece->begin; p < piece->end; ++line) {
        const char *const newline = memchr(p, '\n', (size_t)(piece->end - p));
        const size_t bytes = (size_t)(newline - p);
        uint64_t bits;
        enum number_status status = number_parse(type, p, bytes, &bits);
        if (reader->is_type_assumed && status == NUMBER_OK && is_rounded(p, bytes, bits))
            status = NUMBER_ROUNDED;
        if (status != NUMBER_OK) {
            piece->bad_line = line;
            piece->bad_text = p;
            piece->bad_bytes = bytes;
            piece->status = status;
            return;
        }
        memcpy(items + line * item_bytes, &bits, item_bytes);
        p = newline + 1;
    }
    trace_end(TRACE_PARSE, begin_ns, (uint64_t)(piece->end - piece->begin));
    tap_observe(reader->tap, items + piece->first_line * item_bytes,
                (line - piece->first_line) * item_bytes);
}

static void cut_block(const struct block *block, struct piece *pieces, size_t count)
{
    const char *const end = block->text + block->bytes, *begin = block->text;
    for (size_t i = 0; i < count; ++i) {
        const char *cut = block->text + block->bytes / count * (i + 1);
        if (i + 1 == count)
            cut = end;
        else
            cut = (const char *)memchr(cut, '\n', (size_t)(end - cut)) + 1;
        pieces[i].begin = begin;
        pieces[i].end = begin = cut > begin ? cut : begin;
    }
}

/* Sets *lines to the number of lines before the first one that is not a number. */
static bool parse_block(const struct reader *reader, const struct block *block,
                        struct piece *pieces, size_t count, void *items, size_t *lines,
                        struct error *error)
{
    cut_block(block, pieces, count);
#pragma omp parallel for schedule(static, 1) num_threads((int)count)
    for (size_t i = 0; i < count; ++i)
        pieces[i].first_line =
            bytes_count(pieces[i].begin, (size_t)(pieces[i].end - pieces[i].begin), '\n');
    for (size_t i = 0, line = 0; i < count; ++i) {
        const size_t piece_lines = pieces[i].first_line;
        pieces[i].first_line = line;
        line += piece_lines;
    }
#pragma omp parallel for schedule(static, 1) num_threads((int)count)
    for (size_t i = 0; i < count; ++i)
        parse_piece(&pieces[i], reader, items);
    for (const struct piece *piece = pieces; piece < pieces + count; ++piece) {
        if (piece->bad_line == SIZE_MAX)
            continue;
        *lines = piece->bad_line;
        return line_error_set(
            error, source_name(reader->source), source_command_note(reader->source),
            reader->keys_before + reader->keys_read + piece->bad_line + 1, piece->bad_text,
            piece->bad_bytes, piece->status, reader->layout.type);
    }
    *lines = block->lines;
    return true;
}

static bool text_read_keys(struct reader *reader, void *items, size_t capacity, size_t *count,
                           struct error *error)
{
    const size_t threads = (size_t)omp_get_max_threads();
    struct block block = {malloc(BLOCK_BYTES + 1), 0, 0};
    struct piece *pieces = malloc(threads * sizeof *pieces);
    bool is_read = false;
    *count = 0;
    TRY((block.text && pieces) ||
        error_set(error, "%s: no memory to read it", source_name(reader->source)));
    TRY(fill_block(reader, capacity, &block, error));
    size_t useful = block.bytes / PIECE_BYTES + 1;
    useful = useful < threads ? useful : threads;
    is_read = parse_block(reader, &block, pieces, useful, items, count, error);
    reader->keys_read += *count;
done:
    free(pieces);
    free(block.text);
    return is_read;
}

static uint64_t text_file_bytes(const struct layout *layout)
{
    (void)layout;
    return SIZE_UNKNOWN;
}

/* Numbers to write. A piece has as many of them as certainly fit a buffer. */
struct numbers {
    const struct key_type *type;
    bool is_big_endian;
    const unsigned char *items;
    size_t count;
    struct tap *tap; /* observes them; may be NULL */
};

#define PIECE_ITEMS (SINK_BUFFER_BYTES / (NUMBER_TEXT_MAX + 1))

static uint64_t load_number(const struct numbers *numbers, size_t index)
{
    const size_t bytes = numbers->type->bytes;
    const unsigned char *const item = numbers->items + index * bytes;
    uint64_t bits = 0;
    memcpy(&bits, item, bytes);
    return numbers->is_big_endian ? key_bits_swap_bytes(8 * (unsigned)bytes, bits) : bits;
}

static bool format_piece(const void *context, size_t piece, size_t *position, unsigned char *buffer,
                         size_t *bytes)
{
    (void)position;
    const struct numbers *const numbers = context;
    const size_t first = piece * PIECE_ITEMS;
    const size_t left = numbers->count - first;
    const size_t end = first + (left < PIECE_ITEMS ? left : PIECE_ITEMS);
    char *out = (char *)buffer;
    tap_observe(numbers->tap, numbers->items + first * numbers->type->bytes,
                (end - first) * numbers->type->bytes);
    for (size_t i = first; i < end; ++i) {
        out += number_format(numbers->type, load_number(numbers, i), out);
        *out++ = '\n';
    }
    *bytes = (size_t)((unsigned char *)out - buffer);
    return true;
}

static bool text_write_keys(struct sink *sink, const struct layout *layout, const void *items,
                            size_t count, struct tap *tap, struct error *error)
{
    const struct numbers numbers = {layout->type, layout->endian == ENDIAN_BIG, items, count, tap};
    const struct piece_maker maker = {
        .context = &numbers,
        .pieces = count / PIECE_ITEMS + (count % PIECE_ITEMS != 0),
        .threads = (unsigned)omp_get_max_threads(),
        .make = format_piece,
    };
    return piece_writer_run(&maker, sink, error);
}

const struct format format_text = {
    .name = "text",
    .summary = "one number a line, decimal or hexadecimal; any lines with -g, -h, -k or -n",
    .extensions = text_extensions,
    .recognises = text_recognises,
    .read_header = text_read_header,
    .read_keys = text_read_keys,
    .file_bytes = text_file_bytes,
    .write_header = format_write_no_header,
    .write_keys = text_write_keys,
};
