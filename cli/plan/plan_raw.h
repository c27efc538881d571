/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw.h - a sample of raw data, and tests of its words, for plan_raw.c and plan_raw_name.c.
 *
 * The checks of plan_raw_name.c, called by plan_check_raw().
 */
#ifndef CLI_PLAN_RAW_H
#define CLI_PLAN_RAW_H

#include "cli/plan/plan.h"

/* The sample. Reading it from the page cache takes 40 microseconds, if the input is larger. */
#define SAMPLE_PLACES ((size_t)32)
#define PLACE_WORDS ((size_t)128)
#define SAMPLE_WORDS (SAMPLE_PLACES * PLACE_WORDS)

/* The evidence of small integers that raw_are_small_words() needs, in tenths of bits; and the
 * evidence for i8 and u8 that the words are small integers in big-endian order. */
#define EVIDENCE ((size_t)90)
#define EVIDENCE_OF_OTHER ((size_t)200)

/* Fewer words than this are refused only if all of them agree. */
#define WORDS_MIN ((size_t)8)

/* Exponent fields of f32 from 1e-12 to 1e12. */
#define SINGLE_LEAST 87
#define SINGLE_MOST 167

struct sample {
    uint64_t words[SAMPLE_WORDS]; /* 8 bytes each, in this machine's byte order */
    size_t count;
    uint64_t step_words; /* in the input, from the first word of a place to that of the next one; 0
                          * of one place alone */
};

/* Fills the sample from positions at equal distances in the input, or in the peeked bytes of a pipe
 * or of compressed data. Each position is a multiple of 16 bytes. Consumes nothing. */
bool raw_take_sample(struct source *source, enum key_endian endian, struct sample *sample,
                     struct error *error);

void raw_swap_words(struct sample *sample);

/* Which values each byte of the words has (0: the lowest byte), and how many. */
struct byte_values {
    bool is_there[8][256];
    size_t different[8];
};

void raw_find_byte_values(const struct sample *sample, struct byte_values *values);

/* Returns true if the words are likely pairs of f32. */
bool raw_has_single_halves(const struct sample *sample);

/* Returns true for 0 and -1, which are in data of any type. */
bool raw_is_blank(uint64_t word);

/* Returns true for the least and the greatest i64, which mark missing values: NaT is one. */
bool raw_is_mark(uint64_t word);

/* Returns true if all words except such marks are small integers of 64 bits. The bytes of these
 * that do not merely extend the sign are all lower bytes of words, which is rare in other data.
 * Each such byte adds the logarithm of that probability, and so do words of both signs. If all
 * words are equal, there must be at least WORDS_MIN. evidence: the least sum, in tenths of bits, so
 * the chance that other bytes, most of them 0, look so is 2^(-evidence / 10); of random bytes 2^-16
 * a word. */
bool raw_are_small_words(const struct sample *sample, size_t evidence);

/* Returns true if the words have one magnitude, as times and ids do: their top bytes are nearly
 * equal, and the bytes below, down to byte 3 or 2, have many more values. If the top bytes differ
 * by one at most, this is required of bytes 3 and 2, or 3 to 5, alone. Words that are 0, -1
 * or such marks are not considered. Random bytes are so with a probability of 10^-20, and bytes
 * that are all of one range, or have a period of 2 or 4, never. */
bool raw_are_times(const struct sample *sample);

/* Returns true if the words are integers of 64 bits, and not pairs of small ones. In a pair the
 * upper half is used, and byte 3 extends a sign, as byte 7 does. */
bool raw_are_long_integers(const struct sample *sample);

/* Returns true if the words are surely small integers of the other byte order: the top byte has
 * more than twice as many values as any other byte, without 0 and 255, which extend a sign; and the
 * next byte, if it varies, does so in its lowest bit. Doubles that are powers of 2, and ids in the
 * upper bits of words, do not. */
bool raw_is_top_byte_finest(const struct sample *sample);

/* Returns true if each word is characters, spaces and ends of lines, and then NULs, and half of the
 * bytes are no NULs. endian: the byte order in which the words were read. */
bool raw_is_text(const struct sample *sample, enum key_endian endian, bool *has_lines);

/* Fails if `word` names a type of 4 bytes in C, and of 8 bytes in NumPy and so here, and the data
 * looks like C's, or its file is named so. */
bool raw_check_word_of_c(struct source *source, const char *word, const struct key_type *type,
                         const struct key_type *named_type, enum key_endian endian,
                         struct error *error);

/* Fails for data with the type i8, u8 or f16, which have 1 and 2 bytes here, if it looks like
 * NumPy's types of these names, which have 8 and 16 bytes. named_type: that of the file's name, or
 * NULL. --endian=big may be for indices, but with --type=i8 it means numbers of several bytes.
 * Accepts data of any other type. Consumes nothing. */
bool raw_check_name(const struct options *options, const struct key_type *type,
                    const struct key_type *named_type, struct source *source, struct error *error);

#endif
