/* SPDX-License-Identifier: Apache-2.0 */
/* plan_device.c - see plan.h: which device sorts, and by which path.
 *
 *   size known:    the model of core/auto_model.h chooses the faster device
 *   size unknown:  inputs are read ahead into memory until they end, which gives their size,
 *                  or until there are enough bytes for the GPU to be faster
 *
 * The first input is also read ahead while a GPU is started, which takes longer than many a sort.
 */
#include "cli/plan/plan.h"

#include "core/host_limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum bytes read ahead while a GPU starts. In 0.3 s a pipe gives 1 GB, and 16 threads that
 * decode frames give somewhat more. */
#define AHEAD_BYTES ((uint64_t)4 << 30)

/* The search for the size from which a GPU pays begins here. With auto, no GPU is started for a
 * smaller input of unknown size. */
#define PAYING_BYTES_MIN ((uint64_t)16 << 20)

/* The part of -S, or of the host's free memory, that may be filled by reading ahead. */
#define AHEAD_PART(bytes) ((bytes) / 8)

/* A CPU thread selects from 5 to 10 GB/s, and all threads together from more than can be read or
 * uploaded (55 GB/s). So the choice depends on the number of items that are kept and sorted. */
static const char selection_reason[] = "few are kept, and they are found as fast as they are read";

/* ---- how much there is ----------------------------------------------------------------------- */

/* Returns true if the engine keeps only the first items. */
static bool is_selection(const struct plan *plan)
{
    return !plan->job.keep_lines && sort_spec_selects(&plan->job.sort);
}

/* Returns the number of items that the engine finally sorts, or COUNT_UNKNOWN. */
static size_t sorted_count(const struct plan *plan)
{
    const struct sort_spec *sort = &plan->job.sort;
    return is_selection(plan) ? sort_spec_given(sort, sort->count) : sort->count;
}

static uint64_t bytes_of_items(const struct plan *plan, uint64_t count)
{
    uint64_t bytes;
    return __builtin_mul_overflow(count, plan->job.sort.item_bytes, &bytes) ? SIZE_UNKNOWN : bytes;
}

/* Returns the bytes of the items made of `input_bytes` bytes of input. Numbers that are not counted
 * are assumed to take as many bytes as binary ones. */
static uint64_t item_bytes_of(const struct plan *plan, uint64_t input_bytes)
{
    const unsigned key_bytes = plan->job.readers[0].layout.type->bytes;
    if (input_bytes == SIZE_UNKNOWN || plan->job.sort.item_bytes == key_bytes)
        return input_bytes;
    return bytes_of_items(plan, input_bytes / key_bytes);
}

/* Returns the bytes of all items of the input, or SIZE_UNKNOWN. */
static uint64_t coming_bytes(const struct plan *plan)
{
    const size_t count = plan->job.sort.count;
    return count != COUNT_UNKNOWN ? bytes_of_items(plan, count)
                                  : item_bytes_of(plan, plan->job.input_bytes);
}

/* Returns the bytes of the items that are finally sorted, or SIZE_UNKNOWN. The model takes this. A
 * selection never keeps more items than there are. */
static uint64_t engine_bytes(const struct plan *plan)
{
    const uint64_t coming = coming_bytes(plan);
    if (!is_selection(plan))
        return coming;
    const uint64_t kept = bytes_of_items(plan, sorted_count(plan));
    return kept < coming ? kept : coming;
}

/* Returns true if the number of items or the bytes of input are known before the inputs are
 * read. */
static bool is_size_known(const struct plan *plan)
{
    return plan->job.sort.count != COUNT_UNKNOWN || plan->job.input_bytes != SIZE_UNKNOWN;
}

/* Returns true if a GPU would take the text, not only sort items of lines. */
static bool is_text_for_gpu(const struct plan *plan)
{
    return plan->job.action == JOB_SORT && plan->job.keep_lines && !plan->job.argsort.index_type;
}

/* ---- the model ------------------------------------------------------------------------------- */

static struct auto_estimate estimate_bytes(const struct plan *plan, uint64_t bytes)
{
    const struct sort_spec *sort = &plan->job.sort;
    const unsigned threads = sort->threads < plan->processors ? sort->threads : plan->processors;
    return is_text_for_gpu(plan)
               ? auto_estimate_lines(bytes, threads)
               : auto_estimate_make(sort->item_bytes, bytes / sort->item_bytes, threads);
}

