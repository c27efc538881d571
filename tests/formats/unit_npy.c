/* SPDX-License-Identifier: Apache-2.0 */
/* unit_npy.c - NumPy's files: they are written as numpy.save writes them, read if they are valid,
 * and otherwise refused with the reason.
 */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "tests/unit_files.h"

/* Writes a file with the header and `data_bytes` bytes of data after it. */
static void put_npy(const char *name, unsigned char major, unsigned char minor, const char *header,
                    size_t data_bytes)
{
    unsigned char file[1024];
    const size_t length = strlen(header), prefix = major == 1 ? 10 : 12;
    assert_true(prefix + length + data_bytes <= sizeof file);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = major;
    file[7] = minor;
    file[8] = (unsigned char)length;
    file[9] = (unsigned char)(length >> 8);
    file[10] = file[11] = 0;
    memcpy(file + prefix, header, length);
    for (size_t i = 0; i < data_bytes; i++)
        file[prefix + length + i] = (unsigned char)i;
    put_file(name, file, prefix + length + data_bytes);
}

/* Reads the header and the numbers of x.npy. */
static bool read_npy(const struct key_type *wanted, struct layout *layout, struct error *error)
{
    struct reader reader = {.layout = {.type = wanted}};
    unsigned char items[1024];
    size_t count = 1;
    assert_true(source_open("x.npy", 1, &reader.source, error));
    bool ok = format_npy.read_header(&reader, error);
    while (ok && count > 0) {
        ok = format_npy.read_keys(&reader, items, 2, &count, error);
        for (size_t i = 0; ok && i < count * reader.layout.type->bytes; i++)
            assert_int_equal(
                items[i],
                (unsigned char)((reader.keys_read - count) * reader.layout.type->bytes + i));
    }
    if (ok)
        assert_int_equal(reader.keys_read, reader.layout.count);
    *layout = reader.layout;
    source_close(reader.source);
    unlink("x.npy");
    return ok;
}

static const struct {
    unsigned char major;
    const char *header;
    const char *type;
    enum key_endian endian;
    size_t count;
} good_headers[] = {
    {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }     \n", "f64", 0, 3},
    {1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }\n", "f64", 0, 3},
    {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }  \n", "f32", 0, 5},
    {3, "{'descr': '<f2', 'fortran_order': False, 'shape': (7,), }  \n", "f16", 0, 7},
    {1, "{'descr': '>i4', 'fortran_order': False, 'shape': (4,), }\n", "i32", ENDIAN_BIG, 4},
    {1, "{'descr': '>u8', 'fortran_order': False, 'shape': (4,), }\n", "u64", ENDIAN_BIG, 4},
    {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }\n", "u8", 0, 9},
    {1, "{'descr': '|i1', 'fortran_order': False, 'shape': (9,), }\n", "i8", 0, 9},
    {1, "{'descr': '=f4', 'fortran_order': False, 'shape': (2,), }\n", "f32", 0, 2},
    {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (0,), }\n", "i16", 0, 0},
    {1, "{\"shape\":(3L,),\"fortran_order\":False,\"descr\":\"<u2\"}", "u16", 0, 3},
    {1, "{'shape': (3,), 'descr': '<i8', 'fortran_order': False}", "i64", 0, 3},
    {1, " { 'descr' : '<u4' , 'fortran_order' : True , 'shape' : ( 11 , ) , } \n", "u32", 0, 11},
    {1, "{'descr': '<f8',\n 'fortran_order': False,\n 'shape': (1,)\n}\n", "f64", 0, 1},
    {1, "{u'descr': u'f8', u'fortran_order': False, u'shape': (3L,), }\n", "f64", 0, 3},
    {1, "{'descr': '|f8', 'fortran_order': False, 'shape': (3,), }\n", "f64", 0, 3},
    {1, "{'descr': 'i8', 'fortran_order': False, 'shape': (3,), }\n", "i64", 0, 3},
    {1, "{'descr': '>h', 'fortran_order': False, 'shape': (3,), }\n", "i16", ENDIAN_BIG, 3},
    {1, "{'descr': 'float32', 'fortran_order': False, 'shape': (3,), }\n", "f32", 0, 3},
    {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", "bool", 0, 3},
    {1, "{'descr': '>m8', 'fortran_order': False, 'shape': (3,), }\n", "timedelta64", 1, 3},
};

static void test_good_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_headers / sizeof good_headers[0]; i++) {
        enum key_endian unused;
        const char *name = good_headers[i].type;
        const struct key_type *type = key_type_find(name, strlen(name), &unused);
        struct error error = {0};
        struct layout layout;
        put_npy("x.npy", good_headers[i].major, 0, good_headers[i].header,
                good_headers[i].count * type->bytes);
        if (!read_npy(NULL, &layout, &error))
            fail_msg("%s: %s", good_headers[i].header, error.message);
        assert_ptr_equal(layout.type, type);
        assert_int_equal(layout.endian, good_headers[i].endian);
        assert_int_equal(layout.count, good_headers[i].count);
    }
}

