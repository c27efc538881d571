/* unit_cpu_sort.c - the CPU's sort, through struct backend as the pipeline uses it, against qsort.
 *
 * Shapes are made of ordered bits and decoded to stored ones, so that each shape is what its name
 * says in every order: "sorted" is sorted as descending big-endian floats, too.
 */
#include "core/backend.h"
#include "cpu/radix_sort.h"
#include "cpu/radix_stream.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double next_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* ---- Shapes: the i-th of n keys, as ordered bits before they are cut to the width ---- */

typedef uint64_t shape_key(size_t i, size_t n, unsigned bits, uint64_t *random);

static uint64_t random_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return next_random(random);
}

/* n keys over the whole range of the width, ascending. */
static uint64_t sorted_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)random;
    const uint64_t step = key_bits_mask(bits) / n;
    return step ? i * step : i * key_bits_mask(bits) / n;
}

static uint64_t reversed_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return sorted_key(n - 1 - i, n, bits, random);
}

/* Descending by threes: to reverse it would turn the indices of equal keys round. */
static uint64_t stairs_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return sorted_key((n - 1 - i) / 3, n, bits, random);
}

static uint64_t equal_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits, (void)random;
    return 0x8123456789abcdefu;
}

static uint64_t two_keys(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    return next_random(random) & 1 ? key_bits_mask(bits) : 5;
}

static uint64_t few_keys(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return next_random(random) % 17 * 0x9e3779b97f4a7c15u;
}

/* More than are compared one by one, few enough to be counted in a table. */
static uint64_t thousand_keys(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return next_random(random) % 1000 * 0x9e3779b97f4a7c15u;
}

/* The same, until the last tenth. */
static uint64_t thousand_at_first(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return i < n / 10 * 9 ? thousand_keys(i, n, bits, random) : next_random(random);
}

static uint64_t organ_pipe_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return sorted_key(i < n / 2 ? i : n - 1 - i, n, bits, random);
}

static uint64_t zipf_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)bits;
    return (uint64_t)exp(next_unit(random) * log((double)n + 1));
}

static uint64_t misplaced_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return i == n - 1 ? 0 : sorted_key(i, n, bits, random) + 1;
}

/* Doubles over all exponents, and halves, floats, ... cut from the top of their bits. */
static uint64_t exponent_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    const double number = ldexp(next_unit(random) - 0.5, (int)(next_random(random) % 2000) - 1000);
    uint64_t key;
    memcpy(&key, &number, sizeof key);
    return key >> (64 - bits);
}

/* One in 16 keys differs in the highest 8 bits, of the others one in 16 in the next 8, and so on:
 * whatever the digit, one bucket holds nearly everything. */
static uint64_t skewed_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    unsigned zeros = 0;
    while (zeros + 8 < bits && next_random(random) % 16 != 0)
        zeros += 8;
    return (next_random(random) & key_bits_mask(bits)) >> zeros;
}

/* So few keys apart from the heavy one that a sample hardly sees them. */
static uint64_t outlier_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return next_random(random) % 5000 == 0 ? next_random(random) : 0x1234;
}

/* Nearly all keys in the low half of the bits, so many outliers over the whole width that a sample
 * takes its range from them: one bucket gets the rest, and must be cut by its own range. */
static uint64_t clustered_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    const uint64_t key = next_random(random) & key_bits_mask(bits);
    return next_random(random) % 20 == 0 ? key : key >> bits / 2;
}

/* The last third is far from the rest, which is all that a model can have learned of. */
static uint64_t late_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    const uint64_t key = (next_random(random) & key_bits_mask(bits)) >> 2;
    return i < n / 3 * 2 ? key : key | key_bits_mask(bits) / 4 * 3;
}

/* One in ten keys is the same, which the first ones do not show. */
static uint64_t frequent_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    const uint64_t key = next_random(random) & key_bits_mask(bits);
    return i > n / 4 && key % 8 == 0 ? 0x77 : key;
}