/* Sets the estimate. There is none for items made of lines: their number is not known, and most of
 * the time is not spent on sorting them. */
static void estimate(struct plan *plan)
{
    const bool is_text = is_text_for_gpu(plan);
    const uint64_t bytes = is_text ? plan->job.input_bytes : engine_bytes(plan);
    plan->has_estimate = bytes != SIZE_UNKNOWN && (is_text || !plan->job.keep_lines);
    if (plan->has_estimate)
        plan->estimate = estimate_bytes(plan, bytes);
}

/* Returns the bytes of input from which the GPU is faster, within an eighth; SIZE_UNKNOWN:
 * never. */
static uint64_t gpu_pays_from(const struct plan *plan)
{
    for (uint64_t bytes = PAYING_BYTES_MIN; bytes < (uint64_t)1 << 40; bytes += bytes / 8) {
        const uint64_t items = is_text_for_gpu(plan) ? bytes : item_bytes_of(plan, bytes);
        const struct auto_estimate estimate = estimate_bytes(plan, items);
        if (estimate.gpu_seconds < estimate.cpu_seconds)
            return bytes;
    }
    return SIZE_UNKNOWN;
}

/* ---- reading ahead --------------------------------------------------------------------------- */

/* Returns the bytes that all inputs together may read ahead. */
static uint64_t ahead_room(const struct options *options, const struct plan *plan)
{
    const struct memory_size *const host = &options->memory.host;
    return AHEAD_PART(host->is_said ? host->bytes : memory_available(plan->job.sort.threads));
}

void plan_read_ahead(const struct options *options, const struct plan *plan, const char *next)
{
    const bool is_named = source_is_named_pipe(next);
    if (plan->job.action != JOB_SORT || (!is_named && strcmp(next, "-") != 0))
        return;
    for (size_t i = 0; i < plan->job.reader_count; i++) {
        struct source *const source = plan->job.readers[i].source;
        if (is_named || source_is_named_pipe(source_name(source)))
            source_read_ahead(source, (size_t)(ahead_room(options, plan) / options->input_count));
    }
}

/* Reads inputs ahead, in order, up to the size from which the GPU is faster, and sets *is_enough if
 * they reach it. If all inputs end before, sets plan->job.input_bytes. Reads nothing if there is no
 * room for twice that size. */
static void await_size(const struct options *options, struct plan *plan, bool *is_enough)
{
    const uint64_t wanted = gpu_pays_from(plan), room = ahead_room(options, plan);
    uint64_t bytes = 0;
    bool ended = true;
    for (size_t i = 0; i < plan->job.reader_count && ended && bytes < wanted; i++) {
        struct source *const source = plan->job.readers[i].source;
        const bool has_room = wanted <= room / 2;
        if (has_room) /* plan_read_ahead() may have begun, and continues until the stop */
            (void)source_await(source, wanted - bytes, &ended);
        uint64_t left = source_stop_and_get_left(source);
        if (left == SIZE_UNKNOWN && has_room) {
            const uint64_t spare = room - wanted < AHEAD_BYTES ? room - wanted : AHEAD_BYTES;
            source_read_ahead(source, (size_t)(wanted - bytes + spare));
            left = source_await(source, wanted - bytes, &ended);
        } else {
            ended = left != SIZE_UNKNOWN;
        }
        if (__builtin_add_overflow(bytes, left, &bytes))
            bytes = SIZE_UNKNOWN;
    }
    *is_enough = bytes != SIZE_UNKNOWN && bytes >= wanted;
    if (ended && !*is_enough)
        plan->job.input_bytes = bytes;
}

/* ---- the device ------------------------------------------------------------------------------ */

/* Finds the backend that --device names, or the only one that has the path of --algorithm. NULL:
 * the size decides. */
static bool find_named_backend(const struct options *options, const struct backend **backend,
                               struct error *error)
{
    *backend = options->backend ? backend_find(options->backend) : NULL;
    if (!options->algorithm)
        return true;
    if (*backend && !backend_find_algorithm(*backend, options->algorithm))
        return error_set(error, "the %s has no path '%s': --list names what it has",
                         (*backend)->name, options->algorithm);
    const struct backend *owner = NULL;
    size_t owners = 0;
    for (size_t i = 0; i < backend_count; i++)
        if (backend_find_algorithm(backends[i], options->algorithm)) {
            owner = backends[i];
            owners++;
        }
    if (!*backend && owners == 1)
        *backend = owner;
    return true;
}

