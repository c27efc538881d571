/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c - see report.h.
 *
 *   plan, report, counters of core/trace.h -> a table of fields -> text or JSON
 *
 * A field is a name within a group, and a value. Text has one line per group. JSON has one object
 * per group, and the stages are in an object of their own. The manual page lists all names in JSON,
 * which are an interface: a name that is removed or changes its meaning requires another SCHEMA.
 */
#include "cli/report/report.h"

#include "cli/options/options.h"
#include "cli/options/quote.h"
#include "core/host_limits.h"
#include "core/trace.h"
#include "formats/codec/codec.h"

#include <inttypes.h>
#include <string.h>

#define SCHEMA 1

enum kind { KIND_TEXT, KIND_COUNT, KIND_BYTES, KIND_SECONDS, KIND_RATE };

/* The unit is printed after the value in text, and as a suffix of the name in JSON, unless the name
 * is the unit alone (bare_name). */
static const struct {
    const char *bare_name, *unit, *suffix;
} kinds[] = {
    [KIND_TEXT] = {"", "", ""},
    [KIND_COUNT] = {"", "", ""},
    [KIND_BYTES] = {"bytes", " bytes", "_bytes"},
    [KIND_SECONDS] = {"seconds", " s", "_seconds"},
    [KIND_RATE] = {"gb_per_s", " GB/s", "_gb_per_s"},
};

struct field {
    const char
        *group; /* fields of the same group are adjacent, and they all have the same pointer */
    const char *name;
    enum kind kind;
    const char *text;
    uint64_t number;
    double real; /* seconds, or 1e9 bytes per second */
};

#define FIELDS_MAX 128

struct fields {
    struct field fields[FIELDS_MAX];
    size_t count;
    size_t stages_begin; /* index of the first field of a stage */
};

/* ---- the table ------------------------------------------------------------------------------- */

static void add(struct fields *fields, struct field field)
{
    if (fields->count < FIELDS_MAX)
        fields->fields[fields->count++] = field;
}

static void add_text(struct fields *fields, const char *group, const char *name, const char *text)
{
    add(fields, (struct field){.group = group, .name = name, .kind = KIND_TEXT, .text = text});
}

static void add_number(struct fields *fields, const char *group, const char *name, enum kind kind,
                       uint64_t number)
{
    add(fields, (struct field){.group = group, .name = name, .kind = kind, .number = number});
}

static void add_real(struct fields *fields, const char *group, const char *name, enum kind kind,
                     double real)
{
    add(fields, (struct field){.group = group, .name = name, .kind = kind, .real = real});
}

static void add_files(struct fields *fields, const struct plan *plan)
{
    static const char input[] = "input", output[] = "output";
    const struct job *const job = &plan->job;
    add_text(fields, input, "file", source_name(job->readers[0].source));
    add_number(fields, input, "files", KIND_COUNT, job->reader_count);
    add_text(fields, input, "format", job->input_format->name);
    if (!job->keep_lines)
        add_text(fields, input, "type", job->readers[0].layout.type->name);
    if (job->action == JOB_CHECK)
        return;
    add_text(fields, output, "file", job->output.path ? job->output.path : "standard output");
    add_text(fields, output, "format", job->output_format->name);
    if (job->argsort.index_type)
        add_text(fields, output, "indices", job->argsort.index_type->name);
    add_text(fields, output, "codec", job->output.codec->name);
    if (job->output.is_in_place)
        add_text(fields, output, "method", "in place");
}

static void add_choices(struct fields *fields, const struct plan *plan,
                        const struct job_report *report)
{
    static const char device[] = "device", path[] = "path";
    const struct job *const job = &plan->job;
    const bool is_spare = report->spare_reason.is_set;
    const struct backend *const backend = is_spare ? job->spare_backend : job->backend;
    const struct sort_spec *const sort = is_spare ? &job->spare_sort : &job->sort;
    add_text(fields, device, "backend", backend->name);
    if (!is_spare)
        add_text(fields, device, "name", plan->device.name);
    if (!is_spare && sort->device_count > 1)
        add_number(fields, device, "count", KIND_COUNT, sort->device_count);
    add_number(fields, device, "threads", KIND_COUNT, job->sort.threads);
    add_text(fields, device, "reason",
             is_spare ? report->spare_reason.message : plan->device_reason);
    if (job->action != JOB_SORT)
        return;
    add_text(fields, path, "name", sort->algorithm->name);
    if (sort->tile_size)
        add_number(fields, path, "tile", KIND_COUNT, sort->tile_size);
    add_text(fields, path, "reason", plan->algorithm_reason);
}