static const struct shape {
    const char *name;
    shape_key *key;
} shapes[] = {
    {"random", random_key},
    {"late", late_key},
    {"frequent", frequent_key},
    {"sorted", sorted_key},
    {"reversed", reversed_key},
    {"all equal", equal_key},
    {"two values", two_keys},
    {"few distinct", few_keys},
    {"a thousand values", thousand_keys},
    {"a thousand at first", thousand_at_first},
    {"organ pipe", organ_pipe_key},
    {"zipf", zipf_key},
    {"one out of place", misplaced_key},
    {"exponents", exponent_key},
    {"skewed", skewed_key},
    {"outliers", outlier_key},
    {"stairs", stairs_key},
    {"clustered", clustered_key},
};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

/* ---- Orders ---- */

/* A type of each width in an order; "" is the identity. */
static const struct wanted_order {
    const char *type;
    unsigned bytes;
    enum key_endian endian;
    bool descending;
} orders[] = {
    {"u8", 1, ENDIAN_LITTLE, false},  {"i8", 1, ENDIAN_LITTLE, true},
    {"u16", 2, ENDIAN_LITTLE, false}, {"i16", 2, ENDIAN_BIG, false},
    {"f16", 2, ENDIAN_LITTLE, true},  {"u32", 4, ENDIAN_LITTLE, false},
    {"i32", 4, ENDIAN_LITTLE, false}, {"f32", 4, ENDIAN_LITTLE, true},
    {"f32", 4, ENDIAN_BIG, false},    {"u64", 8, ENDIAN_LITTLE, true},
    {"i64", 8, ENDIAN_LITTLE, true},  {"f64", 8, ENDIAN_LITTLE, false},
    {"f64", 8, ENDIAN_BIG, true},     {"", 16, ENDIAN_LITTLE, false},
};
#define ORDER_COUNT (sizeof orders / sizeof *orders)

static struct key_order make_order(const struct wanted_order *wanted)
{
    if (wanted->type[0] == '\0')
        return key_order_identity();
    enum key_endian endian;
    const struct key_type *type = key_type_find(wanted->type, strlen(wanted->type), &endian);
    assert_non_null(type);
    assert_int_equal(type->bytes, wanted->bytes);
    return key_order_make(type, wanted->endian, NAN_GREATEST, wanted->descending);
}

