/* SPDX-License-Identifier: Apache-2.0 */
/* simt_order.h - the order in which threads and blocks run, as set by SIMT_ORDER. */
#ifndef SIMT_ORDER_H
#define SIMT_ORDER_H

#include <algorithm>
#include <numeric>
#include <stdint.h>

/* Maximum number of threads of a block. */
constexpr unsigned simt_threads_most = 1024;

enum order_kind { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM };

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016. */
class random_source
{
  public:
    void seed(uint64_t seed)
    {
        state_ = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
    }
    /* Returns a number below n, which is at least 1. */
    unsigned below(unsigned n)
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return (unsigned)((state_ * 0x2545f4914f6cdd1du >> 32) * n >> 32);
    }

  private:
    uint64_t state_ = 1;
};

struct simt_order {
    order_kind kind;
    uint64_t seed;
};

/* Returns the order of SIMT_ORDER, or random:1 if it is not set. Ends the process if it is invalid.
 */
struct simt_order simt_order_read();

/* The order of `count` blocks. Block i of it is start + i * stride mod count; all are different,
 * because stride and count have no common divisor. */
class block_order
{
  public:
    block_order(struct simt_order order, class random_source *dice, uint64_t count) : count_(count)
    {
        if (order.kind == ORDER_REVERSE) {
            start_ = count - 1;
            stride_ = count - 1;
        } else if (order.kind == ORDER_RANDOM) {
            const unsigned limit = (unsigned)std::min<uint64_t>(count, 0xffffffffu);
            start_ = dice->below(limit);
            do
                stride_ = 1 + dice->below(limit);
            while (std::gcd(stride_, count) != 1);
        }
    }
    uint64_t at(uint64_t i) const
    {
        return (uint64_t)((start_ + (unsigned __int128)i * stride_) % count_);
    }

  private:
    uint64_t count_, start_ = 0, stride_ = 1;
};

/* The ready threads, in the order in which they will run. A ring is large enough, because each
 * thread is in it at most once. */
class ready_queue
{
  public:
    bool is_empty() const
    {
        return count_ == 0;
    }
    void push_back(unsigned thread)
    {
        ring_[(first_ + count_++) % simt_threads_most] = (uint16_t)thread;
    }
    void push_front(unsigned thread)
    {
        first_ = (first_ + simt_threads_most - 1) % simt_threads_most;
        ring_[first_] = (uint16_t)thread;
        count_++;
    }
    /* Returns the thread after `others` others; any thread if there are fewer. */
    unsigned peek(unsigned others) const
    {
        return ring_[(first_ + others) % simt_threads_most];
    }
    unsigned pop_front()
    {
        const unsigned thread = ring_[first_];
        first_ = (first_ + 1) % simt_threads_most;
        count_--;
        return thread;
    }

  private:
    unsigned first_ = 0, count_ = 0;
    uint16_t ring_[simt_threads_most] = {};
};

#endif
