/* SPDX-License-Identifier: Apache-2.0 */
/* decimal_run.c - see lines_check.h.
 *
 *   windows of 64 bytes, each from the start of a line -> their lines, if these are plain decimals
 *     of one shape -> the digits of each line compared with the digits of its predecessor
 *
 * Some operations on masks of 64 bits, one for each kind of byte, find all lines of a window. So no
 * line waits for the end of the line before it, and no branch is mispredicted when lengths differ.
 * The first byte is the lowest bit of a mask.
 *
 * Lines are compared one by one. With AVX-512, four lines of less than 16 bytes are compared
 * together, or two of less than 32. The ends of lines in a kilobyte of text are found first. Each
 * line is then loaded into the start of a slot of a vector. The lines have one shape if their bytes
 * other than digits are at the same positions. At the end of the text, and at a long line, the code
 * falls back to one by one.
 */
#include "formats/check/lines_check.h"

#include "core/byte_words.h"
#include "core/vector_units.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

#define WINDOW_BYTES ((size_t)64)

/* The longest exponent that is examined: e-999. */
#define EXPONENT_BYTES_MAX 5

/* Masks of the bytes of each kind. If all bytes are of the first four kinds, the other masks are
 * 0. */
struct window {
    uint64_t ends, digits, points, minuses, pluses, exponents;
};

/* ---- windows: masks ---- */

/* Returns 0x80 in each byte that is a decimal digit. */
static inline uint64_t window_digit_mask(uint64_t word)
{
    const uint64_t low = byte_in_all(0x7f), x = word ^ byte_in_all('0');
    return ~(((x & low) + byte_in_all(0x7f - 9)) | x | low);
}

static inline void window_read(const char *text, char terminator, struct window *window)
{
    *window = (struct window){0};
    for (unsigned i = 0; i < WINDOW_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        window->ends |= byte_mask_bits(byte_mask(word, byte_in_all(terminator))) << i;
        window->digits |= byte_mask_bits(window_digit_mask(word)) << i;
        window->points |= byte_mask_bits(byte_mask(word, byte_in_all('.'))) << i;
        window->minuses |= byte_mask_bits(byte_mask(word, byte_in_all('-'))) << i;
    }
    if (~(window->ends | window->digits | window->points | window->minuses) == 0)
        return;
    for (unsigned i = 0; i < WINDOW_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        window->pluses |= byte_mask_bits(byte_mask(word, byte_in_all('+'))) << i;
        word |= byte_in_all(0x20);
        window->exponents |= byte_mask_bits(byte_mask(word, byte_in_all('e'))) << i;
    }
}

/* ---- windows: plain decimals ---- */

/* The parts of the lines of a window, which are plain decimals: each mask has a bit per line. */
struct window_lines {
    uint64_t begins;
    uint64_t signs;
    uint64_t whole_ends; /* ends of the digits before the point */
    uint64_t exponents;
    uint64_t ends;
};

/* As window_find_lines(), for lines that have exponents or are not plain decimals. */
static inline bool window_find_exponents(const struct window *window, uint64_t all,
                                         struct window_lines *lines)
{
    const uint64_t digits = window->digits & all, points = window->points & all;
    const uint64_t exponents = window->exponents & all;
    const uint64_t signs = ((window->minuses & ~lines->begins) | window->pluses) & exponents << 1;
    const uint64_t powers = (exponents << 1 & ~signs) | signs << 1;
    const uint64_t power_ends = (powers + digits) & ~digits;
    lines->exponents = exponents;
    return (lines->ends | digits | points | lines->signs | exponents | signs) == all &&
           ((powers | exponents >> 1) & ~digits) == 0 && (power_ends & ~lines->ends) == 0;
}

/* Finds the lines in the bytes of the mask `all`, which end with a line. Returns false if one of
 * them is not a plain decimal. */
