/* SPDX-License-Identifier: Apache-2.0 */
/* merge_input.c - see merge_steps.h. */
#include "formats/merge/merge_steps.h"

#include "core/byte_words.h"
#include "core/host_limits.h"
#include "formats/lines/line_error.h"

#include <stdlib.h>
#include <string.h>

/* ---- Blocks of lines ---- */

/* Opens an empty block on the source, which the caller owns. */
static bool line_block_open(struct line_block *block, struct source *source, char terminator,
                            size_t capacity, struct error *error)
{
    *block = (struct line_block){.source = source, .terminator = terminator, .capacity = capacity};
    text_check_start(&block->read);
    block->text = malloc(capacity + MERGE_SLACK_BYTES);
    return block->text || error_set(error, "%s: no memory to read it", source_name(source));
}

/* Bytes by which the blocks of this process have grown. */
static size_t all_grown;

/* Adds `more` bytes to those by which blocks have grown, if memory holds them all. */
static bool claim_memory(const struct line_block *block, size_t more)
{
    const size_t grown = __atomic_add_fetch(&all_grown, more, __ATOMIC_RELAXED);
    if (memory_holds(grown + block->capacity - block->grown))
        return true;
    __atomic_fetch_sub(&all_grown, more, __ATOMIC_RELAXED);
    return false;
}

/* Doubles the block, or makes it as much larger as memory holds, by about an eighth at least. */
static bool grow_block(struct line_block *block, struct error *error)
{
    size_t more = block->capacity <= SIZE_MAX / 4 ? block->capacity : 0;
    while (more > block->capacity / 8 && !claim_memory(block, more))
        more /= 2;
    char *const text = more > block->capacity / 8
                           ? realloc(block->text, block->capacity + more + MERGE_SLACK_BYTES)
                           : NULL;
    if (!text)
        return line_error_set_no_memory(error, source_name(block->source),
                                        block->filled - block->bytes);
    block->text = text;
    block->capacity += more;
    block->grown += more;
    return true;
}

/* Releases the memory that was added and is not used, after the last line was read. */
static void shrink_block(struct line_block *block)
{
    const size_t opened = block->capacity - block->grown;
    const size_t least = block->filled > opened ? block->filled : opened;
    char *const text = realloc(block->text, least + MERGE_SLACK_BYTES);
    if (!text)
        return;
    __atomic_fetch_sub(&all_grown, block->capacity - least, __ATOMIC_RELAXED);
    block->grown -= block->capacity - least;
    block->capacity = least;
    block->text = text;
}

/* Fills the block, except for the byte that a missing last terminator may need. */
static bool read_block(struct line_block *block, struct error *error)
{
    const size_t want = block->capacity - block->filled - 1;
    size_t got;
    char *const target = block->text + block->filled;
    text_check_begin_chunk(&block->read, block->text, block->position);
    if (!source_read_observed(block->source, target, want, &block->read.tap, &got, error))
        return false;
    const char *const found = memrchr(target, block->terminator, got);
    block->filled += got;
    block->ended = got < want;
    if (found)
        block->bytes = (size_t)(found - block->text) + 1;
    if (block->ended && block->filled > block->bytes) {
        block->text[block->filled] = block->terminator;
        check_sum_add(&block->read.sum,
                      text_check_sum(block->position + block->filled, &block->terminator, 1));
        block->bytes = ++block->filled;
    }
    return true;
}

/* Drops the first `drop` bytes, which are whole lines, moves the rest to the front and reads until
 * the block is full. Afterwards there is at least one new line after the kept lines, unless the
 * source has ended. A last line without a terminator gets one.
 *
 * The next refill comes after a round was merged and written, and reads at most as much again.
 * Meanwhile the disk reads this text if it is of a run: the merge of 1.15 GB of lines of 160 bytes
 * in eight runs, most of them not in the page cache, took 4.2 to 4.9 s, and 4.3 to 6.2 s without
 * (medians of five sets in turns, two busy Zen 3 cores, a disk of 1 GB/s with read-ahead of 128
 * KiB, 2026-11). */