/* ---- The reference ---- */

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_key_index(const void *a, const void *b)
{
    const struct key_index *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

struct test_case {
    const struct wanted_order *wanted;
    struct key_order order;
    const struct shape *shape;
    size_t count;
    unsigned char *input;
    unsigned char *expected;
};

/* Stores keys (ordered bits) in the case's order. */
static void store_keys(const struct test_case *c, const uint64_t *keys, unsigned char *items)
{
    for (size_t i = 0; i < c->count; i++) {
        const uint64_t stored = key_order_decode(c->order, 8 * c->wanted->bytes, keys[i]);
        memcpy(items + i * c->wanted->bytes, &stored, c->wanted->bytes);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

static struct test_case make_case(const struct wanted_order *wanted, const struct shape *shape,
                                  size_t count)
{
    struct test_case c = {.wanted = wanted,
                          .order = make_order(wanted),
                          .shape = shape,
                          .count = count,
                          .input = allocate(count * wanted->bytes),
                          .expected = allocate(count * wanted->bytes)};
    const unsigned bits = wanted->bytes == 16 ? 64 : 8 * wanted->bytes;
    uint64_t random = count, *keys = allocate(count * sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = shape->key(i, count, bits, &random) & key_bits_mask(bits);
    if (wanted->bytes == 16) {
        struct key_index *items = (struct key_index *)(void *)c.input;
        for (size_t i = 0; i < count; i++)
            items[i] = (struct key_index){i, keys[i]};
        memcpy(c.expected, c.input, count * sizeof *items);
        qsort(c.expected, count, sizeof *items, compare_key_index);
    } else {
        store_keys(&c, keys, c.input);
        qsort(keys, count, sizeof *keys, compare_u64);
        store_keys(&c, keys, c.expected);
    }
    free(keys);
    return c;
}

static void free_case(struct test_case *c)
{
    free(c->input);
    free(c->expected);
}

/* ---- The engine ---- */

static struct sort_spec make_spec(const struct test_case *c, bool known, unsigned threads)
{
    return (struct sort_spec){.item_bytes = c->wanted->bytes,
                              .order = c->order,
                              .count = known ? c->count : COUNT_UNKNOWN,
                              .algorithm = backend_find_algorithm(backends[0], "radix"),
                              .threads = threads};
}

/* Fills the engine by chunks of about a third of the items. */
static void fill(struct engine *engine, const struct test_case *c)
{
    const size_t width = c->wanted->bytes;
    struct error error = {0};
    for (size_t done = 0; done < c->count;) {
        struct chunk chunk;
        const size_t left = c->count - done, third = c->count / 3 + 1;
        if (!backends[0]->keys->lend(engine, left < third ? left : third, &chunk, &error))
            fail_msg("%s", error.message);
        assert_in_range(chunk.capacity, 1, third);
        chunk.count = chunk.capacity < left ? chunk.capacity : left;
        memcpy(chunk.items, c->input + done * width, chunk.count * width);
        assert_true(backends[0]->keys->take(engine, chunk, &error));
        done += chunk.count;
    }
}

static void compare_output(struct engine *engine, const struct test_case *c, const char *how)
{
    const size_t width = c->wanted->bytes;
    struct error error = {0};
    struct chunk chunk;
    size_t done = 0;
    for (;;) {
        assert_true(backends[0]->keys->give(engine, &chunk, &error));
        if (chunk.count == 0)
            break;
        assert_true(chunk.count <= c->count - done);
        if (memcmp(chunk.items, c->expected + done * width, chunk.count * width) != 0)
            fail_msg("%zu items of %s, %s, %s: not as qsort has them", c->count, c->wanted->type,
                     c->shape->name, how);
        done += chunk.count;
        assert_true(backends[0]->keys->take_back(engine, chunk, &error));
    }
    assert_int_equal(done, c->count);
}

static void check_sort(const struct test_case *c, bool known, unsigned threads)
{
    const struct sort_spec spec = make_spec(c, known, threads);
    struct engine *engine = NULL;
    struct error error = {0};
    char how[64];
    snprintf(how, sizeof how, "%s count, %u threads", known ? "known" : "unknown", threads);
    if (!backends[0]->keys->open(&spec, &engine, &error))
        fail_msg("%s", error.message);
    fill(engine, c);
    if (!backends[0]->keys->sort(engine, &error))
        fail_msg("%s", error.message);
    compare_output(engine, c, how);
    backends[0]->keys->close(engine);
}

/* The engine has no more threads than there are processors; the sort behind it has as many as are
 * wanted. */
static void check_team(const struct test_case *c, unsigned threads)
{
    const struct radix_task task = {
        .item_bytes = c->wanted->bytes, .order = c->order, .count = c->count, .threads = threads};
    const size_t width = c->wanted->bytes, bytes = c->count * width;
    size_t scratch_bytes;
    assert_true(radix_sort_scratch_bytes(&task, &scratch_bytes));
    void *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
    unsigned char *items = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(scratch);
    assert_non_null(items);
    memcpy(items, c->input, bytes);
    struct radix_sorting *const sorting = radix_sort_begin(&task, items, scratch);
    for (size_t sorted = 0, known = 0; sorted < c->count; known = sorted) {
        sorted = radix_sort_await(sorting, known);
        assert_in_range(sorted, known + 1, c->count);
        if (memcmp(items + known * width, c->expected + known * width, (sorted - known) * width))
            fail_msg("%zu items of %s, %s, by a team of %u: not as qsort has them", c->count,
                     c->wanted->type, c->shape->name, threads);
    }
    radix_sort_end(sorting);
    free(items);
    free(scratch);
}

/* Sorts in an array, of which the items are there. */
static void check_undone(const struct test_case *c, unsigned char *items)
{
    const struct test_case again = {c->wanted, c->order, c->shape, c->count, items, c->expected};
    check_team(&again, 2);
}

/* All that the stream gives, where two pieces are held before the first is taken back. Returns how
 * many keys. */
static size_t compare_given(struct radix_stream *stream, const struct test_case *c)
{
    const size_t width = c->wanted->bytes;
    size_t done = 0, held = 0, count;
    void *keys = NULL;
    for (;;) {
        radix_stream_give(stream, &keys, &count);
        if (count == 0)
            return done;
        assert_true(count <= c->count - done);
        if (memcmp(keys, c->expected + done * width, count * width) != 0)
            fail_msg("%zu keys of %s, %s, as a stream: not as qsort has them", c->count,
                     c->wanted->type, c->shape->name);
        done += count;
        if (held > 0)
            radix_stream_take_back(stream, held);
        held = count;
    }
}

/* Keys that more threads than the stream has show to its tap. */
static void show(struct tap *tap, const unsigned char *keys, size_t bytes, unsigned threads)
{
    const size_t piece = 1024 * tap->unit_bytes;
#pragma omp parallel for num_threads(threads + 1) schedule(dynamic)
    for (size_t begin = 0; begin < bytes; begin += piece)
        tap_see(tap, keys + begin, bytes - begin < piece ? bytes - begin : piece);
}

/* Puts the keys by pieces, each second one through the tap, if there is one; false if they do not
 * suit. */
static bool put_all(struct radix_stream *stream, const struct test_case *c, size_t piece,
                    unsigned threads, size_t *put)
{
    const size_t width = c->wanted->bytes;
    struct tap *const tap = radix_stream_tap(stream);
    struct error error = {0};
    bool suits = true;
    for (*put = 0; suits && *put < c->count;) {
        const size_t left = c->count - *put, count = left < piece ? left : piece;
        const unsigned char *const keys = c->input + *put * width;
        if (tap && *put / piece % 2 == 1) {
            show(tap, keys, count * width, threads);
            suits = radix_stream_suits(stream);
        } else {
            assert_true(radix_stream_put(stream, keys, count, &suits, &error));
        }
        *put += count;
        assert_int_equal(radix_stream_count(stream), *put);
    }
    return suits;
}

/* Learns from the first keys, or from each hundredth. */
static struct radix_stream *open_stream(const struct radix_task *task, const struct test_case *c,
                                        size_t piece, bool is_of_all)
{
    const size_t width = c->wanted->bytes, count = is_of_all ? c->count / 100 : piece;
    struct radix_stream *stream = NULL;
    struct error error = {0};
    unsigned char *const keys = allocate(count * width);
    for (size_t i = 0; i < count; i++)
        memcpy(keys + i * width, c->input + (is_of_all ? 100 * i : i) * width, width);
    const struct radix_example example = {keys, count, is_of_all};
    const struct radix_example first = {c->input, piece, false};
    if (!radix_stream_open(task, &example, &stream, &error))
        assert_true(is_of_all && radix_stream_open(task, &first, &stream, &error));
    assert_false(error.is_set);
    free(keys);
    return stream;
}

/* Returns whether it was sorted as a stream: else as an array of what was undone. */
static bool check_stream(const struct test_case *c, bool known, unsigned threads)
{
    const size_t width = c->wanted->bytes;
    const struct radix_task task = {.item_bytes = c->wanted->bytes,
                                    .order = c->order,
                                    .count = known ? c->count : SIZE_MAX,
                                    .threads = threads};
    size_t put, piece = c->count / 7 + 1;
    struct radix_stream *const stream = open_stream(&task, c, piece, known && threads > 1);
    unsigned char *const undone = allocate(c->count * width);
    void *const ring = allocate(radix_stream_chunk(threads));
    bool suits = put_all(stream, c, piece, threads, &put);
    if (suits)
        radix_stream_sort(stream, ring, &suits);
    if (suits) {
        assert_int_equal(compare_given(stream, c), c->count);
    } else {
        radix_stream_undo(stream, undone);
        memcpy(undone + put * width, c->input + put * width, (c->count - put) * width);
        check_undone(c, undone);
    }
    radix_stream_close(stream);
    free(undone);
    free(ring);
    return suits;
}

static void check_sort_by(const struct test_case *c, bool known, unsigned threads)
{
    if (threads <= 2)
        check_sort(c, known, threads);
    else
        check_team(c, threads);
}

/* ---- Tests ---- */

static const unsigned thread_counts[] = {1, 2, 3, 7, 16};
#define THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

static void small_counts(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 255, 256, 257, 4095, 4096, 4097};
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT; s++)
            for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
                struct test_case c = make_case(&orders[o], &shapes[s], counts[n]);
                for (size_t t = 0; t < THREAD_COUNTS; t++) {
                    check_sort(&c, true, thread_counts[t]);
                    check_sort(&c, false, thread_counts[t]);
                }
                free_case(&c);
            }
}

static void counts_around_the_first_partition(void **state)
{
    (void)state;
    static const size_t counts[] = {65535, 65536, 65537};
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT; s++)
            for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
                struct test_case c = make_case(&orders[o], &shapes[s], counts[n]);
                for (size_t t = 0; t < THREAD_COUNTS; t++)
                    check_sort_by(&c, (n + t) % 2 == 0, thread_counts[t]);
                free_case(&c);
            }
}

