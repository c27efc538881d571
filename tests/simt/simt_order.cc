/* SPDX-License-Identifier: Apache-2.0 */
/* simt_order.cc - see simt_order.h. */
#include "simt_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string>

struct simt_order simt_order_read()
{
    const char *text = getenv("SIMT_ORDER");
    const std::string word = text == nullptr ? "random:1" : text;
    char *end = nullptr;
    if (word == "forward")
        return {ORDER_FORWARD, 0};
    if (word == "reverse")
        return {ORDER_REVERSE, 0};
    if (word.rfind("random:", 0) == 0 && word.size() > 7) {
        const uint64_t seed = strtoull(word.c_str() + 7, &end, 10);
        if (*end == '\0')
            return {ORDER_RANDOM, seed};
    }
    fprintf(stderr, "simt: SIMT_ORDER is '%s', not forward, reverse or random:SEED\n",
            word.c_str());
    abort();
}