static void note_reason(struct plan *plan, const char *more)
{
    const size_t length = strlen(plan->device_reason);
    snprintf(plan->device_reason + length, sizeof plan->device_reason - length, "%s", more);
}

struct choice {
    const char *backend; /* its name */
    const char *reason;
};

static struct choice choose_unmodelled(const struct plan *plan, bool has_gpu, bool is_enough)
{
    if (is_enough)
        return (struct choice){"gpu",
                               "of unknown size, and enough has come to pay for starting the GPU"};
    if (is_selection(plan))
        return (struct choice){"cpu", selection_reason};
    const char *const unread = "of unknown size, and no room to wait for what a GPU pays for";
    return (struct choice){"cpu", has_gpu ? unread : "there is no GPU"};
}

static struct choice choose_by_model(const struct options *options, struct plan *plan)
{
    const struct backend *const gpu = backend_find("gpu");
    bool has_gpu = false, is_enough = false;
    if (plan->job.action != JOB_SORT)
        return (struct choice){"cpu", "they are compared as they are read"};
    if (plan->job.keep_lines && plan->job.argsort.index_type)
        return (struct choice){"cpu", "lines are parsed and numbered on the host"};
    if (!is_size_known(plan) && !is_selection(plan))
        has_gpu = gpu && gpu->is_possible();
    if (has_gpu)
        await_size(options, plan, &is_enough);
    estimate(plan);
    if (!plan->has_estimate)
        return choose_unmodelled(plan, has_gpu, is_enough);
    if (plan->estimate.gpu_seconds < plan->estimate.cpu_seconds)
        return (struct choice){"gpu", "large enough to pay for starting the GPU"};
    return (struct choice){"cpu", is_selection(plan) ? selection_reason
                                                     : "sooner done than a GPU is started and fed"};
}

/* Opens the output of numbers early if -o names a regular file: the reader of a pipe would notice
 * if planning fails. Lines are not counted yet, and ranks open their output together. */
static void open_output_early(const struct options *options, struct plan *plan)
{
    struct job *const job = &plan->job;
    if (options->action == ACTION_SORT && job->action == JOB_SORT && !job->keep_lines &&
        !job->sink && !job->group && plan_writes_file(options->output))
        pipeline_open_early(job);
}

/* Starts reading ahead and opens the output before the first call of CUDA. That call finds the
 * devices, which is most of the time that CUDA takes to start. */
static void begin_beside_gpu(const struct options *options, struct plan *plan)
{
    const uint64_t room = ahead_room(options, plan);
    if (plan->job.action == JOB_SORT) /* continues if plan_read_ahead() has begun */
        source_read_ahead(plan->job.readers[0].source,
                          (size_t)(room < AHEAD_BYTES ? room : AHEAD_BYTES));
    open_output_early(options, plan);
}

struct devices {
    unsigned count;
    unsigned numbers[BACKEND_DEVICES_MOST];
};

static struct devices first_devices(unsigned count)
{
    struct devices devices = {.count = count};
    for (unsigned i = 0; i < count; i++)
        devices.numbers[i] = i;
    return devices;
}

/* Keeps the devices of this rank: the ranks of a host take the devices in turns. */
static void take_turns(struct devices *devices, const struct group *group)
{
    unsigned count = 0;
    for (unsigned i = group->host_rank % devices->count; i < devices->count; i += group->host_size)
        devices->numbers[count++] = devices->numbers[i];
    devices->count = count;
}

static void drop_failed(const struct plan *plan, struct devices *devices)
{
    unsigned count = 0;
    for (unsigned i = 0; i < devices->count; i++)
        if (!(plan->failed_devices >> devices->numbers[i] % BACKEND_DEVICES_MOST & 1))
            devices->numbers[count++] = devices->numbers[i];
    devices->count = count;
}

/* Keeps the first device and the others whose memory it can use for text. */
static void keep_reachable(const struct backend *backend, struct devices *devices)
{
    unsigned count = 1;
    for (unsigned i = 1; i < devices->count; i++) {
        struct device_facts facts;
        struct error ignored = {0};
        if (backend->look(devices->numbers[i], &facts, &ignored) &&
            backend->reaches(devices->numbers[0], devices->numbers[i]))
            devices->numbers[count++] = devices->numbers[i];
    }
    devices->count = count;
}

