/* SPDX-License-Identifier: Apache-2.0 */
/* lines_matrix.cu - the items that the device makes of lines (cuda/engine/cuda_lines.h): kind x
 * part of the line x terminator x direction x spellings, compared with those of the host,
 * formats/lines/line_compare.h, which makes them by code of its own.
 *
 *   lines_matrix [LINES]
 *     prints TAP, a line for each order and sort of text; exits 1 on a mismatch. Texts of random
 *     lines have so many.
 *
 * An item may be flagged, but not one of an ordinary spelling. Those that are go out and come back
 * as the engine does it.
 */
#include "core/line/line_key.h"
#include "cuda/engine/cuda_lines.h"
#include "formats/lines/line_compare.h"
#include "tests/cuda/line_spellings.h"
#include "tests/cuda/matrix_common.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

/* ---- orders ---- */

static const struct line_place line_begin = {0, 0, false};

/* A first key, and how a text is parted into fields and lines. */
struct matrix_order {
    const char *name;
    struct line_key key;
    int separator;
    char terminator;
};

#define WHOLE line_begin, LINE_END_OF_LINE, line_begin
static const struct matrix_order orders[] = {
    {"numbers, strictly", {LINE_STRICT, false, WHOLE}, LINE_SEPARATOR_BLANKS, '\n'},
    {"-g", {LINE_GENERAL, false, WHOLE}, LINE_SEPARATOR_BLANKS, '\n'},
    {"-g -r -z", {LINE_GENERAL, true, WHOLE}, LINE_SEPARATOR_BLANKS, '\0'},
    {"-n", {LINE_NUMERIC, false, WHOLE}, LINE_SEPARATOR_BLANKS, '\n'},
    {"-n -z", {LINE_NUMERIC, false, WHOLE}, LINE_SEPARATOR_BLANKS, '\0'},
    {"-h", {LINE_HUMAN, false, WHOLE}, LINE_SEPARATOR_BLANKS, '\n'},
    {"-h -r", {LINE_HUMAN, true, WHOLE}, LINE_SEPARATOR_BLANKS, '\n'},
    {"bytes", {LINE_BYTES, false, WHOLE}, LINE_SEPARATOR_BLANKS, '\n'},
    {"bytes -r -z", {LINE_BYTES, true, WHOLE}, LINE_SEPARATOR_BLANKS, '\0'},
    {"-k2g",
     {LINE_GENERAL, false, {1, 0, false}, LINE_END_OF_LINE, line_begin},
     LINE_SEPARATOR_BLANKS,
     '\n'},
    {"-t. -k2,2n",
     {LINE_NUMERIC, false, {1, 0, false}, LINE_END_OF_FIELD, {1, 0, false}},
     '.',
     '\n'},
    {"-k1.3b,2.5br",
     {LINE_BYTES, true, {0, 2, true}, LINE_END_AT_PLACE, {1, 5, true}},
     LINE_SEPARATOR_BLANKS,
     '\n'},
    {"-te -k1,1h -z",
     {LINE_HUMAN, false, {0, 1, false}, LINE_END_OF_FIELD, {0, 0, false}},
     'e',
     '\0'},
    {"-t1 -k3,2", {LINE_BYTES, false, {2, 0, false}, LINE_END_OF_FIELD, {1, 0, false}}, '1', '\n'},
    {"-k2.2, strictly",
     {LINE_STRICT, true, {1, 1, true}, LINE_END_OF_LINE, line_begin},
     LINE_SEPARATOR_BLANKS,
     '\n'},
};
#undef WHOLE

/* ---- the device ---- */

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

/* A text on the device, and all that making items of it takes. */
struct bench {
    struct cuda_text text;
    void *memory; /* of the text */
    void *workspace;
    struct key_index *items;
    struct cuda_flagged taken;
};

template <typename T>
static bool allocate(T **memory, size_t count, struct error *error)
{
    return check(cudaMalloc((void **)memory, std::max<size_t>(count, 1) * sizeof(T)), error);
}

