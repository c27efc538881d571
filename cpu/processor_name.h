/* SPDX-License-Identifier: Apache-2.0 */
/* processor_name.h - what the processor calls itself. The same is in /proc/cpuinfo, which takes
 * longer to read than a small input takes to sort.
 */
#ifndef CPU_PROCESSOR_NAME_H
#define CPU_PROCESSOR_NAME_H

#include <stddef.h>

/* Without the blanks around it; "CPU" if it does not say. */
void processor_name_find(char *name, size_t name_bytes);

#endif
