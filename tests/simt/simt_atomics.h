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
    }                                                                                              \
    inline type name##_block(type *address, type value)                                            \
    {                                                                                              \
        return name(address, value);                                                               \
    }                                                                                              \
    inline type name##_system(type *address, type value)                                           \
    {                                                                                              \
        return name(address, value);                                                               \
    }
#define SIMT_ATOMIC_CAS(type)                                                                      \
    inline type atomicCAS(type *address, type compare, type value)                                 \
    {                                                                                              \
        const type old = *address;                                                                 \
        if (old == compare)                                                                        \
            *address = value;                                                                      \
        return old;                                                                                \
    }

/* Signed sums wrap, as on the device. */
SIMT_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)value))
SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)value))
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC(atomicExch, int, value)
SIMT_ATOMIC(atomicExch, unsigned, value)
SIMT_ATOMIC(atomicExch, unsigned long long, value)
SIMT_ATOMIC(atomicExch, float, value)
SIMT_ATOMIC(atomicMin, int, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned, old < value ? old : value)
SIMT_ATOMIC(atomicMin, long long, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned long long, old < value ? old : value)
SIMT_ATOMIC(atomicMax, int, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned, old > value ? old : value)
SIMT_ATOMIC(atomicMax, long long, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned long long, old > value ? old : value)
SIMT_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
SIMT_ATOMIC(atomicAnd, int, old &value)
SIMT_ATOMIC(atomicAnd, unsigned, old &value)
SIMT_ATOMIC(atomicAnd, unsigned long long, old &value)
SIMT_ATOMIC(atomicOr, int, old | value)
SIMT_ATOMIC(atomicOr, unsigned, old | value)
SIMT_ATOMIC(atomicOr, unsigned long long, old | value)
SIMT_ATOMIC(atomicXor, int, old ^ value)
SIMT_ATOMIC(atomicXor, unsigned, old ^ value)
SIMT_ATOMIC(atomicXor, unsigned long long, old ^ value)
SIMT_ATOMIC_CAS(unsigned short)
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_CAS

/* ---- loads and stores with a cache hint ---- */

#define SIMT_LOAD(name)                                                                            \
    template <class T>                                                                             \
    inline T name(const T *address)                                                                \
    {                                                                                              \
        return *address;                                                                           \
    }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldcv)
SIMT_LOAD(__ldlu)
#undef SIMT_LOAD

#define SIMT_STORE(name)                                                                           \
    template <class T>                                                                             \
    inline void name(T *address, T value)                                                          \
    {                                                                                              \
        *address = value;                                                                          \
    }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE

#endif