/* The most keys of two bytes that are sorted, and one more, which are counted. */
static void words_around_those_that_are_counted(void **state)
{
    (void)state;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT && orders[o].bytes == 2; s++) {
            struct test_case c = make_case(&orders[o], &shapes[s], ((size_t)128 << 10) + s % 2);
            check_sort_by(&c, s % 4 < 2, thread_counts[s % THREAD_COUNTS]);
            free_case(&c);
        }
}

/* Each thread writes a MiB, and the next piece is begun when that one has been given. */
static void pieces_of_keys_that_are_counted(void **state)
{
    (void)state;
    const unsigned threads = 2;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t more = 0; more < 3 && orders[o].bytes <= 2; more++) {
            const size_t piece = ((size_t)1 << 20) * threads / orders[o].bytes;
            struct test_case c = make_case(&orders[o], &shapes[(o + more) % SHAPE_COUNT],
                                           (more == 2 ? 2 * piece : piece - 1 + more) + more);
            check_sort_by(&c, more == 1, threads);
            free_case(&c);
        }
}

/* Widths of 4 and 8 bytes have four orders each, so that each of them meets all shapes. */
static void large_counts(void **state)
{
    (void)state;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT; s++) {
            if (orders[o].bytes != 16 && o % 4 != s % 4)
                continue;
            struct test_case c = make_case(&orders[o], &shapes[s], 1000003);
            for (size_t t = s % 2; t < THREAD_COUNTS; t += 2)
                check_sort_by(&c, s % 4 < 2, thread_counts[t]);
            free_case(&c);
        }
}

