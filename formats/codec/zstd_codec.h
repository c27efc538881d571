/* SPDX-License-Identifier: Apache-2.0 */
/* zstd_codec.h - the functions in zstd's row of the table of codecs; codec.h has their contracts.
 */
#ifndef FORMATS_ZSTD_CODEC_H
#define FORMATS_ZSTD_CODEC_H

#include "formats/codec/codec.h"

#define ZSTD_LEVEL_MIN 1
#define ZSTD_LEVEL_MAX 22
#define ZSTD_LEVEL_DEFAULT 3

/* Windows of zstd(1)'s --long. */
#define ZSTD_WINDOW_LOG_LEAST 10
#define ZSTD_WINDOW_LOG_MOST 31
#define ZSTD_WINDOW_LOG_DEFAULT 27

bool zstd_recognises(const unsigned char *head, size_t bytes);
uint64_t zstd_skippable_bytes(const unsigned char *data, size_t bytes);
bool zstd_is_sound(const unsigned char *data, size_t bytes);

void *zstd_decoder_open(unsigned window_log);
bool zstd_decode(void *decoder, struct byte_reader *in, struct byte_writer *out, bool *frame_open,
                 struct error *error);
void zstd_decoder_reset(void *decoder);
void zstd_decoder_close(void *decoder);

enum frame_kind zstd_scan(const unsigned char *data, size_t bytes, size_t content_limit,
                          struct frame_extent *extent);
bool zstd_content_bytes(int file, uint64_t begin, uint64_t end, uint64_t *bytes);
bool zstd_find_frames(int file, uint64_t begin, uint64_t end, struct frame_position *positions,
                      size_t count);
bool zstd_decode_frames(void *decoder, struct byte_reader in, struct byte_writer *out);

void *zstd_encoder_open(int level);
size_t zstd_encoder_bytes(int level);
size_t zstd_encoded_bytes_max(size_t bytes);
bool zstd_encode(void *encoder, struct byte_reader in, struct byte_writer *out,
                 struct error *error);
void zstd_encoder_close(void *encoder);

#endif
