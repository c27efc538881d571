/* SPDX-License-Identifier: Apache-2.0 */
/* lines_check.c - see lines_check.h.
 *
 *   source -> pieces of PIECE_BYTES, cut anywhere -> threads: lines that are whole in a piece
 *                                      |
 *               the rest at both ends of each piece, in order -> the seam: lines across pieces
 *
 * A thread reads a piece into its own memory and checks it while it is in its cache, as other
 * threads read on. If the source is a plain file, each thread reads at the position of its piece.
 * Any other source is read by one thread after another. Then the threads join their pieces in
 * order:
 *
 *   ... line | line | li    ne | line | line | ... | line | line | li    ne | line ...
 *              `-- the seam --'  `- checked before by the thread -'
 *
 * The seam begins with the last line that was joined, whole, followed by the text after it.
 * Together with the first line of the next piece it is checked like any text. So each line is
 * compared with its predecessor once, and the first error found is the first one in the source.
 */
#include "formats/check/lines_check.h"

#include "core/host_limits.h"
#include "core/threads.h"
#include "formats/lines/line_compare.h"
#include "formats/lines/line_error.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lines in memory ---- */

enum line_run_state {
    LINE_RUN_IN_ORDER,
    LINE_RUN_DISORDER, /* a line sorts before its predecessor */
    LINE_RUN_NO_NUMBER /* a line is not the number that LINE_STRICT requires */
};

struct line_run {
    enum line_run_state state;
    size_t lines;  /* number of lines found in order */
    size_t offset; /* offset of the first line out of order, or of one that is not a number */
};

/* Returns the length of the line at the offset, without the terminator. */
static size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                              size_t offset)
{
    const char *const line = text + offset;
    return (size_t)((const char *)memchr(line, order->terminator, bytes - offset) - line);
}

/* ---- Lines in order ---- */

/* Reads the first key of a line whose text is set. Returns false if it is not the number that
 * LINE_STRICT requires. A line is compared only with its neighbours, so an image of bytes would
 * cost more than it saves. */
static inline bool read_key(const struct line_order *order, struct line_with_image *line)
{
    if (order->keys[0].kind != LINE_BYTES)
        return line_image_make(order, line->text, line->length, line);
    line->key.text = NULL;
    line_find_key(order, line);
    return true;
}

/* Returns true if the text up to `end` begins with the same line again. Lines of the same length
 * that differ mostly differ in the last byte too. */
static inline bool is_same_line(const struct line_order *order, const struct line_with_image *line,
                                const char *text, const char *end)
{
    const size_t length = line->length;
    return length < (size_t)(end - text) && text[length] == order->terminator &&
           (length == 0 || text[length - 1] == line->text[length - 1]) &&
           memcmp(line->text, text, length) == 0;
}

/* Checks text[0..bytes), which must be whole lines, up to the first line that sorts before its
 * predecessor. With a unique order equal keys are disorder too. is_first_known: the first line is
 * known to be in order, and is not counted. */
static struct line_run line_run_check(const struct line_order *order, const char *text,
                                      size_t bytes, bool is_first_known)
{
    const int highest = order->unique ? -1 : 0; /* greatest result of a comparison in order */
    struct line_with_image lines[2] = {{0}};
    struct line_run run = {0};
    const char *const end = text + bytes;
    for (unsigned i = 0; run.offset < bytes; i = !i) {
        struct line_with_image *const line = &lines[i], *const before = &lines[!i];
        line->text = text + run.offset;
        if (run.offset > 0 && !order->unique && is_same_line(order, before, line->text, end)) {
            line->length = before->length;
            i = !i; /* the line before stays, with its key */
        } else {
            line->length = line_run_length(order, text, bytes, run.offset);
            if (!read_key(order, line))
                run.state = LINE_RUN_NO_NUMBER;
            else if (run.offset > 0 && line_image_compare(order, before, line) > highest)
                run.state = LINE_RUN_DISORDER;
            if (run.state != LINE_RUN_IN_ORDER)
                break;
        }
        run.lines += run.offset > 0 || !is_first_known;
        run.offset += line->length + 1;
    }
    return run;
}

/* ---- The source ---- */

/* Bytes of a piece, which fits the L2 cache of a core. Large, so that threads rarely wait for
 * turns. */
#define PIECE_BYTES ((size_t)256 << 10)

/* A seam of up to this size certainly fits in memory. So memory_holds() is not called for it, which
 * reads a dozen files. */
#define SEAM_BYTES ((size_t)1 << 20)

/* The end of the joined text, and the text that is joined to it: whole lines and the beginning of
 * one. */