static bool line_block_refill(struct line_block *block, size_t drop, struct error *error)
{
    block->bytes -= drop;
    block->filled -= drop;
    block->position += drop;
    memmove(block->text, block->text + drop, block->filled);
    const size_t kept = block->bytes;
    while (!block->ended && block->bytes == kept) {
        const bool is_full = block->filled + 1 == block->capacity;
        if ((is_full || kept >= block->capacity / 2) && !grow_block(block, error))
            return false;
        if (!read_block(block, error))
            return false;
    }
    if (block->ended && block->grown > 0)
        shrink_block(block);
    source_prefetch(block->source, block->capacity);
    return true;
}

/* ---- Text ---- */

bool merge_input_open(struct merge_input *input, struct source *source, char terminator,
                      size_t bytes, struct error *error)
{
    const size_t text_bytes = bytes / 3 > 0 ? bytes / 3 : 1;
    input->item_room = text_bytes * 2 / sizeof *input->items + 1;
    input->items = malloc(input->item_room * sizeof *input->items);
    if (!input->items)
        return error_set(error, "%s: no memory to merge it", source_name(source));
    return line_block_open(&input->block, source, terminator, text_bytes, error);
}

void merge_input_close(struct merge_input *input)
{
    __atomic_fetch_sub(&all_grown, input->block.grown, __ATOMIC_RELAXED);
    free(input->block.text);
    free(input->items);
}

static size_t unmerged_offset(const struct merge_inputs *inputs, const struct merge_input *input)
{
    return input->begin < input->item_count
               ? merge_item_offset(inputs->texts.text_shift, input->items[input->begin])
               : input->scanned;
}

static bool is_wanting_items(const struct merge_input *input)
{
    return merge_input_goes_on(input) && input->item_count - input->begin <= input->item_room / 2;
}

/* Moves the items to the front, and adjusts them to text that will be moved by `drop` bytes. */
static void move_items(const struct merge_inputs *inputs, struct merge_input *input, size_t drop)
{
    const struct key_index by = merge_item(inputs->texts.text_shift, 0, drop, 0, true, 0);
    const size_t count = input->item_count - input->begin;
    for (size_t i = 0; i < count; i++) {
        input->items[i] = input->items[input->begin + i];
        input->items[i].index -= by.index;
    }
    input->begin = 0;
    input->item_count = count;
    input->scanned -= drop;
}

/* Bytes of text whose items a thread makes in one step. Small, because an input that is merged
 * alone has few megabytes in memory, which must keep all threads busy. */
#define PIECE_BYTES ((size_t)128 << 10)

/* Returns true if half of the room for text is free, and there is more to read. */
static bool is_wanting_text(const struct merge_inputs *inputs, const struct merge_input *input)
{
    return !input->block.ended &&
           input->block.bytes - unmerged_offset(inputs, input) <= input->block.capacity / 2;
}

static size_t coming_bytes(const struct merge_inputs *inputs, const struct merge_input *input)
{
    if (!is_wanting_items(input))
        return 0;
    return (is_wanting_text(inputs, input) ? input->block.capacity + unmerged_offset(inputs, input)
                                           : input->block.bytes) -
           input->scanned;
}

/* Returns how many threads are useful: little text is not worth waking others. */
static unsigned count_useful_threads(const struct merge_inputs *inputs)
{
    size_t bytes = 0;
    for (size_t k = 0; k < inputs->texts.active_count; k++)
        bytes += coming_bytes(inputs, &inputs->inputs[inputs->texts.active[k]]);
    const size_t pieces = bytes / PIECE_BYTES + 1;
    return pieces < inputs->threads ? (unsigned)pieces : inputs->threads;
}

/* Reads text if that is wanted, and makes room for items. */
static bool refill_text(const struct merge_inputs *inputs, struct merge_input *input,
                        struct error *error)
{
    const size_t merged = unmerged_offset(inputs, input);
    const bool is_wanting = is_wanting_text(inputs, input);
    if (!is_wanting && input->scanned == input->block.bytes)
        return true; /* all lines have items */
    move_items(inputs, input, is_wanting ? merged : 0);
    return !is_wanting || line_block_refill(&input->block, merged, error);
}