/* Fills the facts of the devices. The least shared_bytes decide the path, which all take. `examine`
 * is the backend's `look` or `probe`. */
static bool examine_devices(const struct options *options, struct plan *plan,
                            const struct devices *devices,
                            bool (*examine)(unsigned, struct device_facts *, struct error *),
                            struct error *error)
{
    const struct memory_size *const limit = &options->memory.device;
    const bool is_limited = limit->is_said && plan->job.backend != backends[0];
    struct device_facts facts = {0};
    size_t bytes = 0;
    for (unsigned i = 0; i < devices->count; i++) {
        if (!examine(devices->numbers[i], &facts, error))
            return false;
        if (is_limited && limit->bytes < facts.memory_bytes)
            facts.memory_bytes = limit->bytes;
        plan->rooms[i] = (struct device_room){devices->numbers[i], facts.memory_bytes + 1};
        snprintf(plan->device_names[i], sizeof plan->device_names[i], "%s", facts.name);
        if (i == 0)
            plan->device = facts;
        plan->device.shared_bytes = smaller(plan->device.shared_bytes, facts.shared_bytes);
        bytes += facts.memory_bytes;
    }
    plan->device.memory_bytes = bytes;
    plan->job.sort.devices = plan->rooms;
    plan->job.sort.device_count = devices->count;
    return true;
}

/* Shows the devices to CUDA, and checks that they exist and can be used. If the first one sorts
 * text, which may not need the memory of the others, only that one must be usable. */
static bool show_devices(const struct backend *backend, const struct devices *devices, bool is_text,
                         struct error *error)
{
    struct device_facts facts;
    unsigned most = 0;
    for (unsigned i = 0; i < devices->count; i++)
        most = devices->numbers[i] > most ? devices->numbers[i] : most;
    const unsigned found = backend->count(most + 1);
    for (unsigned i = 0; i < devices->count; i++)
        if ((!is_text || i == 0 || devices->numbers[i] >= found) &&
            !backend->look(devices->numbers[i], &facts, error))
            return false;
    return true;
}

/* Examines the devices that will sort. Free memory is known only after a device was started. If the
 * memory of several surely suffices, they are started later, by the engine. So is the device of an
 * engine of lines if the size of the text is known: while lines are read, that engine reports if
 * its device has no room. */
static bool probe_devices(const struct options *options, struct plan *plan,
                          const struct backend *backend, const struct devices *devices,
                          struct error *error)
{
    struct sort_spec *const sort = &plan->job.sort;
    const bool is_several = devices->count > 1;
    const bool starts_later = backend->lines && is_text_for_gpu(plan) && is_size_known(plan);
    plan->job.backend = is_several ? backend->several : backend;
    sort->device = devices->numbers[0];
    if ((is_several || starts_later) &&
        !examine_devices(options, plan, devices, backend->look, error))
        return false;
    if (!starts_later && !(is_several && sort_spec_is_small(sort)) &&
        !examine_devices(options, plan, devices, backend->probe, error))
        return false;
    return true;
}

/* Lines need their text and 32 bytes each: three times their bytes in all if they have 16. */
#define LINES_MULTIPLE 3u

/* Returns the bytes that the GPU's memory must hold: items and scratch, and for a selection some
 * batches more; for lines an estimate. An input of unknown size is taken as of the size from which
 * the GPU pays: if more comes, numbers are sorted in parts, and lines by the spare backend. With
 * gpu:all and an unknown size the result is UINT64_MAX, because all GPUs may be needed. */
static uint64_t device_bytes(const struct options *options, const struct plan *plan)
{
    const bool is_counted = is_size_known(plan) || is_selection(plan);
    const uint64_t input = is_size_known(plan) ? plan->job.input_bytes : gpu_pays_from(plan);
    const bool is_text = plan->job.keep_lines;
    uint64_t bytes = is_text ? input : is_counted ? engine_bytes(plan) : item_bytes_of(plan, input);
    const unsigned multiple = is_text ? LINES_MULTIPLE : is_selection(plan) ? 8 : 2;
    const bool is_open = options->all_devices && !is_counted;
    return is_open || __builtin_mul_overflow(bytes, multiple, &bytes) ? UINT64_MAX : bytes;
}