struct seam {
    char *text; /* owned */
    size_t bytes, capacity;
    bool is_known; /* its first line is whole and known to be in order */
};

struct checking {
    struct source *source;
    const struct line_order *order;
    uint64_t lines_before;
    bool reads_at_positions; /* threads read by position */
    pthread_mutex_t reading; /* protects `taken` and `is_read`, and a source without positions */
    uint64_t taken;          /* number of pieces */
    bool is_read;            /* a source without positions was read to its end or to an error */
    struct counter joined;   /* number of pieces; the next one's thread may use the fields below */
    _Atomic bool has_ended;  /* no more is joined after the end, a disorder or an error */
    struct seam seam;
    struct lines_check *check;
    struct error *error;
};

/* A piece of the source, and the result of its check. */
struct piece {
    uint64_t number;
    char *text; /* owned: PIECE_BYTES */
    size_t bytes;
    size_t begin, end;   /* of its whole lines; equal if there are none */
    struct line_run run; /* of these lines; the seam compares the first one, which is not counted */
    struct error error;
};

/* ---- A piece ---- */

static bool read_piece(struct checking *checking, struct piece *piece)
{
    if (!piece->text)
        piece->text = malloc(PIECE_BYTES);
    if (!piece->text)
        return error_set(&piece->error, "%s: no memory to check it", source_name(checking->source));
    return checking->reads_at_positions
               ? source_read_at(checking->source, piece->number * PIECE_BYTES, piece->text,
                                PIECE_BYTES, &piece->bytes, &piece->error)
               : source_read(checking->source, piece->text, PIECE_BYTES, &piece->bytes,
                             &piece->error);
}

static bool take_piece(struct checking *checking, struct piece *piece)
{
    bool ok = true;
    piece->bytes = 0;
    pthread_mutex_lock(&checking->reading);
    piece->number = checking->taken++;
    if (!checking->reads_at_positions && !checking->is_read && !checking->has_ended) {
        ok = read_piece(checking, piece);
        checking->is_read = !ok || piece->bytes < PIECE_BYTES;
    }
    pthread_mutex_unlock(&checking->reading);
    return checking->reads_at_positions ? read_piece(checking, piece) : ok;
}

static void check_piece(const struct checking *checking, struct piece *piece)
{
    const char terminator = checking->order->terminator;
    piece->begin = piece->end = 0;
    piece->run = (struct line_run){.state = LINE_RUN_IN_ORDER};
    if (piece->bytes == 0) /* after the end; `text` may be NULL */
        return;
    const char *const first = memchr(piece->text, terminator, piece->bytes);
    if (!first)
        return;
    const char *const last = memrchr(piece->text, terminator, piece->bytes);
    piece->begin = (size_t)(first - piece->text) + 1;
    piece->end = (size_t)(last - piece->text) + 1;
    piece->run = line_run_check(checking->order, piece->text + piece->begin,
                                piece->end - piece->begin, true);
}

/* ---- The seam ---- */

static bool seam_append(struct checking *checking, const char *text, size_t bytes)
{
    struct seam *const seam = &checking->seam;
    const size_t need = seam->bytes + bytes;
    if (bytes == 0) /* `text` may be NULL, and so may the seam */
        return true;
    if (need > seam->capacity) {
        const size_t capacity = need > 2 * seam->capacity ? need : 2 * seam->capacity;
        const bool is_held = need <= SEAM_BYTES || memory_holds(need);
        char *const grown = is_held ? realloc(seam->text, capacity) : NULL;
        if (!grown)
            return line_error_set_no_memory(checking->error, source_name(checking->source),
                                            seam->bytes);
        seam->text = grown;
        seam->capacity = capacity;
    }
    memcpy(seam->text + seam->bytes, text, bytes);
    seam->bytes += bytes;
    return true;
}

/* Counts the lines of a run. Returns false if it ended at a line out of order, which is kept, or at
 * one that is not a number, which is an error. rest: bytes that were read after text[0..bytes). */
static bool take_run(struct checking *checking, const struct line_run *run, const char *text,
                     size_t bytes, size_t rest)
{
    struct lines_check *const check = checking->check;
    check->lines += run->lines;
    if (run->state == LINE_RUN_IN_ORDER)
        return true;
    const char *const line = text + run->offset;
    const size_t length = line_run_length(checking->order, text, bytes, run->offset);
    if (run->state == LINE_RUN_NO_NUMBER)
        return line_error_set(
            checking->error, source_name(checking->source), source_command_note(checking->source),
            checking->lines_before + check->lines + 1, line, length, NUMBER_MALFORMED, NULL);
    check->text = malloc(length + 1);
    if (!check->text)
        return error_set(checking->error, "no memory for the line that is out of order");
    check->is_disordered = true;
    check->rest_bytes = bytes - run->offset + rest;
    check->length = length;
    memcpy(check->text, line, length);
    return false;
}