static bool refill_texts(struct merge_inputs *inputs, struct error *error)
{
    bool ok = true;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)inputs->useful_threads)
    for (size_t k = 0; k < inputs->texts.active_count; k++) {
        struct merge_input *const input = &inputs->inputs[inputs->texts.active[k]];
        struct error cause = {0};
        if (is_wanting_items(input) && !refill_text(inputs, input, &cause)) {
#pragma omp critical(merge_inputs_refill_text)
            {
                error_merge(error, &cause);
                ok = false;
            }
        }
    }
    return ok;
}

/* ---- Items ---- */

/* The lines of an input that end in [begin, end) of its block. */
struct piece {
    size_t input;
    size_t begin, end;
    size_t count; /* number of these lines */
    size_t made;  /* number of their items */
    size_t first; /* item of the first of them, before lines that follow others are removed */
    size_t text_begin, text_end; /* offsets of the lines; without lines, of the next one */
    size_t bad_item;             /* the first line that is not a number; SIZE_MAX: none */
    bool is_disordered;
    struct check_sum left_out; /* of lines without an item */
};

/* Cuts the text that gets items into pieces, which may be NULL. Returns how many they are. */
static size_t plan_pieces(const struct merge_inputs *inputs, struct piece *pieces)
{
    size_t count = 0;
    for (size_t k = 0; k < inputs->texts.active_count; k++) {
        const size_t i = inputs->texts.active[k];
        const struct merge_input *const input = &inputs->inputs[i];
        const size_t end = is_wanting_items(input) ? input->block.bytes : 0;
        for (size_t at = input->scanned; at < end; at += PIECE_BYTES, count++)
            if (pieces)
                pieces[count] = (struct piece){.input = i,
                                               .begin = at,
                                               .end = at + smaller(end - at, PIECE_BYTES),
                                               .bad_item = SIZE_MAX};
    }
    return count;
}

static void count_lines(const struct merge_inputs *inputs, struct piece *pieces, size_t count)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)inputs->useful_threads)
    for (size_t i = 0; i < count; i++) {
        const struct line_block *const block = &inputs->inputs[pieces[i].input].block;
        const char *const text = block->text + pieces[i].begin;
        const size_t bytes = pieces[i].end - pieces[i].begin;
        pieces[i].count = bytes_count(text, bytes, block->terminator);
        if (pieces[i].count > 0)
            pieces[i].text_end =
                (size_t)((char *)memrchr(text, block->terminator, bytes) - block->text) + 1;
    }
}

/* Sets where the lines of each piece begin, and which items they get, while there is room. */
static void place_lines(const struct merge_inputs *inputs, struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct merge_input *const input = &inputs->inputs[pieces[i].input];
        const bool is_first = i == 0 || pieces[i - 1].input != pieces[i].input;
        const size_t first =
            is_first ? input->item_count : pieces[i - 1].first + pieces[i - 1].count;
        const size_t room = input->item_room - first;
        pieces[i].first = first;
        pieces[i].text_begin = is_first ? input->scanned : pieces[i - 1].text_end;
        if (pieces[i].count == 0)
            pieces[i].text_end = pieces[i].text_begin;
        pieces[i].count = pieces[i].count < room ? pieces[i].count : room;
    }
}

/* Returns the sum of the lines from the end of `line` up to `end`, which have no items. */
static struct check_sum sum_left_out(const struct line_block *block,
                                     const struct line_with_image *line, const char *end)
{
    const char *const begin = line->text + line->length + 1;
    const uint64_t position = block->position + (size_t)(begin - block->text);
    if (begin == end)
        return (struct check_sum){0, 0};
    return text_check_sum(position, begin, (size_t)(end - begin));
}

/* Makes the items of the piece, up to a line that is not a number. Until one is out of order, each
 * line is compared with the line before it while its key is known; with are_sorted, only the images
 * are. With a unique order, a line that equals the one before gets no item, so that the merge does
 * not read it again. */