static inline bool window_find_lines(const struct window *window, uint64_t all, bool has_exponents,
                                     struct window_lines *lines)
{
    const uint64_t digits = window->digits & all, points = window->points & all;
    lines->ends = window->ends & all;
    lines->begins = (lines->ends << 1 | 1) & all;
    lines->signs = window->minuses & lines->begins;
    lines->exponents = 0;
    /* A digit must be first in the number and in the fraction. Then there is one before the point,
     * too. */
    const uint64_t wholes = (lines->begins & ~lines->signs) | lines->signs << 1;
    const uint64_t fractions = points << 1;
    /* Adding the first digit of a run to the run carries to the byte after the run. */
    const uint64_t fraction_ends = (fractions + digits) & ~digits;
    lines->whole_ends = (wholes + digits) & ~digits;
    if (((wholes | fractions) & ~digits) != 0 || (fraction_ends & points) != 0)
        return false;
    return (lines->ends | digits | points | lines->signs) == all ||
           (has_exponents && window_find_exponents(window, all, lines));
}

/* The properties that two numbers must share for their digits to be compared one by one. */
struct decimal_shape {
    bool is_negative;
    unsigned whole_end;      /* bytes before the point */
    unsigned exponent_bytes; /* 0: none */
    uint64_t exponent;       /* its bytes */
};

static inline uint64_t window_exponent(const char *text, unsigned bytes)
{
    uint64_t word;
    memcpy(&word, text, 8);
    return word & (((uint64_t)1 << 8 * bytes) - 1);
}

/* Sets the shape of the first of the lines. Returns false if its exponent is too long. */
static inline bool window_first_shape(const struct window_lines *lines, const char *text,
                                      struct decimal_shape *shape)
{
    const unsigned end = (unsigned)__builtin_ctzll(lines->ends);
    const unsigned mantissa_end = (unsigned)__builtin_ctzll(lines->ends | lines->exponents);
    *shape = (struct decimal_shape){.is_negative = lines->signs & 1,
                                    .whole_end = (unsigned)__builtin_ctzll(lines->whole_ends),
                                    .exponent_bytes = end - mantissa_end};
    if (shape->exponent_bytes > EXPONENT_BYTES_MAX)
        return false;
    if (shape->exponent_bytes > 0)
        shape->exponent = window_exponent(text + mantissa_end, shape->exponent_bytes);
    return true;
}

/* Returns true if all lines have the shape. */
static inline bool window_has_shape(const struct window_lines *lines, const char *text,
                                    const struct decimal_shape *shape)
{
    if (lines->signs != (shape->is_negative ? lines->begins : 0) ||
        lines->whole_ends != lines->begins << shape->whole_end)
        return false;
    if (shape->exponent_bytes == 0)
        return lines->exponents == 0;
    if (lines->exponents << shape->exponent_bytes != lines->ends)
        return false;
    for (uint64_t left = lines->exponents; left != 0; left &= left - 1)
        if (window_exponent(text + __builtin_ctzll(left), shape->exponent_bytes) != shape->exponent)
            return false;
    return true;
}

/* ---- state ---- */

/* Decimals of up to this many significant digits that differ are different long doubles: LDBL_DIG
 * guarantees it, and is 18 for x87. A number that underflows or overflows has more digits than a
 * window, or a longer exponent. */
#define DIGITS_APART 18
_Static_assert(LDBL_DIG >= DIGITS_APART && LDBL_MAX_10_EXP > 2000, "long double is too narrow");

/* The bytes of a number before its exponent. */
struct mantissa {
    const char *text;
    size_t bytes;
};

/* The state of checking lines of one shape. */
struct walk {
    char terminator;
    bool has_exponents; /* values are then rounded: different decimals may be equal */
    bool unique;
    bool goes_up; /* the order requires digits that increase from line to line */
    struct decimal_shape shape;
    struct mantissa previous; /* of the last line checked */
    const char *next;         /* the line after it */
    const char *end;          /* of the text */
    size_t lines;             /* checked so far, except the first */
};

/* ---- Two neighbouring lines, compared by their digits ---- */

static size_t significant_digits(const struct walk *walk, struct mantissa number)
{
    size_t i = walk->shape.is_negative, zeros = 0;
    for (; i < number.bytes && (number.text[i] == '0' || number.text[i] == '.'); i++)
        zeros += number.text[i] == '0';
    return number.bytes - walk->shape.is_negative - (number.bytes > walk->shape.whole_end) - zeros;
}

