/* SPDX-License-Identifier: Apache-2.0 */
/* processor_name.h - the processor's name by CPUID: reading /proc/cpuinfo takes longer than a small
 * sort.
 */
#ifndef CPU_PROCESSOR_NAME_H
#define CPU_PROCESSOR_NAME_H

#include <stddef.h>

/* Writes the name without surrounding blanks, or "CPU" if it is unknown. name_bytes: size of
 * `name`. */
void processor_name_find(char *name, size_t name_bytes);

#endif