/* Memory that each GPU is expected to have: by default, and with gpu:all. CUDA starts all GPUs that
 * it is shown, so it is shown only as many of this size as hold the data. If they are smaller, the
 * CPU sorts, or with gpu:all these GPUs sort in parts; more are used if they are named. Numbers of
 * up to half of this size, and text of up to a third, never start a second GPU. */
#define DEFAULT_BYTES_MIN ((uint64_t)30 << 30)
#define ALL_BYTES_MIN ((uint64_t)15 << 30)

/* Several devices exchange the items through a second array, and merge them. */
static bool can_be_several(const struct algorithm *algorithm)
{
    return algorithm->buffers > 1 && algorithm->count_max == SIZE_MAX;
}

/* Returns true unless the user names a path that sorts numbers on one device. */
static bool may_be_several(const struct options *options, const struct plan *plan,
                           const struct backend *backend)
{
    return !options->algorithm || is_text_for_gpu(plan) ||
           can_be_several(backend_find_algorithm(backend, options->algorithm));
}

/* Returns the number of GPUs that the data may need, as far as that is known before CUDA starts all
 * that it is shown, in 0.2 s each. If --device-memory is less than twice the expected memory, the
 * number is about twice as large as that limit requires, because a GPU may fail. Without gpu:all it
 * is 1 for a rank, without must_fit, and for a selection, because each GPU must have room for the
 * first items. */
static unsigned wanted_devices(const struct options *options, const struct plan *plan,
                               const struct backend *backend, bool must_fit)
{
    const struct memory_size *const limit = &options->memory.device;
    const bool is_all = options->all_devices;
    const uint64_t expected = is_all ? ALL_BYTES_MIN : DEFAULT_BYTES_MIN;
    const bool is_limited = limit->is_said && limit->bytes / 2 < expected;
    const uint64_t least = is_limited ? limit->bytes / 2 + 1 : expected;
    const uint64_t bytes = device_bytes(options, plan);
    const uint64_t wanted = bytes / least + (bytes % least > 0);
    if ((!is_all && (!must_fit || plan->job.group || is_selection(plan))) || wanted == 0 ||
        !may_be_several(options, plan, backend))
        return 1;
    return wanted < BACKEND_DEVICES_MOST ? (unsigned)wanted : BACKEND_DEVICES_MOST;
}

/* Returns the devices that may be used: the numbers of --device, otherwise as many as the data may
 * need. Ranks on one host take them in turns. A device that does not exist is reported later;
 * one that has failed is left out. */
static struct devices usable_devices(const struct options *options, struct plan *plan,
                                     const struct backend *backend, bool must_fit)
{
    const struct group *const group = plan->job.group;
    struct devices devices = {.count = options->device_count};
    memcpy(devices.numbers, options->devices, sizeof devices.numbers);
    if (backend == backends[0])
        return first_devices(1);
    if (options->all_devices && options->action == ACTION_EXPLAIN)
        plan->device_total = backend->count(BACKEND_DEVICES_MOST);
    if (devices.count == 0) {
        const uint64_t wanted = (uint64_t)wanted_devices(options, plan, backend, must_fit) *
                                (group ? group->host_size : 1);
        const unsigned found =
            wanted == 1 ? 1 : backend->count((unsigned)smaller(wanted, BACKEND_DEVICES_MOST));
        devices = first_devices(found > 0 ? found : 1);
    }
    if (group)
        take_turns(&devices, group);
    drop_failed(plan, &devices);
    return devices;
}

/* Returns true if the GPUs hold the bytes. memory_limits_part() reserves a sixteenth of their
 * memory, so items that need it would be sorted in parts. */
static bool has_room(const struct plan *plan, uint64_t bytes)
{
    return plan->device.memory_bytes / 16 * 15 >= bytes;
}

/* Adds to the reason why these of the `usable` GPUs are taken. can_take_more: the host may have
 * further GPUs, and the path can use them. */
