/* SPDX-License-Identifier: Apache-2.0 */
/* plan_group.c - see plan.h: the plan of a job that several ranks share. */
#include "cli/plan/plan.h"

#include "core/byte_words.h"
#include "formats/codec/codec.h"
#include "formats/io/output_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes of each read that finds and counts lines. */
#define READ_BYTES ((size_t)1 << 20)

/* ---- Options ---- */

static bool refuse_difference(const char *what, struct error *error)
{
    return error_set(error,
                     "%s: not as rank 0 has it: all ranks must name the same files, which must not "
                     "change, and the same options; if each rank sorts a file of its own, unset "
                     "OMPI_COMM_WORLD_SIZE, PMI_SIZE or PMIX_RANK",
                     what);
}

/* Collective: compares the options by which ranks decide on collective calls, until they compare
 * their plans. */
static bool compare_options(const struct options *options, struct group *group, struct error *error)
{
    const uint64_t own[] = {
        options->action,          options->check != CHECK_NO || options->merge,
        options->input_count,     options->input_list != NULL,
        options->has_rank_inputs, options->has_rank_output,
        options->verify,          options->trace != NULL,
    };
    uint64_t first[sizeof own / sizeof *own];
    memcpy(first, own, sizeof first);
    return group_broadcast(group, first, sizeof first, error) &&
           group_agree(group,
                       memcmp(first, own, sizeof first) == 0 ||
                           refuse_difference("the command line", error),
                       error);
}

/* Returns the names of the list, each with its NUL, for the caller to free, and sets *bytes. NULL
 * if memory runs out. */
static char *join_names(const struct file_list *list, uint64_t *bytes)
{
    char *text = NULL;
    size_t length = 0;
    FILE *const stream = open_memstream(&text, &length);
    if (!stream)
        return NULL;
    for (size_t i = 0; i < list->count; i++)
        fwrite(list->names[i], 1, strlen(list->names[i]) + 1, stream);
    const bool ok = fclose(stream) == 0;
    *bytes = length;
    return ok ? text : NULL;
}

/* Collective: gives the list of inputs, which may be standard input, from rank 0 to all. */
static bool share_list(struct options *options, struct group *group, struct error *error)
{
    const bool is_first = group->rank == 0;
    char *text = NULL;
    uint64_t bytes = 0;
    bool ok = !is_first || options_read_list(options, error);
    if (ok && is_first)
        ok = (text = join_names(&options->list, &bytes)) || error_set(error, "out of memory");
    ok = group_agree(group, ok, error) && group_broadcast(group, &bytes, sizeof bytes, error);
    if (ok && !is_first)
        text = malloc(bytes);
    ok = ok && group_agree(group, text || error_set(error, "out of memory"), error) &&
         group_broadcast(group, text, bytes, error) &&
         group_agree(group, is_first || options_take_list(options, text, bytes, error), error);
    free(text);
    return ok;
}

static bool check_shareable(const struct options *options, struct error *error)
{
    const char *const unshared = options->check != CHECK_NO ? "-c or -C"
                                 : options->merge           ? "-m"
                                 : options->in_place        ? "--in-place"
                                                            : NULL;
    return !unshared ||
           error_set(error,
                     "several MPI ranks do not share %s: run gpusort without mpirun or srun, or as "
                     "one rank (mpirun -n 1)",
                     unshared);
}

bool plan_share_options(struct options *options, struct group *group, struct error *error)
{
    return compare_options(options, group, error) &&
           group_agree(group, check_shareable(options, error), error) &&
           (!options->input_list || share_list(options, group, error));
}

/* ---- What is refused ---- */

static bool check_shared(const struct plan *plan, struct error *error)
{
    const struct job *const job = &plan->job;
    for (size_t i = 0; i < job->reader_count; i++) {
        struct source *const source = job->readers[i].source;
        if (!job->has_rank_inputs && source_stop_and_get_left(source) > 0 &&
            !plan_is_spooled(plan, i) && !source_can_narrow(source))
            return error_set(error, "%s: not a plain regular file, as it is for rank 0",
                             source_name(source));
    }
    return true;
}

