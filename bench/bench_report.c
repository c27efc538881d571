/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.c - see bench_report.h. */
#include "bench/bench_report.h"

/* 10^6 keys a second. */
static double row_rate(const struct bench_row *row)
{
    return row->median_ms > 0 ? (double)row->count * 1e-3 / row->median_ms : 0;
}

/* Memory for the sort, items included, as a multiple of the items. */
static double row_peak(const struct bench_row *row)
{
    return 1 + (double)row->scratch_bytes / ((double)row->count * (double)row->item_bytes);
}

void bench_report_head(FILE *stream)
{
    fprintf(stream, "%-7s %-12s %10s  %-15s %5s %11s %6s %9s %12s %5s  %s\n", "type", "shape",
            "count", "path", "tile", "ms", "ratio", "Mkey/s", "scratch", "peak", "check");
}

void bench_report_row(FILE *stream, const struct bench_row *row)
{
    char tile[24] = "-", ratio[24] = "-";
    if (row->tile_size)
        snprintf(tile, sizeof tile, "%zu", row->tile_size);
    if (row->peer_ms > 0)
        snprintf(ratio, sizeof ratio, "%.3f", row->median_ms / row->peer_ms);
    fprintf(stream, "%-7s %-12s %10zu  %-15s %5s ", row->type, row->shape, row->count, row->path,
            tile);
    if (row->problem)
        fprintf(stream, "not timed: %s\n", row->problem);
    else
        fprintf(stream, "%11.4f %6s %9.1f %12zu %5.3f  %s\n", row->median_ms, ratio, row_rate(row),
                row->scratch_bytes, row_peak(row), row->is_sorted ? "ok" : "WRONG");
    fflush(stream);
}

static void print_json_string(FILE *stream, const char *text)
{
    putc('"', stream);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(stream, "\\u%04x", (unsigned)*text);
        else
            putc(*text, stream);
    putc('"', stream);
}

static void print_json_member(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, "\"%s\":", name);
    print_json_string(stream, text);
    putc(',', stream);
}

void bench_report_json(FILE *stream, const struct bench_row *row)
{
    putc('{', stream);
    print_json_member(stream, "device", row->device);
    print_json_member(stream, "class", row->device_class);
    print_json_member(stream, "type", row->type);
    fprintf(stream, "\"item_bytes\":%zu,", row->item_bytes);
    print_json_member(stream, "shape", row->shape);
    fprintf(stream, "\"count\":%zu,", row->count);
    print_json_member(stream, "path", row->path);
    fprintf(stream, "\"peer\":%s,\"tile\":%zu,", row->is_peer ? "true" : "false", row->tile_size);
    if (row->threads)
        fprintf(stream, "\"threads\":%u,", row->threads);
    if (row->problem) {
        print_json_member(stream, "problem", row->problem);
        fprintf(stream, "\"runs\":0,\"ms\":null}\n");
        return;
    }
    fprintf(stream, "\"runs\":%u,\"batch\":%zu,\"ms\":%.6f,\"least_ms\":%.6f,", row->runs,
            row->batch, row->median_ms, row->least_ms);
    fprintf(stream, "\"mkeys_per_s\":%.3f,", row_rate(row));
    if (row->peer_ms > 0)
        fprintf(stream, "\"ratio\":%.6f,", row->median_ms / row->peer_ms);
    else
        fprintf(stream, "\"ratio\":null,");
    fprintf(stream, "\"scratch_bytes\":%zu,\"peak\":%.6f,\"sorted\":%s}\n", row->scratch_bytes,
            row_peak(row), row->is_sorted ? "true" : "false");
    fflush(stream);
}

bool bench_report_close(FILE *stream, const char *name, struct error *error)
{
    if (!stream)
        return true;
    const bool is_lost = ferror(stream);
    return (fclose(stream) == 0 && !is_lost) || error_set_errno(error, "%s: cannot write", name);
}