static void add_model(struct fields *fields, const struct plan *plan,
                      const struct job_report *report)
{
    static const char model[] = "model";
    if (!plan->has_estimate || plan->job.action != JOB_SORT)
        return;
    add_real(fields, model, "cpu", KIND_SECONDS, plan->estimate.cpu_seconds);
    add_real(fields, model, "gpu", KIND_SECONDS, plan->estimate.gpu_seconds);
    if (plan->job.sort.device_count > 1)
        add_real(fields, model, "gpus", KIND_SECONDS,
                 plan_several_seconds(plan, plan->job.sort.device_count));
    add_real(fields, model, "measured", KIND_SECONDS,
             (double)(plan->plan_ns + report->total_ns) / 1e9);
}

static void add_amounts(struct fields *fields, const struct plan *plan,
                        const struct job_report *report, const struct trace_view *view,
                        bool is_done)
{
    static const char data[] = "data", memory[] = "memory", runs[] = "runs";
    const uint64_t host_bytes = memory_peak();
    if (is_done) {
        add_number(fields, data, plan->job.keep_lines ? "lines" : "numbers", KIND_COUNT,
                   report->count);
        add_number(fields, data, "bytes", KIND_BYTES, report->total_bytes);
    }
    if (host_bytes > 0)
        add_number(fields, memory, "host", KIND_BYTES, host_bytes);
    if (view->device_bytes > 0)
        add_number(fields, memory, "device", KIND_BYTES, view->device_bytes);
    add_number(fields, runs, "count", KIND_COUNT, report->run_count);
    add_number(fields, runs, "spilled", KIND_BYTES, report->spilled_bytes);
}

/* Returns the bytes processed in a stage. For a stage that works on data in memory, the bytes of
 * the data. */
static uint64_t stage_bytes(enum stage stage, const struct job_report *report,
                            const struct trace_view *view)
{
    switch (stage) {
    case STAGE_START:
        return 0;
    case STAGE_READ:
        return report->read_bytes;
    case STAGE_UPLOAD:
        return view->bytes[TRACE_UPLOAD];
    case STAGE_EXCHANGE:
        return view->bytes[TRACE_PEER];
    case STAGE_DOWNLOAD:
        return view->bytes[TRACE_DOWNLOAD];
    case STAGE_SPILL:
        return report->spilled_bytes;
    case STAGE_WRITE:
        return view->bytes[TRACE_WRITE];
    default:
        return report->item_bytes;
    }
}

static void add_time(struct fields *fields, const char *stage, uint64_t ns, uint64_t bytes)
{
    if (ns == 0)
        return;
    add_real(fields, stage, "seconds", KIND_SECONDS, (double)ns / 1e9);
    if (bytes == 0)
        return;
    add_number(fields, stage, "bytes", KIND_BYTES, bytes);
    add_real(fields, stage, "gb_per_s", KIND_RATE, (double)bytes / (double)ns);
}

/* The amount of data and the total time of a failed job are not known. They are left out, and so is
 * the model. */
