/* SPDX-License-Identifier: Apache-2.0 */
/* large_blocks.c - malloc(3), calloc(3) and free(3) for the fuzz targets. They keep large blocks
 * for the next execution (ld --wrap).
 *
 * A source allocates a buffer of 1 MiB when it is opened. The address sanitizer's allocator maps
 * and unmaps such a block and its shadow each time, which took most of the time of an execution. A
 * kept block is poisoned, so a use after free is still found.
 */
#include <malloc.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <string.h>

#define LARGE_BYTES ((size_t)32 << 10)
#define BLOCKS 16

static void *blocks[BLOCKS];
static size_t next; /* the block to replace next */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void __wrap_free(void *block);

/* Takes a kept block of that size; NULL if there is none. */
static void *take_block(size_t bytes)
{
    void *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BLOCKS && !found; i++)
        if (blocks[i] && malloc_usable_size(blocks[i]) == bytes) {
            found = blocks[i];
            blocks[i] = NULL;
            __asan_unpoison_memory_region(found, bytes);
        }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Keeps the block instead of the one kept longest, which is returned. */
static void *keep_block(void *block, size_t bytes)
{
    pthread_mutex_lock(&lock);
    void *const oldest = blocks[next];
    __asan_poison_memory_region(block, bytes);
    blocks[next] = block;
    next = (next + 1) % BLOCKS;
    if (oldest)
        __asan_unpoison_memory_region(oldest, malloc_usable_size(oldest));
    pthread_mutex_unlock(&lock);
    return oldest;
}

void *__wrap_malloc(size_t bytes)
{
    void *const block = bytes >= LARGE_BYTES ? take_block(bytes) : NULL;
    return block ? block : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    const size_t all = bytes > 0 && count > SIZE_MAX / bytes ? 0 : count * bytes;
    void *const block = all >= LARGE_BYTES ? take_block(all) : NULL;
    return block ? memset(block, 0, all) : __real_calloc(count, bytes);
}

void __wrap_free(void *block)
{
    const size_t bytes = block ? malloc_usable_size(block) : 0;
    __real_free(bytes >= LARGE_BYTES ? keep_block(block, bytes) : block);
}
