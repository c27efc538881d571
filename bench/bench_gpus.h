/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gpus.h - times several GPUs that sort together, from pinned host memory to host memory. */
#ifndef BENCH_BENCH_GPUS_H
#define BENCH_BENCH_GPUS_H

#include "bench/bench_run.h"

/* Sorts the case in host memory by options->devices, options->effort.runs times after a run to warm
 * up, and prints the times: of all, and of the upload, the sort of the parts, the exchange and the
 * download. Memory is allocated before. The device and the stream of `whole` are not used. Sets
 * *is_sorted if every output was sorted and complete. */
bool bench_run_gpus(const struct bench_options *options, const struct bench_case *whole,
                    const struct sorter *sorter, bool *is_sorted, struct error *error);

#endif
