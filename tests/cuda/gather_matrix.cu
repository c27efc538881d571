/* SPDX-License-Identifier: Apache-2.0 */
/* gather_matrix.cu - the copy of lines on the device (cuda/engine/cuda_gather.h): lengths of lines
 * x order of the items x pieces of the output, compared with the lines put one behind the other on
 * the host.
 *
 *   gather_matrix [--quick]
 *     prints TAP, a line for each kind of text; exits 1 on a mismatch. --quick: one order,
 *     for tools under which kernels take a hundred times as long
 *
 * The texts are full of bytes that differ from the terminator in one bit or by one, and what is
 * behind them is terminators.
 */
#include "cuda/text/lines_measure.cuh"
#include "tests/cuda/matrix_common.h"
#include "tests/key_shapes.h"

#include <algorithm>
#include <numeric>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

/* ---- texts ---- */

/* Bytes of line i, its terminator included. */
template <size_t BYTES>
static size_t length_fixed(size_t)
{
    return BYTES;
}

template <size_t MEAN>
static size_t length_random(size_t i)
{
    return 1 + random_bits(i) % (2 * MEAN - 1);
}

/* Around all that the kernels count by. */
static size_t length_of_limits(size_t i)
{
    const size_t limits[] = {1,
                             4,
                             GATHER_WORD_BYTES,
                             2 * GATHER_WORD_BYTES,
                             GATHER_SHORT_BYTES,
                             GATHER_PIECE_BYTES,
                             GATHER_WALK_WORDS * GATHER_WORD_BYTES,
                             GATHER_MARK_BYTES,
                             2 * GATHER_MARK_BYTES,
                             GATHER_TILE_BYTES,
                             GATHER_MARK_BYTES * GATHER_MARK_BITS};
    const uint64_t bits = random_bits(i);
    const size_t rare = bits % 16 ? 3 : 0; /* the long ones */
    return limits[(bits >> 8) % (sizeof limits / sizeof *limits - rare)] + (bits >> 32) % 3;
}

static size_t length_mixed(size_t i)
{
    return i % 5003 == 77 ? 1000003 : length_random<11>(i);
}

/* A mark that stands lower in its word than the one that the search begins with, 1 MiB on. */
static size_t length_of_turns(size_t i)
{
    return i % 2 ? ((size_t)1 << 20) - 10 * GATHER_MARK_BYTES : 20 * GATHER_MARK_BYTES;
}

static size_t length_of_two(size_t i)
{
    return i == 0 ? 2500000 : 1;
}

static const struct shape {
    const char *name;
    size_t (*length)(size_t i);
    size_t count;
} shapes[] = {
    {"no lines", length_fixed<1>, 0},
    {"one empty line", length_fixed<1>, 1},
    {"empty lines", length_fixed<1>, 40000},
    {"lines of 1 byte", length_fixed<2>, 5 * GATHER_GROUP_LINES},
    {"lines of 10 bytes", length_fixed<11>, 3 * GATHER_GROUP_LINES - 1},
    {"lines of 0 to 20 bytes", length_random<11>, 9001},
    {"lines of 0 to 100 bytes", length_random<51>, 3000},
    {"lines of 99 bytes", length_fixed<100>, 1500},
    {"lines of 0 to 2000 bytes", length_random<1000>, 700},
    {"lines of 63 to 16,386 bytes, and more", length_of_limits, 500},
    {"short lines and some of 1,000,002 bytes", length_mixed, 6000},
    {"lines of 20 KiB and 1,014 KiB", length_of_turns, 3},
    {"an empty line and one of 2.5 MB", length_of_two, 2},
    {"one line of 3 MB", length_fixed<3000000>, 1},
};

struct text_lines {
    std::vector<unsigned char> text;
    std::vector<size_t> begins; /* and the end of the text */
    unsigned char terminator;
};

static struct text_lines make_text(const struct shape &shape)
{
    struct text_lines lines;
    lines.terminator = shape.count % 2 ? '\n' : '\0';
    lines.begins.push_back(0);
    for (size_t i = 0; i < shape.count; i++) {
        for (size_t left = shape.length(i) - 1; left > 0; left--) {
            const uint64_t bits = random_bits(lines.text.size());
            const int others[] = {1 << (bits >> 8) % 8, 0xff, (int)(bits >> 16 & 0xff) | 1};
            lines.text.push_back((unsigned char)(lines.terminator ^ others[bits % 3]));
        }
        lines.text.push_back(lines.terminator);
        lines.begins.push_back(lines.text.size());
    }
    return lines;
}

/* ---- orders: which line stands where in the output ---- */

static std::vector<size_t> order_as_it_is(size_t count)
{
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), (size_t)0);
    return order;
}

static std::vector<size_t> order_reversed(size_t count)
{
    std::vector<size_t> order = order_as_it_is(count);
    std::reverse(order.begin(), order.end());
    return order;
}