static void streams(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    size_t sorted = 0, undone = 0;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT; s++) {
            if (orders[o].bytes != 4 && orders[o].bytes != 8)
                continue;
            struct test_case c = make_case(&orders[o], &shapes[s], 300007);
            for (size_t t = 0; t < 4; t++)
                ++*(check_stream(&c, (o + s + t) % 2 == 0, threads[t]) ? &sorted : &undone);
            free_case(&c);
        }
    assert_true(sorted > 100);
    assert_true(undone > 100);
}

/* So many that the engine takes them as a stream, and its ring goes round. */
static void streams_of_the_engine(void **state)
{
    (void)state;
    for (size_t o = 0; o < ORDER_COUNT; o++) {
        if ((orders[o].bytes != 4 && orders[o].bytes != 8) || o % 2 == 0)
            continue;
        const size_t count = ((size_t)36 << 20) / orders[o].bytes + 5;
        struct test_case c = make_case(&orders[o], &shapes[o / 2 % 3], count);
        check_sort(&c, o % 4 == 1, 2);
        free_case(&c);
    }
}

/* Ended before all is given. */
static void a_stream_that_is_dropped(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 300007);
    const struct radix_task task = {
        .item_bytes = c.wanted->bytes, .order = c.order, .count = c.count, .threads = 3};
    void *const ring = allocate(radix_stream_chunk(3)), *keys;
    for (int given = 0; given < 3; given++) {
        struct radix_stream *const stream = open_stream(&task, &c, c.count, false);
        struct error error = {0};
        bool suits;
        size_t count;
        assert_true(radix_stream_put(stream, c.input, c.count, &suits, &error));
        assert_true(suits);
        if (given > 0)
            radix_stream_sort(stream, ring, &suits);
        if (given > 1)
            radix_stream_give(stream, &keys, &count);
        radix_stream_close(stream);
    }
    radix_stream_close(NULL);
    free(ring);
    free_case(&c);
}

