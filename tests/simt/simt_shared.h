/* SPDX-License-Identifier: Apache-2.0 */
/* simt_shared.h - shared memory, filled with poison before each block. */
#ifndef SIMT_SHARED_H
#define SIMT_SHARED_H

#include "simt_symbols.h"

#include <algorithm>
#include <map>
#include <stddef.h>
#include <string.h>
#include <vector>

constexpr unsigned char simt_poison = 0xa5;

/* Keeps shared memory poisoned: before each block, poisons the variables that the previous block
 * may have written. The variables that a kernel writes are looked up after its blocks 0, 1, 3, 7,
 * ..., counted over all its launches. A look at all variables of the program after each block would
 * cost more than most blocks. */
class shared_poisoner
{
  public:
    shared_poisoner()
    {
        for (const simt_variable &variable : variables_)
            memset(variable.data, simt_poison, variable.bytes);
    }
    /* dynamic_shared has dynamic_bytes bytes. */
    void before_block(void *dynamic_shared, size_t dynamic_bytes)
    {
        if (last_ != nullptr)
            for (const simt_variable *variable : last_->written)
                memset(variable->data, simt_poison, variable->bytes);
        if (dynamic_bytes > 0)
            memset(dynamic_shared, simt_poison, dynamic_bytes);
    }
    void after_block(const void *function)
    {
        last_ = &kernels_[function];
        last_->blocks_done++;
        if ((last_->blocks_done & (last_->blocks_done - 1)) == 0)
            find_written(&last_->written);
    }

  private:
    struct kernel_blocks {
        size_t blocks_done = 0;
        std::vector<const simt_variable *> written;
    };

    static bool is_written(const simt_variable &variable)
    {
        return variable.bytes > 0 &&
               (variable.data[0] != simt_poison ||
                memcmp(variable.data, variable.data + 1, variable.bytes - 1) != 0);
    }
    void find_written(std::vector<const simt_variable *> *written) const
    {
        for (const simt_variable &variable : variables_)
            if (is_written(variable) &&
                std::find(written->begin(), written->end(), &variable) == written->end())
                written->push_back(&variable);
    }

    const std::vector<simt_variable> &variables_ = simt_shared_variables();
    std::map<const void *, kernel_blocks> kernels_;
    struct kernel_blocks *last_ = nullptr; /* the kernel of the previous block */
};

#endif