/* Returns true if `number` may be rounded to the same long double as a different number. */
static inline bool may_be_rounded(const struct walk *walk, struct mantissa number)
{
    return walk->has_exponents && number.bytes > DIGITS_APART &&
           significant_digits(walk, number) > DIGITS_APART;
}

enum digits { LESS, EQUAL, GREATER, UNKNOWN };

/* Compares b with a, of the same shape: if both have a point, it is at the same position. */
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

/* Returns true if b is certain to sort after a. */
static inline bool goes_after(const struct walk *walk, struct mantissa a, struct mantissa b)
{
    const enum digits digits = compare_digits(a, b);
    if (digits == EQUAL)
        return !walk->unique;
    return digits == (walk->goes_up ? GREATER : LESS) && !may_be_rounded(walk, a) &&
           !may_be_rounded(walk, b);
}

/* Finds the whole lines of the window that starts at `text`. False if there is no whole line, or
 * if a line is not a plain decimal. */
static inline bool read_lines(const struct walk *walk, const char *text, struct window_lines *lines)
{
    struct window window;
    char last[WINDOW_BYTES] = {0};
    const size_t left = (size_t)(walk->end - text);
    if (left < WINDOW_BYTES) /* bytes after the text may have any value */
        text = memcpy(last, text, left);
    window_read(text, walk->terminator, &window);
    if (left < WINDOW_BYTES)
        window.ends &= ((uint64_t)1 << left) - 1;
    return window.ends != 0 &&
           window_find_lines(&window, UINT64_MAX >> __builtin_clzll(window.ends),
                             walk->has_exponents, lines);
}

/* Checks lines one by one: `most` lines, and the remaining lines of the last window. False if it
 * stops before. */
static bool walk_one_by_one(struct walk *walk, size_t most)
{
    const size_t before = walk->lines;
    while (walk->next < walk->end && walk->lines - before < most) {
        const char *const text = walk->next;
        struct window_lines lines;
        if (!read_lines(walk, text, &lines) || !window_has_shape(&lines, text, &walk->shape))
            return false;
        for (uint64_t ends = lines.ends; ends != 0; ends &= ends - 1) {
            const char *const end = text + __builtin_ctzll(ends) - walk->shape.exponent_bytes;
            const struct mantissa line = {walk->next, (size_t)(end - walk->next)};
            if (!goes_after(walk, walk->previous, line))
                return false;
            walk->previous = line;
            walk->next = end + walk->shape.exponent_bytes + 1;
            walk->lines++;
        }
    }
    return walk->lines - before >= most;
}

/* ---- several together ---- */

#ifdef HAVE_VECTOR_CODE

/* Moves a mask to a general register. Otherwise GCC 12 adds masks in mask registers, which takes
 * three times as long. */
VECTOR_INLINE uint64_t window_bits(__mmask64 mask)
{
    uint64_t bits = mask;
    __asm__("" : "+r"(bits));
    return bits;
}

/* A vector of 64 bytes has slots of 16 or 32 bytes, with one number in each. */
#    define SHORT_SLOT 16
#    define LONG_SLOT 32

/* The lowest bit of each slot, in a mask of bytes. */
VECTOR_INLINE uint64_t slot_bits(unsigned slot_bytes)
{
    return slot_bytes == SHORT_SLOT ? 0x0001000100010001u : 0x0000000100000001u;
}

/* Bytes of text whose lines are found before they are compared, so that no line waits for the end
 * of its predecessor. The first stretch is short, since the check may stop at its first line; each
 * one after that is twice as long. */
#    define STRETCH_BYTES_MIN ((size_t)128)
#    define STRETCH_BYTES ((size_t)1024)

/* The starts of this many lines are stored together, even if the window has fewer: so no branch
 * depends on their number. A window rarely has more lines of numbers. */
#    define LINES_AT_A_TIME 6

