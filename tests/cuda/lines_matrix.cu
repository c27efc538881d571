/* SPDX-License-Identifier: Apache-2.0 */
/* lines_matrix.cu - lines of text on the device (cuda/engine/cuda_lines.h):
 *
 *   items: kind x terminator x direction x lines, compared with the items that other code makes on
 *   the host (formats/lines/line_compare.h). An item may be flagged, except of an ordinary number;
 *
 *   the output: lengths of lines x pieces of the output, compared with lines joined on the host.
 *
 *   lines_matrix [LINES]
 *     prints TAP, a line for each order and kind of text; exits 1 on a mismatch. Texts of random
 *     lines have LINES lines, which tests/fuzz/fuzz_lines.py makes; it is found from the root of
 *     the tree. 0: only the output, for tools under which kernels take a hundred times as long.
 */
#include "core/byte_words.h"
#include "core/line/line_key.h"
#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/engine/cuda_lines.h"
#include "formats/lines/line_compare.h"
#include "tests/cuda/matrix_common.h"

#include <numeric>
#include <string.h>
#include <string>

/* ---- orders ---- */

/* The key is the whole line: shell tests have others. */
static const struct matrix_order {
    const char *name;
    enum line_kind kind;
    bool is_reversed;
    char terminator;
} orders[] = {
    {"numbers, strictly", LINE_STRICT, false, '\n'},
    {"-g", LINE_GENERAL, false, '\n'},
    {"-g -r -z", LINE_GENERAL, true, '\0'},
    {"-n", LINE_NUMERIC, false, '\n'},
    {"-n -z", LINE_NUMERIC, false, '\0'},
    {"-h", LINE_HUMAN, false, '\n'},
    {"-h -r", LINE_HUMAN, true, '\n'},
};

/* ---- the device ---- */

/* A text on the device, with the memory of all that is done with it. */
struct bench {
    struct cuda_text text;
    unsigned char *memory; /* of the text */
    unsigned char *workspace;
    struct key_index *items;
    struct cuda_gather gather;
    unsigned char *target;
};

/* The bytes after the text are terminators. */
static bool bench_open(struct bench *bench, struct cuda_line_order order, const std::string &text,
                       struct error *error)
{
    const std::string with_slack =
        text + std::string(CUDA_TEXT_SLACK_BYTES, static_cast<char>(order.terminators));
    *bench = {};
    if (!allocate(&bench->memory, with_slack.size(), error) ||
        !check(
            cudaMemcpy(bench->memory, with_slack.data(), with_slack.size(), cudaMemcpyHostToDevice),
            error) ||
        !check(cudaStreamCreate(&bench->text.stream), error))
        return false;
    bench->text.text = bench->memory;
    bench->text.bytes = text.size();
    bench->text.order = order;
    return true;
}

static void bench_close(struct bench *bench)
{
    if (bench->text.stream != NULL)
        (void)cudaStreamDestroy(bench->text.stream);
    for (void *const memory : {(void *)bench->target, (void *)bench->items,
                               (void *)bench->workspace, (void *)bench->memory})
        (void)cudaFree(memory);
}

/* ---- items: what is expected ---- */

struct expected {
    std::vector<struct key_index> items;
    std::vector<bool> is_refused;
};

static struct expected expect_items(const struct line_order *order, const std::string &text)
{
    struct expected expected;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = text.find(order->terminator, begin);
        struct line_with_image line = {};
        const bool has_image = line_image_make(order, text.data() + begin, end - begin, &line);
        line.is_exact |= !has_image; /* whatever it is, it is not flagged */
        expected.items.push_back({(uint64_t)begin << 1 | !line.is_exact, line.image});
        expected.is_refused.push_back(!has_image);
        begin = end + 1;
    }
    return expected;
}

static std::string shown(const std::string &text, size_t begin, char terminator)
{
    std::string line =
        text.substr(begin, std::min<size_t>(text.find(terminator, begin) - begin, 80));
    for (char &c : line)
        c = c >= ' ' && c <= '~' ? c : '?';
    return line;
}

static bool same_item(const struct key_index &a, const struct key_index &b)
{
    return a.index == b.index && a.key == b.key;
}

/* All that are not flagged are as expected, and all that the host refuses are flagged. */
static bool check_items(const std::vector<struct key_index> &items, const struct expected &expected,
                        const std::string &text, char terminator, size_t *flagged,
                        struct error *error)
{
    *flagged = 0;
    for (size_t i = 0; i < expected.items.size(); i++) {
        const struct key_index item = items[i], wanted = expected.items[i];
        const bool is_flagged = line_item_is_flagged(item);
        *flagged += is_flagged;
        if (is_flagged ? line_offset(item) == line_offset(wanted)
                       : same_item(item, wanted) && !expected.is_refused[i])
            continue;
        return error_set(error, "line %zu, '%s': %#zx %#zx, not %#zx %#zx%s", i,
                         shown(text, line_offset(wanted), terminator).c_str(), (size_t)item.index,
                         (size_t)item.key, (size_t)wanted.index, (size_t)wanted.key,
                         expected.is_refused[i] ? ", refused" : "");
    }
    return true;
}