/* Checks the seam, which has whole lines now. rest: bytes that were read after it. */
static bool check_seam(struct checking *checking, size_t rest)
{
    struct seam *const seam = &checking->seam;
    const struct line_run run =
        line_run_check(checking->order, seam->text, seam->bytes, seam->is_known);
    seam->is_known = true;
    return take_run(checking, &run, seam->text, seam->bytes, rest);
}

/* Returns the offset of the last of these lines. */
static size_t last_line(const char *text, size_t bytes, char terminator)
{
    const char *const found = memrchr(text, terminator, bytes - 1);
    return found ? (size_t)(found - text) + 1 : 0;
}

/* Joins a piece to the pieces before it. Returns false if that ends the check. */
static bool join_piece(struct checking *checking, const struct piece *piece)
{
    const char terminator = checking->order->terminator;
    const char *const lines = piece->text + piece->begin;
    const size_t bytes = piece->end - piece->begin;
    struct seam *const seam = &checking->seam;
    checking->check->bytes += piece->bytes;
    if (piece->end == 0) /* no line ends in it */
        return seam_append(checking, piece->text, piece->bytes);
    const size_t first = bytes > 0 ? line_run_length(checking->order, lines, bytes, 0) + 1 : 0;
    if (!seam_append(checking, piece->text, piece->begin + first) ||
        !check_seam(checking, piece->bytes - piece->begin - first) ||
        !take_run(checking, &piece->run, lines, bytes, piece->bytes - piece->end))
        return false;
    if (bytes > 0) {
        const size_t last = last_line(lines, bytes, terminator);
        seam->bytes = 0;
        return seam_append(checking, lines + last, piece->bytes - piece->begin - last);
    }
    const size_t last = last_line(seam->text, seam->bytes, terminator);
    seam->bytes -= last;
    memmove(seam->text, seam->text + last, seam->bytes);
    return seam_append(checking, piece->text + piece->end, piece->bytes - piece->end);
}

static bool join_end(struct checking *checking)
{
    const struct seam *const seam = &checking->seam;
    const char terminator = checking->order->terminator;
    if (seam->bytes == 0 || seam->text[seam->bytes - 1] == terminator)
        return true;
    checking->check->bytes++;
    return seam_append(checking, &terminator, 1) && check_seam(checking, 0);
}

/* Joins a piece. Returns false if it ends the check or is the last one. A piece that is not full is
 * the last one, even if later pieces were read, because a file may grow meanwhile. */
static bool join(struct checking *checking, const struct piece *piece)
{
    if (piece->error.is_set) {
        error_merge(checking->error, &piece->error);
        return false;
    }
    if (!join_piece(checking, piece))
        return false;
    if (piece->bytes == PIECE_BYTES)
        return true;
    (void)join_end(checking);
    return false;
}

/* ---- The threads ---- */

static bool join_in_turn(struct checking *checking, const struct piece *piece)
{
    counter_await(&checking->joined, piece->number);
    const bool has_ended = checking->has_ended || !join(checking, piece);
    checking->has_ended = has_ended;
    counter_raise(&checking->joined, piece->number + 1);
    return !has_ended;
}

static void check_pieces(struct checking *checking)
{
    struct piece piece = {0};
    do {
        if (take_piece(checking, &piece))
            check_piece(checking, &piece);
    } while (join_in_turn(checking, &piece));
    free(piece.text);
}

bool lines_check(struct source *source, const struct line_order *order, uint64_t lines_before,
                 unsigned threads, struct lines_check *check, struct error *error)
{
    const uint64_t left = source_stop_and_get_left(source), pieces = left / PIECE_BYTES + 1;
    struct checking checking = {.source = source,
                                .order = order,
                                .lines_before = lines_before,
                                .reads_at_positions = source_can_read_at(source),
                                .reading = PTHREAD_MUTEX_INITIALIZER,
                                .check = check,
                                .error = error};
    counter_start(&checking.joined);
    *check = (struct lines_check){0};
#pragma omp parallel num_threads((int)(pieces < threads ? pieces : threads))
    check_pieces(&checking);
    free(checking.seam.text);
    if (error->is_set || !checking.reads_at_positions)
        return !error->is_set;
    /* The file's own offset moves too, which the next command may read from. */
    return source_check_end(source, error) &&
           source_narrow(source, check->bytes < left ? check->bytes : left, 0, error);
}
