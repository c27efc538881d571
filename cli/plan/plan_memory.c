/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.c - see plan.h: limits the memory of a job. */
#include "cli/plan/plan.h"

#include "cli/options/option_words.h"
#include "formats/codec/codec.h"
#include "formats/codec/frames.h"
#include "formats/io/output_path.h"

#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* The part of the free memory that is taken by default. The page cache needs the last eighth:
 * otherwise reading and writing would become the bottleneck. */
#define HOST_PART(bytes) ((bytes) / 8 * 7)

/* Bytes of the reused buffer that numbers are read into when items are made of them. One read of it
 * is divided among threads. */
#define KEYS_BYTES ((size_t)32 << 20)
#define KEYS_BYTES_MIN ((size_t)64 << 10)

static bool is_in_memory(const char *directory)
{
    struct statfs status;
    return statfs(directory, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

/* Returns $TMPDIR, else /tmp, as sort(1) does. /var/tmp replaces a /tmp in memory: sorted runs of
 * 10 GB there, beside the part that is sorted, would exhaust a machine of 24 GB. */
static const char *default_directory(void)
{
    static const char temporary[] = "/tmp", large[] = "/var/tmp";
    const char *const named = getenv("TMPDIR");
    if (named && *named)
        return named;
    return is_in_memory(temporary) && !is_in_memory(large) && access(large, W_OK | X_OK) == 0
               ? large
               : temporary;
}

bool plan_choose_directories(struct options *options, struct memory_limits *memory,
                             struct error *error)
{
    struct memory_words *const words = &options->memory;
    if (words->directory_count == 0 &&
        !option_words_add_directory(words, default_directory(), error))
        return false;
    memory->directories = words->directories;
    memory->directory_count = words->directory_count;
    return true;
}

/* Returns how many items the device with the least memory has room for, if all devices together
 * have room for `count`. */
static size_t least_of_devices(const struct sort_spec *sort, size_t count)
{
    size_t least = SIZE_MAX, all = 0;
    for (unsigned i = 0; i < sort->device_count; i++) {
        all += sort->devices[i].bytes;
        least = sort->devices[i].bytes < least ? sort->devices[i].bytes : least;
    }
    return sort->device_count > 1 ? (size_t)((double)count / (double)all * (double)least) : count;
}

/* Returns true if the engine can do --top by keeping only the first items: it must have room for
 * them and for the next items. A GPU's engine takes two arrays of twice as many, and some
 * workspace; each of several GPUs takes as much. The engine ignores --device-memory, so with that
 * option it sorts in parts. */
static bool keeps_few(const struct job *job, bool is_host)
{
    const size_t room =
        is_host ? job->part_count / 2
                : least_of_devices(&job->sort, job->part_count) / 8 * job->sort.algorithm->buffers;
    return sort_spec_selects(&job->sort) && job->sort.top <= room && !job->memory.device_said;
}

/* GPU memory that an engine of lines takes beside text and items. */
#define LINES_BYTES ((size_t)100 << 20)

/* Returns the GPU memory for text and items. The driver gets a sixteenth, because device_bytes may
 * be the whole memory and not the free part. */
static size_t device_room(const struct job *job)
{
    const size_t bytes = job->memory.device_bytes / 16 * 15;
    return bytes / 2 > LINES_BYTES ? bytes - LINES_BYTES : bytes / 2;
}

/* Returns the bytes of text and items that fit in memory. They take as much on a GPU as on the
 * host, or less if only items go there, so the smaller memory counts. The GPU's does not if the
 * spare backend can sort the lines. */
static size_t line_bytes(const struct job *job, bool is_host)
{
    size_t left = memory_limits_left(&job->memory, job->sort.threads,
                                     sink_buffers_bytes(job->output.threads));
    if (!is_host && !job->spare_backend && device_room(job) < left)
        left = device_room(job);
    return left > MEMORY_PART_BYTES_MIN ? left : MEMORY_PART_BYTES_MIN;
}

/* Memory of a decompressor that does not read ahead. */
#define DECODER_BYTES ((size_t)12 << 20)

/* Returns the memory of compressing the output. */
static size_t encoder_bytes(const struct job *job)
{
    const struct sink_spec *const output = &job->output;
    return output->codec && output->codec->encode
               ? frame_writer_bytes(output->codec, output->level, output->threads)
               : 0;
}

/* Returns the part of `bytes` that the sort may take, beside decompressors and compressors. */
static size_t without_codecs(const struct job *job, size_t bytes)
{
    const unsigned ranks = job->group ? job->group->host_size : 1;
    size_t decoders = 0;
    for (size_t i = 0; i < job->reader_count && decoders == 0; i++)
        if (source_codec(job->readers[i].source)->decode)
            decoders = DECODER_BYTES + frame_reader_bytes(job->sort.threads, ranks);
    const size_t codecs_bytes = decoders + encoder_bytes(job);
    return codecs_bytes < bytes / 2 ? bytes - codecs_bytes : bytes / 2;
}

/* Returns the part of the process's address space that the job may take, beside stacks and
 * decompressors. */
static size_t process_most(const struct job *job)
{
    const size_t left = memory_process_left(job->sort.threads);
    return left == SIZE_MAX ? left : HOST_PART(without_codecs(job, left));
}

static bool is_plain_file_in_memory(int file)
{
    struct stat status;
    struct statfs system;
    return fstat(file, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
           fstatfs(file, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/* Returns true if the output is a regular file in memory, or will be one. */
static bool has_output_in_memory(const char *path)
{
    struct output_path found;
    struct error ignored = {0};
    if (!path || strcmp(path, "-") == 0)
        return is_plain_file_in_memory(STDOUT_FILENO);
    const bool is_in_memory = output_path_open(path, path, &found, &ignored) &&
                              is_plain_file_in_memory(found.descriptor >= 0 ? found.descriptor
                                                      : found.exists        ? found.file
                                                                            : found.directory);
    output_path_close(&found);
    return is_in_memory;
}

/* Returns the bytes of an output that is written while the memory of the sort is still used: that
 * of lines, whose text stays there, and that of numbers which do not fit in `bytes` twice, so that
 * they are sorted in parts. 0: none, or not known. */
static uint64_t bytes_beside_sort(const struct plan *plan, size_t bytes)
{
    const struct job *const job = &plan->job;
    const struct sort_spec *const sort = &job->sort;
    if (sort->is_top || job->output.is_in_place || job->output.codec->encode)
        return 0;
    if (job->keep_lines)
        return job->argsort.index_type || plan->input_bytes == SIZE_UNKNOWN ? 0 : plan->input_bytes;
    const bool fits = sort->count == COUNT_UNKNOWN || job->backend != backends[0] ||
                      sort->item_bytes <= 2 || sort->count <= bytes / 2 / sort->item_bytes;
    return fits ? 0 : job_output_bytes(job);
}

/* Returns the part of `bytes` that is left beside an output in memory. */
static size_t without_output(const struct plan *plan, size_t bytes)
{
    const uint64_t output = bytes_beside_sort(plan, HOST_PART(bytes));
    const size_t most = bytes / 8 * 7;
    if (output == 0 || !has_output_in_memory(plan->job.output.path))
        return bytes;
    return bytes - (output < most ? (size_t)output : most);
}

/* An input of up to SMALL_INPUT_BYTES takes less than SMALL_INPUT_MEMORY, even if each of its bytes
 * is a line. */
#define SMALL_INPUT_BYTES ((uint64_t)1 << 20)
#define SMALL_INPUT_MEMORY ((size_t)256 << 20)

/* Sets the memory that the job may take, and the reason. Finding what is free means reading a dozen
 * files, which a small input is not worth. */
static void choose_host_memory(const struct options *options, const struct plan *plan,
                               struct memory_limits *memory)
{
    const struct group *const group = plan->job.group; /* its ranks on this host share the memory */
    const size_t most = process_most(&plan->job);
    const bool is_small = options->action == ACTION_SORT && plan->input_bytes <= SMALL_INPUT_BYTES;
    if (!is_small)
        (void)memory_at_start(); /* before anything is read */
    if (options->memory.host.is_said) {
        memory->host_bytes = options->memory.host.bytes;
        memory->host_reason = "as -S says";
    } else if (is_small) {
        memory->host_bytes = SMALL_INPUT_MEMORY;
        memory->host_reason = "enough for a small input";
    } else {
        const size_t available = memory_available(plan->job.sort.threads);
        const size_t most_free = HOST_PART(without_output(plan, available));
        memory->host_bytes = without_codecs(&plan->job, most_free / (group ? group->host_size : 1));
        memory->host_reason = "most of what is free";
    }
    if (memory->host_bytes > most)
        memory->host_bytes = most;
}

bool plan_choose_memory(struct options *options, struct plan *plan, struct error *error)
{
    struct job *const job = &plan->job;
    struct memory_limits *const memory = &job->memory;
    const struct memory_words *const words = &options->memory;
    const bool is_host = job->backend == backends[0];
    choose_host_memory(options, plan, memory);
    memory->device_bytes = is_host ? 0 : plan->device.memory_bytes;
    const unsigned devices = job->sort.device_count > 1 ? job->sort.device_count : 1;
    memory->device_said =
        words->device.is_said && words->device.bytes * devices == memory->device_bytes;
    if (!plan_choose_directories(options, memory, error))
        return false;
    const size_t some = memory->host_bytes / 8 / KEYS_BYTES_MIN * KEYS_BYTES_MIN;
    job->keys_bytes = some > KEYS_BYTES       ? KEYS_BYTES
                      : some > KEYS_BYTES_MIN ? some
                                              : KEYS_BYTES_MIN;
    job->part_count = memory_limits_part(memory, &job->sort, is_host,
                                         job->argsort.index_type ? job->keys_bytes : 0);
    if (keeps_few(job, is_host))
        job->part_count = SIZE_MAX;
    job->part_bytes = line_bytes(job, is_host);
    return true;
}