#define F8 "{'descr': '<f8', 'fortran_order': False, 'shape': "
static const struct {
    unsigned char major, minor;
    const char *header;
    const char *message; /* a part of it */
} bad_headers[] = {
    {4, 0, F8 "(3,), }\n", "version 4.0 of NumPy's format is not known"},
    {0, 0, F8 "(3,), }\n", "version 0.0"},
    {1, 1, F8 "(3,), }\n", "version 1.1"},
    {1, 0, "", "it is not a dictionary"},
    {1, 0, "   \n", "it is not a dictionary"},
    {1, 0, "[]", "it is not a dictionary"},
    {1, 0, "{", "a string is missing"},
    {1, 0, "{}", "'descr' is missing"},
    {1, 0, F8 "(3,), ", "a string is missing"},
    {1, 0, F8 "(3,), }x\n", "something stands behind it"},
    {1, 0, F8 "(3,), }{}\n", "something stands behind it"},
    {1, 0, F8 "(3,),, }\n", "a string is missing"},
    {1, 0, F8 "(3,) 'a': 1}\n", "a comma is missing"},
    {1, 0, F8 "(3,), 'extra': 1}\n", "unknown key 'extra'"},
    {1, 0, F8 "(3,), 'shape': (3,)}\n", "'shape' is there twice"},
    {1, 0, "{'descr': '<f8', 'shape': (3,), }\n", "'fortran_order' is missing"},
    {1, 0, "{'fortran_order': False, 'shape': (3,), }\n", "'descr' is missing"},
    {1, 0, "{'descr': '<f8', 'fortran_order': False, }\n", "'shape' is missing"},
    {1, 0, "{'descr' '<f8'}\n", "a colon is missing"},
    {1, 0, "{'descr': '<f8, }\n", "a string has no end"},
    {1, 0, "{'descr': '<f8\", }\n", "a string has no end"},
    {1, 0, "{'descr': '\\x3cf8', }\n", "a string with an escape"},
    {1, 0, "{'descr': 8, }\n", "a string is missing"},
    {1, 0, "{descr: '<f8', }\n", "a string is missing"},
    {1, 0, "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n",
     "dtype '|O' is not a number type that gpusort sorts"},
    {1, 0, "{'descr': '<c16', 'fortran_order': False, 'shape': (3,), }\n", "dtype '<c16'"},
    {1, 0, "{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }\n", "dtype '<f16'"},
    {1, 0, "{'descr': '<U5', 'fortran_order': False, 'shape': (3,), }\n", "dtype '<U5'"},
    {1, 0, "{'descr': '<M8[10]', 'fortran_order': False, 'shape': (3,), }\n", "dtype '<M8[10]'"},
    {1, 0, "{'descr': '<V1', 'fortran_order': False, 'shape': (3,), }\n", "dtype '<V1'"},
    {1, 0, "{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }\n",
     "x.npy: dtype '<V2' says 2 bytes of no type; if they are bfloat16, say --type=bf16"},
    {1, 0, "{'descr': b'<f8', 'fortran_order': False, 'shape': (3,), }\n", "a string is missing"},
    {1, 0, "{'descr': u <f8', 'fortran_order': False, 'shape': (3,), }\n", "a string is missing"},
    {1, 0, "{'descr': '', 'fortran_order': False, 'shape': (3,), }\n", "dtype ''"},
    {1, 0, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }\n",
     "a structured dtype"},
    {1, 0, "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }\n", "neither True nor False"},
    {1, 0, "{'descr': '<f8', 'fortran_order': Fals", "neither True nor False"},
    {1, 0, F8 "(3, 4), }\n", "the array has 2 dimensions, shape (3, 4)"},
    {1, 0, F8 "(1, 3, 1, 4), }\n", "the array has 4 dimensions, shape (1, 3, 1, 4)"},
    {1, 0, F8 "(0, 5), }\n", "the array has 2 dimensions, shape (0, 5)"},
    {1, 0, F8 "(), }\n", "the header says 1 items (8 bytes), the file holds 24 bytes"},
    {1, 0, F8 "(3), }\n", "a number, not a tuple"},
    {1, 0, F8 "3, }\n", "'shape' is not a tuple"},
    {1, 0, F8 "(3", "not a tuple of whole numbers"},
    {1, 0, F8 "(-3,), }\n", "not a tuple of whole numbers"},
    {1, 0, F8 "(3.0,), }\n", "not a tuple of whole numbers"},
    {1, 0, F8 "(03,), }\n", "not a tuple of whole numbers"},
    {1, 0, F8 "(,), }\n", "not a tuple of whole numbers"},
    {1, 0, F8 "(3,,), }\n", "not a tuple of whole numbers"},
    {1, 0, F8 "(L,), }\n", "not a tuple of whole numbers"},
    {1, 0, F8 "(18446744073709551616,), }\n", "shape is too large"},
    {1, 0, F8 "(18446744073709551615,), }\n", "shape is too large"},
    {1, 0, F8 "(2305843009213693952,), }\n", "shape is too large"},
    {1, 0, F8 "(4,), }\n",
     "x.npy: the header says 4 items (32 bytes), the file holds 24 bytes of data"},
    {1, 0, F8 "(2,), }\n",
     "x.npy: the header says 2 items (16 bytes), the file holds 24 bytes of data"},
};
#undef F8

