/* SPDX-License-Identifier: Apache-2.0 */
/* no_peers.cu - the empty list of peers of a build without CUB. It has a row, because C++ has no
 * empty arrays, and a count of 0.
 */
#include "bench/bench_run.h"

extern "C" {
const struct peer peers[] = {{"", NULL}};
const size_t peer_count = 0;
}
