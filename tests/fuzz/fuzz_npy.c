/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c - NumPy's files: any header is read without an error of memory. The numbers of an
 * accepted file are all bytes after its header, and are read unchanged.
 *
 * Which headers are accepted, and what they mean, is compared with NumPy by fuzz_numbers.py and
 * tests/formats/npy.sh.
 */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "tests/fuzz/fuzz.h"

#define PREFIX "\x93NUMPY"

/* Reads all numbers, and compares them with the bytes from `expected` on. */
static bool read_numbers(struct reader *reader, const uint8_t *expected, struct error *error)
{
    unsigned char items[64];
    size_t count = 1, done = 0;
    while (count > 0) {
        if (!format_npy.read_keys(reader, items, sizeof items / 8, &count, error))
            return false;
        const size_t bytes = count * reader->layout.type->bytes;
        if (memcmp(items, expected + done, bytes) != 0)
            fuzz_fail("the numbers at byte %zu of the data", done);
        done += bytes;
    }
    return true;
}

/* Returns the number of bytes before the data; `bytes` if the file has no whole header. */
static size_t header_end(const uint8_t *file, size_t bytes)
{
    const size_t prefix = bytes > 6 && file[6] > 1 ? 12 : 10;
    if (bytes < prefix)
        return bytes;
    size_t length = file[8] | (size_t)file[9] << 8;
    if (prefix == 12)
        length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
    return length < bytes - prefix ? prefix + length : bytes;
}

static void check_file(const uint8_t *file, size_t bytes)
{
    static struct error error;
    struct reader reader = {.layout = {.type = NULL}};
    const size_t data = header_end(file, bytes);
    error.is_set = false;
    const int memory = fuzz_open_file(file, bytes);
    if (!source_open_file(memory, "x.npy", &codecs[0], 1, &reader.source, &error))
        fuzz_fail("%s", error.message);
    if (format_npy.read_header(&reader, &error) && read_numbers(&reader, file + data, &error) &&
        reader.layout.count * reader.layout.type->bytes != bytes - data)
        fuzz_fail("%zu numbers in %zu bytes", reader.layout.count, bytes - data);
    source_close(reader.source);
    close(memory);
}

/* Input: a whole file; or, for most first bytes, a header up to a NUL, to which the prefix is
 * added, and data. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t file[FUZZ_TEXT_MAX + 4096];
    struct fuzz_input input = {data, bytes};
    if (bytes > 0 && data[0] == PREFIX[0]) {
        check_file(data, bytes);
        return 0;
    }
    const unsigned version = fuzz_take(&input) % 3 + 1;
    const struct fuzz_text header =
        fuzz_take_text(&input, '\0', version == 1 ? 1000 : FUZZ_TEXT_MAX);
    const size_t prefix = version == 1 ? 10 : 12;
    const size_t rest = input.bytes < 4000 ? input.bytes : 4000;
    memcpy(file, PREFIX, 6);
    file[6] = (uint8_t)version;
    file[7] = 0;
    for (size_t i = 8; i < prefix; i++)
        file[i] = (uint8_t)(header.length >> 8 * (i - 8));
    memcpy(file + prefix, header.data, header.length);
    memcpy(file + prefix + header.length, input.data, rest);
    check_file(file, prefix + header.length + rest);
    free(header.data);
    return 0;
}