static bool bench_open(struct bench *bench, struct cuda_line_order order, size_t bytes, size_t room,
                       struct error *error)
{
    unsigned char *text = NULL, *workspace = NULL;
    *bench = {};
    const bool is_open = allocate(&text, bytes + CUDA_TEXT_SLACK_BYTES, error) &&
                         allocate(&workspace, cuda_lines_workspace_bytes(bytes), error) &&
                         allocate(&bench->taken.items, room, error) &&
                         allocate(&bench->taken.lines, room, error) &&
                         check(cudaMemset(text + bytes, '\n', CUDA_TEXT_SLACK_BYTES), error) &&
                         check(cudaStreamCreate(&bench->text.stream), error);
    bench->text.text = text;
    bench->text.bytes = bytes;
    bench->text.order = order;
    bench->memory = text;
    bench->workspace = workspace;
    bench->taken.room = room;
    return is_open;
}

static void bench_close(struct bench *bench)
{
    if (bench->text.stream != NULL)
        (void)cudaStreamDestroy(bench->text.stream);
    (void)cudaFree(bench->taken.lines);
    (void)cudaFree(bench->taken.items);
    (void)cudaFree(bench->items);
    (void)cudaFree(bench->workspace);
    (void)cudaFree(bench->memory);
}

template <typename T>
static bool fetch(std::vector<T> *to, const T *from, size_t count, struct error *error)
{
    to->resize(count);
    return check(cudaMemcpy(to->data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), error);
}

