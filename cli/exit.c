/* SPDX-License-Identifier: Apache-2.0 */
/* exit.c - see exit.h. */
#include "cli/exit.h"

#include "cli/launcher.h"
#include "cli/options/quote.h"
#include "core/ending.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_trouble_now; /* static, because an exit handler takes no arguments */

static void end_process(void)
{
    if (quote_holds_text()) /* argp ends the process */
        launcher_let_rank_0_print(false);
    quote_release_stderr();
    if (is_trouble_now) {
        ending_do_tasks();
        fputs("gpusort: ended by OpenMP, as it says above; fewer threads (--parallel) may do\n",
              stderr);
        _exit(EXIT_TROUBLE);
    }
    const bool pending = __fpending(stdout) > 0 || ferror(stdout);
    errno = 0; /* an earlier write may have failed with an unknown cause */
    if (fclose(stdout) != 0 && pending) {
        fprintf(stderr, "gpusort: standard output: %s\n", errno ? strerror(errno) : "write failed");
        _exit(EXIT_TROUBLE);
    }
}

void exit_prepare(void)
{
    atexit(end_process);
    signal(SIGXFSZ, SIG_IGN);
}

void exit_is_trouble(bool is_trouble)
{
    is_trouble_now = is_trouble;
}