static void inside_a_parallel_region(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 200003);
    unsigned char *sorted[2] = {allocate(c.count * 8), allocate(c.count * 8)};
    const struct sort_spec spec = make_spec(&c, true, 3);
    bool fine[2] = {false, false};
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int i = 0; i < 2; i++) {
        struct engine *engine = NULL;
        struct error error = {0};
        struct chunk chunk;
        fine[i] = backends[0]->keys->open(&spec, &engine, &error) &&
                  backends[0]->keys->lend(engine, c.count, &chunk, &error);
        if (fine[i]) {
            chunk.count = c.count;
            memcpy(chunk.items, c.input, c.count * 8);
            fine[i] = backends[0]->keys->take(engine, chunk, &error) &&
                      backends[0]->keys->sort(engine, &error);
        }
        for (size_t given = 0; fine[i] && given < c.count; given += chunk.count) {
            fine[i] = backends[0]->keys->give(engine, &chunk, &error) && chunk.count > 0;
            if (fine[i])
                memcpy(sorted[i] + given * 8, chunk.items, chunk.count * 8);
        }
        backends[0]->keys->close(engine);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(fine[i]);
        assert_memory_equal(sorted[i], c.expected, c.count * 8);
        free(sorted[i]);
    }
    free_case(&c);
}

static void another_number_of_items_than_promised(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 100);
    const struct sort_spec spec = make_spec(&c, true, 1);
    struct engine *engine = NULL;
    struct error error = {0};
    struct chunk chunk;
    assert_true(backends[0]->keys->open(&spec, &engine, &error));
    assert_true(backends[0]->keys->lend(engine, 1000, &chunk, &error));
    assert_int_equal(chunk.capacity, 100);
    chunk.count = 99;
    memcpy(chunk.items, c.input, chunk.count * 8);
    assert_true(backends[0]->keys->take(engine, chunk, &error));
    assert_false(backends[0]->keys->sort(engine, &error));
    assert_non_null(strstr(error.message, "99 items came where 100 were promised"));
    error = (struct error){0};
    assert_true(backends[0]->keys->lend(engine, 1, &chunk, &error));
    chunk.count = 1;
    memcpy(chunk.items, c.input, 8);
    assert_true(backends[0]->keys->take(engine, chunk, &error));
    assert_false(backends[0]->keys->lend(engine, 1, &chunk, &error));
    assert_non_null(strstr(error.message, "more than the promised 100 items"));
    backends[0]->keys->close(engine);
    free_case(&c);
}

