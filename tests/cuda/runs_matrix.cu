/* SPDX-License-Identifier: Apache-2.0 */
/* runs_matrix.cu - runs of equal keys put in order on the device (cuda/engine/cuda_refine.h): texts
 * x orders x counts, compared with sort(1), byte for byte.
 *
 *   runs_matrix [LARGEST]
 *     prints TAP, a line for each text and order; exits 1 on a mismatch. Counts above LARGEST are
 *     left out.
 *
 * The lines are found and keyed by the code of formats/, which also does what the device leaves to
 * the host.
 */
#include "tests/cuda/matrix_common.h"
#include "tests/cuda/runs_bench.cuh"

#include <algorithm>
#include <stdio.h>
#include <string.h>
#include <string>
#include <vector>

/* ---- the matrix ---- */

static bool same_bytes(const std::string &got, const std::string &expected, struct error *error)
{
    size_t i = 0;
    while (i < got.size() && i < expected.size() && got[i] == expected[i])
        i++;
    return got == expected ||
           error_set(error, "%zu bytes, not %zu; byte %zu differs", got.size(), expected.size(), i);
}

/* Keys are still those of the lines. */
static bool check_items(const std::vector<struct key_index> &items,
                        const std::vector<struct key_index> &sorted, struct error *error)
{
    for (size_t i = 0; i < items.size(); i++)
        if (!std::binary_search(sorted.begin(), sorted.end(), items[i], is_before))
            return error_set(error, "item %zu is none of the input", i);
    return true;
}

/* Lines of the same bytes are in the order of the input. */
static bool check_same_lines(const struct lines *lines, const std::vector<struct key_index> &items,
                             struct error *error)
{
    for (size_t i = 1; i < items.size(); i++) {
        const size_t length = line_length(lines, items[i]);
        if (items[i].index <= items[i - 1].index && items[i].key == items[i - 1].key &&
            length == line_length(lines, items[i - 1]) &&
            memcmp(line_text(lines, items[i]), line_text(lines, items[i - 1]), length) == 0)
            return error_set(error, "items %zu and %zu are the wrong way round", i - 1, i);
    }
    return true;
}

/* What was to be done on the device was. */
static bool check_counts(const struct text_case &text, const struct order_case &order, size_t count,
                         size_t room, const struct cuda_refine_counts &counts, struct error *error)
{
    if (text.line == line_all_the_same && counts.device + counts.host != 0)
        return error_set(error, "%zu lines that are the same were looked at again",
                         counts.device + counts.host);
    const bool is_deduplicated = order.unique && order.keys[0].kind == LINE_BYTES;
    if (text.is_ordered_here && order.key_count == 1 && !is_deduplicated && room >= count &&
        counts.host != 0)
        return error_set(error, "%zu lines went to the host", counts.host);
    if (room < counts.device)
        return error_set(error, "%zu lines on the device, with room for %zu", counts.device, room);
    return true;
}

/* File "in" in the order, with so much room on the device; `expected` is what sort(1) made of it.
 */
static bool check_room(const struct text_case &text, struct order_case order, size_t room,
                       const std::string &expected, struct error *error)
{
    const struct line_order line_order = line_order_of(&order);
    std::vector<struct key_index> items;
    struct cuda_refine_counts counts = {};
    struct lines *lines = NULL;
    struct bench bench = {};
    bool passed = read_lines(&line_order, 1, &lines, &items, error);
    if (passed) {
        std::sort(items.begin(), items.end(), is_before);
        const std::vector<struct key_index> sorted = items;
        passed = bench_open(&bench, lines, room, error) &&
                 bench_refine(&bench, &items, &counts, error) &&
                 check_items(items, sorted, error) &&
                 (counts.host > 0 || check_same_lines(lines, items, error)) &&
                 same_bytes(gather(lines, items), expected, error) &&
                 check_counts(text, order, sorted.size(), room, counts, error);
        bench_close(&bench);
    }
    lines_free(lines);
    return passed;
}

/* Prints what is wrong and returns false. */
static bool check_case(const struct text_case &text, const struct order_case &order, size_t count,
                       std::initializer_list<size_t> rooms)
{
    struct error error = {};
    std::string expected;
    bool passed = write_file("in", make_text(text, count, order.terminator), &error) &&
                  sort_theirs(order.options, &expected, &error);
    for (size_t room : rooms)
        passed = passed && check_room(text, order, room, expected, &error);
    if (!passed)
        printf("# sort %s, %zu lines: %s\n", order.options, count, error.message);
    return passed;
}

static const size_t counts_of_lines[] = {1, 33, 1024, 1025, 3100, 70001};

/* More tiles than are scanned at once, so that a scan goes on from what came before. */
constexpr size_t MANY_LINES = 4300003;

static bool is_for_many_lines(const struct text_case &text, const struct order_case &order)
{
    return text.is_ordered_here &&
           (strcmp(order.options, "-g") == 0 || strcmp(order.options, "-gu") == 0);
}

static bool check_order(const struct text_case &text, const struct order_case &order,
                        size_t largest)
{
    bool passed = check_case(text, order, 1500, {700, 0});
    for (size_t count : counts_of_lines)
        if (count <= largest)
            passed = check_case(text, order, count, {count}) && passed;
    if (largest >= MANY_LINES && is_for_many_lines(text, order))
        passed = check_case(text, order, MANY_LINES, {MANY_LINES}) && passed;
    return passed;
}

static int run_matrix(size_t largest)
{
    size_t claims = 0;
    bool passed = true;
    printf("1..%zu\n", sizeof texts / sizeof *texts * (sizeof orders / sizeof *orders));
    for (const struct text_case &text : texts) {
        for (const struct order_case &order : orders) {
            const bool is_right = check_order(text, order, largest);
            printf("%sok %zu - sort %s: %s\n", is_right ? "" : "not ", ++claims, order.options,
                   text.name);
            fflush(stdout);
            passed = passed && is_right;
        }
    }
    return passed ? 0 : 1;
}

int main(int argc, char **argv)
{
    size_t largest = MANY_LINES;
    if (argc > 2 || (argc > 1 && !parse_count(argv[1], &largest))) {
        fprintf(stderr, "usage: runs_matrix [LARGEST]\n");
        return 2;
    }
    struct device_facts facts = {};
    struct error error = {};
    if (!cuda_backend.probe(0, &facts, &error)) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    if (!mkdtemp(directory)) {
        fprintf(stderr, "runs_matrix: %s: cannot be made\n", directory);
        return 2;
    }
    printf("# %s\n", facts.name);
    const int status = run_matrix(largest);
    remove_files();
    return status;
}
