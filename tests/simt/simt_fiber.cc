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

#include <new>
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

/* The stacks of so many threads are one piece of memory, in huge pages. On small pages all the
 * switches took radix_matrix a quarter of its time, because the processor keeps the addresses of
 * few pages. */
constexpr size_t stacks_together = 1024, huge_page = (size_t)2 << 20;

/* The lowest bytes of a stack, which a thread must not reach. */
constexpr size_t guard_bytes = 64;
constexpr unsigned char guard[guard_bytes] =
    "the lowest bytes of the stack of a thread, until it overflows";

} // namespace

struct fiber {
#if defined(SIMT_ASSEMBLY)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    const void *stack_bottom;
    size_t stack_size;
    void *fake_stack; /* AddressSanitizer's fake stack */
    fiber_body body;
    struct fiber *next_idle;
};

namespace
{

struct fiber host;               /* the stack of the caller of fiber_run */
struct fiber *current = nullptr; /* NULL: the host */
struct fiber *previous = nullptr;
struct fiber *idle = nullptr; /* the pool, a stack */
size_t fibers_made = 0;

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
        host.stack_bottom = bottom;
        host.stack_size = size;
    }
#else
    (void)self;
#endif
}

void run_rounds()
{
    struct fiber *self = current;
    arrived(self);
    for (;;)
        self->body();
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

void swap_stacks(struct fiber *from, struct fiber *to)
{
#if defined(SIMT_ADDRESS_SANITIZER)
    if (has_fake_stack)
        __sanitizer_start_switch_fiber(&from->fake_stack, to->stack_bottom, to->stack_size);
#endif
    previous = from;
#if defined(SIMT_ASSEMBLY)
    simt_swap_stacks(&from->stack_pointer, to->stack_pointer);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrived(from);
}

/* Lays out the stack as if run_rounds had been called and had switched away before its first
 * instruction. */
void prepare_stack(struct fiber *fiber)
{
#if defined(SIMT_ASSEMBLY)
    void **top = (void **)((char *)const_cast<void *>(fiber->stack_bottom) + fiber->stack_size);
    *--top = nullptr; /* return address of run_rounds: a backtrace ends here */
    *--top = (void *)run_rounds;
    for (int i = 0; i < 6; i++)
        *--top = nullptr; /* the six preserved registers */
    fiber->stack_pointer = top;
#else
    if (getcontext(&fiber->context) != 0)
        fail("simt: getcontext");
    fiber->context.uc_stack.ss_sp = const_cast<void *>(fiber->stack_bottom);
    fiber->context.uc_stack.ss_size = fiber->stack_size;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, run_rounds, 0);
#endif
}

/* Allocates the stacks of further threads. */
char *stacks_make()
{
    constexpr size_t bytes = stacks_together * stack_bytes;
    char *map = (char *)mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        fail("simt: no memory for the stacks of threads");
    map = (char *)(((uintptr_t)map + huge_page - 1) / huge_page * huge_page);
    (void)madvise(map, bytes, MADV_HUGEPAGE);
    return map;
}

struct fiber *fiber_make(fiber_body body)
{
    static char *stacks;
    const size_t number = fibers_made++ % stacks_together;
    if (number == 0)
        stacks = stacks_make();
    /* The fiber itself is stored after the top of its stack, and is read as often. */
    constexpr size_t own_bytes = (sizeof(struct fiber) + 63) / 64 * 64;
    constexpr size_t size = stack_bytes - own_bytes;
    char *const stack = stacks + number * stack_bytes;
    struct fiber *fiber = new (stack + size) struct fiber();
    fiber->stack_bottom = stack;
    fiber->stack_size = size;
    fiber->body = body;
    memcpy(stack, guard, guard_bytes);
    prepare_stack(fiber);
    return fiber;
}

void make_idle(struct fiber *fiber)
{
    if (memcmp(fiber->stack_bottom, guard, guard_bytes) != 0) {
        fprintf(stderr, "simt: a thread needs a larger stack (stack_bytes in simt_fiber.cc)\n");
        abort();
    }
    fiber->next_idle = idle;
    idle = fiber;
}

} // namespace

struct fiber *fiber_take(fiber_body body)
{
    if (idle == nullptr)
        return fiber_make(body);
    struct fiber *fiber = idle;
    idle = fiber->next_idle;
    fiber->body = body;
    return fiber;
}

struct fiber *fiber_current()
{
    return current;
}

void fiber_run(struct fiber *first)
{
    current = first;
    swap_stacks(&host, first);
}

void fiber_switch(struct fiber *next)
{
    struct fiber *self = current;
    if (next == self)
        return;
    current = next;
    swap_stacks(self, next);
}

void fiber_retire(struct fiber *next)
{
    make_idle(current);
    fiber_switch(next);
}

void fiber_return()
{
    struct fiber *self = current;
    make_idle(self);
    current = nullptr;
    swap_stacks(self, &host);
}