/* Offsets of the lines of a stretch from its start. The last line only begins in the stretch. */
struct stretch {
    size_t lines;
    uint16_t begins[STRETCH_BYTES + 1 + LINES_AT_A_TIME];
};

/* Finds the lines in the whole windows of text[0..bytes), of at most STRETCH_BYTES. */
VECTOR_INLINE void find_lines(const char *text, size_t bytes, char terminator,
                              struct stretch *stretch)
{
    const __m512i terminators = _mm512_set1_epi8(terminator);
    uint16_t *next = stretch->begins;
    *next++ = 0;
    for (size_t at = 0; at + WINDOW_BYTES <= bytes; at += WINDOW_BYTES) {
        const __m512i window = _mm512_loadu_si512(text + at);
        uint64_t ends = window_bits(_mm512_cmpeq_epi8_mask(window, terminators));
        uint16_t *const end = next + __builtin_popcountll(ends);
        do {
#    pragma GCC unroll 6
            for (unsigned i = 0; i < LINES_AT_A_TIME; i++, ends = window_bits(_blsr_u64(ends)))
                next[i] = (uint16_t)(at + _tzcnt_u64(ends) + 1);
            next += LINES_AT_A_TIME;
        } while (ends != 0);
        next = end;
    }
    stretch->lines = (size_t)(next - stretch->begins) - 1;
}

/* The bytes that a slot must have if its line is a plain decimal of the shape. */
struct slot_shape {
    unsigned slot_bytes;
    uint64_t fixed;      /* positions of the sign, and of the point or the end of the number */
    uint64_t points;     /* positions of the point or the end alone */
    __m512i fixed_bytes; /* the bytes at the positions of `fixed` */
    bool has_signed_exponent;
};

VECTOR_INLINE struct slot_shape slot_shape_of(const struct decimal_shape *shape,
                                              unsigned slot_bytes)
{
    const uint64_t signs = shape->is_negative ? slot_bits(slot_bytes) : 0;
    const uint64_t points = slot_bits(slot_bytes) << shape->whole_end;
    const char exponent_sign = (char)(shape->exponent >> 8);
    const __m512i sign_bytes = _mm512_maskz_set1_epi8(signs, '-');
    return (struct slot_shape){
        slot_bytes, signs | points, points, _mm512_mask_set1_epi8(sign_bytes, points, '.'),
        shape->exponent_bytes > 0 && (exponent_sign == '-' || exponent_sign == '+')};
}

/* Loads the lines that begin at `begins`, one per slot, with the text after them. */
VECTOR_INLINE __m512i load_lines(const char *text, const uint16_t *begins, unsigned slot_bytes)
{
    if (slot_bytes == LONG_SLOT)
        return _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(text + begins[0]))),
            _mm256_loadu_si256((const void *)(text + begins[1])), 1);
    __m512i lines = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(text + begins[0])));
    lines = _mm512_inserti32x4(lines, _mm_loadu_si128((const void *)(text + begins[1])), 1);
    lines = _mm512_inserti32x4(lines, _mm_loadu_si128((const void *)(text + begins[2])), 2);
    return _mm512_inserti32x4(lines, _mm_loadu_si128((const void *)(text + begins[3])), 3);
}

/* Returns true if all exponents are equal to that of the shape, and no number may be rounded to
 * another. These two checks are made line by line, and only if needed. */
VECTOR_INLINE bool have_shape_one_by_one(const struct walk *walk, const char *text,
                                         const uint16_t *begins, unsigned slot_bytes)
{
    const unsigned exponent_bytes = walk->shape.exponent_bytes;
    bool ok = true;
    for (unsigned i = 0; i < WINDOW_BYTES / slot_bytes; i++) {
        const char *const end = text + begins[i + 1] - 1 - exponent_bytes;
        const struct mantissa number = {text + begins[i], (size_t)(end - text) - begins[i]};
        if (exponent_bytes > 0)
            ok &= window_exponent(end, exponent_bytes) == walk->shape.exponent;
        if (slot_bytes > DIGITS_APART && ok)
            ok = !may_be_rounded(walk, number);
    }
    return ok;
}

