/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sink.h - a sink that is opened; for unit tests. */
#ifndef TESTS_UNIT_SINK_H
#define TESTS_UNIT_SINK_H

#include "formats/codec/codec.h"
#include "formats/io/sink.h"
#include "tests/formats/unit_temporary.h"

static inline struct sink *open_sink(const char *path)
{
    struct error error = {0};
    struct sink *sink;
    const bool opened =
        sink_open(&(struct sink_spec){path, &codecs[0], 0, 2, false, NULL}, &sink, &error);
    assert_string_equal(error.message, "");
    assert_true(opened);
    return sink;
}

#endif