static std::vector<size_t> order_random(size_t count)
{
    std::vector<size_t> order = order_as_it_is(count);
    for (size_t i = count; i > 1; i--)
        std::swap(order[i - 1], order[random_bits(i) % i]);
    return order;
}

static std::vector<size_t> order_random_half(size_t count)
{
    std::vector<size_t> order = order_random(count);
    order.resize((count + 1) / 2);
    return order;
}

static const struct order {
    const char *name;
    std::vector<size_t> (*make)(size_t count);
} orders[] = {
    {"as they are", order_as_it_is},
    {"reversed", order_reversed},
    {"at random", order_random},
    {"half of them at random", order_random_half},
};

/* The reference. */
static std::vector<unsigned char> lines_in_order(const struct text_lines &lines,
                                                 const std::vector<size_t> &order)
{
    std::vector<unsigned char> output;
    for (const size_t line : order)
        output.insert(output.end(), lines.text.begin() + (ptrdiff_t)lines.begins[line],
                      lines.text.begin() + (ptrdiff_t)lines.begins[line + 1]);
    return output;
}

/* ---- the device ---- */

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

/* All that a copy works with. */
struct bench {
    struct cuda_text text;
    struct cuda_gather gather;
    unsigned char *text_memory, *target;
    struct key_index *items;
};

static bool bench_open(struct bench *bench, size_t bytes, size_t count, unsigned char terminator,
                       size_t room_behind, struct error *error)
{
    *bench = {};
    bench->gather.text = &bench->text;
    bench->gather.count = count;
    if (!check(cudaMalloc(&bench->text_memory, bytes + CUDA_TEXT_SLACK_BYTES), error) ||
        !check(cudaMalloc(&bench->target, bytes + room_behind), error) ||
        !check(cudaMalloc(&bench->items, (count + 1) * sizeof *bench->items), error) ||
        !check(cudaMalloc(&bench->gather.workspace, cuda_gather_workspace_bytes(bytes, count)),
               error) ||
        !check(cudaStreamCreate(&bench->text.stream), error))
        return false;
    bench->text.text = bench->text_memory;
    bench->text.bytes = bytes;
    bench->text.count = count;
    bench->text.order.terminator = (char)terminator;
    bench->gather.items = bench->items;
    return true;
}

static void bench_close(struct bench *bench)
{
    (void)cudaStreamDestroy(bench->text.stream);
    (void)cudaFree(bench->gather.workspace);
    (void)cudaFree(bench->items);
    (void)cudaFree(bench->target);
    (void)cudaFree(bench->text_memory);
}

static const size_t red_zone = 32; /* bytes before and behind a target */
static const unsigned char untouched = 0xe7;

static bool send(const struct bench &bench, const struct text_lines &lines,
                 const std::vector<size_t> &order, struct error *error)
{
    std::vector<unsigned char> text = lines.text;
    text.insert(text.end(), CUDA_TEXT_SLACK_BYTES, lines.terminator);
    std::vector<struct key_index> items(order.size());
    for (size_t i = 0; i < order.size(); i++)
        items[i] = {line_index(lines.begins[order[i]], i % 3 != 0), random_bits(i)};
    return check(cudaMemcpy(bench.text_memory, text.data(), text.size(), cudaMemcpyHostToDevice),
                 error) &&
           (items.empty() ||
            check(cudaMemcpy(bench.items, items.data(), items.size() * sizeof items[0],
                             cudaMemcpyHostToDevice),
                  error));
}

/* ---- the matrix ---- */

/* One piece, to a target that many bytes behind an aligned one; nothing around it is written. */
static bool check_piece(const struct bench &bench, const std::vector<unsigned char> &expected,
                        size_t begin, size_t end, size_t shift, struct error *error)
{
    const size_t bytes = end - begin, before = GATHER_WORD_BYTES + shift;
    std::vector<unsigned char> got(bytes + 2 * red_zone);
    if (!check(cudaMemsetAsync(bench.target, untouched, got.size(), bench.text.stream), error) ||
        !cuda_gather_copy(&bench.gather, begin, end, bench.target + before, error) ||
        !check(cudaStreamSynchronize(bench.text.stream), error) ||
        !check(cudaMemcpy(got.data(), bench.target, got.size(), cudaMemcpyDeviceToHost), error))
        return false;
    for (size_t i = 0; i < got.size(); i++) {
        const bool is_inside = i >= before && i - before < bytes;
        const unsigned char wanted = is_inside ? expected[begin + i - before] : untouched;
        if (got[i] != wanted)
            return error_set(error,
                             "bytes %zu to %zu of %zu, shifted by %zu: byte %td is 0x%02x, "
                             "not 0x%02x",
                             begin, end, expected.size(), shift, (ptrdiff_t)i - (ptrdiff_t)before,
                             got[i], wanted);
    }
    return true;
}