constexpr size_t GUARD = 4; /* items after the last one, which must not change */

static bool run_text(struct bench *bench, const struct expected &expected, const std::string &text,
                     size_t *flagged, struct error *error)
{
    const size_t count = expected.items.size();
    const std::vector<struct key_index> guard(GUARD, {0x5555, 0xaaaa});
    std::vector<struct key_index> items;
    size_t reported = 0;
    if (!allocate(&bench->workspace, cuda_lines_workspace_bytes(text.size()), error) ||
        !cuda_lines_count(&bench->text, bench->workspace, error))
        return false;
    if (bench->text.count != count)
        return error_set(error, "%zu lines, not %zu", bench->text.count, count);
    if (!allocate(&bench->items, count + GUARD, error) ||
        !upload(bench->items + count, guard, error) ||
        !cuda_lines_key(&bench->text, bench->workspace, bench->items, &reported, error) ||
        !download(&items, bench->items, count + GUARD, error) ||
        !check_items(items, expected, text, static_cast<char>(bench->text.order.terminators),
                     flagged, error))
        return false;
    if (reported != *flagged)
        return error_set(error, "%zu lines are flagged, and %zu reported", *flagged, reported);
    return std::equal(guard.begin(), guard.end(), items.begin() + (ptrdiff_t)count, same_item) ||
           error_set(error, "items after the last line are not what they were");
}

/* Adds to *flagged. */
static bool check_text(const struct matrix_order &row, const std::string &text, size_t *flagged,
                       struct error *error)
{
    struct line_key key = {};
    key.kind = row.kind;
    key.reverse = row.is_reversed;
    const struct line_order order = {&key,  1,    LINE_SEPARATOR_BLANKS, row.terminator, false,
                                     false, false};
    struct bench bench;
    size_t found = 0;
    const bool passed = bench_open(&bench, cuda_line_order_make(&order), text, error) &&
                        run_text(&bench, expect_items(&order, text), text, &found, error);
    bench_close(&bench);
    *flagged += found;
    return passed || error_set(error, "%s, %zu bytes", row.name, text.size());
}

/* The kinds of fuzz_lines.py. No line of the first one may be left to the host. */
static const char *const kinds[] = {"ordinary", "decimal",       "general",      "human",
                                    "half_way", "wide_half_way", "cut_half_way", "respelled"};

/* Returns the lines that fuzz_lines.py prints; nothing if it fails. */
static std::string draw_lines(const char *kind, size_t lines)
{
    const std::string command =
        std::string("python3 tests/fuzz/fuzz_lines.py ") + kind + " " + std::to_string(lines);
    FILE *const stream = popen(command.c_str(), "r");
    std::vector<char> piece(1 << 16);
    std::string text;
    for (size_t got; stream && (got = fread(piece.data(), 1, piece.size(), stream)) > 0;)
        text.append(piece.data(), got);
    return stream && pclose(stream) == 0 ? text : "";
}

/* Checks the text by all orders. Newlines and NULs change places for lines that end with NUL. */
static void check_kind(const char *kind, const std::string &text, struct tap_output *tap)
{
    std::string other = text;
    for (char &c : other)
        c = c == '\n' ? '\0' : c == '\0' ? '\n' : c;
    for (const struct matrix_order &row : orders) {
        struct error error = {};
        size_t flagged = 0;
        bool passed = !text.empty() || error_set(&error, "fuzz_lines.py makes no lines");
        passed = passed && check_text(row, row.terminator == '\n' ? text : other, &flagged, &error);
        if (kind == kinds[0] && flagged > 0)
            passed = error_set(&error, "%zu lines are left to the host", flagged);
        tap_claim(tap, passed, (std::string(row.name) + ": " + kind).c_str(), error);
    }
}

/* ---- the output: texts ---- */

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

/* As in cuda/text/lines_gather.cu: the bytes of a word, bytes that a warp searches at once for the
 * end of a line, and lines that a block measures. */
constexpr size_t word_bytes = sizeof(uint4);
constexpr size_t search_bytes = 32 * 4 * word_bytes;
constexpr size_t group_lines = GATHER_MEASURE_THREADS * GATHER_MEASURE_LINES;

