/* SPDX-License-Identifier: Apache-2.0 */
/* simt_fiber.cc - see simt_launch.h.
 *
 * A switch saves the registers that a C function must preserve, and swaps the stack pointer. On
 * x86-64 it is written in assembly and takes a few nanoseconds. Elsewhere swapcontext does it. That
 * is correct but far slower, because it makes a system call for the signal mask each time
 * (-DSIMT_UCONTEXT selects it on x86-64, too).
 *
 * AddressSanitizer is notified of every switch if it keeps frames outside of the stacks
 * (ASAN_OPTIONS=detect_stack_use_after_return=1). Otherwise it needs the bounds of a stack only to
 * name the variable of an error, and for exceptions and longjmp(3), which no kernel uses;
 * notifications would take a quarter of the time of radix_matrix.
 */
#include "simt_launch.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(SIMT_ADDRESS_SANITIZER)
#    include <sanitizer/asan_interface.h>
#endif
#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#    define SIMT_ASSEMBLY
#else
#    include <ucontext.h>
#endif

namespace
{

/* A sanitizer's red zones make frames several times larger. 320 is added so that the frames of 1024
 * threads do not compete for the same few sets of the cache. */
constexpr size_t stack_bytes = 16 * 1024 + 320;

/* The stacks are one piece of memory, in huge pages. On small pages all the switches took
 * radix_matrix a quarter of its time, because the processor keeps the addresses of few pages. */
constexpr size_t huge_page = (size_t)2 << 20;

/* The lowest bytes of a stack, which a thread must not reach. */
constexpr size_t guard_bytes = 64;
constexpr unsigned char guard[guard_bytes] =
    "the lowest bytes of the stack of a thread, until it overflows";

struct fiber {
#if defined(SIMT_ASSEMBLY)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    char *stack_bottom; /* NULL until it first runs */
    size_t stack_size;
    void *fake_stack; /* AddressSanitizer's fake stack */
};

struct fiber host; /* the stack of the caller of fiber_run */
struct fiber fibers[fiber_max];
struct fiber *current = &host, *previous;
fiber_body body;

[[noreturn]] void fail(const char *what)
{
    perror(what);
    abort();
}

#if defined(SIMT_ADDRESS_SANITIZER)
const bool has_fake_stack = __asan_get_current_fake_stack() != nullptr;
#endif

/* Must be called first after every switch, on the new stack. */
void arrived(struct fiber *self)
{
#if defined(SIMT_ADDRESS_SANITIZER)
    if (!has_fake_stack)
        return;
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
    if (previous == &host) {
        host.stack_bottom = (char *)const_cast<void *>(bottom);
        host.stack_size = size;
    }
#else
    (void)self;
#endif
}

} // namespace

#if defined(SIMT_ASSEMBLY)
/* void simt_swap_stacks(void **save, void *load) */
extern "C" void simt_swap_stacks(void **save, void *load);
asm(R"(
    .text
    .globl simt_swap_stacks
    .type simt_swap_stacks, @function
simt_swap_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size simt_swap_stacks, .-simt_swap_stacks
)");
#endif

namespace
{

void switch_to(struct fiber *next)
{
    struct fiber *const self = current;
    if (next == self)
        return;
#if defined(SIMT_ADDRESS_SANITIZER)
    if (has_fake_stack)
        __sanitizer_start_switch_fiber(&self->fake_stack, next->stack_bottom, next->stack_size);
#endif
    previous = self;
    current = next;
#if defined(SIMT_ASSEMBLY)
    simt_swap_stacks(&self->stack_pointer, next->stack_pointer);
#else
    swapcontext(&self->context, &next->context);
#endif
    arrived(self);
}

struct fiber *fiber_at(unsigned number);

void run_rounds()
{
    struct fiber *const self = current;
    arrived(self);
    for (;;) {
        const unsigned next = body();
        if (memcmp(self->stack_bottom, guard, guard_bytes) != 0) {
            fprintf(stderr, "simt: a thread needs a larger stack (stack_bytes in simt_fiber.cc)\n");
            abort();
        }
        switch_to(next == fiber_max ? &host : fiber_at(next));
    }
}

/* Lays out the stack as if run_rounds had been called and had switched away before its first
 * instruction. */
void prepare_stack(struct fiber *fiber)
{
#if defined(SIMT_ASSEMBLY)
    void **top = (void **)(fiber->stack_bottom + fiber->stack_size);
    *--top = nullptr; /* return address of run_rounds: a backtrace ends here */
    *--top = (void *)run_rounds;
    for (int i = 0; i < 6; i++)
        *--top = nullptr; /* the six preserved registers */
    fiber->stack_pointer = top;
#else
    if (getcontext(&fiber->context) != 0)
        fail("simt: getcontext");
    fiber->context.uc_stack.ss_sp = fiber->stack_bottom;
    fiber->context.uc_stack.ss_size = fiber->stack_size;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, run_rounds, 0);
#endif
}

char *stacks_make()
{
    constexpr size_t bytes = fiber_max * stack_bytes;
    char *map = (char *)mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        fail("simt: no memory for the stacks of threads");
    map = (char *)(((uintptr_t)map + huge_page - 1) / huge_page * huge_page);
    (void)madvise(map, bytes, MADV_HUGEPAGE);
    return map;
}

struct fiber *fiber_at(unsigned number)
{
    static char *const stacks = stacks_make();
    struct fiber *const fiber = &fibers[number];
    if (fiber->stack_bottom == nullptr) {
        fiber->stack_bottom = stacks + number * stack_bytes;
        fiber->stack_size = stack_bytes;
        memcpy(fiber->stack_bottom, guard, guard_bytes);
        prepare_stack(fiber);
    }
    return fiber;
}

} // namespace

void fiber_run(fiber_body body_to_run, unsigned first)
{
    body = body_to_run;
    switch_to(fiber_at(first));
}

void fiber_switch(unsigned next)
{
    switch_to(fiber_at(next));
}