static void test_bad_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        struct error error = {0};
        struct layout layout;
        put_npy("x.npy", bad_headers[i].major, bad_headers[i].minor, bad_headers[i].header, 24);
        if (read_npy(NULL, &layout, &error))
            fail_msg("accepted: %s", bad_headers[i].header);
        if (!strstr(error.message, bad_headers[i].message))
            fail_msg("%s: '%s' is not in '%s'", bad_headers[i].header, bad_headers[i].message,
                     error.message);
    }
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    put_npy("whole.npy", 1, 0, good_headers[0].header, 24);
    unsigned char *file = get_file("whole.npy", &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        struct error error = {0};
        struct layout layout;
        put_file("x.npy", file, cut);
        assert_false(read_npy(NULL, &layout, &error));
        assert_non_null(strstr(error.message,
                               cut < bytes - 24 ? "header is cut off" : "the header says 3 items"));
    }
    free(file);
    unlink("whole.npy");
}

static void test_long_header_is_refused(void **state)
{
    (void)state;
    static const unsigned char file[20] = "\x93NUMPY\x02\x00\x01\x00\x01\x00{";
    struct error error = {0};
    struct layout layout;
    put_file("x.npy", file, sizeof file);
    assert_false(read_npy(NULL, &layout, &error));
    assert_string_equal(error.message, "x.npy: a header of 65537 bytes is too long for numbers");
}

static void test_type_given_must_agree(void **state)
{
    (void)state;
    struct error error = {0};
    struct layout layout;
    put_npy("x.npy", 1, 0, good_headers[0].header, 24);
    assert_true(read_npy(&key_types[KEY_TYPE_f64], &layout, &error));
    put_npy("x.npy", 1, 0, good_headers[0].header, 24);
    assert_false(read_npy(&key_types[KEY_TYPE_f32], &layout, &error));
    assert_string_equal(error.message, "x.npy: the header says f64, the type given is f32");
}

static void write_npy(const struct layout *layout, const void *items, const struct codec *codec)
{
    struct error error = {0};
    struct sink *sink;
    assert_true(sink_open(&(struct sink_spec){"x.npy", codec, 0, 1, false, NULL}, &sink, &error));
    assert_true(format_npy.write_header(sink, layout, &error));
    assert_true(format_npy.write_keys(sink, layout, items, layout->count, NULL, &error));
    assert_true(sink_commit(sink, &error));
}