/* Loads one number per slot, followed by zeros. False if a line is not a plain decimal of the
 * shape, does not fit its slot, or may be rounded to the same value as another. */
VECTOR_INLINE bool load_slots(const struct walk *walk, const struct slot_shape *shape,
                              const char *text, const uint16_t *begins, __m512i *slots)
{
    const uint64_t bits = slot_bits(shape->slot_bytes), tops = bits << (shape->slot_bytes - 1);
    const __m512i bytes = load_lines(text, begins, shape->slot_bytes);
    const __m512i digit_values = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
    const uint64_t terminators =
        window_bits(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(walk->terminator)));
    const uint64_t digits = window_bits(_mm512_cmplt_epu8_mask(digit_values, _mm512_set1_epi8(10)));
    const uint64_t fixed = window_bits(_mm512_cmpeq_epi8_mask(bytes, shape->fixed_bytes));
    if (((terminators - bits) & ~terminators & tops) != 0) /* a slot has none */
        return false;
    /* In each slot: the end of the line, the end of the number, and the bytes before them. */
    const uint64_t ends = terminators & ~(terminators - bits);
    const uint64_t number_ends = ends >> walk->shape.exponent_bytes;
    uint64_t others = shape->fixed | number_ends | ends;
    if (shape->has_signed_exponent)
        others |= number_ends << 1;
    const bool is_plain = (~digits & (ends | (ends - bits))) == others &&
                          (shape->fixed & ~(fixed | number_ends)) == 0 &&
                          (((fixed & shape->points) << 1) & number_ends) == 0;
    *slots = _mm512_maskz_mov_epi8(number_ends - bits, bytes);
    return is_plain && ((walk->shape.exponent_bytes == 0 && shape->slot_bytes <= DIGITS_APART) ||
                        have_shape_one_by_one(walk, text, begins, shape->slot_bytes));
}

/* Returns each slot's predecessor: for the first slot, the last slot of `previous`. */
VECTOR_INLINE __m512i slots_before(__m512i slots, __m512i previous, unsigned slot_bytes)
{
    return slot_bytes == SHORT_SLOT ? _mm512_alignr_epi64(slots, previous, 6)
                                    : _mm512_alignr_epi64(slots, previous, 4);
}

/* Returns true if each slot is certain to be in order after its predecessor. Digits are compared as
 * bytes. Bytes below '0' count as '0': the zeros after a number, and its sign and point, which are
 * at the same positions in both. */
VECTOR_INLINE bool are_in_order(const struct walk *walk, __m512i slots, __m512i before,
                                unsigned slot_bytes)
{
    const __m512i zeros = _mm512_set1_epi8('0');
    const __m512i digits = _mm512_max_epu8(slots, zeros);
    const __m512i digits_before = _mm512_max_epu8(before, zeros);
    const uint64_t different = window_bits(_mm512_cmpneq_epu8_mask(digits, digits_before));
    const uint64_t less = window_bits(_mm512_cmplt_epu8_mask(digits, digits_before));
    const uint64_t wrong = walk->goes_up ? less : different & ~less;
    /* In each slot: the first different byte, or the last byte if there is none. */
    const uint64_t marks = different | slot_bits(slot_bytes) << (slot_bytes - 1);
    const uint64_t first = marks & ~(marks - slot_bits(slot_bytes));
    if ((first & wrong) != 0)
        return false;
    const uint64_t equal = first & ~different;
    if (equal == 0)
        return true;
    /* Equal values are in order if their bytes are the same. */
    const uint64_t all = (equal >> (slot_bytes - 1)) * (((uint64_t)1 << slot_bytes) - 1);
    const uint64_t others = window_bits(_mm512_cmpneq_epu8_mask(slots, before));
    return !walk->unique && (others & all) == 0;
}

/* Checks lines of the stretch, one per slot in each step, while they are in order after *previous.
 * Returns the number of lines checked. */
