/* SPDX-License-Identifier: Apache-2.0 */
/* simt_symbols.h - reads the program's own symbol table: names of kernels, for reports, and
 * addresses of the kernels' shared memory, to poison it.
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

/* Returns the name of the function at that address, or the address itself in a stripped program. */
std::string simt_function_name(const void *function);

/* Returns the __shared__ variables of the program; none in a stripped program. */
const std::vector<simt_variable> &simt_shared_variables();

#endif