static void calls_out_of_turn(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 100);
    const struct sort_spec spec = make_spec(&c, false, 1);
    struct engine *engine = NULL;
    struct error error = {0};
    struct chunk chunk, second;
    assert_true(backends[0]->keys->open(&spec, &engine, &error));
    assert_false(backends[0]->keys->give(engine, &chunk, &error));
    assert_true(backends[0]->keys->lend(engine, 10, &chunk, &error));
    assert_false(backends[0]->keys->lend(engine, 10, &second, &error));
    assert_false(backends[0]->keys->sort(engine, &error));
    chunk.count = 11;
    assert_false(backends[0]->keys->take(engine, chunk, &error));
    chunk.count = 0;
    error = (struct error){0};
    assert_true(backends[0]->keys->take(engine, chunk, &error));
    assert_true(backends[0]->keys->sort(engine, &error));
    assert_false(backends[0]->keys->sort(engine, &error));
    backends[0]->keys->close(engine);
    backends[0]->keys->close(NULL);
    free_case(&c);
}

static void more_than_any_memory(void **state)
{
    (void)state;
    struct sort_spec spec = {.item_bytes = 8,
                             .order = key_order_identity(),
                             .count = (size_t)1 << 50,
                             .algorithm = backend_find_algorithm(backends[0], "radix"),
                             .threads = 1};
    struct engine *engine = NULL;
    struct error error = {0};
    assert_false(backends[0]->keys->open(&spec, &engine, &error));
    assert_null(engine);
    assert_non_null(strstr(error.message, "out of memory: 9007199254740992 bytes"));
    spec.count = SIZE_MAX - 1;
    error = (struct error){0};
    assert_false(backends[0]->keys->open(&spec, &engine, &error));
    assert_non_null(strstr(error.message, "out of memory"));
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    struct engine *engine = NULL;
    struct error error = {0};
    const struct sort_spec fine = {.item_bytes = 8,
                                   .order = key_order_identity(),
                                   .count = 8,
                                   .algorithm = backend_find_algorithm(backends[0], "radix"),
                                   .threads = 1};
    struct sort_spec wrong[5] = {fine, fine, fine, fine, fine};
    wrong[0].item_bytes = 3;
    wrong[1].algorithm = NULL;
    wrong[2].tile_size = 512;
    wrong[3].device = 1;
    wrong[4].threads = 0;
    for (size_t i = 0; i < 5; i++) {
        error = (struct error){0};
        assert_false(backends[0]->keys->open(&wrong[i], &engine, &error));
        assert_true(error.is_set);
    }
}

static void the_table_and_the_facts(void **state)
{
    (void)state;
    struct device_facts facts;
    struct error error = {0};
    assert_string_equal(backends[0]->name, "cpu");
    assert_true(backends[0]->probe(0, &facts, &error));
    assert_true(facts.name[0] != '\0' && facts.units > 0);
    assert_false(backends[0]->probe(1, &facts, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_and_the_facts),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(more_than_any_memory),
        cmocka_unit_test(calls_out_of_turn),
        cmocka_unit_test(another_number_of_items_than_promised),
        cmocka_unit_test(small_counts),
        cmocka_unit_test(counts_around_the_first_partition),
        cmocka_unit_test(words_around_those_that_are_counted),
        cmocka_unit_test(pieces_of_keys_that_are_counted),
        cmocka_unit_test(large_counts),
        cmocka_unit_test(streams),
        cmocka_unit_test(streams_of_the_engine),
        cmocka_unit_test(a_stream_that_is_dropped),
        cmocka_unit_test(inside_a_parallel_region),
    };
    return cmocka_run_group_tests_name("cpu sort", tests, NULL, NULL);
}