VECTOR_INLINE size_t walk_stretch(const struct walk *walk, const struct slot_shape *shape,
                                  const char *text, const struct stretch *stretch,
                                  __m512i *previous)
{
    const size_t count = WINDOW_BYTES / shape->slot_bytes;
    size_t lines = 0;
    for (; lines + count <= stretch->lines; lines += count) {
        __m512i slots;
        if (!load_slots(walk, shape, text, stretch->begins + lines, &slots) ||
            !are_in_order(walk, slots, slots_before(slots, *previous, shape->slot_bytes),
                          shape->slot_bytes))
            break;
        *previous = slots;
    }
    return lines;
}

/* Returns a vector with the number in its last slot. */
VECTOR_INLINE __m512i last_slot(struct mantissa number, unsigned slot_bytes)
{
    const unsigned at = WINDOW_BYTES - slot_bytes;
    const uint64_t bytes = _bzhi_u64(UINT64_MAX, (unsigned)number.bytes) << at;
    return _mm512_maskz_loadu_epi8(bytes, number.text - at);
}

/* Checks about `most` lines by slots; false if it stops before. */
VECTOR_INLINE bool walk_by_slots(struct walk *walk, unsigned slot_bytes, size_t most)
{
    const struct walk w = *walk;
    if (w.previous.bytes >= slot_bytes || w.shape.whole_end >= slot_bytes ||
        may_be_rounded(walk, w.previous))
        return false;
    const struct slot_shape shape = slot_shape_of(&w.shape, slot_bytes);
    __m512i previous = last_slot(w.previous, slot_bytes);
    size_t walked = 0, lines, most_bytes = STRETCH_BYTES_MIN;
    do {
        struct stretch stretch;
        const size_t left = (size_t)(w.end - walk->next);
        find_lines(walk->next, left < most_bytes ? left : most_bytes, w.terminator, &stretch);
        most_bytes = most_bytes < STRETCH_BYTES ? most_bytes * 2 : STRETCH_BYTES;
        lines = walk_stretch(&w, &shape, walk->next, &stretch, &previous);
        if (lines > 0) {
            const char *const last = walk->next + stretch.begins[lines - 1];
            walk->next += stretch.begins[lines];
            walk->previous =
                (struct mantissa){last, (size_t)(walk->next - last) - 1 - w.shape.exponent_bytes};
        }
        walk->lines += lines;
        walked += lines;
        if (lines + WINDOW_BYTES / slot_bytes <= stretch.lines)
            return false;
    } while (lines > 0 && walked < most);
    return lines > 0;
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

/* ---- both ---- */

/* Number of lines checked by a slower path before a faster one is tried again. */
#define LINES_BY_TWOS 128
#define LINES_ONE_BY_ONE 32

bool decimal_run_suits(const struct line_order *order)
{
    return line_key_is_whole(&order->keys[0]) && order->keys[0].kind != LINE_BYTES;
}

/* Starts the check after the line at `previous`. False if that line is not a plain decimal. */
static bool begin_walk(struct walk *walk, const char *previous, bool reverse)
{
    struct window_lines lines;
    if (!read_lines(walk, previous, &lines) || !window_first_shape(&lines, previous, &walk->shape))
        return false;
    const size_t bytes = (size_t)__builtin_ctzll(lines.ends);
    walk->previous = (struct mantissa){previous, bytes - walk->shape.exponent_bytes};
    walk->next = previous + bytes + 1;
    walk->goes_up = walk->shape.is_negative == reverse;
    return true;
}

#ifdef HAVE_VECTOR_CODE

static void walk_by_vectors(struct walk *walk)
{
    do
        (void)walk_by_fours(walk, SIZE_MAX);
    while (walk_by_twos(walk, LINES_BY_TWOS) || walk_one_by_one(walk, LINES_ONE_BY_ONE));
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
    if (begin_walk(&walk, text + *previous, key->reverse)) {
#ifdef HAVE_VECTOR_CODE
        if (has_vector_units())
            walk_by_vectors(&walk);
#endif
        (void)walk_one_by_one(&walk, SIZE_MAX);
    }
    *previous = (size_t)(walk.previous.text - text);
    *next = (size_t)(walk.next - text);
    return walk.lines;
}