static void note_number(const struct options *options, struct plan *plan, bool fits,
                        unsigned usable, bool can_take_more)
{
    const unsigned devices = plan->job.sort.device_count;
    const bool is_text = is_text_for_gpu(plan);
    if (is_text && devices < usable)
        note_reason(plan, "; the first GPU sorts text, without those whose memory it cannot use");
    if (options->device_count > 0)
        return;
    if (devices > 1)
        note_reason(plan, is_text ? "; lines that do not fit the first GPU use the others, too"
                          : is_size_known(plan) ? "; it does not fit the memory of fewer GPUs"
                                                : "; it may not fit the memory of fewer GPUs");
    else if (options->all_devices && fits)
        note_reason(plan, "; one GPU has room for it, and each further one takes 0.2 s to start");
    if (!fits && options->all_devices && can_take_more &&
        (plan->device_total == 0 || plan->device_total > usable))
        note_reason(plan, is_text ? "; it may have no room: if there are more GPUs, name them"
                                  : "; it has no room: if there are more GPUs, name them");
}

static bool fail_again(const struct plan *plan, struct error *error)
{
    error_merge(error, &plan->failure);
    return false;
}

/* Takes the devices whose numbers --device gives, or as few as have room for the data: by
 * auto_estimate_several() fewer are faster. For text it takes all usable devices, because the
 * engine uses no more of them than the lines need. Data without room is sorted in parts, or is an
 * error if it must fit. For text that is an error only if its bytes alone do not fit. */
static bool probe_backend(const struct options *options, struct plan *plan,
                          const struct backend *backend, bool must_fit, struct error *error)
{
    const bool is_text = is_text_for_gpu(plan), is_exact = options->device_count > 0;
    const struct devices usable = usable_devices(options, plan, backend, must_fit);
    const uint64_t bytes = device_bytes(options, plan);
    bool fits = false;
    if (usable.count == 0)
        return fail_again(plan, error);
    if (is_exact && usable.count > 1 && !show_devices(backend, &usable, is_text, error))
        return false;
    for (unsigned count = is_exact || is_text ? usable.count : 1; !fits && count <= usable.count;
         count++) {
        struct devices devices = usable;
        devices.count = count;
        if (is_text)
            keep_reachable(backend, &devices);
        if (!probe_devices(options, plan, backend, &devices, error))
            return false;
        fits = has_room(plan, bytes);
    }
    note_number(options, plan, fits, usable.count,
                usable.count >= wanted_devices(options, plan, backend, must_fit) &&
                    usable.count < BACKEND_DEVICES_MOST && may_be_several(options, plan, backend));
    if (!must_fit || has_room(plan, is_text ? bytes / LINES_MULTIPLE : bytes))
        return true;
    if (plan->failed_devices)
        return fail_again(plan, error);
    return error_set(error, is_text ? "the text does not fit the GPU's memory"
                            : usable.count > 1
                                ? "the data does not fit the memory of the GPUs twice"
                                : "the data does not fit the GPU's memory twice");
}

/* As probe_backend(), without GPUs that turn out not to work. */
static bool probe_working(const struct options *options, struct plan *plan,
                          const struct backend *gpu, bool must_fit, struct error *error)
{
    struct error cause = {0};
    while (!probe_backend(options, plan, gpu, must_fit, &cause)) {
        if (!plan_note_failure(plan, &cause)) {
            error_merge(error, &cause);
            return false;
        }
        cause = (struct error){0};
    }
    if (plan->failed_devices) {
        note_reason(plan, "; without ");
        note_reason(plan, plan->failure.message);
    }
    return true;
}

/* Without --device, takes the backend that the model chooses if it can be used, otherwise the CPU,
 * with the reason. */
static bool choose_backend_by_size(const struct options *options, struct plan *plan,
                                   struct error *error)
{
    const struct choice choice = choose_by_model(options, plan);
    const struct backend *const backend = backend_find(choice.backend);
    struct error unusable = {0};
    snprintf(plan->device_reason, sizeof plan->device_reason, "%s", choice.reason);
    if (!backend)
        error_set(&unusable, "this build has no GPU backend");
    else if (backend == backends[0])
        (void)probe_backend(options, plan, backend, false, &unusable);
    else {
        begin_beside_gpu(options, plan);
        (void)probe_working(options, plan, backend, true, &unusable);
    }
    if (!unusable.is_set)
        return true;
    snprintf(plan->device_reason, sizeof plan->device_reason, "%s; but %s", choice.reason,
             unusable.message);
    return probe_backend(options, plan, backends[0], false, error);
}