/* The size of compressed data may be known only at its end. */
static void test_lying_header_inside_zstd(void **state)
{
    (void)state;
    static const unsigned char items[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                            12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
    static const char *const messages[] = {
        "x.npy: the header says 2 items (16 bytes), the file holds more than 16 bytes of data", "",
        "x.npy: the header says 4 items (32 bytes), the file holds 24 bytes of data",
        "x.npy: the header says 2 items (16 bytes), the file holds 24 bytes of data"};
    for (size_t i = 0; i < 4; i++) {
        const size_t count = 2 + i % 3;
        const struct layout said = {
            .type = &key_types[KEY_TYPE_f64], .endian = ENDIAN_LITTLE, .count = count};
        struct error error = {0};
        struct sink *sink;
        struct layout layout;
        assert_true(
            sink_open(&(struct sink_spec){"x.npy", &codecs[1], 0, 1, false, NULL}, &sink, &error));
        assert_true(format_npy.write_header(sink, &said, &error));
        assert_true(sink_write(sink, items, sizeof items, &error));
        assert_true(sink_commit(sink, &error));
        if (i < 3)
            append_unsized_frame("x.npy");
        assert_int_equal(read_npy(NULL, &layout, &error), count == 3);
        assert_string_equal(error.message, messages[i]);
    }
}

/* The first 128 bytes that numpy.save of NumPy 1.24 wrote for these arrays; for bf16 with ml_dtypes
 * 0.6. */
static const struct {
    struct layout layout;
    const char *dictionary;
} numpy_headers[] = {
    {{.type = &key_types[KEY_TYPE_f64], .count = 3},
     "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"},
    {{.type = &key_types[KEY_TYPE_u8], .count = 0},
     "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }"},
    {{.type = &key_types[KEY_TYPE_i32], .endian = ENDIAN_BIG, .count = 1234567},
     "{'descr': '>i4', 'fortran_order': False, 'shape': (1234567,), }"},
    {{.type = &key_types[KEY_TYPE_bf16], .count = 2},
     "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }"},
    {{.type = &key_types[KEY_TYPE_bool], .count = 4, .ones_after = 1},
     "{'descr': '|b1', 'fortran_order': False, 'shape': (4, 1), }"},
    {{.type = &key_types[KEY_TYPE_datetime64], .descr = "<M8[25s]", .count = 5, .ones_before = 1},
     "{'descr': '<M8[25s]', 'fortran_order': False, 'shape': (1, 5), }"},
    {{.type = &key_types[KEY_TYPE_f64], .count = 1, .is_scalar = true},
     "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"},
    {{.type = &key_types[KEY_TYPE_f64], .count = 0, .is_scalar = true},
     "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }"},
};

static void test_header_is_that_of_numpy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numpy_headers / sizeof numpy_headers[0]; i++) {
        const struct layout layout = numpy_headers[i].layout;
        const size_t data_bytes = layout.count * layout.type->bytes;
        unsigned char *items = make_bytes(data_bytes), expected[128];
        memset(expected, ' ', sizeof expected);
        memcpy(expected, "\x93NUMPY\x01\x00v\x00", 10);
        memcpy(expected + 10, numpy_headers[i].dictionary, strlen(numpy_headers[i].dictionary));
        expected[127] = '\n';
        write_npy(&layout, items, &codecs[0]);
        size_t bytes;
        unsigned char *file = get_file("x.npy", &bytes);
        assert_int_equal(bytes, sizeof expected + data_bytes);
        assert_memory_equal(file, expected, sizeof expected);
        assert_memory_equal(file + sizeof expected, items, data_bytes);
        free(file);
        free(items);
        unlink("x.npy");
    }
}

static void test_recognises(void **state)
{
    (void)state;
    const unsigned char head[] = "\x93NUMPY";
    assert_true(format_npy.recognises(head, 6, true));
    assert_false(format_npy.recognises(head, 5, true));
    assert_false(format_npy.recognises((const unsigned char *)"1 NUMPY", 7, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_headers),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_long_header_is_refused),
        cmocka_unit_test(test_type_given_must_agree),
        cmocka_unit_test(test_lying_header_inside_zstd),
        cmocka_unit_test(test_header_is_that_of_numpy),
        cmocka_unit_test(test_recognises),
    };
    return cmocka_run_group_tests_name("npy", tests, enter_scratch, leave_scratch);
}
