/* unit_sink.h - a sink that is opened, and the temporaries that it has; for unit tests. */
#ifndef TESTS_UNIT_SINK_H
#define TESTS_UNIT_SINK_H

#include "formats/codec.h"
#include "formats/sink.h"
#include "tests/unit_files.h"

#include <glob.h>

static inline struct sink *open_sink(const char *path)
{
    struct error error = {0};
    struct sink *sink;
    const bool opened = sink_open(&(struct sink_spec){path, &codecs[0], 0, 2}, &sink, &error);
    assert_string_equal(error.message, "");
    assert_true(opened);
    return sink;
}

/* In the working directory. */
static inline size_t count_temporaries(void)
{
    glob_t found;
    const int result = glob(".*gpusort-*", 0, NULL, &found);
    const size_t count = result == 0 ? found.gl_pathc : 0;
    if (result == 0)
        globfree(&found);
    return count;
}

#endif
