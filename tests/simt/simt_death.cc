/* SPDX-License-Identifier: Apache-2.0 */
/* simt_death.cc - see simt_death.h. */
#include "simt_death.h"

#include <signal.h>
#include <stddef.h>

#if defined(SIMT_ADDRESS_SANITIZER)
#    include <sanitizer/common_interface_defs.h>
#endif

namespace
{

void (*tell_before_death)();
#if !defined(SIMT_ADDRESS_SANITIZER)
unsigned char signal_stack[64 * 1024];
#endif

extern "C" void on_deadly_signal(int number)
{
    tell_before_death();
    signal(number, SIG_DFL);
    raise(number);
}

} // namespace

/* Handles deadly signals on a separate stack, because the fiber's stack may have overflowed.
 * AddressSanitizer handles all but SIGABRT itself and then calls back. The undefined behaviour
 * sanitizer calls back only with UBSAN_OPTIONS=abort_on_error=1. */
void simt_catch_death(void (*tell)())
{
    tell_before_death = tell;
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    size_t caught = sizeof(signals) / sizeof(signals[0]);
#if defined(SIMT_ADDRESS_SANITIZER)
    __sanitizer_set_death_callback(tell);
    caught = 1;
#else
    stack_t stack = {};
    stack.ss_sp = signal_stack;
    stack.ss_size = sizeof(signal_stack);
    sigaltstack(&stack, nullptr);
#endif
    for (size_t i = 0; i < caught; i++) {
        struct sigaction action = {};
        action.sa_handler = on_deadly_signal;
        action.sa_flags = SA_ONSTACK | SA_RESETHAND;
        sigaction(signals[i], &action, nullptr);
    }
}
