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

/* ---- Lines in memory ----
 *
 *   from a line on -> decimal_run: plain decimals are compared by their bytes -> it stops
 *   from there on, and with any other number: some lines are compared by images -> decimal_run
 *   again
 *
 * Bytes are compared with the key of the line before.
 */

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

/* Maximum number of lines that are compared by images before plain decimals are tried again. It
 * begins with one, and doubles each time that decimal_run finds none. */
#define LINES_BY_IMAGES_MAX 64

/* Returns the length of the line at the offset, without the terminator. */
static size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                              size_t offset)
{
    const char *const line = text + offset;
    return (size_t)((const char *)memchr(line, order->terminator, bytes - offset) - line);
}

/* State of the check: at the line at run.offset, after the one at `previous`. */
struct walk {
    const struct line_order *order;
    const char *text;
    size_t bytes;
    size_t previous;
    struct line_run run;
};

/* Checks at most `most` lines. Returns false at a line that is not in order. */
static bool walk_images(struct walk *walk, size_t most)
{
    const struct line_order *const order = walk->order;
    const int highest = order->unique ? -1 : 0; /* greatest result of line_image_compare in order */
    struct line_with_image lines[2] = {{0}};
    struct line_run *const run = &walk->run;
    if (run->offset > 0)
        (void)line_image_make(order, walk->text + walk->previous, run->offset - walk->previous - 1,
                              &lines[1]);
    for (unsigned i = 0; most > 0 && run->offset < walk->bytes; most--, i = !i) {
        const size_t length = line_run_length(order, walk->text, walk->bytes, run->offset);
        if (!line_image_make(order, walk->text + run->offset, length, &lines[i])) {
            run->state = LINE_RUN_NO_NUMBER;
            return false;
        }
        if (run->offset > 0 && line_image_compare(order, &lines[!i], &lines[i]) > highest) {
            run->state = LINE_RUN_DISORDER;
            return false;
        }
        run->lines++;
        walk->previous = run->offset;
        run->offset += length + 1;
    }
    return true;
}

/* As walk_images(), for all lines of an order whose first key is LINE_BYTES. */
static void walk_keys(struct walk *walk)
{
    const struct line_order *const order = walk->order;
    const int highest = order->unique ? -1 : 0; /* greatest result of a comparison in order */
    struct line_with_image lines[2] = {{0}};    /* with their keys, without images */
    struct line_run *const run = &walk->run;
    if (run->offset > 0) {
        lines[1] = (struct line_with_image){.text = walk->text, .length = run->offset - 1};
        line_find_key(order, &lines[1]);
    }
    for (unsigned i = 0; run->offset < walk->bytes; i = !i) {
        const size_t length = line_run_length(order, walk->text, walk->bytes, run->offset);
        lines[i] = (struct line_with_image){.text = walk->text + run->offset, .length = length};
        line_find_key(order, &lines[i]);
        if (run->offset > 0 && line_image_compare_equal(order, &lines[!i], &lines[i]) > highest) {
            run->state = LINE_RUN_DISORDER;
            return;
        }
        run->lines++;
        run->offset += length + 1;
    }
}

/* Checks text[0..bytes), which must be whole lines, up to the first line that sorts before its
 * predecessor. With a unique order equal keys are disorder too. is_first_known: the first line is
 * known to be in order, and is not counted. */
static struct line_run line_run_check(const struct line_order *order, const char *text,
                                      size_t bytes, bool is_first_known)
{
    const bool may_be_decimals = decimal_run_suits(order);
    struct walk walk = {.order = order, .text = text, .bytes = bytes};
    if (is_first_known && bytes > 0)
        walk.run.offset = line_run_length(order, text, bytes, 0) + 1;
    if (order->keys[0].kind == LINE_BYTES) {
        walk_keys(&walk);
        return walk.run;
    }
    size_t most = may_be_decimals ? 1 : SIZE_MAX;
    while (walk.run.offset < bytes && walk_images(&walk, most)) {
        if (!may_be_decimals)
            continue;
        const size_t lines = decimal_run_walk(order, text, bytes, &walk.previous, &walk.run.offset);
        walk.run.lines += lines;
        most = lines > 0 ? 1 : most < LINES_BY_IMAGES_MAX ? most * 2 : most;
    }
    return walk.run;
}

/* ---- The source ---- */

/* Bytes of a piece, which fits the L2 cache of a core. Large, so that threads rarely wait for
 * turns. */
#define PIECE_BYTES ((size_t)256 << 10)

/* A seam of up to this size is certainly held by the memory, whose size is not looked up then: that
 * means reading a dozen files. */
#define SEAM_BYTES ((size_t)1 << 20)

/* The end of the joined text, and the text that is joined to it: whole lines and the beginning of
 * one. */
struct seam {
    char *text; /* owned */
    size_t bytes, capacity;
    bool is_known; /* its first line is whole and known to be in order */
};

