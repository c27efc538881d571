/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - see report.h. */
#include "cli/report/report.h"

#include "cli/options/quote.h"
#include "core/trace.h"
#include "formats/codec/codec.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

void report_error(const struct error *error)
{
    fputs("gpusort: ", stderr);
    quote_print(stderr, error->message);
    fputc('\n', stderr);
}

/* Filters the line in place, except tabs and NULs, which do no more to a terminal than a blank.
 * Returns the bytes of the result. */
static size_t filter_line(char *line, size_t bytes)
{
    size_t shown = 0;
    for (size_t begin = 0, end; begin < bytes; begin = end + 1) {
        for (end = begin; end < bytes && line[end] != '\t' && line[end] != '\0'; end++)
            ;
        shown += quote_filter(line + begin, end - begin, line + shown);
        if (end < bytes)
            line[shown++] = line[end];
    }
    return shown;
}

void report_disorder(const char *file, const struct job *job, struct disorder *disorder)
{
    fputs("gpusort: ", stderr);
    quote_print(stderr, file);
    fprintf(stderr, ":%s%" PRIu64 ": disorder: ", job->keep_lines ? "" : " number ",
            disorder->place);
    fwrite(disorder->text, 1, filter_line(disorder->text, disorder->length), stderr);
    fputc(job->line_order.terminator, stderr);
    fflush(stderr); /* a NUL (-z) does not flush it, as a newline does */
}

static void list_types(FILE *stream)
{
    fprintf(stream, "types (--type):\n");
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++) {
        char dtype[5];
        key_type_numpy_dtype(&key_types[i], ENDIAN_LITTLE, dtype);
        fprintf(stream, "  %-16s %u byte%s, NumPy's %s, %s", key_types[i].name, key_types[i].bytes,
                key_types[i].bytes == 1 ? "" : "s", key_types[i].numpy_name, dtype);
        const char *name = dtype + 1; /* without the byte order, if it is unique here */
        enum key_endian endian;
        if (key_type_find(name, strlen(name), &endian) == &key_types[i])
            fprintf(stream, ", %s", name);
        for (size_t j = 0; (name = key_type_other_name(&key_types[i], j)); j++)
            fprintf(stream, ", %s", name);
        fprintf(stream, "\n");
    }
}

static void list_backend(FILE *stream, const struct backend *backend)
{
    struct device_facts facts;
    struct error error = {0};
    const unsigned devices = backend->count(BACKEND_DEVICES_MOST);
    const bool usable = backend->probe(0, &facts, &error);
    fprintf(stream, "  %-16s %s: ", backend->name, backend->summary);
    quote_print(stream, usable ? facts.name : error.message);
    fprintf(stream, "\n");
    for (size_t i = 0; i < backend->algorithm_count; i++) {
        const struct algorithm *algorithm = &backend->algorithms[i];
        fprintf(stream, "    %-14s %s", algorithm->name, algorithm->summary);
        if (algorithm->count_max != SIZE_MAX)
            fprintf(stream, "; at most %zu numbers", algorithm->count_max);
        for (const size_t *size = algorithm->tile_sizes; size && *size; size++)
            fprintf(stream, "%s%zu", size == algorithm->tile_sizes ? "; tiles of " : ", ", *size);
        fprintf(stream, "\n");
    }
    for (unsigned i = 1; i < devices && backend->look(i, &facts, &error); i++) {
        fprintf(stream, "  %s:%-12u ", backend->name, i);
        quote_print(stream, facts.name);
        fprintf(stream, "\n");
    }
}

void report_list(FILE *stream)
{
    list_types(stream);
    fprintf(stream, "formats (--format, --output-format):\n");
    for (size_t i = 0; i < format_count; i++)
        fprintf(stream, "  %-16s %s\n", formats[i]->name, formats[i]->summary);
    fprintf(stream, "codecs:\n");
    for (size_t i = 0; i < codec_count; i++)
        fprintf(stream, "  %-16s %s\n", codecs[i]->name, codecs[i]->summary);
    fprintf(stream, "devices (--device) and their paths (--algorithm):\n");
    for (size_t i = 0; i < backend_count; i++)
        list_backend(stream, backends[i]);
}

/* ---- The order of lines ---- */

static const char *const kind_names[] = {
    [LINE_STRICT] = "one number (as -g, but all else is an error)",
    [LINE_GENERAL] = "general number (-g)",
    [LINE_NUMERIC] = "number (-n)",
    [LINE_HUMAN] = "number with suffix (-h)",
    [LINE_BYTES] = "bytes",
};

