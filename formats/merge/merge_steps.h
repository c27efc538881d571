/* SPDX-License-Identifier: Apache-2.0 */
/* merge_steps.h - the steps of a merge, for lines_merge.c:
 *
 *   merge_input.c   reads some text of each input, and makes the items of its lines
 *   merge_cut.c     cuts the texts into ranges that can be merged independently
 *   merge_round.c   merges the texts into one, with several threads
 */
#ifndef FORMATS_MERGE_STEPS_H
#define FORMATS_MERGE_STEPS_H

#include "core/backend.h"
#include "core/check/check.h"
#include "core/error.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"
#include "formats/lines/line_compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Texts: the lines to merge, from several texts in memory, with an item for each ----
 *
 * An item's key is the image of its line (line_compare.h). Its index has, from the top: the line's
 * text, its offset there, its approximate length, whether other lines follow it, and whether its
 * key is inexact. So the items of a text are in the order of its lines, and of equal keys the items
 * of the first text come first.
 *
 * A line that belongs before an earlier line of its text has no item: it follows that line. A merge
 * that takes the least of the next lines of all texts, as sort -m does, takes it right after that
 * line, because no other line comes before it. So the items of any text are in order. With a unique
 * order, most lines that equal the line before them in their text are left out: they have no item.
 */

/* The length in an item: its first 10 bits, and how many groups of three bits after them are
 * omitted. So the end of a long line is searched only in the last 128th of it, and that of a short
 * line not at all. */
#define MERGE_LENGTH_BITS 10
#define MERGE_THREES_BITS 4

#define MERGE_IS_FOLLOWED ((uint64_t)1 << 1)
#define MERGE_LENGTH_SHIFT 2
#define MERGE_OFFSET_SHIFT (MERGE_LENGTH_SHIFT + MERGE_THREES_BITS + MERGE_LENGTH_BITS)

/* Readable bytes after the lines of a text; their values do not matter. */
#define MERGE_SLACK_BYTES ((size_t)32)

/* Lines of a text; borrowed. */
struct merge_text {
    const char *text;              /* MERGE_SLACK_BYTES after it are readable */
    const struct key_index *items; /* of all its lines, except those that follow another or are left
                                      out */
    size_t begin, end;             /* items to merge */
    size_t item_count;             /* of all items; some may be after `end` */
    size_t bytes;                  /* of all its lines */
    uint64_t position;             /* position of `text` in its source */
};

struct merge_texts {
    const struct line_order *order;
    bool writes_sources; /* as in lines_merge.h */
    struct merge_text *texts;
    size_t count;
    size_t *active; /* texts with lines to merge now, in any order; the others are ignored */
    size_t active_count;
    unsigned text_shift; /* bits of an index below the number of its text */
};

/* Returns how many bits of an index are below the number of its text, one of `count`. */
static inline unsigned merge_text_shift(size_t count)
{
    return count > 1 ? (unsigned)__builtin_clzll(count - 1) : 63;
}

static inline size_t merge_offset_max(unsigned text_shift)
{
    return ((size_t)1 << (text_shift - MERGE_OFFSET_SHIFT)) - 1;
}

static inline struct key_index merge_item(unsigned text_shift, size_t text, size_t offset,
                                          size_t length, bool is_exact, uint64_t image)
{
    uint64_t threes = 0;
    for (; length >> MERGE_LENGTH_BITS != 0; length >>= 3)
        threes++;
    return (struct key_index){
        (uint64_t)text << text_shift | (uint64_t)offset << MERGE_OFFSET_SHIFT |
            (length << MERGE_THREES_BITS | threes) << MERGE_LENGTH_SHIFT | !is_exact,
        image};
}

static inline size_t merge_item_text(unsigned text_shift, struct key_index item)
{
    return item.index >> text_shift;
}

static inline size_t merge_item_offset(unsigned text_shift, struct key_index item)
{
    return (item.index & (((uint64_t)1 << text_shift) - 1)) >> MERGE_OFFSET_SHIFT;
}

/* Returns the beginning of the item's line in memory. */
static inline const char *merge_item_line(const struct merge_texts *texts, struct key_index item)
{
    return texts->texts[merge_item_text(texts->text_shift, item)].text +
           merge_item_offset(texts->text_shift, item);
}

/* Returns the position of the item's line in its source. */
static inline uint64_t merge_item_position(const struct merge_texts *texts, struct key_index item)
{
    return texts->texts[merge_item_text(texts->text_shift, item)].position +
           merge_item_offset(texts->text_shift, item);
}