static void make_fields(struct fields *fields, const struct plan *plan,
                        const struct job_report *report, bool is_done)
{
    static const char disorder[] = "disorder";
    struct trace_view view;
    trace_look(&view);
    add_files(fields, plan);
    add_choices(fields, plan, report);
    if (is_done)
        add_model(fields, plan, report);
    add_amounts(fields, plan, report, &view, is_done);
    if (report->disorder.is_found)
        add_number(fields, disorder, plan->job.keep_lines ? "line" : "number", KIND_COUNT,
                   report->disorder.place);
    fields->stages_begin = fields->count;
    add_time(fields, "plan", plan->plan_ns, 0);
    for (size_t i = 0; i < STAGE_COUNT; i++)
        add_time(fields, stage_names[i], report->stage_ns[i],
                 stage_bytes((enum stage)i, report, &view));
    if (is_done)
        add_time(fields, "total", plan->plan_ns + report->total_ns, report->total_bytes);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The name is left out if it is only the unit. */
static void print_text_field(FILE *stream, const struct field *field)
{
    if (strcmp(field->name, kinds[field->kind].bare_name) != 0)
        fprintf(stream, "%s ", field->name);
    if (field->kind == KIND_TEXT)
        quote_print(stream, field->text);
    else if (field->kind == KIND_COUNT || field->kind == KIND_BYTES)
        fprintf(stream, "%" PRIu64, field->number);
    else
        fprintf(stream, field->kind == KIND_RATE ? "%.2f" : "%.4f", field->real);
    fputs(kinds[field->kind].unit, stream);
}

static void print_text(FILE *stream, const struct fields *fields)
{
    const char *group = NULL;
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *const field = &fields->fields[i];
        if (field->group != group)
            fprintf(stream, "%sgpusort: %-10s ", group ? "\n" : "", field->group);
        else
            fputs(", ", stream);
        print_text_field(stream, field);
        group = field->group;
    }
    fputc('\n', stream);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Prints a character as the escapes of its units in UTF-16; for QUOTE_NO_CODE, U+FFFD. */
static void print_json_code(FILE *stream, uint32_t code)
{
    if (code == QUOTE_NO_CODE)
        code = 0xfffd;
    if (code >= 0x10000)
        fprintf(stream, "\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)));
    fprintf(stream, "\\u%04x", (unsigned)(code < 0x10000 ? code : 0xdc00 + (code & 0x3ff)));
}

static void print_json_string(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (const char *c = text, *end = text + strlen(text); c < end;) {
        uint32_t code;
        const size_t bytes = quote_decode(c, (size_t)(end - c), &code);
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if (quote_is_shown(code))
            fwrite(c, 1, bytes, stream);
        else
            print_json_code(stream, code);
        c += bytes;
    }
    fputc('"', stream);
}

static void print_json_field(FILE *stream, const struct field *field)
{
    const bool is_bare = strcmp(field->name, kinds[field->kind].bare_name) == 0;
    fprintf(stream, "\"%s%s\":", field->name, is_bare ? "" : kinds[field->kind].suffix);
    if (field->kind == KIND_TEXT)
        print_json_string(stream, field->text);
    else if (field->kind == KIND_COUNT || field->kind == KIND_BYTES)
        fprintf(stream, "%" PRIu64, field->number);
    else
        fprintf(stream, "%.9f", field->real);
}

/* Prints each member after a comma. The last object has the stages, and is never empty, because
 * planning takes time. */
static void print_members(FILE *stream, const struct fields *fields)
{
    const char *group = NULL;
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *const field = &fields->fields[i];
        if (field->group != group) {
            fprintf(stream, "%s,%s\"%s\":{", group ? "}" : "",
                    i == fields->stages_begin ? "\"stages\":{" : "", field->group);
            group = field->group;
        } else {
            fputc(',', stream);
        }
        print_json_field(stream, field);
    }
    fputs("}}", stream); /* closes the last stage and the stages */
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static const char *const rank_figure_names[RANK_FIGURES] = {
    [RANK_READ_BYTES] = "read",         [RANK_SENT_BYTES] = "sent",
    [RANK_RECEIVED_BYTES] = "received", [RANK_WRITTEN_BYTES] = "written",
    [RANK_MEMORY_BYTES] = "memory",     [RANK_SORT_NS] = "sort",
    [RANK_WRITE_NS] = "write",
};

static void make_rank_fields(struct fields *fields, const char *group, const uint64_t *figures)
{
    fields->count = 0;
    for (size_t i = 0; i < RANK_FIGURES; i++)
        if (i == RANK_SORT_NS || i == RANK_WRITE_NS)
            add_real(fields, group, rank_figure_names[i], KIND_SECONDS, (double)figures[i] / 1e9);
        else
            add_number(fields, group, rank_figure_names[i], KIND_BYTES, figures[i]);
}

/* Prints an array with an object for each rank, after a comma. */
static void print_json_ranks(FILE *stream, const uint64_t *ranks, unsigned count)
{
    struct fields fields;
    for (unsigned rank = 0; rank < count; rank++) {
        make_rank_fields(&fields, "", ranks + rank * RANK_FIGURES);
        fputs(rank == 0 ? ",\"ranks\":[{" : "},{", stream);
        for (size_t i = 0; i < fields.count; i++) {
            fputs(i > 0 ? "," : "", stream);
            print_json_field(stream, &fields.fields[i]);
        }
    }
    fputs("}]", stream);
}

static void print_text_ranks(FILE *stream, const uint64_t *ranks, unsigned count)
{
    struct fields fields;
    for (unsigned rank = 0; rank < count; rank++) {
        char name[16];
        snprintf(name, sizeof name, "rank %u", rank);
        make_rank_fields(&fields, name, ranks + rank * RANK_FIGURES);
        print_text(stream, &fields);
    }
}

char *stats_make_members(const struct plan *plan, const struct job_report *report, bool is_done)
{
    struct fields fields = {0};
    char *members = NULL;
    size_t length;
    FILE *const stream = open_memstream(&members, &length);
    if (!stream)
        return NULL;
    make_fields(&fields, plan, report, is_done);
    print_members(stream, &fields);
    if (report->ranks)
        print_json_ranks(stream, report->ranks, plan->job.group->size);
    return fclose(stream) == 0 ? members : NULL;
}

void stats_print_json(FILE *stream, int status, const struct error *error, const char *members)
{
    fprintf(stream, "{\"schema\":%d,\"version\":\"%s\",\"status\":%d", SCHEMA, GPUSORT_VERSION,
            status);
    if (error->is_set) {
        fputs(",\"error\":", stream);
        print_json_string(stream, error->message);
    }
    fprintf(stream, "%s}\n", members ? members : "");
}

void stats_print_text(FILE *stream, const struct plan *plan, const struct job_report *report)
{
    struct fields fields = {0};
    make_fields(&fields, plan, report, true);
    print_text(stream, &fields);
    if (report->ranks)
        print_text_ranks(stream, report->ranks, plan->job.group->size);
}