/* Number and size of the samples of an input that are compared, from its beginning to its end. */
#define SAMPLE_COUNT 5
#define SAMPLE_BYTES ((size_t)1 << 10)

#define HASH_START UINT64_C(0xcbf29ce484222325)

static void hash_number(uint64_t *hash, uint64_t number)
{
    *hash = (*hash ^ number) * UINT64_C(0x100000001b3);
}

/* Adds a text and its end to the hash, by FNV-1a. */
static void hash_text(uint64_t *hash, const char *text)
{
    for (; *text; text++)
        hash_number(hash, (unsigned char)*text);
    hash_number(hash, 0);
}

static void hash_place(uint64_t *hash, const struct line_place *place)
{
    hash_number(hash, place->field);
    hash_number(hash, place->character);
    hash_number(hash, place->skip_blanks);
}

/* Hashes the order of lines. */
static void hash_lines(uint64_t *hash, const struct line_order *order)
{
    const uint64_t facts[] = {order->key_count,
                              (uint64_t)order->separator,
                              (unsigned char)order->terminator,
                              order->reverse,
                              order->stable,
                              order->unique};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        hash_number(hash, facts[i]);
    for (size_t i = 0; i < order->key_count; i++) {
        const struct line_key *const key = &order->keys[i];
        hash_number(hash, key->kind);
        hash_number(hash, key->reverse);
        hash_place(hash, &key->begin);
        hash_number(hash, key->end_kind);
        hash_place(hash, &key->end);
    }
}

/* Returns a hash of what the options decide: formats, order, and the names of all inputs and of the
 * output, without a rank's own files. */
static uint64_t hash_job(const struct job *job)
{
    const struct layout *const layout = &job->readers[0].layout;
    const uint64_t facts[] = {
        layout->type->id,
        layout->endian,
        job->nan,
        job->sort.order.complement,
        job->sort.is_top,
        job->sort.top,
        job->keep_lines,
        job->header_lines,
        job->argsort.index_type ? job->argsort.index_type->id : UINT64_MAX,
        job->argsort.index_endian,
        (uint64_t)job->output.level,
    };
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        hash_number(&hash, facts[i]);
    if (job->keep_lines)
        hash_lines(&hash, &job->line_order);
    hash_text(&hash, job->input_format->name);
    hash_text(&hash, job->output_format->name);
    hash_text(&hash, job->output.codec->name);
    for (size_t i = 0; i < job->reader_count && !job->has_rank_inputs; i++)
        hash_text(&hash, source_name(job->readers[i].source));
    hash_text(&hash, job->output.path && !job->has_rank_output ? job->output.path : "");
    return hash;
}

/* Hashes samples of the input: a file on a disk of each host may have the same name and size. */
static bool hash_content(struct source *source, uint64_t *hash, struct error *error)
{
    unsigned char bytes[SAMPLE_BYTES];
    const uint64_t size = source_stop_and_get_left(source);
    const uint64_t last = size > SAMPLE_BYTES ? size - SAMPLE_BYTES : 0;
    for (uint64_t i = 0; i < SAMPLE_COUNT; i++) {
        size_t got;
        if (!source_read_at(source, last / (SAMPLE_COUNT - 1) * i, bytes, sizeof bytes, &got,
                            error))
            return false;
        for (size_t k = 0; k < got; k++)
            hash_number(hash, bytes[k]);
    }
    return true;
}

static bool hash_contents(const struct plan *plan, uint64_t *hash, struct error *error)
{
    const struct job *const job = &plan->job;
    *hash = 0;
    for (size_t i = 0; i < job->reader_count && !job->has_rank_inputs; i++) {
        struct source *const source = job->readers[i].source;
        if (source_stop_and_get_left(source) > 0 && !plan_is_spooled(plan, i) &&
            !hash_content(source, hash, error))
            return false;
    }
    return true;
}