/* Returns the length of the item's line, without the terminator. */
static inline size_t merge_item_length(const struct merge_texts *texts, struct key_index item)
{
    const uint64_t threes = item.index >> MERGE_LENGTH_SHIFT & ((1 << MERGE_THREES_BITS) - 1);
    const uint64_t first_bits =
        item.index >> (MERGE_LENGTH_SHIFT + MERGE_THREES_BITS) & ((1 << MERGE_LENGTH_BITS) - 1);
    if (threes == 0)
        return first_bits;
    const char *const line = merge_item_line(texts, item);
    const char *const near_end = line + (first_bits << 3 * threes);
    return (size_t)((const char *)rawmemchr(near_end, texts->order->terminator) - line);
}

/* Sets `line` to the item's line, without its key. The structure is filled in place: if it were
 * returned, its copy would wait for the last stores. */
static inline void merge_item_set_line(const struct merge_texts *texts, struct key_index item,
                                       struct line_with_image *line)
{
    line->text = merge_item_line(texts, item);
    line->length = merge_item_length(texts, item);
    line->image = item.key;
    line->is_exact = (item.index & 1) == 0;
    line->key.text = NULL;
}

/* As line_image_compare(), for the lines of two items. */
static inline int merge_item_compare(const struct merge_texts *texts, struct key_index a,
                                     struct key_index b)
{
    if (a.key != b.key)
        return a.key < b.key ? -1 : 1;
    struct line_with_image x, y;
    merge_item_set_line(texts, a, &x);
    merge_item_set_line(texts, b, &y);
    return line_image_compare_equal(texts->order, &x, &y);
}

/* Returns the offset of item k of the text; k may be the number of items. */
static inline size_t merge_text_offset(const struct merge_texts *texts, size_t text, size_t k)
{
    const struct merge_text *const t = &texts->texts[text];
    return k < t->item_count ? merge_item_offset(texts->text_shift, t->items[k]) : t->bytes;
}

/* Returns the last of items [begin, end) of the text whose line does not begin after `offset`; the
 * first one if all do. */