/* ---- what is expected ---- */

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
    for (size_t i = 0; i < items.size(); i++) {
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

/* Takes the flagged items out, room by room, and puts the expected ones in their places. */
static bool replace_flagged(const struct bench *bench, const std::vector<struct key_index> &items,
                            const struct expected &expected, size_t flagged, struct error *error)
{
    std::vector<struct key_index> taken;
    std::vector<uint64_t> lines;
    size_t next = 0;
    for (size_t first = 0; first < flagged; first += bench->taken.room) {
        const size_t count = std::min(bench->taken.room, flagged - first);
        if (!cuda_lines_take_flagged(&bench->text, bench->workspace, bench->items, first,
                                     &bench->taken, error) ||
            !check(cudaStreamSynchronize(bench->text.stream), error) ||
            !fetch(&taken, bench->taken.items, count, error) ||
            !fetch(&lines, bench->taken.lines, count, error))
            return false;
        for (size_t i = 0; i < count; i++, next++) {
            while (next < items.size() && !line_item_is_flagged(items[next]))
                next++;
            if (next == items.size() || lines[i] != next || !same_item(taken[i], items[next]))
                return error_set(error, "flagged line %zu is not taken", next);
            taken[i] = expected.items[next];
        }
        if (!check(cudaMemcpy(bench->taken.items, taken.data(), count * sizeof taken[0],
                              cudaMemcpyHostToDevice),
                   error) ||
            !cuda_lines_put_flagged(&bench->text, &bench->taken, count, bench->items, error))
            return false;
    }
    return check(cudaStreamSynchronize(bench->text.stream), error);
}

/* ---- the matrix ---- */

constexpr size_t GUARD = 4; /* items behind the last one, which are to be left alone */

static bool run_text(struct bench *bench, const struct expected &expected, const std::string &text,
                     size_t *flagged, struct error *error)
{
    const size_t count = expected.items.size();
    const char terminator = bench->text.order.terminator;
    const std::vector<struct key_index> guard(GUARD, {0x5555, 0xaaaa});
    std::vector<struct key_index> items;
    size_t told = 0;
    if (!check(cudaMemcpy(bench->memory, text.data(), text.size(), cudaMemcpyHostToDevice),
               error) ||
        !cuda_lines_count(&bench->text, bench->workspace, error))
        return false;
    if (bench->text.count != count)
        return error_set(error, "%zu lines, not %zu", bench->text.count, count);
    if (!allocate(&bench->items, count + GUARD, error) ||
        !check(cudaMemcpy(bench->items + count, guard.data(), GUARD * sizeof guard[0],
                          cudaMemcpyHostToDevice),
               error) ||
        !cuda_lines_key(&bench->text, bench->workspace, bench->items, &told, error) ||
        !fetch(&items, bench->items, count, error) ||
        !check_items(items, expected, text, terminator, flagged, error))
        return false;
    if (told != *flagged)
        return error_set(error, "%zu lines are flagged, and %zu said to be", *flagged, told);
    if (!replace_flagged(bench, items, expected, *flagged, error) ||
        !fetch(&items, bench->items, count + GUARD, error))
        return false;
    for (size_t i = 0; i < count + GUARD; i++)
        if (!same_item(items[i], i < count ? expected.items[i] : guard[i - count]))
            return error_set(error, "line %zu is not what was put there", i);
    return true;
}

/* Adds to *flagged; prints what is wrong and returns false. */
static bool check_text(const struct matrix_order &row, const std::string &text, size_t room,
                       size_t *flagged)
{
    struct line_key key = row.key;
    const struct line_order order = {&key, 1, row.separator, row.terminator, false, false, false};
    struct error error = {};
    struct bench bench;
    size_t found = 0;
    const bool passed =
        bench_open(&bench, cuda_line_order_make(&order), text.size(), room, &error) &&
        run_text(&bench, expect_items(&order, text), text, &found, &error);
    bench_close(&bench);
    if (!passed)
        printf("# %s, %zu bytes: %s\n", row.name, text.size(), error.message);
    *flagged += found;
    return passed;
}

static void print_claim(bool passed, size_t *claims, const char *order, const char *what)
{
    printf("%sok %zu - %s: %s\n", passed ? "" : "not ", ++*claims, order, what);
    fflush(stdout);
}

static bool check_spellings(const struct matrix_order &row, const struct spelling &spelling,
                            size_t lines, size_t *claims)
{
    struct spelling_source source = {};
    const std::string text = spellings_make(spelling, row.terminator, lines, &source);
    size_t flagged = 0;
    bool passed = check_text(row, text, lines / 20 + 1, &flagged);
    const bool is_strict_part = row.key.kind == LINE_STRICT && !line_key_is_whole(&row.key);
    if (spelling.is_ordinary && !is_strict_part && flagged > 0) {
        printf("# %zu lines are left to the host\n", flagged);
        passed = false;
    }
    char what[128];
    snprintf(what, sizeof what, "%s, %zu of %zu for the host", spelling.name, flagged, lines);
    print_claim(passed, claims, row.name, what);
    return passed;
}

/* Texts whose lines stand at odd places of the tiles; orders take turns with them, if texts are to
 * have few lines. */
constexpr size_t FEW_LINES = 100000;

static bool check_edges(const struct matrix_order &row, size_t lines, size_t *claims)
{
    const size_t turns = lines < FEW_LINES ? 3 : 1;
    const char end = row.terminator;
    size_t flagged = 0;
    bool passed = true;
    std::vector<std::string> texts;
    struct spelling_source source = {};
    for (size_t bytes = 0; bytes <= 70; bytes++)
        for (size_t rarity : {1, 5})
            texts.push_back(spelling_text(&source, bytes, rarity, end));
    const std::string long_line(100003, '1');
    for (size_t bytes : {4094, 4095, 4096, 4097, 8190, 8191, 8192, 8193, 16383, 16384}) {
        const std::string line(bytes, '7');
        texts.push_back(line + end);
        texts.push_back(line + end + "12" + end + line + end + "3" + end);
        texts.push_back(std::string(bytes, end));
        texts.push_back(std::string(bytes, end) + long_line + end + "5" + end);
        texts.push_back(std::string(bytes, ' ') + end + "1" + line + "e5" + end);
        texts.push_back(std::string(bytes, ' ') + "1e+5" + end);
        texts.push_back(std::string(bytes, ' ') + "inf" + end);
    }
    texts.push_back(long_line + end + end + long_line + ".5" + end);
    for (size_t i = (size_t)(&row - orders) % turns; i < texts.size(); i += turns)
        passed = check_text(row, texts[i], 3 + texts[i].size() / 100, &flagged) && passed;
    print_claim(passed, claims, row.name, "edges of tiles");
    return passed;
}

static int run_matrix(size_t lines)
{
    size_t claims = 0;
    bool passed = true;
    printf("1..%zu\n", (sizeof orders / sizeof *orders) * (spelling_count + 1));
    for (const struct matrix_order &row : orders) {
        for (size_t i = 0; i < spelling_count; i++)
            passed = check_spellings(row, spellings[i], lines, &claims) && passed;
        passed = check_edges(row, lines, &claims) && passed;
    }
    return passed ? 0 : 1;
}

int main(int argc, char **argv)
{
    size_t lines = 1000000;
    if (argc > 2 || (argc > 1 && !parse_count(argv[1], &lines)) || lines == 0) {
        fprintf(stderr, "usage: lines_matrix [LINES]\n");
        return 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("1..0 # SKIP no CUDA device\n");
        return 0;
    }
    return run_matrix(lines);
}
