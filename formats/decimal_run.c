/* decimal_run.c - see decimal_run.h.
 *
 *   windows of 64 bytes, from a line on -> their lines, if these are plain decimals of one shape
 *     -> the digits of each beside those of the one before it
 *
 * Lines are compared one by one; with AVX-512 four at a time if their numbers are of up to 16
 * bytes, two if they are of up to 32. Where that cannot go on, at the end of the text or at a long
 * line, it is done one by one.
 */
#include "formats/decimal_run.h"

#include "core/bytes_common.h"
#include "formats/decimal_window.h"

#include <float.h>

/* Two decimals of so many significant digits that are not equal are not equal as long doubles
 * either: this is what LDBL_DIG means, which is 18 for those of x87. What underflows or overflows
 * has more digits than a window, or a longer exponent. */
#define DIGITS_APART 18
_Static_assert(LDBL_DIG >= DIGITS_APART && LDBL_MAX_10_EXP > 2000, "long double is too narrow");

/* Of a number: the bytes before its exponent. */
struct mantissa {
    const char *text;
    size_t bytes;
};

/* Lines of one shape that are walked through. */
struct walk {
    char terminator;
    bool has_exponents; /* and values are rounded, so that different decimals may have one */
    bool unique;
    bool goes_up; /* digits do from line to line, as lines are to go */
    struct decimal_shape shape;
    struct mantissa previous; /* of the last line so far */
    const char *next;         /* the line behind it */
    const char *end;          /* of the text */
    size_t lines;             /* so far, without the first */
};

/* ---- one by one --------------------------------------------------------------------------------
 */

static size_t significant_digits(const struct walk *walk, struct mantissa number)
{
    size_t i = walk->shape.is_negative, zeros = 0;
    for (; i < number.bytes && (number.text[i] == '0' || number.text[i] == '.'); i++)
        zeros += number.text[i] == '0';
    return number.bytes - walk->shape.is_negative - (number.bytes > walk->shape.whole_end) - zeros;
}

/* Whether it may be the same long double as another number. */
static inline bool may_be_rounded(const struct walk *walk, struct mantissa number)
{
    return walk->has_exponents && number.bytes > DIGITS_APART &&
           significant_digits(walk, number) > DIGITS_APART;
}

enum digits { LESS, EQUAL, GREATER, UNKNOWN };

/* Of b beside a, of the same shape: so points are in the same place, where both have one. */
static inline enum digits compare_digits(struct mantissa a, struct mantissa b)
{
    const size_t shared = a.bytes < b.bytes ? a.bytes : b.bytes;
    const size_t at = bytes_common(a.text, b.text, shared);
    if (at < shared)
        return b.text[at] > a.text[at] ? GREATER : LESS;
    if (a.bytes == b.bytes)
        return EQUAL;
    const struct mantissa longer = a.bytes < b.bytes ? b : a;
    return longer.text[shared] <= '0' ? UNKNOWN : a.bytes < b.bytes ? GREATER : LESS;
}

/* Whether b goes behind a for certain. */
static inline bool goes_behind(const struct walk *walk, struct mantissa a, struct mantissa b)
{
    const enum digits digits = compare_digits(a, b);
    if (digits == EQUAL)
        return !walk->unique;
    return digits == (walk->goes_up ? GREATER : LESS) && !may_be_rounded(walk, a) &&
           !may_be_rounded(walk, b);
}

typedef void window_reader(const char *text, char terminator, struct window *window);

/* Reads the window at text, of which the text has lines as far as it goes. False if there is no
 * whole one, or one that is no plain decimal. */
static inline bool read_lines(const struct walk *walk, window_reader *read_window, const char *text,
                              struct window_lines *lines)
{
    struct window window;
    read_window(text, walk->terminator, &window);
    if ((size_t)(walk->end - text) < WINDOW_BYTES)
        window.ends &= ((uint64_t)1 << (walk->end - text)) - 1;
    return window.ends != 0 &&
           window_find_lines(&window, UINT64_MAX >> __builtin_clzll(window.ends),
                             walk->has_exponents, lines);
}

/* Goes on line by line, by `most` lines and those that are in a window with the last one; false if
 * it cannot. */
static bool walk_one_by_one(struct walk *walk, window_reader *read_window, size_t most)
{
    const size_t before = walk->lines;
    while (walk->next < walk->end && walk->lines - before < most) {
        const char *const text = walk->next;
        struct window_lines lines;
        if (!read_lines(walk, read_window, text, &lines) ||
            !window_has_shape(&lines, text, &walk->shape))
            return false;
        for (uint64_t ends = lines.ends; ends != 0; ends &= ends - 1) {
            const char *const end = text + __builtin_ctzll(ends) - walk->shape.exponent_bytes;
            const struct mantissa line = {walk->next, (size_t)(end - walk->next)};
            if (!goes_behind(walk, walk->previous, line))
                return false;
            walk->previous = line;
            walk->next = end + walk->shape.exponent_bytes + 1;
            walk->lines++;
        }
    }
    return walk->lines - before >= most;
}