static void print_begin(FILE *stream, const struct line_place *begin)
{
    if (begin->character > 0)
        fprintf(stream, "character %zu of ", begin->character + 1);
    fprintf(stream, "field %zu", begin->field + 1);
    if (begin->skip_blanks)
        fprintf(stream, " after its blanks");
}

static void print_end(FILE *stream, const struct line_key *key)
{
    const struct line_place *const end = &key->end;
    if (key->end_kind == LINE_END_OF_LINE) {
        fprintf(stream, " to the end of the line");
    } else if (key->end_kind == LINE_END_AT_PLACE) {
        fprintf(stream, " to character %zu of field %zu", end->character, end->field + 1);
        if (end->skip_blanks)
            fprintf(stream, " after its blanks");
    } else if (end->field != key->begin.field) {
        fprintf(stream, " to field %zu", end->field + 1);
    } else if (key->begin.character > 0) {
        fprintf(stream, " to its end");
    }
}

static void print_key(FILE *stream, const struct line_key *key)
{
    if (line_key_is_whole(key)) {
        fprintf(stream, "the line");
    } else {
        print_begin(stream, &key->begin);
        print_end(stream, key);
    }
    fprintf(stream, " as %s%s; ", kind_names[key->kind], key->reverse ? ", descending" : "");
}

static void report_line_order(FILE *stream, const char *prefix, const struct job *job)
{
    const struct line_order *const order = &job->line_order;
    bool has_fields = false;
    fprintf(stream, "%sorder      ", prefix);
    for (size_t i = 0; i < order->key_count; i++) {
        has_fields = has_fields || !line_key_is_whole(&order->keys[i]);
        print_key(stream, &order->keys[i]);
    }
    fprintf(stream, "%s%s\n",
            order->unique   ? "of equal lines only the first is kept"
            : order->stable ? "equal lines as in the input"
                            : "equal lines by their bytes",
            !line_order_is_stable(order) && order->reverse ? ", descending" : "");
    if (has_fields && order->separator != LINE_SEPARATOR_BLANKS)
        fprintf(stream,
                isprint(order->separator) ? "%sfields     end at '%c'\n"
                                          : "%sfields     end at byte %d\n",
                prefix, order->separator);
    if (order->terminator == '\0')
        fprintf(stream, "%slines      end with NUL\n", prefix);
    if (job->header_lines > 0)
        fprintf(stream, "%sheader     %zu line%s of each input, written once\n", prefix,
                job->header_lines, job->header_lines == 1 ? "" : "s");
}

/* ---- The plan ---- */

static void print_input(FILE *stream, const char *prefix, const struct plan *plan)
{
    const struct job *job = &plan->job;
    const struct layout *layout = &job->readers[0].layout;
    fprintf(stream, "%sinput      ", prefix);
    quote_print(stream, source_name(job->readers[0].source));
    if (job->reader_count > 1)
        fprintf(stream, " and %zu more", job->reader_count - 1);
    const struct codec *const codec = source_codec(job->readers[0].source);
    fprintf(stream, ": %s, %s%s", job->input_format->name,
            job->keep_lines ? "lines kept as they are" : layout->type->name,
            job->keep_lines || layout->type->bytes == 1 ? ""
            : layout->endian == ENDIAN_BIG              ? " big-endian"
                                                        : " little-endian");
    if (codec->decode)
        fprintf(stream, ", %s", codec->name);
    if (job->sort.count != COUNT_UNKNOWN)
        fprintf(stream, ", %zu numbers", job->sort.count);
    else if (plan->job.input_bytes != SIZE_UNKNOWN)
        fprintf(stream, ", %" PRIu64 " bytes", plan->job.input_bytes);
    fprintf(stream, " (%s)\n", plan->format_reason);
}

/* Returns true if the data certainly does not fit in memory at once. */
static bool is_in_parts(const struct job *job)
{
    return job->keep_lines ? job->input_bytes != SIZE_UNKNOWN && job->input_bytes > job->part_bytes
                           : job->sort.count != COUNT_UNKNOWN && job->sort.count > job->part_count;
}

