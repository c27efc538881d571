/* bench_cases.c - see bench_cases.h. */
#include "bench/bench_cases.h"

const struct bench_type bench_types[] = {
#define X(name, key, item_bytes) {BENCH_TYPE_##name, #name, key, item_bytes},
    BENCH_TYPES(X)
#undef X
};

const struct bench_shape bench_shapes[] = {
#define X(id, name, summary) {BENCH_SHAPE_##id, name, summary},
    BENCH_SHAPES(X)
#undef X
};