static void read_by_words(const char *text, char terminator, struct window *window)
{
    window_read_by_words(text, terminator, window);
}

/* ---- several at a time -------------------------------------------------------------------------
 */

#ifdef HAVE_VECTOR_CODE

VECTOR_CODE static void read_by_vectors(const char *text, char terminator, struct window *window)
{
    window_read_by_vectors(text, terminator, window);
}

/* The slots of a vector of 64 bytes, 16 or 32 each, and a number in each of them. */
#    define SHORT_SLOT 16
#    define LONG_SLOT 32

/* The lowest bit of each slot, in a mask of bytes. */
VECTOR_INLINE uint64_t slot_bits(unsigned slot_bytes)
{
    return slot_bytes == SHORT_SLOT ? 0x0001000100010001u : 0x0000000100000001u;
}

/* The bytes at text, in a slot that begins at byte `at`; the rest is 0. */
VECTOR_INLINE __m512i load_slot(const char *text, unsigned bytes, unsigned at)
{
    return _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, bytes) << at, text - at);
}

/* Loads the numbers of the lines, as many as there are slots; false if one does not fit, or may be
 * rounded to that of another. */
VECTOR_INLINE bool load_slots(const struct walk *walk, const char *text, uint64_t ends,
                              unsigned slot_bytes, __m512i *slots)
{
    const unsigned exponent_bytes = walk->shape.exponent_bytes;
    unsigned begin = 0;
    bool fits = true;
    *slots = _mm512_setzero_si512();
#    pragma GCC unroll 4
    for (unsigned at = 0; at < WINDOW_BYTES; at += slot_bytes, ends &= ends - 1) {
        const unsigned end = (unsigned)__builtin_ctzll(ends);
        const struct mantissa line = {text + begin, end - begin - exponent_bytes};
        fits &= line.bytes <= slot_bytes;
        if (slot_bytes > DIGITS_APART)
            fits &= !may_be_rounded(walk, line);
        *slots = _mm512_or_si512(*slots, load_slot(line.text, (unsigned)line.bytes, at));
        begin = end + 1;
    }
    return fits;
}

/* Each slot's predecessor: the one before it, of the first the last one of `previous`. */
VECTOR_INLINE __m512i slots_before(__m512i slots, __m512i previous, unsigned slot_bytes)
{
    return slot_bytes == SHORT_SLOT ? _mm512_alignr_epi64(slots, previous, 6)
                                    : _mm512_alignr_epi64(slots, previous, 4);
}

/* Whether each slot is in order behind the one before it, for certain; digits are compared as
 * bytes. What is less than '0' counts as that: what is behind a number, and its sign and its point,
 * which stand in the same place in both. */
VECTOR_INLINE bool are_in_order(const struct walk *walk, __m512i slots, __m512i before,
                                unsigned slot_bytes)
{
    const __m512i zeros = _mm512_set1_epi8('0');
    const __m512i digits = _mm512_max_epu8(slots, zeros);
    const __m512i digits_before = _mm512_max_epu8(before, zeros);
    const uint64_t different = window_bits(_mm512_cmpneq_epu8_mask(digits, digits_before));
    const uint64_t less = window_bits(_mm512_cmplt_epu8_mask(digits, digits_before));
    const uint64_t wrong = walk->goes_up ? less : different & ~less;
    /* Of each slot the first byte that is different, else the last one. */
    const uint64_t marks = different | slot_bits(slot_bytes) << (slot_bytes - 1);
    const uint64_t first = marks & ~(marks - slot_bits(slot_bytes));
    if ((first & wrong) != 0)
        return false;
    const uint64_t equal = first & ~different;
    if (equal == 0)
        return true;
    /* Of the same value: in order if they are the same bytes. */
    const uint64_t all = (equal >> (slot_bytes - 1)) * (((uint64_t)1 << slot_bytes) - 1);
    const uint64_t others = window_bits(_mm512_cmpneq_epu8_mask(slots, before));
    return !walk->unique && (others & all) == 0;
}

/* The number in the line that ends before `next`, behind others. */
static struct mantissa mantissa_before(const struct walk *walk, const char *next)
{
    const char *begin = next - 1;
    while (begin[-1] != walk->terminator)
        begin--;
    return (struct mantissa){begin, (size_t)(next - begin) - walk->shape.exponent_bytes - 1};
}