static void make_items(const struct merge_inputs *inputs, struct piece *piece)
{
    const struct line_order *const order = inputs->texts.order;
    const struct merge_input *const input = &inputs->inputs[piece->input];
    const char *const text = input->block.text;
    struct key_index *const items = input->items + piece->first;
    size_t offset = piece->text_begin, from = piece->begin; /* the first line ends after it */
    size_t made = 0;
    bool is_disordered = false;      /* not in the piece: another thread uses its cache line */
    struct line_with_image lines[2]; /* this one and the one before that has an item */
    struct check_sum left_out = {0, 0};
    for (size_t k = 0; k < piece->count; k++) {
        struct line_with_image *const line = &lines[made % 2];
        struct line_with_image *const before = &lines[(made + 1) % 2];
        const char *const end =
            memchr(text + from, input->block.terminator, input->block.bytes - from);
        const size_t length = (size_t)(end - text) - offset;
        if (!line_image_make(order, text + offset, length, line)) {
            piece->bad_item = piece->first + k;
            break;
        }
        int found = -1;
        if (made > 0 && !is_disordered) {
            if (!inputs->are_sorted)
                found = line_image_compare(order, before, line);
            else if (before->image > line->image)
                found = 1;
        }
        is_disordered |= found > 0;
        if (found != 0 || !order->unique) {
            if (order->unique && made > 0)
                check_sum_add(&left_out, sum_left_out(&input->block, before, line->text));
            items[made++] = merge_item(inputs->texts.text_shift, piece->input, offset, length,
                                       line->is_exact, line->image);
        }
        offset += length + 1;
        from = offset;
    }
    if (order->unique && made > 0)
        check_sum_add(&left_out,
                      sum_left_out(&input->block, &lines[(made - 1) % 2], text + offset));
    piece->made = made;
    piece->text_end = offset;
    piece->is_disordered = is_disordered;
    piece->left_out = left_out;
}

static void make_all_items(const struct merge_inputs *inputs, struct piece *pieces, size_t count)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)inputs->useful_threads)
    for (size_t i = 0; i < count; i++)
        make_items(inputs, &pieces[i]);
}

static bool refuse_line(const struct merge_inputs *inputs, const struct piece *piece,
                        struct error *error)
{
    const struct merge_input *const input = &inputs->inputs[piece->input];
    const struct line_block *const block = &input->block;
    if (inputs->are_sorted) /* by this job, which refused such lines */
        return sink_fail_proof(inputs->output, "a sorted run was changed after it was written",
                               error);
    const char *const line = block->text + piece->text_end;
    const char *const end = memchr(line, block->terminator, block->bytes - piece->text_end);
    return line_error_set(error, source_name(block->source), source_command_note(block->source),
                          inputs->lines_before + input->lines + piece->bad_item - piece->first + 1,
                          line, (size_t)(end - line), NUMBER_MALFORMED, NULL);
}

/* Appends the items of the piece to the items of the input, except lines that follow another one.
 * If all items before are merged, the piece begins a new sequence. Of inputs that are known to be
 * in order the keys alone are compared: a run may have changed on disk, for which the proof fails,
 * and item_merge() relies on the order of its arrays. */
static void append_items(struct merge_inputs *inputs, struct merge_input *input,
                         const struct piece *piece)
{
    const struct key_index *const items = input->items + piece->first;
    struct key_index *const end = input->items + input->item_count; /* at most `items` */
    const bool goes_on =
        piece->first == 0 ||
        (inputs->are_sorted ? end[-1].key <= items[0].key
                            : merge_item_compare(&inputs->texts, end[-1], items[0]) <= 0);
    if (goes_on && !piece->is_disordered) {
        memmove(end, items, piece->made * sizeof *items);
        input->item_count += piece->made;
        check_sum_add(&inputs->left_out, piece->left_out);
        return;
    }
    /* The line that others follow is measured once: it may be long, and they may be many. A line
     * that make_items() left out follows too: it is compared again when it is merged. So lines that
     * were left out after the last line of the piece before are no longer left out. */
    struct line_with_image last = {0};
    if (input->item_count > 0)
        merge_item_set_line(&inputs->texts, end[-1], &last);
    for (size_t i = 0; i < piece->made; i++) {
        struct line_with_image line;
        merge_item_set_line(&inputs->texts, items[i], &line);
        const bool follows =
            input->item_count > 0 && line_image_compare(inputs->texts.order, &last, &line) > 0;
        const size_t line_end = (size_t)(line.text - input->block.text) + line.length + 1;
        const size_t next = i + 1 < piece->made
                                ? merge_item_offset(inputs->texts.text_shift, items[i + 1])
                                : piece->text_end;
        if (!follows) {
            input->items[input->item_count++] = items[i];
            last = line;
        } else if (i == 0 && (end[-1].index & MERGE_IS_FOLLOWED) == 0) {
            check_sum_subtract(&inputs->left_out, sum_left_out(&input->block, &last, line.text));
        }
        if (follows || line_end < next)
            input->items[input->item_count - 1].index |= MERGE_IS_FOLLOWED;
    }
}

