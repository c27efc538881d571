/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - see options.h. The only source that depends on the commit (GPUSORT_COMMIT, from the
 * Makefile), so that no other source is compiled again for another commit.
 */
#include "cli/options/options.h"

#include "core/backend.h"

void version_print(FILE *stream)
{
    char build[256];
    fprintf(stream, "gpusort %s\nbuilt for", GPUSORT_VERSION);
    for (size_t i = 0; i < backend_count; i++) {
        backends[i]->describe_build(build, sizeof build);
        fprintf(stream, "%s %s", i == 0 ? "" : " and", build);
    }
    fprintf(stream, "%s; commit %s\n", backend_count == 1 ? " only, without CUDA" : "",
            *GPUSORT_COMMIT ? GPUSORT_COMMIT : "unknown");
    fputs("\n"
          "Copyright (C) 2026 the gpusort authors.\n"
          "License: Apache 2.0 <https://www.apache.org/licenses/LICENSE-2.0>.\n"
          "There is NO WARRANTY, to the extent permitted by law.\n",
          stream);
}
