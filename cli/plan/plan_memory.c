/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.c - see plan.h: limits the memory of a job. */
#include "cli/plan/plan.h"

#include "formats/codec/codec.h"
#include "formats/codec/frames.h"
#include "formats/io/mapped_file.h"
#include "formats/io/output_path.h"

#include <fcntl.h>
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

/* Bytes of the reused buffer that numbers are read into when items are made of them, or to check
 * them (-c, --verify). One read of it is divided among threads. */
#define KEYS_BYTES ((size_t)32 << 20)
#define KEYS_BYTES_MIN ((size_t)64 << 10)

static bool is_in_memory(const char *directory)
{
    struct statfs status;
    return statfs(directory, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

static bool are_in_memory(const struct memory_limits *memory)
{
    size_t i = 0;
    while (i < memory->directory_count && is_in_memory(memory->directories[i]))
        i++;
    return i == memory->directory_count;
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

void plan_choose_directories(const struct options *options, struct plan *plan)
{
    const struct memory_words *const words = &options->memory;
    struct memory_limits *const memory = &plan->job.memory;
    const bool is_said = words->directory_count > 0;
    plan->default_directory = default_directory();
    memory->directories = is_said ? words->directories : &plan->default_directory;
    memory->directory_count = is_said ? words->directory_count : 1;
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
 * them and for the next items. Each GPU needs two arrays of twice as many items, and some
 * workspace. A GPU's engine uses all of its free memory, so if less is allowed it selects from
 * parts. */
static bool keeps_few(const struct job *job, bool is_host)
{
    const size_t room =
        is_host ? job->part_count / 2
                : least_of_devices(&job->sort, job->part_count) / 8 * job->sort.algorithm->buffers;
    return sort_spec_selects(&job->sort) && job->sort.top <= room && !job->memory.device_is_limited;
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

/* Returns the part of `bytes` that the sort may take, beside decompressors and compressors. */
static size_t without_codecs(const struct job *job, size_t bytes)
{
    const unsigned ranks = job->group ? job->group->host_size : 1;
    const struct sink_spec *const output = &job->output;
    size_t codecs_bytes = 0;
    for (size_t i = 0; i < job->reader_count && codecs_bytes == 0; i++)
        if (source_codec(job->readers[i].source)->decode)
            codecs_bytes = DECODER_BYTES + frame_reader_bytes(job->sort.threads, ranks);
    if (output->codec->encode)
        codecs_bytes += frame_writer_bytes(output->codec, output->level, output->threads);
    return codecs_bytes < bytes / 2 ? bytes - codecs_bytes : bytes / 2;
}

static bool is_plain_file_in_memory(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
           file_is_in_memory(file);
}

/* Returns true if the output will take memory: it is a file in memory, or will be one. False for
 * standard output whose offset is before the end of its file: it overwrites what is there. */
static bool has_output_in_memory(const struct job *job)
{
    const char *const path = job->output.path;
    struct output_path found;
    struct error ignored = {0};
    struct stat status;
    if (job->output.is_in_place)
        return false;
    if (!path || strcmp(path, "-") == 0)
        return is_plain_file_in_memory(STDOUT_FILENO) && fstat(STDOUT_FILENO, &status) == 0 &&
               (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND ||
                lseek(STDOUT_FILENO, 0, SEEK_CUR) >= status.st_size);
    const bool is_in_memory = output_path_open(path, path, &found, &ignored) &&
                              is_plain_file_in_memory(found.descriptor >= 0 ? found.descriptor
                                                      : found.exists        ? found.file
                                                                            : found.directory);
    output_path_close(&found);
    return is_in_memory;
}

/* Returns the bytes of sorted parts that may be stored in memory, 0: none; or SIZE_UNKNOWN. */
static uint64_t parts_beside_sort(const struct job *job)
{
    if (!job->memory.has_parts_in_memory || job->action != JOB_SORT || job->sort.item_bytes <= 2 ||
        !job_may_have_parts(job))
        return 0;
    const uint64_t spilled = job_spilled_bytes(job);
    if (spilled > 0)
        return spilled;
    return job->keep_lines                    ? job->input_bytes
           : job->sort.count == COUNT_UNKNOWN ? SIZE_UNKNOWN
                                              : job->sort.count * job->sort.item_bytes;
}

/* Returns the bytes of an output in memory that is written while the memory of the sort is still
 * used: that of lines, whose text stays there, and that of numbers which the CPU sorts in parts. If
 * its size is not known, it is taken to be the size of the input, which may be SIZE_UNKNOWN, or
 * half of the memory if the output is compressed and that is less. 0: none, or --top. */
static uint64_t output_beside_sort(const struct job *job)
{
    const bool is_written_later =
        !job->keep_lines && (job->backend != backends[0] || job->sort.item_bytes <= 2 ||
                             job->sort.count <= job->part_count);
    if (!job->memory.has_output_in_memory || is_written_later || job->sort.is_top ||
        job->action == JOB_CHECK)
        return 0;
    const uint64_t bytes = job_output_bytes(job);
    return bytes > 0                   ? bytes
           : job->output.codec->encode ? smaller(job->input_bytes, memory_of_system_at_start() / 2)
                                       : job->input_bytes;
}

/* An input of up to SMALL_INPUT_BYTES takes less than SMALL_INPUT_MEMORY, even if each of its bytes
 * is a line. */
#define SMALL_INPUT_BYTES ((uint64_t)1 << 20)
#define SMALL_INPUT_MEMORY ((size_t)256 << 20)

static void choose_parts(struct job *job)
{
    const struct memory_limits *const memory = &job->memory;
    const bool is_host = job->backend == backends[0];
    const size_t some = memory->host_bytes / 8 / KEYS_BYTES_MIN * KEYS_BYTES_MIN;
    job->keys_bytes = some > KEYS_BYTES       ? KEYS_BYTES
                      : some > KEYS_BYTES_MIN ? some
                                              : KEYS_BYTES_MIN;
    job->part_count = memory_limits_part(memory, &job->sort, is_host,
                                         job->argsort.index_type ? job->keys_bytes : 0);
    if (keeps_few(job, is_host))
        job->part_count = SIZE_MAX;
    job->part_bytes = line_bytes(job, is_host);
}

/* Returns the part of `available` bytes for the sort of this rank. */
static size_t rank_part(const struct job *job, size_t available)
{
    const struct group *const group = job->group; /* its ranks on this host share the memory */
    return without_codecs(job, HOST_PART(available) / (group ? group->host_size : 1));
}

/* Lowers the memory, also that of -S, to what is left beside sorted parts and an output in memory,
 * or to half of what is free if their size is not known. Parts that were certain before still are,
 * because less memory means at least as many. */
static void leave_room_for_files(struct job *job)
{
    struct memory_limits *const memory = &job->memory;
    const uint64_t parts = parts_beside_sort(job), output = output_beside_sort(job);
    if (parts == 0 && output == 0)
        return;
    const bool is_known = parts != SIZE_UNKNOWN && output != SIZE_UNKNOWN;
    const size_t system = memory_of_system_at_start(); /* of which files in memory take */
    const uint64_t files = is_known ? parts + output : system / 2;
    const size_t left = files < system ? system - (size_t)files : 0;
    const size_t least = memory_least(job->group ? job->group->host_size : 0);
    const size_t most = rank_part(job, left > least ? left : least);
    if (memory->host_bytes <= most)
        return;
    memory->host_bytes = most;
    memory->host_reason = "most of what is free beside files in memory";
    choose_parts(job);
}

/* Sets the memory that the job may take, and the reason. Finding what is free means reading a dozen
 * files, which a small input is not worth. */
static void choose_host_memory(const struct options *options, struct plan *plan)
{
    struct job *const job = &plan->job;
    struct memory_limits *const memory = &job->memory;
    /* What is left of the process's address space, without stacks. */
    const size_t left = memory_process_left(job->sort.threads);
    const size_t most = left == SIZE_MAX ? left : HOST_PART(without_codecs(job, left));
    const bool is_small =
        options->action == ACTION_SORT && plan->job.input_bytes <= SMALL_INPUT_BYTES;
    size_t available = SIZE_MAX;
    if (!is_small) {
        (void)memory_at_start(); /* before anything is read */
        memory->has_parts_in_memory = are_in_memory(memory);
        memory->has_output_in_memory = has_output_in_memory(job);
        available = memory_available(job->sort.threads);
    }
    if (options->memory.host.is_said) {
        memory->host_bytes = options->memory.host.bytes;
        memory->host_reason = "as -S says";
    } else if (is_small) {
        memory->host_bytes = SMALL_INPUT_MEMORY;
        memory->host_reason = "enough for a small input";
    } else {
        memory->host_bytes = rank_part(job, available);
        memory->host_reason = "most of what is free";
    }
    if (memory->host_bytes > most) {
        memory->host_bytes = most;
        memory->host_reason = "most of what the limits of the process leave";
    }
    memory->other_bytes = job->group ? MEMORY_OF_MPI : 0;
    choose_parts(job);
    leave_room_for_files(job);
    memory_plan(is_small ? 0 : memory->host_bytes, job->group ? job->group->host_size : 1);
}

void plan_choose_memory(const struct options *options, struct plan *plan)
{
    struct job *const job = &plan->job;
    struct memory_limits *const memory = &job->memory;
    const struct memory_words *const words = &options->memory;
    const bool is_host = job->backend == backends[0];
    memory->device_bytes = is_host ? 0 : plan->device.memory_bytes / plan->device_ranks;
    memory->device_is_limited =
        plan->device_ranks > 1 ||
        (words->device.is_said &&
         words->device.bytes * job->sort.device_count == plan->device.memory_bytes);
    plan_choose_directories(options, plan);
    choose_host_memory(options, plan);
}