/* The whole output at once; in pieces of one size; each byte alone; ends around those of tiles. */
static bool check_pieces(const struct bench &bench, const std::vector<unsigned char> &expected,
                         struct error *error)
{
    const size_t all = expected.size();
    bool passed = check_piece(bench, expected, 0, all, 0, error) &&
                  check_piece(bench, expected, 0, all, 5, error) &&
                  check_piece(bench, expected, all, all, 1, error);
    const size_t size = all < 100 ? 1 : all / 3 + 1;
    for (size_t begin = 0; passed && begin < all; begin += size)
        passed =
            check_piece(bench, expected, begin, std::min(begin + size, all), begin % 16, error);
    for (size_t i = 0; passed && all > 0 && i < 24; i++) {
        const size_t tile = random_bits(i) % (all / GATHER_TILE_BYTES + 1);
        const size_t begin =
            std::min(tile * GATHER_TILE_BYTES + random_bits(~i) % 3, all) - (i % 2);
        const size_t bytes = random_bits(i + 99) % (i < 12 ? 20 : 3 * GATHER_TILE_BYTES);
        if (begin < all)
            passed =
                check_piece(bench, expected, begin, std::min(begin + bytes, all), i % 16, error);
    }
    return passed;
}

static bool check_order(const struct text_lines &lines, const struct order &order,
                        struct error *error)
{
    const std::vector<size_t> numbers = order.make(lines.begins.size() - 1);
    const std::vector<unsigned char> expected = lines_in_order(lines, numbers);
    struct bench bench;
    bool passed = bench_open(&bench, lines.text.size(), numbers.size(), lines.terminator,
                             2 * red_zone, error) &&
                  send(bench, lines, numbers, error) && cuda_gather_measure(&bench.gather, error);
    if (passed && bench.gather.bytes != expected.size())
        passed =
            error_set(error, "%zu bytes of output, not %zu", bench.gather.bytes, expected.size());
    passed = passed && check_pieces(bench, expected, error);
    bench_close(&bench);
    return passed;
}

/* ---- the scan over the groups, of more than there are in the texts above ---- */

static bool check_scan(size_t count, struct error *error)
{
    std::vector<uint64_t> bytes(count), expected(count + 1), got(count + 1);
    for (size_t i = 0; i < count; i++)
        bytes[i] = random_bits(i) >> 20;
    std::partial_sum(bytes.begin(), bytes.end(), expected.begin() + 1);
    struct gather_view view = {};
    uint64_t *memory = NULL;
    const struct launch launch = {"gather_scan_kernel", 1, GATHER_SCAN_THREADS, 0, NULL};
    bool passed =
        check(cudaMalloc(&memory, (count + 1) * sizeof *memory), error) &&
        check(cudaMemcpy(memory, bytes.data(), count * sizeof *memory, cudaMemcpyHostToDevice),
              error);
    view.groups = memory;
    view.group_count = count;
    view.bytes = memory + count;
    passed =
        passed && launch_kernel(launch, error, gather_scan_kernel, view) &&
        check(cudaStreamSynchronize(NULL), error) &&
        check(cudaMemcpy(got.data(), memory, got.size() * sizeof *memory, cudaMemcpyDeviceToHost),
              error);
    (void)cudaFree(memory);
    return passed && (got == expected || error_set(error, "the scan of %zu groups", count));
}

static bool check_scans()
{
    constexpr size_t at_once = GATHER_SCAN_THREADS * GATHER_SCAN_SUMS;
    struct error error = {};
    for (const size_t count : {(size_t)1, at_once - 1, at_once, at_once + 1, 5 * at_once + 7})
        if (!check_scan(count, &error)) {
            printf("# %s\n", error.message);
            return false;
        }
    return true;
}

/* Prints what is wrong and returns false. */
static bool check_orders(const struct text_lines &lines, bool is_quick)
{
    for (const struct order &order : orders) {
        struct error error = {};
        if ((is_quick && order.make != order_random) || check_order(lines, order, &error))
            continue;
        printf("# %s: %s\n", order.name, error.message);
        return false;
    }
    return true;
}

static int run_matrix(bool is_quick)
{
    size_t claims = 0, failed = 0;
    printf("1..%zu\n", sizeof shapes / sizeof *shapes + 1);
    for (const struct shape &shape : shapes) {
        const bool passed = check_orders(make_text(shape), is_quick);
        printf("%sok %zu - %s\n", passed ? "" : "not ", ++claims, shape.name);
        fflush(stdout);
        failed += !passed;
    }
    const bool scans = check_scans();
    printf("%sok %zu - sums over many groups of lines\n", scans ? "" : "not ", ++claims);
    return failed || !scans ? 1 : 0;
}

int main(int argc, char **argv)
{
    const bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !is_quick) {
        fprintf(stderr, "usage: gather_matrix [--quick]\n");
        return 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("1..0 # SKIP no GPU\n");
        return 0;
    }
    return run_matrix(is_quick);
}
