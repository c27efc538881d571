/* SPDX-License-Identifier: Apache-2.0 */
/* simt_atomics.h - CUDA's atomics, and its loads and stores with a cache hint, as plain C++. A
 * thread is never preempted (simt_device.h), so an atomic is an ordinary read and write. */
#ifndef SIMT_ATOMICS_H
#define SIMT_ATOMICS_H

/* ---- atomics: each returns the old value ---- */

#define SIMT_ATOMIC(name, type, expression)                                                        \
    inline type name(type *address, type value)                                                    \
    {                                                                                              \
        const type old = *address;                                                                 \
        *address = (expression);                                                                   \
        return old;                                                                                \
    }
#define SIMT_ATOMIC_CAS(type)                                                                      \
    inline type atomicCAS(type *address, type compare, type value)                                 \
    {                                                                                              \
        const type old = *address;                                                                 \
        if (old == compare)                                                                        \
            *address = value;                                                                      \
        return old;                                                                                \
    }

SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC(atomicExch, unsigned, value)
SIMT_ATOMIC(atomicExch, unsigned long long, value)
SIMT_ATOMIC(atomicMin, unsigned, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned long long, old < value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned long long, old > value ? old : value)
SIMT_ATOMIC(atomicOr, unsigned, old | value)
SIMT_ATOMIC(atomicOr, unsigned long long, old | value)
SIMT_ATOMIC(atomicXor, unsigned, old ^ value)
SIMT_ATOMIC(atomicXor, unsigned long long, old ^ value)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_CAS

/* ---- loads and stores with a cache hint ---- */

template <class T>
inline T __ldg(const T *address)
{
    return *address;
}

template <class T>
inline void __stcs(T *address, T value)
{
    *address = value;
}

#endif
