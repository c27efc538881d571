/* SPDX-License-Identifier: Apache-2.0 */
/* exit.h - checks for a process that ends outside main. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include <stdbool.h>

/* As in sort(1): 1 means only that -c or -C found a line out of order. */
enum { EXIT_DISORDER = 1, EXIT_TROUBLE = 2 };

/* Call this first. On exit, checks that standard output accepted everything printed, so that
 * `gpusort --help > /dev/full` fails. A file that grows too large becomes an error instead of a
 * signal. */
void exit_prepare(void);

/* While true, every exit is a failure, whatever its status, because it is a library's: OpenMP ends
 * the process when it cannot start a thread. The temporary is removed and the status is
 * EXIT_TROUBLE. */
void exit_is_trouble(bool is_trouble);

#endif