/* Collective: refuses files of this rank of another format or type than rank 0 has. */
static bool compare_own_inputs(const struct job *job, struct error *error)
{
    char own[INPUT_NAME_BYTES] = "", first[INPUT_NAME_BYTES];
    if (!job->has_rank_inputs)
        return true;
    plan_name_input(job->input_format, &job->readers[0].layout, own);
    memcpy(first, own, sizeof first);
    uint64_t empty_ranks = job->input_format == &format_raw && job->sort.count == 0;
    if (!group_broadcast(job->group, first, sizeof first, error) ||
        !group_sum(job->group, &empty_ranks, 1, error))
        return false;
    const bool is_same =
        strcmp(own, first) == 0 ||
        error_set(
            error, "%s: %s, where rank 0 has %s%s", source_name(job->readers[0].source), own, first,
            empty_ranks > 0 ? "; the file of a rank is empty, and --format gives it a format" : "");
    return group_agree(job->group, is_same, error);
}

/* Collective: compares the plan with that of rank 0. */
static bool compare_facts(struct plan *plan, struct error *error)
{
    const struct job *const job = &plan->job;
    struct group *const group = job->group;
    const bool is_own = job->has_rank_inputs;
    uint64_t content;
    if (!group_agree(group, hash_contents(plan, &content, error), error))
        return false;
    const uint64_t facts[] = {
        is_own ? 0 : job->reader_count,
        is_own ? 0 : plan->job.input_bytes,
        is_own ? 0 : job->sort.count,
        content,
        hash_job(job), /* the last one: the others are of the inputs */
    };
    uint64_t first[sizeof facts / sizeof *facts];
    memcpy(first, facts, sizeof first);
    if (!group_broadcast(group, first, sizeof first, error))
        return false;
    const bool has_same_inputs = memcmp(first, facts, sizeof facts - sizeof *facts) == 0;
    const bool is_same =
        memcmp(first, facts, sizeof facts) == 0 ||
        refuse_difference(
            has_same_inputs ? "the command line" : source_name(job->readers[0].source), error);
    return group_agree(group, is_same, error);
}

/* Adds the boot ID of the host, by which ranks know that a file is on the same host. */
static void hash_host(uint64_t *hash)
{
    char id[64] = "";
    FILE *const file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return;
    if (fgets(id, sizeof id, file))
        hash_text(hash, id);
    fclose(file);
}

/* Sets *hash to a hash of the regular file that the output of this rank names; 0: it names none. */
static bool hash_own_output(const struct job *job, uint64_t *hash, struct error *error)
{
    struct output_path found;
    *hash = 0;
    if (!job->has_rank_output)
        return true;
    const bool ok = output_path_open(job->output.path, job->output.path, &found, error);
    if (ok && found.descriptor < 0 && (!found.exists || S_ISREG(found.status.st_mode))) {
        *hash = HASH_START;
        hash_host(hash);
        hash_number(hash, found.directory_status.st_dev);
        hash_number(hash, found.directory_status.st_ino);
        hash_text(hash, found.name);
    }
    output_path_close(&found);
    return ok;
}

/* Collective: refuses outputs of several ranks that are the same file, by their names or by links,
 * because one would replace the other. */
static bool check_own_outputs(const struct job *job, struct error *error)
{
    struct group *const group = job->group;
    uint64_t own;
    uint64_t *const hashes = group_agree(group, hash_own_output(job, &own, error), error)
                                 ? group_gather(group, &own, 1, error)
                                 : NULL;
    bool ok = hashes;
    unsigned other = 0;
    while (ok && other < group->rank && hashes[other] != own)
        other++;
    if (ok && other < group->rank && own != 0)
        ok = error_set(error, "%s: rank %u writes to the same file", job->output.path, other);
    free(hashes);
    return group_agree(group, ok, error);
}