static void print_model(FILE *stream, const char *prefix, const struct plan *plan)
{
    const unsigned devices = plan->job.sort.device_count, all = plan->device_total;
    if (!plan->has_estimate) {
        fprintf(stream, "%smodel      none: how many items is not known\n", prefix);
        return;
    }
    fprintf(stream, "%smodel      cpu %.4f s, gpu %.4f s", prefix, plan->estimate.cpu_seconds,
            plan->estimate.gpu_seconds);
    if (devices > 1)
        fprintf(stream, ", %u gpus %.4f s", devices, plan_several_seconds(plan, devices));
    if (all > 1 && all > devices)
        fprintf(stream, ", all %u %.4f s", all, plan_several_seconds(plan, all));
    fprintf(stream, ", start and transfers included%s\n",
            is_in_parts(&plan->job) ? ", if all fitted in memory" : "");
}

static void print_top(FILE *stream, const char *prefix, const struct job *job)
{
    const bool selects = sort_spec_selects(&job->sort), is_in_parts = job->part_count != SIZE_MAX;
    if (!job->sort.is_top)
        return;
    fprintf(stream, "%stop        the first %zu (%s)\n", prefix, job->sort.top,
            job->keep_lines          ? "all lines are sorted"
            : selects && is_in_parts ? "those of each part are merged"
            : selects                ? "the others are dropped as they are read"
                                     : "all are sorted, as these are most of them");
}