/* State shared by the threads. */
struct checking {
    struct source *source;
    const struct line_order *order;
    uint64_t lines_before;
    bool has_places;         /* threads read by position */
    pthread_mutex_t reading; /* protects `taken` and `is_read`, and a source without positions */
    uint64_t taken;          /* number of pieces */
    bool is_read;            /* a source without positions was read to its end or to an error */
    struct counter joined;   /* number of pieces; the thread of the next one may use the rest */
    _Atomic bool has_ended;  /* no more is joined after the end, a disorder or an error */
    struct seam seam;
    struct lines_check *check;
    struct error *error;
};

/* A piece of the source, and the result of its check. */
struct piece {
    uint64_t number;
    char *text; /* owned: PIECE_BYTES and the readable bytes after them */
    size_t bytes;
    size_t begin, end;   /* of its whole lines; equal if there are none */
    struct line_run run; /* of these lines; the seam compares the first one, which is not counted */
    struct error error;
};

/* ---- A piece ---- */

static bool read_piece(struct checking *checking, struct piece *piece)
{
    if (!piece->text)
        piece->text = malloc(PIECE_BYTES + DECIMAL_RUN_SLACK_BYTES);
    if (!piece->text)
        return error_set(&piece->error, "%s: no memory to check it", source_name(checking->source));
    return checking->has_places
               ? source_read_at(checking->source, piece->number * PIECE_BYTES, piece->text,
                                PIECE_BYTES, &piece->bytes, &piece->error)
               : source_read(checking->source, piece->text, PIECE_BYTES, &piece->bytes,
                             &piece->error);
}

/* Takes the next piece and reads it. Returns false if reading fails. */
static bool take_piece(struct checking *checking, struct piece *piece)
{
    bool ok = true;
    piece->bytes = 0;
    pthread_mutex_lock(&checking->reading);
    piece->number = checking->taken++;
    if (!checking->has_places && !checking->is_read && !checking->has_ended) {
        ok = read_piece(checking, piece);
        checking->is_read = !ok || piece->bytes < PIECE_BYTES;
    }
    pthread_mutex_unlock(&checking->reading);
    return checking->has_places ? read_piece(checking, piece) : ok;
}

/* Checks the lines that are whole in the piece. */
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
    const size_t need = seam->bytes + bytes + DECIMAL_RUN_SLACK_BYTES;
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

/* Counts the lines of a run. Returns false if it ended at a line out of order, which is kept or is
 * an error. */
static bool take_run(struct checking *checking, const struct line_run *run, const char *text,
                     size_t bytes)
{
    struct lines_check *const check = checking->check;
    check->lines += run->lines;
    if (run->state == LINE_RUN_IN_ORDER)
        return true;
    const char *const line = text + run->offset;
    const size_t length = line_run_length(checking->order, text, bytes, run->offset);
    if (run->state == LINE_RUN_NO_NUMBER)
        return line_error_set(checking->error, source_name(checking->source),
                              checking->lines_before + check->lines + 1, line, length,
                              NUMBER_MALFORMED, NULL);
    check->text = malloc(length + 1);
    if (!check->text)
        return error_set(checking->error, "no memory for the line that is out of order");
    check->is_disordered = true;
    check->length = length;
    memcpy(check->text, line, length);
    return false;
}

/* Checks the seam, which has whole lines now. */
static bool check_seam(struct checking *checking)
{
    struct seam *const seam = &checking->seam;
    const struct line_run run =
        line_run_check(checking->order, seam->text, seam->bytes, seam->is_known);
    seam->is_known = true;
    return take_run(checking, &run, seam->text, seam->bytes);
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
    if (!seam_append(checking, piece->text, piece->begin + first) || !check_seam(checking) ||
        !take_run(checking, &piece->run, lines, bytes))
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

/* Checks the last line if it has no terminator. */
static bool join_end(struct checking *checking)
{
    const struct seam *const seam = &checking->seam;
    const char terminator = checking->order->terminator;
    if (seam->bytes == 0 || seam->text[seam->bytes - 1] == terminator)
        return true;
    checking->check->bytes++;
    return seam_append(checking, &terminator, 1) && check_seam(checking);
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

/* Waits for the piece's turn and joins it. Returns false if no more pieces are needed. */
static bool join_in_turn(struct checking *checking, const struct piece *piece)
{
    counter_await(&checking->joined, piece->number);
    const bool has_ended = checking->has_ended || !join(checking, piece);
    checking->has_ended = has_ended;
    counter_raise(&checking->joined, piece->number + 1);
    return !has_ended;
}

/* The work of a thread. */
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
    const uint64_t pieces = source_bytes_left(source) / PIECE_BYTES + 1;
    struct checking checking = {.source = source,
                                .order = order,
                                .lines_before = lines_before,
                                .has_places = source_has_places(source),
                                .reading = PTHREAD_MUTEX_INITIALIZER,
                                .check = check,
                                .error = error};
    counter_start(&checking.joined);
    *check = (struct lines_check){0};
#pragma omp parallel num_threads((int)(pieces < threads ? pieces : threads))
    check_pieces(&checking);
    free(checking.seam.text);
    return !error->is_set;
}
