/* SPDX-License-Identifier: Apache-2.0 */
/* runs_matrix.cu - runs of equal keys put in order on the device (cuda/cuda_refine.h): texts x
 * orders x counts, compared with sort(1), byte for byte.
 *
 *   runs_matrix [LARGEST]
 *     prints TAP, a line for each text and order; exits 1 on a mismatch. Counts above LARGEST are
 *     left out.
 *
 *   runs_matrix --time [COUNT]
 *     prints the times of the steps for COUNT lines of several texts, beside the sort of items and
 *     lines_refine on the host, with which the outcome is compared.
 *
 * The lines are found and keyed by the code of formats/, which also does what the device leaves to
 * the host.
 */
#include "core/clock.h"
#include "tests/matrix_common.h"
#include "tests/runs_bench.cuh"

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

/* ---- times ---- */

static double milliseconds(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* Lines of the text, made by all threads, in file "in". */
static bool write_lines(const struct text_case &text, size_t count, struct error *error)
{
    FILE *const file = fopen(path_of("in").c_str(), "wb");
    if (!file)
        return error_set(error, "%s: cannot be written", path_of("in").c_str());
    constexpr size_t piece = (size_t)1 << 18, pieces = 64;
    std::vector<std::string> made(pieces);
    bool is_written = true;
    for (size_t first = 0; first < count; first += piece * pieces) {
#pragma omp parallel for
        for (size_t k = 0; k < pieces; k++) {
            made[k].clear();
            const size_t end = std::min(count, first + (k + 1) * piece);
            for (size_t i = first + k * piece; i < end; i++)
                made[k] += text.line(i, count) + "\n";
        }
        for (const std::string &bytes : made)
            is_written = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && is_written;
    }
    return (fclose(file) == 0 && is_written) ||
           error_set(error, "%s: cannot be written", path_of("in").c_str());
}

/* Compares the lines that both have, where they are not the same items. */
static bool same_lines(const struct lines *lines, const std::vector<struct key_index> &a,
                       const std::vector<struct key_index> &b, struct error *error)
{
    size_t different = a.size() == b.size() ? 0 : 1;
#pragma omp parallel for reduction(+ : different)
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
        if (a[i].index != b[i].index) {
            const size_t length = line_length(lines, a[i]);
            different += length != line_length(lines, b[i]) ||
                         memcmp(line_text(lines, a[i]), line_text(lines, b[i]), length) != 0;
        }
    return different == 0 ||
           error_set(error, "%zu lines of %zu are not the host's", different, b.size());
}

/* Sorts the items on the device, twice, as the first time warms it up. */
static bool time_sort(const struct bench *bench, const std::vector<struct key_index> &items,
                      uint64_t *ns, struct error *error)
{
    for (unsigned run = 0; run < 2; run++) {
        if (!check(cudaMemcpy(bench->refine.items, items.data(),
                              items.size() * sizeof(struct key_index), cudaMemcpyHostToDevice),
                   error))
            return false;
        const uint64_t start = clock_now_ns();
        if (!cuda_path_sort(bench->refine.path, &bench->sort, error))
            return false;
        *ns = clock_now_ns() - start;
    }
    return true;
}

/* The items come back sorted. */
static bool fetch_sorted(const struct bench *bench, std::vector<struct key_index> *items,
                         struct error *error)
{
    return check(cudaMemcpy(items->data(), bench->refine.items,
                            items->size() * sizeof(struct key_index), cudaMemcpyDeviceToHost),
                 error);
}

static bool time_bench(const struct bench *bench, const struct lines *lines,
                       std::vector<struct key_index> *items, struct error *error)
{
    struct cuda_refine_counts counts = {};
    uint64_t sort_ns = 0;
    if (!time_sort(bench, *items, &sort_ns, error) || !fetch_sorted(bench, items, error))
        return false;
    std::vector<struct key_index> hosts = *items;
    size_t kept = hosts.size();
    for (unsigned run = 0; run < 2; run++) {
        std::vector<struct key_index> refined = *items;
        if (!bench_refine(bench, &refined, &counts, error))
            return false;
        if (run == 1)
            items->swap(refined);
    }
    const uint64_t start = clock_now_ns();
    if (!lines_refine(lines, hosts.data(), &kept, error))
        return false;
    const uint64_t host_ns = clock_now_ns() - start;
    hosts.resize(kept);
    printf("sort %8.2f ms, mark %7.2f, %2u rounds of %11zu lines %8.2f, %9zu to the host %8.2f, "
           "unique %6.2f; host alone %9.2f\n",
           milliseconds(sort_ns), milliseconds(counts.mark_ns), counts.rounds, counts.device,
           milliseconds(counts.device_ns), counts.host, milliseconds(counts.host_ns),
           milliseconds(counts.unique_ns), milliseconds(host_ns));
    return same_lines(lines, *items, hosts, error);
}

static bool time_case(const struct text_case &text, struct order_case order)
{
    const struct line_order line_order = line_order_of(&order);
    std::vector<struct key_index> items;
    struct lines *lines = NULL;
    struct bench bench = {};
    struct error error = {};
    printf("%-34s %-14s ", text.name, order.options);
    bool ran =
        read_lines(&line_order, (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &lines, &items, &error);
    if (ran) {
        ran = bench_open(&bench, lines, items.size(), &error) &&
              time_bench(&bench, lines, &items, &error);
        bench_close(&bench);
    }
    lines_free(lines);
    if (!ran)
        printf("%s\n", error.message);
    fflush(stdout);
    return ran;
}

static int run_times(size_t count)
{
    static const char *const timed[] = {"-g", "-gs", "-gu", "-k1,1n -k2,2g"};
    bool ran = true;
    for (const struct text_case &text : texts) {
        struct error error = {};
        if (text.line != line_of_few_values && text.line != line_all_the_same &&
            text.line != line_of_nine_digits && text.line != line_of_a_long_prefix &&
            text.line != line_of_fields)
            continue;
        /* Of the long ones a tenth, for about as much text. */
        const size_t lines = text.line == line_of_a_long_prefix ? count / 10 : count;
        if (!write_lines(text, lines, &error)) {
            printf("%s\n", error.message);
            return 1;
        }
        for (const struct order_case &order : orders)
            for (const char *options : timed)
                if (strcmp(order.options, options) == 0 &&
                    (order.key_count == 1) == (text.line != line_of_fields))
                    ran = time_case(text, order) && ran;
    }
    return ran ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool is_timing = argc > 1 && strcmp(argv[1], "--time") == 0;
    const int argument = is_timing ? 2 : 1;
    size_t count = is_timing ? 20000000 : MANY_LINES;
    if (argc > argument + 1 || (argc > argument && !parse_count(argv[argument], &count))) {
        fprintf(stderr, "usage: runs_matrix [--time] [COUNT]\n");
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
    const int status = is_timing ? run_times(count) : run_matrix(count);
    remove_files();
    return status;
}