static bool note_pieces(struct merge_inputs *inputs, const struct piece *pieces, size_t count,
                        struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct piece *const piece = &pieces[i];
        struct merge_input *const input = &inputs->inputs[piece->input];
        if (piece->bad_item != SIZE_MAX)
            return refuse_line(inputs, piece, error);
        if (piece->count == 0)
            continue;
        append_items(inputs, input, piece);
        input->lines += piece->count;
        inputs->lines += piece->count;
        inputs->bytes += piece->text_end - input->scanned;
        input->scanned = piece->text_end;
    }
    return true;
}

static bool check_offsets(const struct merge_inputs *inputs, struct error *error)
{
    for (size_t k = 0; k < inputs->texts.active_count; k++) {
        const struct line_block *const block = &inputs->inputs[inputs->texts.active[k]].block;
        if (block->bytes > merge_offset_max(inputs->texts.text_shift))
            return error_set(error,
                             "%s: lines of %zu bytes are too long to be merged with %zu inputs",
                             source_name(block->source), block->bytes, inputs->texts.count);
    }
    return true;
}

static bool make_pieces(struct merge_inputs *inputs, struct error *error)
{
    const size_t count = plan_pieces(inputs, NULL);
    struct piece *const pieces = calloc(count + 1, sizeof *pieces);
    if (!pieces)
        return error_set(error, "no memory to merge %zu inputs", inputs->texts.count);
    (void)plan_pieces(inputs, pieces);
    count_lines(inputs, pieces, count);
    place_lines(inputs, pieces, count);
    make_all_items(inputs, pieces, count);
    const bool ok = note_pieces(inputs, pieces, count, error);
    free(pieces);
    return ok;
}

/* ---- All of it ---- */

static void drop_merged(struct merge_inputs *inputs)
{
    for (size_t k = 0; k < inputs->texts.active_count; k++) {
        const size_t i = inputs->texts.active[k];
        inputs->inputs[i].begin = inputs->texts.texts[i].begin;
    }
}

static void show_texts(struct merge_inputs *inputs)
{
    for (size_t k = 0; k < inputs->texts.active_count; k++) {
        const size_t i = inputs->texts.active[k];
        const struct merge_input *const input = &inputs->inputs[i];
        inputs->texts.texts[i] = (struct merge_text){
            input->block.text, input->items,   input->begin,         input->item_count,
            input->item_count, input->scanned, input->block.position};
    }
}

bool merge_inputs_refill(struct merge_inputs *inputs, struct error *error)
{
    drop_merged(inputs);
    inputs->useful_threads = count_useful_threads(inputs);
    if (!refill_texts(inputs, error) || !check_offsets(inputs, error))
        return false;
    show_texts(inputs); /* lines are compared at their current positions */
    if (!make_pieces(inputs, error))
        return false;
    show_texts(inputs);
    return true;
}

bool merge_input_copy(struct merge_inputs *inputs, struct sink *sink, struct check_sum *sum,
                      struct error *error)
{
    struct line_block *const block = &inputs->inputs->block;
    struct text_check written;
    text_check_start(&written);
    do {
        if (!line_block_refill(block, block->bytes, error))
            return false;
        inputs->lines += bytes_count(block->text, block->bytes, block->terminator);
        inputs->bytes += block->bytes;
        text_check_begin_chunk(&written, block->text, block->position);
        if (!sink_write_observed(sink, block->text, block->bytes, &written.tap, error))
            return false;
    } while (!block->ended);
    check_sum_add(sum, written.sum);
    return true;
}