/* Lengths around the limits by which the kernels divide lines and outputs. */
static size_t length_of_limits(size_t i)
{
    const size_t limits[] = {1,
                             4,
                             word_bytes,
                             2 * word_bytes,
                             GATHER_SHORT_BYTES,
                             GATHER_PIECE_BYTES,
                             GATHER_WALK_WORDS * word_bytes,
                             search_bytes,
                             2 * search_bytes,
                             GATHER_TILE_BYTES,
                             16 * search_bytes};
    const uint64_t bits = random_bits(i);
    const size_t rare = bits % 16 ? 3 : 0; /* the long ones */
    return limits[(bits >> 8) % (sizeof limits / sizeof *limits - rare)] + (bits >> 32) % 3;
}

static size_t length_mixed(size_t i)
{
    return i % 5003 == 77 ? 300007 : length_random<11>(i);
}

static size_t length_of_two(size_t i)
{
    return i == 0 ? 300000 : 1;
}

static const struct length {
    const char *name;
    size_t (*bytes)(size_t i);
    size_t count;
} lengths[] = {
    {"no lines", length_fixed<1>, 0},
    {"one empty line", length_fixed<1>, 1},
    {"empty lines", length_fixed<1>, 40000},
    {"lines of 1 byte", length_fixed<2>, 5 * group_lines},
    {"lines of 10 bytes", length_fixed<11>, 3 * group_lines - 1},
    {"lines of 0 to 20 bytes", length_random<11>, 9001},
    {"lines of 0 to 100 bytes", length_random<51>, 3000},
    {"lines of 99 bytes", length_fixed<100>, 1500},
    {"lines of 0 to 2000 bytes", length_random<1000>, 700},
    {"lines of 63 to 16,386 bytes, and more", length_of_limits, 500},
    {"short lines and some of 300,006 bytes", length_mixed, 6000},
    {"an empty line and one of 300,000 bytes", length_of_two, 2},
    {"one line of 700,000 bytes", length_fixed<700000>, 1},
};

/* The bytes differ from the terminator in one bit, in all bits, or in the lowest and any others. */
static std::string make_text(const struct length &length, std::vector<size_t> *begins)
{
    const int terminator = length.count % 2 ? '\n' : '\0';
    std::string text;
    *begins = {0};
    for (size_t i = 0; i < length.count; i++) {
        for (size_t left = length.bytes(i) - 1; left > 0; left--) {
            const uint64_t bits = random_bits(text.size());
            const int others[] = {1 << (bits >> 8) % 8, 0xff, (int)(bits >> 16 & 0xff) | 1};
            text.push_back((char)(terminator ^ others[bits % 3]));
        }
        text.push_back((char)terminator);
        begins->push_back(text.size());
    }
    return text;
}

/* ---- pieces ---- */

static const size_t red_zone = 32; /* bytes before and after a target */
static const unsigned char untouched = 0xe7;

/* One piece, to a target `shift` bytes after an aligned one; nothing around it is written. */
static bool check_piece(const struct bench &bench, const std::string &expected, size_t begin,
                        size_t end, size_t shift, struct error *error)
{
    const size_t bytes = end - begin, before = word_bytes + shift;
    const size_t all = bytes + 2 * red_zone;
    std::vector<unsigned char> got;
    if (!check(cudaMemsetAsync(bench.target, untouched, all, bench.text.stream), error) ||
        !cuda_gather_copy(&bench.gather, begin, end, bench.target + before, error) ||
        !check(cudaStreamSynchronize(bench.text.stream), error) ||
        !download(&got, bench.target, all, error))
        return false;
    for (size_t i = 0; i < all; i++) {
        const bool is_inside = i >= before && i - before < bytes;
        if (got[i] != (is_inside ? (unsigned char)expected[begin + i - before] : untouched))
            return error_set(error, "bytes %zu to %zu of %zu, shifted by %zu: byte %td is 0x%02x",
                             begin, end, expected.size(), shift, (ptrdiff_t)i - (ptrdiff_t)before,
                             got[i]);
    }
    return true;
}

/* Copies the whole output, and pieces that begin near a tile. */
static bool check_pieces(const struct bench &bench, const std::string &expected,
                         struct error *error)
{
    const size_t all = expected.size();
    bool passed = check_piece(bench, expected, 0, all, 0, error) &&
                  check_piece(bench, expected, 0, all, 5, error) &&
                  check_piece(bench, expected, all, all, 1, error);
    for (size_t i = 0; passed && all > 0 && i < 32; i++) {
        const size_t tile = random_bits(i) % (all / GATHER_TILE_BYTES + 1);
        const size_t begin =
            std::min(tile * GATHER_TILE_BYTES + random_bits(~i) % 3, all) - (i % 2);
        const size_t bytes = random_bits(i + 99) % (i < 16 ? 20 : 3 * GATHER_TILE_BYTES);
        passed = begin >= all ||
                 check_piece(bench, expected, begin, std::min(begin + bytes, all), i % 16, error);
    }
    return passed;
}