/* ---- The part of a rank ---- */

/* Returns the position in an input of `count` bytes or numbers, after `before` others, that is
 * nearest to this position in all inputs. */
static uint64_t position_within(uint64_t position, uint64_t before, uint64_t count)
{
    const uint64_t after = position > before ? position - before : 0;
    return after < count ? after : count;
}

/* The lines of a text, and the memory to find them. */
struct text {
    const struct source *source;
    uint64_t size;
    char terminator;
    char *buffer; /* READ_BYTES */
};

/* Moves *position, in the text, to the first line that begins there or after it, or to the end of
 * the text, where a line that was appended may continue the last one. */
static bool find_line(const struct text *text, uint64_t *position, struct error *error)
{
    size_t got = 1;
    if (*position == 0 || *position >= text->size)
        return true;
    for (uint64_t at = *position - 1; got > 0; at += got) {
        if (!source_read_at(text->source, at, text->buffer, READ_BYTES, &got, error))
            return false;
        const char *const end = memchr(text->buffer, text->terminator, got);
        if (end) {
            const uint64_t next = at + (uint64_t)(end - text->buffer) + 1;
            *position = next < text->size ? next : text->size;
            return true;
        }
    }
    *position = text->size;
    return true;
}

/* Counts the lines of the text, the last of which may lack its terminator. */
static bool count_lines(const struct text *text, size_t *lines, struct error *error)
{
    char last = text->terminator;
    *lines = 0;
    for (uint64_t at = 0; at < text->size;) {
        size_t got;
        const uint64_t left = text->size - at;
        const size_t want = left < READ_BYTES ? (size_t)left : READ_BYTES;
        if (!source_read_at(text->source, at, text->buffer, want, &got, error))
            return false;
        if (got == 0)
            return error_set(error, "%s: the file was cut off while it was read",
                             source_name(text->source));
        *lines += bytes_count(text->buffer, got, text->terminator);
        last = text->buffer[got - 1];
        at += got;
    }
    *lines += last != text->terminator;
    return true;
}

/* True if messages or indices have the number of a line. */
static bool has_line_numbers(const struct job *job)
{
    return !job->keep_lines || job->argsort.index_type ||
           job->line_order.keys[0].kind == LINE_STRICT;
}

/* Finds where the parts of all ranks begin in the text, and its end. A part begins at the first
 * line that begins in the rank's range of the bytes. */
static bool find_begins(const struct group *group, const struct text *text, uint64_t before,
                        uint64_t all, uint64_t *begins, struct error *error)
{
    for (unsigned rank = 0; rank <= group->size; rank++) {
        begins[rank] = position_within(group_begin(group, all, rank), before, text->size);
        if (!find_line(text, &begins[rank], error))
            return false;
    }
    return true;
}

/* Collective: narrows text i to the lines of this rank, and counts them if their numbers are
 * needed. In a spooled text, rank 0 finds the lines. */
static bool narrow_text(struct plan *plan, size_t i, uint64_t before, uint64_t all, char *buffer,
                        uint64_t *begins, struct error *error)
{
    struct job *const job = &plan->job;
    struct group *const group = job->group;
    struct reader *const reader = &job->readers[i];
    struct text text = {reader->source, source_stop_and_get_left(reader->source),
                        job->line_order.terminator, buffer};
    const bool is_spooled = plan_is_spooled(plan, i), finds = !is_spooled || group->rank == 0;
    if (!group_agree(group, !finds || find_begins(group, &text, before, all, begins, error),
                     error) ||
        (is_spooled && !group_broadcast(group, begins, (group->size + 1) * sizeof *begins, error)))
        return false;
    const uint64_t begin = begins[group->rank], end = begins[group->rank + 1];
    if (!group_agree(group, plan_take_part(plan, i, begin, end - begin, error), error))
        return false;
    /* Appended lines would be read by each rank whose part is empty, and have no number. */
    source_keep_end(reader->source);
    text.source = reader->source;
    text.size = end - begin;
    reader->layout.count = 0;
    return !has_line_numbers(job) || count_lines(&text, &reader->layout.count, error);
}

