/* SPDX-License-Identifier: Apache-2.0 */
/* exit.h - how the process ends when main does not end it. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include <stdbool.h>

/* As sort(1): 1 says that -c or -C found a line out of order, and nothing else. */
enum { EXIT_DISORDER = 1, EXIT_TROUBLE = 2 };

/* Call first. From now on an exit checks that standard output took what was printed, so that
 * `gpusort --help > /dev/full` fails; and a file that grows too large is an error, no signal. */
void exit_prepare(void);

/* While true, an exit is no success, whatever status it says: it was a library's (OpenMP's ends the
 * process when it cannot start a thread). The temporary is removed and the status is EXIT_TROUBLE.
 */
void exit_is_trouble(bool is_trouble);

#endif
