/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_matrix.cu - the memory that paths of the GPU ask for beside the items: what serves an
 * array serves any smaller one. Engines rest on that: they sort parts, and what a selection or a
 * round of a refinement leaves, in the workspace of the most that may come.
 *
 *   workspace_matrix
 *     prints TAP, a line for each path; exits 1 where one asks for more for less. Needs no device.
 */
#include "cuda/engine/cuda_paths.h"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>
#include <vector>

extern "C" const struct backend cuda_backend;

/* Counts in ascending order: about powers of two and of tiles, where plans change, and any. */
static std::vector<size_t> make_counts(void)
{
    std::vector<size_t> counts = {0};
    for (size_t power = 1; power <= (size_t)1 << 40; power *= 2)
        for (size_t eighth = 0; eighth < 8; eighth++) {
            const size_t count = power + power / 8 * eighth;
            counts.insert(counts.end(), {count - 1, count, count + 1});
            counts.push_back(count + random_bits(counts.size()) % power);
        }
    std::sort(counts.begin(), counts.end());
    return counts;
}

static bool grows(const struct cuda_path *path, size_t tile_size, unsigned item_bytes,
                  const std::vector<size_t> &counts)
{
    size_t before = 0;
    for (size_t i = 0; i < counts.size(); i++) {
        const size_t bytes = path->workspace_bytes(counts[i], tile_size, item_bytes);
        if (bytes < before) {
            printf("# %u bytes an item, tile %zu: %zu bytes for %zu items, and %zu for %zu\n",
                   item_bytes, tile_size, bytes, counts[i], before, counts[i - 1]);
            return false;
        }
        before = bytes;
    }
    return true;
}

static bool grows_always(const struct algorithm *algorithm, const std::vector<size_t> &counts)
{
    bool is_well = true;
    for (const size_t *tile_size = algorithm->tile_sizes; *tile_size != 0; tile_size++)
        for (const unsigned item_bytes : {1u, 2u, 4u, 8u, 16u})
            is_well = grows(cuda_path_find(algorithm), *tile_size, item_bytes, counts) && is_well;
    return is_well;
}

int main(void)
{
    const std::vector<size_t> counts = make_counts();
    bool is_well = true;
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++) {
        const struct algorithm *const algorithm = &cuda_backend.algorithms[i];
        const bool passed = grows_always(algorithm, counts);
        printf("%s %zu - %s asks for no more for fewer items\n", passed ? "ok" : "not ok", i + 1,
               algorithm->name);
        is_well = is_well && passed;
    }
    printf("1..%zu\n", cuda_backend.algorithm_count);
    return is_well ? 0 : 1;
}
