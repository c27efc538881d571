/* SPDX-License-Identifier: Apache-2.0 */
/* processor_name.c - see processor_name.h. */
#include "cpu/processor_name.h"

#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#    include <cpuid.h>
#endif

void processor_name_find(char *name, size_t name_bytes)
{
    unsigned words[12] = {0};
#ifdef __x86_64__
    for (unsigned leaf = 0; leaf < 3; leaf++)
        if (!__get_cpuid(0x80000002u + leaf, &words[4 * leaf], &words[4 * leaf + 1],
                         &words[4 * leaf + 2], &words[4 * leaf + 3]))
            words[0] = 0;
#endif
    char text[sizeof words + 1] = {0};
    memcpy(text, words, sizeof words);
    const char *begin = text + strspn(text, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ')
        length--;
    snprintf(name, name_bytes, "%.*s", length > 0 ? (int)length : 3, length > 0 ? begin : "CPU");
}