/* Goes on by as many lines at a time as there are slots, by `most` or so; false if it cannot. */
VECTOR_INLINE bool walk_by_slots(struct walk *walk, unsigned slot_bytes, size_t most)
{
    const struct walk w = *walk;
    const unsigned count = WINDOW_BYTES / slot_bytes, last_slot = WINDOW_BYTES - slot_bytes;
    const char *text = w.next;
    size_t lines = 0;
    if (w.previous.bytes > slot_bytes || may_be_rounded(walk, w.previous))
        return false;
    __m512i slots, previous = load_slot(w.previous.text, (unsigned)w.previous.bytes, last_slot);
    for (; lines < most && w.end - text >= (ptrdiff_t)WINDOW_BYTES; lines += count) {
        struct window window;
        struct window_lines found;
        window_read_by_vectors(text, w.terminator, &window);
        const uint64_t end = _pdep_u64((uint64_t)1 << (count - 1), window.ends);
        if (end == 0 || !window_find_lines(&window, _blsmsk_u64(end), w.has_exponents, &found) ||
            !window_has_shape(&found, text, &w.shape) ||
            !load_slots(&w, text, found.ends, slot_bytes, &slots) ||
            !are_in_order(&w, slots, slots_before(slots, previous, slot_bytes), slot_bytes))
            break;
        previous = slots;
        text += __builtin_ctzll(end) + 1;
    }
    if (lines > 0) {
        walk->lines += lines;
        walk->next = text;
        walk->previous = mantissa_before(walk, text);
    }
    return lines >= most;
}

VECTOR_CODE static bool walk_by_fours(struct walk *walk, size_t most)
{
    return walk_by_slots(walk, SHORT_SLOT, most);
}

VECTOR_CODE static bool walk_by_twos(struct walk *walk, size_t most)
{
    return walk_by_slots(walk, LONG_SLOT, most);
}

#endif

/* ---- both --------------------------------------------------------------------------------------
 */

/* Lines that are walked in a slower way before a faster one is tried again. */
#define LINES_BY_TWOS 128
#define LINES_ONE_BY_ONE 32

bool decimal_run_suits(const struct line_order *order)
{
    return line_key_is_whole(&order->keys[0]) && order->keys[0].kind != LINE_BYTES;
}

/* Begins with the line at `previous`; false if it is no plain decimal. */
static bool begin_walk(struct walk *walk, window_reader *read_window, const char *previous,
                       bool reverse)
{
    struct window_lines lines;
    if (!read_lines(walk, read_window, previous, &lines) ||
        !window_first_shape(&lines, previous, &walk->shape))
        return false;
    const size_t bytes = (size_t)__builtin_ctzll(lines.ends);
    walk->previous = (struct mantissa){previous, bytes - walk->shape.exponent_bytes};
    walk->next = previous + bytes + 1;
    walk->goes_up = walk->shape.is_negative == reverse;
    return true;
}

static void walk_by_words(struct walk *walk, const char *previous, bool reverse)
{
    if (begin_walk(walk, read_by_words, previous, reverse))
        (void)walk_one_by_one(walk, read_by_words, SIZE_MAX);
}

#ifdef HAVE_VECTOR_CODE

static void walk_by_vectors(struct walk *walk, const char *previous, bool reverse)
{
    if (!begin_walk(walk, read_by_vectors, previous, reverse))
        return;
    for (;;) {
        (void)walk_by_fours(walk, SIZE_MAX);
        if (!walk_by_twos(walk, LINES_BY_TWOS) &&
            !walk_one_by_one(walk, read_by_vectors, LINES_ONE_BY_ONE))
            return;
    }
}

#endif

size_t decimal_run_walk(const struct line_order *order, const char *text, size_t bytes,
                        size_t *previous, size_t *next)
{
    const struct line_key *const key = &order->keys[0];
    struct walk walk = {.terminator = order->terminator,
                        .has_exponents = key->kind == LINE_GENERAL || key->kind == LINE_STRICT,
                        .unique = order->unique,
                        .previous = {text + *previous, 0},
                        .next = text + *next,
                        .end = text + bytes};
#ifdef HAVE_VECTOR_CODE
    if (has_vector_units())
        walk_by_vectors(&walk, text + *previous, key->reverse);
    else
#endif
        walk_by_words(&walk, text + *previous, key->reverse);
    *previous = (size_t)(walk.previous.text - text);
    *next = (size_t)(walk.next - text);
    return walk.lines;
}