static bool narrow_texts(struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    char *const buffer = malloc(READ_BYTES);
    uint64_t *const begins = calloc(job->group->size + 1, sizeof *begins);
    uint64_t before = 0, all = 0;
    bool ok =
        group_agree(job->group, (buffer && begins) || error_set(error, "out of memory"), error);
    for (size_t i = 0; i < job->reader_count; i++)
        all += source_stop_and_get_left(job->readers[i].source);
    for (size_t i = 0; ok && i < job->reader_count; i++) {
        const uint64_t bytes = source_stop_and_get_left(job->readers[i].source);
        ok = group_agree(job->group, narrow_text(plan, i, before, all, buffer, begins, error),
                         error);
        before += bytes;
    }
    free(buffer);
    free(begins);
    return ok;
}

/* Collective: counts the lines before this rank's, in each text and in all, and all lines. */
static bool number_lines(struct job *job, struct error *error)
{
    struct group *const group = job->group;
    const size_t inputs = job->reader_count;
    uint64_t *const lines = calloc(group->size * inputs, sizeof *lines);
    bool ok = group_agree(group, lines || error_set(error, "out of memory"), error);
    for (size_t i = 0; ok && i < inputs; i++)
        lines[group->rank * inputs + i] = job->readers[i].layout.count;
    ok = ok && group_sum(group, lines, group->size * inputs, error);
    job->group_count = job->argsort.first = job->sort.count = 0;
    for (unsigned rank = 0; ok && rank < group->size; rank++)
        for (size_t i = 0; i < inputs; i++) {
            const uint64_t has = lines[rank * inputs + i];
            job->group_count += has;
            job->argsort.first += rank < group->rank ? has : 0;
            job->sort.count += rank == group->rank ? has : 0;
            job->readers[i].keys_before += rank < group->rank ? has : 0;
        }
    free(lines);
    return ok;
}

/* Collective: takes the headers. Other ranks than 0 have only the first bytes of a spooled input.
 */
static bool share_headers(struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    const bool is_first = job->group->rank == 0;
    if (!job->keep_lines || job->header_lines == 0)
        return true;
    bool ok = !is_first || job_take_headers(job, &job->header, error);
    if (ok && job->header.bytes > PLAN_SPOOL_HEAD_BYTES)
        ok = error_set(error, "%s: its header has %zu bytes, and MPI ranks share at most %zu",
                       source_name(job->readers[0].source), job->header.bytes,
                       PLAN_SPOOL_HEAD_BYTES);
    return group_agree(job->group, ok, error) &&
           group_agree(job->group, is_first || job_take_headers(job, &job->header, error), error);
}

/* Lines of numbers are counted first, so that a text has a count like any other input. That reads
 * it twice. */
static bool share_texts(struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    if (!plan_store_spools(plan, error) || !share_headers(plan, error) ||
        !narrow_texts(plan, error) || !number_lines(job, error))
        return false;
    if (job->keep_lines)
        job->sort.count = COUNT_UNKNOWN;
    return !job->argsort.index_type || argsort_check_count(&job->argsort, job->group_count, error);
}

static bool share_numbers(struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    const struct group *const group = job->group;
    const uint64_t own_begin = group_begin(group, job->sort.count, group->rank);
    const uint64_t own_end = group_begin(group, job->sort.count, group->rank + 1);
    uint64_t before = 0;
    for (size_t i = 0; i < job->reader_count; i++) {
        struct reader *const reader = &job->readers[i];
        const uint64_t count = reader->layout.count;
        const unsigned width = reader->layout.type->bytes;
        const uint64_t begin = position_within(own_begin, before, count);
        const uint64_t left = position_within(own_end, before, count) - begin;
        before += count;
        reader->keys_before = begin;
        reader->layout.count = left;
        if (!group_agree(job->group,
                         count == 0 || plan_take_part(plan, i, begin * width, left * width, error),
                         error))
            return false;
    }
    job->group_count = job->sort.count;
    job->argsort.first = own_begin;
    job->sort.count = own_end - own_begin;
    return true;
}