static inline size_t merge_text_find(const struct merge_texts *texts, size_t text, size_t begin,
                                     size_t end, size_t offset)
{
    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        if (merge_text_offset(texts, text, middle) <= offset)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

/* Returns the bytes of the item's line and of the lines that follow it. */
static inline size_t merge_item_bytes(const struct merge_texts *texts, struct key_index item)
{
    if ((item.index & MERGE_IS_FOLLOWED) == 0)
        return merge_item_length(texts, item) + 1;
    const size_t text = merge_item_text(texts->text_shift, item);
    const size_t offset = merge_item_offset(texts->text_shift, item);
    const size_t k = merge_text_find(texts, text, 0, texts->texts[text].item_count, offset);
    return merge_text_offset(texts, text, k + 1) - offset;
}

/* Returns the bytes of the lines to merge. */
static inline size_t merge_text_bytes(const struct merge_texts *texts, size_t text)
{
    const struct merge_text *const t = &texts->texts[text];
    return t->begin == t->end
               ? 0
               : merge_text_offset(texts, text, t->end) - merge_text_offset(texts, text, t->begin);
}

/* ---- Inputs: some text of each in memory, and the items of its lines ----
 *
 *   source -> block: whole lines -> their items, as many as there is room for
 *     -> items of lines that follow another are removed -> the caller merges some items -> these
 *     are dropped, and more is read
 *
 * Items are made once, by several threads. Later, lines are read only where images do not decide,
 * and to copy them.
 */

/* The text of a source in memory: whole lines, and the beginning of another one.
 *
 *   source -> [kept | new | beginning of a line] -> the caller uses lines -> drops them -> refill
 *
 * The memory has the requested size, and grows only if the kept lines fill half of it, or have no
 * room for the next one. All blocks together grow only as far as memory holds them.
 */
struct line_block {
    struct source *source;
    char terminator;
    bool ended;             /* the source has no lines after the block's */
    char *text;             /* owned */
    size_t bytes;           /* of whole lines, each with its terminator */
    size_t filled;          /* of these and the beginning of a line */
    size_t capacity, grown; /* bytes; grown: of these, those that were added */
    uint64_t position;      /* of text[0] in the source */
    struct text_check read; /* checksum of the source so far, with an added terminator */
};

struct merge_input {
    struct line_block block;
    struct key_index *items;  /* owned */
    size_t item_room;         /* at least 1 */
    size_t item_count, begin; /* items[begin..item_count) are not merged yet */
    size_t scanned;           /* lines of block.text[0..scanned) have items, or are merged */
    uint64_t lines;           /* number of lines up to `scanned`, in the whole source */
};

struct merge_inputs {
    struct merge_input *inputs;
    struct merge_texts texts; /* their text in memory that is not merged */
    unsigned threads;
    unsigned useful_threads;   /* out: number of threads that the active inputs keep busy */
    uint64_t lines_before;     /* read from each source before; added to line numbers in messages */
    bool are_sorted;           /* known to be in order: only keys are compared, for the proof */
    const struct sink *output; /* of the job, for messages */
    uint64_t lines, bytes;     /* out: totals of all sources so far */
    struct check_sum left_out; /* out: of the lines that are left out */
};

/* Opens an input with room for about `bytes` bytes of text and items, two thirds of it for
 * items. */
bool merge_input_open(struct merge_input *input, struct source *source, char terminator,
                      size_t bytes, struct error *error);
void merge_input_close(struct merge_input *input);

/* Returns true if the source may have lines after those in block.text[0..scanned). */
static inline bool merge_input_goes_on(const struct merge_input *input)
{
    return !input->block.ended || input->scanned < input->block.bytes;
}

/* Drops what the active texts have merged, reads more text and makes items, if half of the room is
 * free. Then every input that has unread lines has an item, and `texts` describes all inputs. The
 * caller makes all texts active before the first call. With LINE_STRICT, a line that is not a
 * number is an error that names file and line. */
bool merge_inputs_refill(struct merge_inputs *inputs, struct error *error);

/* Copies the only input to the sink, and adds the checksum of the text written to *sum. */
bool merge_input_copy(struct merge_inputs *inputs, struct sink *sink, struct check_sum *sum,
                      struct error *error);

/* ---- Cuts ----
 *
 *   sorted texts -> lines at equal distances, sorted -> every n-th of them is a splitter
 *     -> in each text, the position of each splitter by binary search
 *
 * All lines before a cut sort before all lines after it, in every text, with equal lines in the
 * order of the texts. With a unique order, a cut between ranges never separates equal keys.
 */

/* Item `position` of text `text`. */
struct splitter {
    struct key_index item;
    size_t text, position;
};

/* Returns the cut of text i, from item `begin` on, after the splitter: the splitter and lines that
 * sort before it are before the cut. Equal keys of later texts are after it, even with a unique
 * order, because unread lines may belong between them. */
size_t merge_cut_find_after(const struct merge_texts *texts, size_t i, size_t begin,
                            const struct splitter *splitter);

/* Cuts the active texts into ranges of about equal bytes. Range p has the items [cuts[p * count +
 * k], cuts[(p + 1) * count + k]) of active text k, of `count`. cuts has (ranges + 1) * count
 * elements. ranges is at least 1. */
bool merge_cut_evenly(const struct merge_texts *texts, size_t ranges, size_t *cuts,
                      unsigned threads, struct error *error);

/* ---- Rounds ---- */

/* Working memory of one thread, reused from range to range. Initialize with zeros. */
struct merge_scratch {
    struct key_index *items; /* owned: two arrays of item_room items */
    size_t item_room;
    struct item_array *arrays; /* owned: text_room each of arrays, heads and losers */
    struct merge_head *heads;
    struct merge_head **losers;
    size_t text_room;
};

void merge_scratch_free(struct merge_scratch *scratch);

struct merge_round {
    struct merge_texts texts; /* each `begin` is moved to where the round stopped */
    unsigned threads;
    struct merge_scratch *scratches; /* one per thread; owned by the caller, and reused */
    size_t range_bytes;              /* of text and items, that a thread merges at once */
    /* For a unique order, in and out: the last line written. Its text is the caller's, or in
     * `texts`. */
    struct line_with_image last;
    bool has_last;
    uint64_t last_key;  /* in: key of the last line before this round, or 0; out: of the last item
                           of this round */
    bool is_disordered; /* out: items are not in order */
    uint64_t items;     /* out: the number of items, each of a line and those that follow it */
    struct key_index first_item, last_item; /* out */
    struct check_sum sum; /* out: the lines written and the lines left out, each at its position
                               in its source text */
};

/* Writes the merged lines; with a unique order, only lines whose keys differ from the line written
 * before. It also returns true if is_disordered is set; then lines may be missing. */
bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error);

#endif