/* Prints a size in the largest unit in which it is at least 1. */
static void print_bytes(FILE *stream, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        size /= 1024;
    fprintf(stream, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

/* Prints how much is free for `bytes` bytes. A job that has too little is refused. in_memory: the
 * bytes of them that will be stored in memory. */
static void print_free(FILE *stream, const struct job *job, uint64_t bytes, uint64_t in_memory,
                       uint64_t free_bytes)
{
    const uint64_t memory = memory_for_files(job->group ? job->group->host_size : 0);
    const bool is_short = in_memory > memory;
    print_bytes(stream, is_short && memory < free_bytes ? memory : free_bytes);
    fprintf(stream, "%s free%s", is_short ? " of memory" : "",
            bytes > free_bytes || is_short ? ": too little" : "");
}

static void print_output(FILE *stream, const char *prefix, const struct plan *plan)
{
    const struct job *job = &plan->job;
    if (job->action == JOB_CHECK) {
        fprintf(stream, "%soutput     none: the order is checked\n", prefix);
        return;
    }
    dev_t device;
    const uint64_t bytes = job_output_bytes(job);
    const uint64_t free_bytes = sink_free_bytes(job->output.path, &device);
    fprintf(stream, "%soutput     ", prefix);
    quote_print(stream, job->output.path ? job->output.path : "standard output");
    fprintf(stream, ": %s", job->output_format->name);
    if (job->argsort.index_type)
        fprintf(stream, " %s indices", job->argsort.index_type->name);
    else if (job->output_format == &format_raw && job->readers[0].layout.endian == ENDIAN_BIG)
        fprintf(stream, " big-endian");
    fprintf(stream, " (%s), %s", plan->output_reason, job->output.codec->name);
    if (plan->codec_reason)
        fprintf(stream, " (%s)", plan->codec_reason);
    if (bytes > 0 && free_bytes != UINT64_MAX && !job->output.is_in_place) {
        fprintf(stream, ", ");
        print_bytes(stream, bytes);
        fprintf(stream, " of ");
        print_free(stream, job, bytes, job->memory.has_output_in_memory ? bytes : 0, free_bytes);
    }
    fprintf(stream, "\n");
    if (job->output.is_in_place)
        fprintf(
            stream,
            "%sin place   proved before the first byte is overwritten; then signals wait, and a "
            "crash or SIGKILL leaves a mixed file\n",
            prefix);
}

/* Returns the index of the first directory on the file system; directory_count: none is. */
static size_t find_on_system(const struct memory_limits *memory, dev_t device)
{
    struct stat status;
    size_t i = 0;
    while (i < memory->directory_count &&
           (stat(memory->directories[i], &status) != 0 || status.st_dev != device))
        i++;
    return i;
}

/* Prints the directories for sorted parts, and the free space of their file systems if it is
 * known. */
static void print_directories(FILE *stream, const struct job *job)
{
    const struct memory_limits *const memory = &job->memory;
    const uint64_t output = job_output_bytes(job);
    uint64_t free_bytes = 0, needed = job_spilled_bytes(job);
    const uint64_t in_memory = needed > 0 && memory->has_parts_in_memory
                                   ? needed + (memory->has_output_in_memory ? output : 0)
                                   : 0;
    bool is_known = true;
    dev_t device;
    for (size_t i = 0; i < memory->directory_count; i++) {
        struct statfs system;
        struct stat status;
        fprintf(stream, "%s", i == 0 ? "" : ", ");
        quote_print(stream, memory->directories[i]);
        is_known = is_known && statfs(memory->directories[i], &system) == 0 &&
                   system.f_blocks > 0 && stat(memory->directories[i], &status) == 0;
        if (is_known && find_on_system(memory, status.st_dev) == i)
            free_bytes += (uint64_t)system.f_bavail * (uint64_t)system.f_bsize;
    }
    fprintf(stream, "%s", memory->has_parts_in_memory ? ", which is memory" : "");
    if (!is_known)
        return;
    const bool has_output = !job->output.is_in_place &&
                            sink_free_bytes(job->output.path, &device) != UINT64_MAX &&
                            find_on_system(memory, device) < memory->directory_count;
    needed += has_output && needed > 0 ? output : 0;
    fprintf(stream, " (");
    print_free(stream, job, needed, in_memory, free_bytes);
    fprintf(stream, "%s)", has_output ? " for these and the output" : "");
}

/* Prints how much is sorted at once, unless that is certain to be everything. */
static void print_parts(FILE *stream, const struct plan *plan)
{
    const struct job *job = &plan->job;
    if (!job_may_have_parts(job))
        return;
    const uint64_t of_ranks = job->group && !job->has_rank_inputs ? job_spilled_bytes(job) : 0;
    const bool is_sure = is_in_parts(job) || (job->keep_lines && job->group);
    fprintf(stream, "%s: ", is_sure ? "" : "; if there are more");
    if (job->keep_lines)
        print_bytes(stream, job->part_bytes);
    else
        fprintf(stream, "%zu", job->part_count);
    fprintf(stream, " %s at a time, ", job->keep_lines ? "of lines and their items" : "numbers");
    if (job->sort.item_bytes < 4) {
        fprintf(stream, "which are counted");
        return;
    }
    if (is_sure && !job->sort.is_top && !job->line_order.unique) {
        fprintf(stream, "at least "); /* some are merged and stored again if they are many */
        print_bytes(stream, of_ranks > 0      ? of_ranks
                            : job->keep_lines ? plan->job.input_bytes
                                              : job->sort.count * job->sort.item_bytes);
        fprintf(stream, " of ");
    }
    fprintf(stream, "sorted parts %sstored in %s", of_ranks > 0 ? "of all ranks of this host " : "",
            job->backend == backends[0] ? "" : "memory or ");
    print_directories(stream, job);
}

static void print_memory(FILE *stream, const char *prefix, const struct plan *plan)
{
    const struct memory_limits *const memory = &plan->job.memory;
    fprintf(stream, "%smemory     ", prefix);
    print_bytes(stream, memory->host_bytes);
    fprintf(stream, " (%s)", memory->host_reason);
    if (memory->device_bytes > 0) {
        fprintf(stream, ", ");
        print_bytes(stream, memory->device_bytes);
        fprintf(stream, " of the %s (%s)", plan->job.sort.device_count > 1 ? "GPUs'" : "GPU's",
                plan->device_ranks > 1            ? "this rank's part"
                : memory->device_is_limited       ? "as --device-memory says"
                : plan->job.sort.device_count > 1 ? "what they have"
                                                  : "what it has");
    }
    print_parts(stream, plan);
    fprintf(stream, "\n");
}

static void print_devices(FILE *stream, const char *prefix, const struct plan *plan)
{
    const struct sort_spec *const sort = &plan->job.sort;
    fprintf(stream, "%sdevice     %s", prefix, plan->job.backend->name);
    if (sort->device_count == 1 && sort->device > 0)
        fprintf(stream, ":%u", sort->device);
    for (unsigned i = 0; sort->device_count > 1 && i < sort->device_count; i++)
        fprintf(stream, "%c%u", i == 0 ? ':' : ',', sort->devices[i].device);
    fprintf(stream, ": ");
    quote_print(stream, plan->device.name);
    for (unsigned i = 1; i < sort->device_count; i++) {
        fprintf(stream, ", ");
        quote_print(stream, plan->device_names[i]);
    }
    fprintf(stream, " (");
    quote_print(stream, plan->device_reason);
    fprintf(stream, ")\n");
}

void report_plan(FILE *stream, const char *prefix, const struct plan *plan)
{
    const struct job *job = &plan->job;
    if (job->group)
        fprintf(stream, "%sranks      %u, of which %u on this host; below, what rank %u has\n",
                prefix, job->group->size, job->group->host_size, job->group->rank);
    print_input(stream, prefix, plan);
    print_output(stream, prefix, plan);
    if (job->keep_lines)
        report_line_order(stream, prefix, job);
    print_top(stream, prefix, job);
    print_devices(stream, prefix, plan);
    if (job->action != JOB_SORT) {
        fprintf(stream, "%salgorithm  none: nothing is sorted\n", prefix);
        return;
    }
    fprintf(stream, "%salgorithm  %s", prefix, job->sort.algorithm->name);
    if (job->sort.tile_size)
        fprintf(stream, ", tiles of %zu", job->sort.tile_size);
    if (job->backend == backends[0])
        fprintf(stream, ", %u thread%s", job->sort.threads, job->sort.threads == 1 ? "" : "s");
    fprintf(stream, " (%s)\n", plan->algorithm_reason);
    print_model(stream, prefix, plan);
    print_memory(stream, prefix, plan);
}

void report_gpu(FILE *stream, const struct plan *plan)
{
    const struct backend *const gpu = backend_find("gpu");
    struct device_facts facts;
    struct error error = {0};
    if (gpu && (plan->job.backend == gpu || plan->job.backend == gpu->several))
        return;
    if (!gpu)
        error_set(&error,
                  "this build has no GPU backend: it was built without nvcc, or with CUDA=0");
    else if (gpu->probe(0, &facts, &error))
        fprintf(stream, "gpu        %s: not used\n", facts.name);
    if (error.is_set)
        fprintf(stream, "gpu        none: %s\n", error.message);
}

static void print_stage(FILE *stream, const char *stage, uint64_t ns, uint64_t bytes)
{
    if (ns == 0)
        return;
    fprintf(stream, "gpusort: %-10s %10.4f", stage, (double)ns / 1e9);
    if (bytes > 0)
        fprintf(stream, " %8.2f", (double)bytes / (double)ns);
    fprintf(stream, "\n");
}

/* Prints how the device has sorted, if its path depends on the keys. */
static void print_strategy(FILE *stream)
{
    struct trace_view view;
    trace_look(&view);
    if (view.strategy)
        fprintf(stream, "gpusort: strategy   %s (%s)\n", view.strategy, view.strategy_reason);
}

static void print_proof(FILE *stream, const struct plan *plan, const struct job_report *report)
{
    const struct job *const job = &plan->job;
    const bool is_unique = job->line_order.unique;
    const char *checked = "what was written is what was read, in order";
    if (job->action == JOB_CHECK)
        return;
    if (job->action == JOB_MERGE)
        checked = is_unique ? "no line was changed, and only lines with equal keys are left out"
                            : "no line was lost or changed";
    else if (job->argsort.index_type)
        checked = job->sort.is_top || is_unique
                      ? "the indices written are in the order of what was read"
                      : "each index was written once, in the order of what was read";
    else if (job->sort.is_top || is_unique)
        checked = "what was written is in order";
    fprintf(stream, "gpusort: proof      %s%s\n", checked,
            report->is_verified ? "; verified in the file" : "");
}

void report_times(FILE *stream, const struct plan *plan, const struct job_report *report)
{
    if (report->spare_reason.is_set) {
        fprintf(stream, "gpusort: device     %s after all, by %s (", plan->job.spare_backend->name,
                plan->job.spare_sort.algorithm->name);
        quote_print(stream, report->spare_reason.message);
        fprintf(stream, ")\n");
    }
    print_strategy(stream);
    fprintf(stream, "gpusort: %-10s %10s %8s   (%zu %s)\n", "stage", "seconds", "GB/s",
            report->count, plan->job.keep_lines ? "lines" : "numbers");
    print_stage(stream, "plan", plan->plan_ns, 0);
    for (size_t i = 0; i < STAGE_COUNT; i++)
        print_stage(stream, stage_names[i], report->stage_ns[i],
                    i == STAGE_START ? 0 : report->item_bytes);
    print_stage(stream, "total", plan->plan_ns + report->total_ns, report->total_bytes);
    print_proof(stream, plan, report);
    if (report->run_count > 0) {
        fprintf(stream, "gpusort: %zu sorted parts stored, ", report->run_count);
        print_bytes(stream, report->spilled_bytes);
        fprintf(stream, " of them on disk\n");
    }
}