static bool choose_backend(const struct options *options, struct plan *plan, struct error *error)
{
    const struct backend *named;
    if (!find_named_backend(options, &named, error))
        return false;
    if (!named)
        return choose_backend_by_size(options, plan, error);
    estimate(plan);
    snprintf(plan->device_reason, sizeof plan->device_reason, "as --%s says",
             options->backend ? "device" : "algorithm");
    struct error unusable = {0};
    if (named != backends[0])
        begin_beside_gpu(options, plan);
    if (options->all_devices ? probe_working(options, plan, named, false, &unusable)
                             : probe_backend(options, plan, named, false, &unusable))
        return true;
    return error_set(error, "--%s=%s: %s", options->backend ? "device" : "algorithm",
                     options->backend ? options->backend : options->algorithm, unusable.message);
}

static bool choose_algorithm(const struct options *options, struct plan *plan, struct error *error)
{
    struct sort_spec *sort = &plan->job.sort;
    const struct backend *backend = plan->job.backend;
    const char *best = auto_find_path(&plan->device, sort->item_bytes);
    const char *name = options->algorithm ? options->algorithm : best;
    sort->algorithm = backend_find_algorithm(backend, name);
    sort->tile_size =
        options->tile_size ? options->tile_size : algorithm_largest_tile(sort->algorithm);
    if (sort->count != COUNT_UNKNOWN && sorted_count(plan) > sort->algorithm->count_max)
        return error_set(error,
                         "path '%s' sorts at most %zu numbers, and there are %zu: --list "
                         "names paths that have no limit",
                         name, sort->algorithm->count_max, sorted_count(plan));
    if (sort->device_count > 1 && !is_text_for_gpu(plan) && !can_be_several(sort->algorithm))
        return error_set(error, "path '%s' sorts on one GPU: name one with --device=gpu:N", name);
    if (options->tile_size && !algorithm_has_tile(sort->algorithm, options->tile_size))
        return error_set(error, "path '%s' has no tiles of %zu: --list names what it has", name,
                         options->tile_size);
    plan->algorithm_reason =
        options->algorithm ? "as --algorithm says" : "the fastest that fits the device";
    return true;
}

/* Sets the CPU as the spare backend, unless the user names a device or a path. It sorts lines if
 * the GPU has no room for them or fails before any of them is written, and numbers if the GPU fails
 * before any of them is read. Several GPUs that sort numbers which can be read again have no spare:
 * if one fails, plan_again() takes the others. */
static void choose_spare(const struct options *options, struct plan *plan)
{
    struct job *job = &plan->job;
    struct device_facts facts;
    struct error error = {0};
    if (options->backend || options->algorithm || job->backend == backends[0] ||
        (job->sort.device_count > 1 && !is_text_for_gpu(plan) && plan_has_files_only(options)) ||
        !backends[0]->probe(0, &facts, &error))
        return;
    job->spare_backend = backends[0];
    job->spare_sort = job->sort;
    job->spare_sort.device = 0;
    job->spare_sort.device_count = 1;
    job->spare_sort.algorithm =
        backend_find_algorithm(backends[0], auto_find_path(&facts, job->sort.item_bytes));
    job->spare_sort.tile_size = algorithm_largest_tile(job->spare_sort.algorithm);
}

double plan_several_seconds(const struct plan *plan, unsigned devices)
{
    const uint64_t bytes = is_text_for_gpu(plan) ? 0 : engine_bytes(plan); /* the first one sorts */
    return auto_estimate_several(&plan->estimate, devices, bytes);
}

bool plan_choose_device(const struct options *options, struct plan *plan, struct error *error)
{
    if (!choose_backend(options, plan, error) || !choose_algorithm(options, plan, error))
        return false;
    choose_spare(options, plan);
    return true;
}

bool plan_find_device_ranks(struct plan *plan, struct error *error)
{
    struct group *const group = plan->job.group;
    const uint64_t own = plan->job.sort.device_count > 1 ? 0 : plan->device.id;
    plan->device_ranks = 1;
    if (!group || group->size == 1)
        return true;
    uint64_t *const ids = group_gather(group, &own, 1, error);
    for (unsigned rank = 0; ids && rank < group->size; rank++)
        plan->device_ranks += own != 0 && rank != group->rank && ids[rank] == own;
    free(ids);
    return ids != NULL;
}
