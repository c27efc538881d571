/* SPDX-License-Identifier: Apache-2.0 */
/* simt_symbols.h - what the program's own symbol table knows: the names of kernels, for reports,
 * and where the shared memory of the kernels lies, so that it can be poisoned.
 */
#ifndef SIMT_SYMBOLS_H
#define SIMT_SYMBOLS_H

#include <stddef.h>
#include <string>
#include <vector>

struct simt_variable {
    unsigned char *data;
    size_t bytes;
};

/* The name of the function at that address; the address itself in a stripped program. */
std::string simt_function_name(const void *function);

/* The __shared__ variables of the program; none in a stripped program. */
const std::vector<simt_variable> &simt_shared_variables();

#endif
