/* zstd_codec.h - the functions of the zstd row of the table of codecs; codec.h has their contracts.
 */
#ifndef FORMATS_ZSTD_CODEC_H
#define FORMATS_ZSTD_CODEC_H

#include "formats/codec.h"

#define ZSTD_LEVEL_MIN 1
#define ZSTD_LEVEL_MAX 22
#define ZSTD_LEVEL_DEFAULT 3

bool zstd_recognises(const unsigned char *head, size_t bytes);

void *zstd_decoder_open(void);
bool zstd_decode(void *decoder, struct byte_reader *in, struct byte_writer *out, bool *frame_open,
                 struct error *error);
void zstd_decoder_close(void *decoder);

void *zstd_encoder_open(int level, unsigned threads);
bool zstd_encode(void *encoder, struct byte_reader *in, struct byte_writer *out, bool finish,
                 bool *finished, struct error *error);
void zstd_encoder_close(void *encoder);

#endif