/* The check of the copies, started a second time, names the first line that is out of order. */
static bool check_disorder(const struct bench &bench, const std::vector<struct key_index> &items,
                           struct error *error)
{
    struct text_proof proof = {};
    size_t wanted = 0;
    for (size_t i = items.size(); i-- > 1;)
        wanted = items[i].key < items[i - 1].key ? i + 1 : wanted;
    if (!cuda_gather_start_check(&bench.gather, error) ||
        !cuda_gather_start_check(&bench.gather, error) ||
        !cuda_gather_finish_check(&bench.gather, &proof, error))
        return false;
    return proof.disorder == wanted ||
           error_set(error, "of %zu lines, line %zu is out of order, not %zu", items.size(), wanted,
                     (size_t)proof.disorder);
}

/* Outputs `count` lines of the text, in random order. The keys of the last third are too low. */
static bool check_output(const std::string &text, const std::vector<size_t> &begins, size_t count,
                         struct error *error)
{
    std::vector<size_t> order(begins.size() - 1);
    std::iota(order.begin(), order.end(), (size_t)0);
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[random_bits(i) % i]);
    std::vector<struct key_index> items(count);
    std::string expected;
    for (size_t i = 0; i < count; i++) {
        const size_t begin = begins[order[i]];
        items[i] = {line_index(begin, i % 3 != 0), i < count - count / 3 ? i + 1 : i % 7};
        expected.append(text, begin, begins[order[i] + 1] - begin);
    }
    struct bench bench;
    struct cuda_line_order line_order = {};
    line_order.terminators = byte_in_all(text.empty() ? '\n' : text.back());
    bool passed =
        bench_open(&bench, line_order, text, error) &&
        allocate(&bench.target, text.size() + 2 * red_zone, error) &&
        allocate(&bench.items, count, error) && upload(bench.items, items, error) &&
        allocate(&bench.workspace, cuda_gather_workspace_bytes(text.size(), count), error);
    bench.text.count = bench.gather.count = count;
    bench.gather.text = &bench.text;
    bench.gather.items = bench.items;
    bench.gather.workspace = bench.workspace;
    passed = passed && cuda_gather_measure(&bench.gather, error);
    if (passed && bench.gather.bytes != expected.size())
        passed = error_set(error, "%zu bytes, not %zu", bench.gather.bytes, expected.size());
    passed = passed && check_pieces(bench, expected, error) &&
             (count == 0 || check_disorder(bench, items, error));
    bench_close(&bench);
    return passed;
}

/* The scan over groups of lines, more than there are in the texts above. */

static bool check_scan(size_t count, struct error *error)
{
    std::vector<uint64_t> bytes(count), expected(count + 1), got;
    for (size_t i = 0; i < count; i++)
        bytes[i] = random_bits(i) >> 20;
    std::partial_sum(bytes.begin(), bytes.end(), expected.begin() + 1);
    uint64_t *memory = NULL;
    const struct launch launch = {"scan_kernel", 1, BLOCK_SCAN_THREADS, 0, NULL};
    bool passed = allocate(&memory, count + 1, error) && upload(memory, bytes, error);
    passed = passed &&
             launch_kernel(launch, error, scan_kernel<uint64_t>, memory, count, memory + count) &&
             check(cudaStreamSynchronize(NULL), error) && download(&got, memory, count + 1, error);
    (void)cudaFree(memory);
    return passed && (got == expected || error_set(error, "the scan of %zu groups", count));
}

int main(int argc, char **argv)
{
    size_t lines = 1000000;
    int status = 0;
    if (!tap_start(argc, argv, &lines, &status))
        return status;
    struct tap_output tap = {};
    for (const char *const kind : kinds)
        if (lines > 0)
            check_kind(kind, draw_lines(kind, lines), &tap);
    for (const struct length &length : lengths) {
        struct error error = {};
        std::vector<size_t> begins;
        const std::string text = make_text(length, &begins);
        const bool passed =
            check_output(text, begins, length.count, &error) &&
            (lines == 0 || check_output(text, begins, (length.count + 1) / 2, &error));
        tap_claim(&tap, passed, length.name, error);
    }
    constexpr size_t at_once = BLOCK_SCAN_THREADS * BLOCK_SCAN_VALUES;
    struct error error = {};
    bool scans = true;
    for (const size_t count : {(size_t)1, at_once - 1, at_once, at_once + 1, 5 * at_once + 7})
        scans = scans && check_scan(count, &error);
    tap_claim(&tap, scans, "sums over many groups of lines", error);
    printf("1..%zu\n", tap.number);
    return tap.failed ? 1 : 0;
}