/* Counts the lines of all inputs of this rank. */
static bool count_own_lines(struct job *job, struct error *error)
{
    char *const buffer = malloc(READ_BYTES);
    bool ok = buffer || error_set(error, "out of memory");
    job->sort.count = 0;
    for (size_t i = 0; ok && i < job->reader_count; i++) {
        struct reader *const reader = &job->readers[i];
        const struct text text = {reader->source, source_stop_and_get_left(reader->source),
                                  job->line_order.terminator, buffer};
        ok = count_lines(&text, &reader->layout.count, error);
        source_keep_end(reader->source);
        job->sort.count += reader->layout.count;
    }
    free(buffer);
    return ok;
}

/* Collective: takes the headers, which must be equal on all ranks. */
static bool take_own_headers(struct job *job, struct error *error)
{
    uint64_t hash = 0;
    bool ok = job_take_headers(job, &job->header, error);
    for (size_t i = 0; ok && i < job->header.bytes; i++)
        hash_number(&hash, (unsigned char)job->header.text[i] + 1u);
    uint64_t first = hash;
    return group_agree(job->group, ok, error) &&
           group_broadcast(job->group, &first, sizeof first, error) &&
           group_agree(job->group,
                       hash == first || error_set(error, "%s: its header is not that of rank 0",
                                                  source_name(job->readers[0].source)),
                       error);
}

/* Collective: each rank reads all of its own inputs, which come after the inputs of lower ranks. */
static bool share_own_files(struct job *job, struct error *error)
{
    struct group *const group = job->group;
    const bool has_to_count =
        job->input_format == &format_text && (!job->keep_lines || job->argsort.index_type);
    if ((job->keep_lines && job->header_lines > 0 && !take_own_headers(job, error)) ||
        !group_agree(group, !has_to_count || count_own_lines(job, error), error))
        return false;
    const uint64_t own = has_to_count || !job->keep_lines ? job->sort.count : 0;
    uint64_t *const counts = group_gather(group, &own, 1, error);
    const bool ok = counts;
    job->argsort.first = 0;
    for (unsigned rank = 0; ok && rank < group->size; rank++) {
        job->group_count += counts[rank];
        job->argsort.first += rank < group->rank ? counts[rank] : 0;
    }
    free(counts);
    if (job->keep_lines) {
        job->sort.count = COUNT_UNKNOWN;
    } else if (job->argsort.index_type) { /* the indices are of all ranks */
        argsort_set_keys(&job->argsort, job->readers[0].layout.type, job->argsort.order,
                         job->group_count);
        job->sort.item_bytes = job->argsort.item_bytes;
    }
    return ok && (!job->argsort.index_type ||
                  argsort_check_count(&job->argsort, job->group_count, error));
}

bool plan_share(struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    if (!job->group)
        return true;
    if (!group_agree(job->group, check_shared(plan, error), error) ||
        !compare_own_inputs(job, error) || !compare_facts(plan, error) ||
        !check_own_outputs(job, error))
        return false;
    job->sort.is_kept = !job->keep_lines; /* other ranks read the numbers in the engine */
    bool is_file = job->has_rank_output || plan_writes_file(job->output.path);
    if (!group_broadcast(job->group, &is_file, sizeof is_file, error))
        return false;
    job->output.group = is_file && !job->has_rank_output ? job->group : NULL;
    if (!is_file && job->group->rank > 0) /* the output is rank 0's */
        job->output.path = "/dev/null";
    if (job->has_rank_inputs)
        return share_own_files(job, error);
    return job->input_format == &format_text ? share_texts(plan, error)
                                             : share_numbers(plan, error);
}
