/* SPDX-License-Identifier: Apache-2.0 */
/* spill.c - see spill.h. */
#include "formats/io/spill.h"

#include "core/host_limits.h"
#include "core/trace.h"
#include "formats/descriptor.h"
#include "formats/io/input_file.h"
#include "formats/io/mapped_file.h"
#include "formats/io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes of one hint (posix_fadvise(2)). Linux reads no more for a hint than its read-ahead size, by
 * default these 128 KiB, or the device's largest request if that is more. */
#define PREFETCH_BYTES ((size_t)128 << 10)

/* The extents of a run that were written before its directory was full. */
struct spill_extent {
    struct spill_extent *next;
    struct spill_run run;
};

struct spill_file {
    const char *directory;
    char *name;   /* for messages */
    int file;     /* -1: not created yet */
    bool is_full; /* no more space, or no memory for a file in memory */
    bool is_in_memory;
    struct memory_watch watch; /* of a file in memory */
};

struct spill {
    struct spill_extent *extents; /* of all runs, to be freed */
    char *names;                  /* of all files, for messages */
    size_t next;                  /* index of the file for the next run */
    size_t count;
    struct spill_file files[];
};

/* Returns TMPDIR if that named the directory, or the option that can name another. */
static const char *origin(const char *directory)
{
    return directory == getenv("TMPDIR") ? "TMPDIR" : "-T";
}

/* Returns false with errno if no file can be created in the directory. Checks its entry ".",
 * because only a directory has one. */
static bool can_make_file(const char *directory)
{
    char *path;
    if (asprintf(&path, "%s/.", directory) < 0)
        return false;
    const bool can = descriptor_may_access(AT_FDCWD, path, W_OK | X_OK);
    const int cause = errno;
    free(path);
    errno = cause;
    return can;
}

#define FILE_NAME "temporary file in '%s' (%s)"
#define NAME_DISK "name a directory on a disk with -T"

/* Sets the error of a file that cannot be created, of which errno is the cause. */
static bool fail_to_create(const char *directory, struct error *error)
{
    const bool is_at_limit = errno == EMFILE || errno == ENFILE; /* of open files */
    error_set_errno(error, "cannot create " FILE_NAME, directory, origin(directory));
    if (!is_at_limit)
        error_add(error, "; -T names another directory");
    return false;
}

bool spill_check(const char *const *directories, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!can_make_file(directories[i]))
            return fail_to_create(directories[i], error);
    return true;
}

/* Returns NULL if memory runs out. */
static char *join_names(const char *const *directories, size_t count)
{
    char *names;
    size_t bytes;
    FILE *const stream = open_memstream(&names, &bytes);
    if (!stream)
        return NULL;
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "%s'%s'",
                i > 0        ? ", "
                : count == 1 ? "temporary file in "
                             : "temporary files in ",
                directories[i]);
    fprintf(stream, " (%s)", origin(directories[0]));
    return fclose(stream) == 0 ? names : NULL;
}

/* The file systems of the directories, and their free space. */
struct room {
    dev_t *devices;
    size_t count;
    uint64_t free_bytes;
    bool is_certain;
};

static bool room_has(const struct room *room, dev_t device)
{
    for (size_t i = 0; i < room->count; i++)
        if (room->devices[i] == device)
            return true;
    return false;
}

static void room_add(struct room *room, int file)
{
    struct stat status;
    uint64_t bytes = 0;
    if (fstat(file, &status) != 0 || room_has(room, status.st_dev))
        return;
    room->devices[room->count++] = status.st_dev;
    room->is_certain = room->is_certain && file_space_free(file, &bytes);
    room->free_bytes += bytes;
}

/* Another thread may be allocating the output's space. So the caller has measured the free space
 * before this reads what the output has: the sum is too large rather than too small. */
static bool check_room(const struct room *room, int file, uint64_t bytes, const char *names,
                       struct spill_neighbour neighbour, bool *fits_alone, struct error *error)
{
    struct stat status;
    char *name;
    const bool has_neighbour =
        neighbour.bytes > 0 && fstat(neighbour.file, &status) == 0 && room_has(room, status.st_dev);
    const uint64_t has = has_neighbour ? (uint64_t)status.st_blocks * 512 : 0;
    const uint64_t needs = has_neighbour && neighbour.bytes > has ? neighbour.bytes - has : 0;
    const uint64_t left = room->free_bytes > needs ? room->free_bytes - needs : 0;
    *fits_alone = has_neighbour && room->is_certain && room->free_bytes + has >= bytes;
    const bool has_room = !room->is_certain || left >= bytes;
    if (asprintf(&name, "%s%s", names,
                 !has_neighbour ? ""
                 : has_room     ? ", beside the output"
                                : " and the output") < 0)
        return true;
    const bool ok =
        (has_room || file_space_refuse(name, bytes + (has_neighbour ? neighbour.bytes : 0),
                                       room->free_bytes + has, error)) &&
        (file < 0 || file_space_check(file, bytes, SPACE_TRY, name, error));
    free(name);
    return ok;
}

bool spill_check_room(const char *const *directories, size_t count, uint64_t bytes,
                      struct spill_neighbour neighbour, bool *fits_alone, struct error *error)
{
    struct room room = {.devices = calloc(count, sizeof *room.devices), .is_certain = true};
    char *const names = join_names(directories, count);
    int file = -1;
    bool ok = room.devices && names;
    *fits_alone = false;
    for (size_t i = 0; ok && i < count; i++) {
        if (i > 0)
            close(file);
        ok = temporary_create_nameless(directories[i], &file);
        if (ok)
            room_add(&room, file);
    }
    ok = !ok ||
         check_room(&room, count == 1 ? file : -1, bytes, names, neighbour, fits_alone, error);
    if (file >= 0)
        close(file);
    free(room.devices);
    free(names);
    return ok;
}

struct spill *spill_create(const char *const *directories, size_t count)
{
    struct spill *const spill = calloc(1, sizeof *spill + count * sizeof spill->files[0]);
    if (!spill)
        return NULL;
    spill->names = join_names(directories, count);
    for (; spill->count < count; spill->count++) {
        struct spill_file *const file = &spill->files[spill->count];
        *file = (struct spill_file){.directory = directories[spill->count], .file = -1};
        if (asprintf(&file->name, FILE_NAME, file->directory, origin(file->directory)) < 0)
            file->name = NULL;
        if (!file->name || !spill->names) {
            spill_free(spill);
            return NULL;
        }
    }
    return spill;
}

/* Returns true if the failure, in errno, means that another directory may have room. */
static bool is_full(void)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == ENOMEM;
}

/* Continues the run at the end of a file that is not full, and creates the file if necessary. If
 * all files are full, the error is that of errno, which the caller has set, or of the last file
 * that could not be created. */
static bool open_extent(struct spill *spill, struct spill_run *run, struct error *error)
{
    for (size_t tries = 0; tries < spill->count; tries++) {
        struct spill_file *const file = &spill->files[spill->next];
        spill->next = (spill->next + 1) % spill->count;
        if (file->is_full)
            continue;
        if (file->file < 0 && !temporary_create_nameless(file->directory, &file->file)) {
            file->is_full = is_full();
            if (file->is_full && spill->count > 1)
                continue;
            return fail_to_create(file->directory, error);
        }
        file->is_in_memory = file_is_in_memory(file->file);
        const off_t end = lseek(file->file, 0, SEEK_END);
        run->file = file->file;
        run->name = file->name;
        run->begin = (uint64_t)end;
        return end >= 0 || error_set_errno(error, "%s", file->name);
    }
    if (errno == ENOMEM)
        return error_set(
            error, "%s: no memory is left for sorted parts, which are stored in memory: " NAME_DISK,
            spill->names);
    const bool is_limit = error_is_size_limit(errno);
    error_set_errno(error, "%s", spill->names);
    if (!is_limit)
        error_add(error, "; name more directories with -T");
    return false;
}

bool spill_begin(struct spill *spill, struct spill_run *run, struct error *error)
{
    *run = (struct spill_run){.spill = spill};
    errno = ENOSPC; /* the error of full files */
    return open_extent(spill, run, error);
}

bool spill_end(struct spill_run *run, struct error *error)
{
    const off_t end = lseek(run->file, 0, SEEK_CUR);
    if (end < 0)
        return error_set_errno(error, "%s", run->name);
    run->bytes = (run->before ? run->before->bytes : 0) + (uint64_t)end - run->begin;
    return true;
}

static struct spill_file *file_of(const struct spill_run *run)
{
    struct spill_file *file = run->spill->files;
    while (file->file != run->file)
        file++;
    return file;
}

/* Continues the run in another directory, because its own is full. errno has the cause. */
static bool go_on_elsewhere(struct spill_run *run, struct error *error)
{
    struct spill *const spill = run->spill;
    const int cause = errno;
    struct spill_extent *const extent = malloc(sizeof *extent);
    if (!extent)
        return error_set(error, "%s: out of memory", run->name);
    *extent = (struct spill_extent){.next = spill->extents};
    spill->extents = extent;
    file_of(run)->is_full = true;
    if (!spill_end(run, error))
        return false;
    extent->run = *run;
    run->before = &extent->run;
    errno = cause;
    return open_extent(spill, run, error);
}

/* Bytes of one write to a file in memory. */
#define GROW_BYTES ((size_t)1 << 20)

/* As write(2), at most GROW_BYTES to a file in memory. If that has no memory left, errno is
 * ENOMEM. */
static ssize_t append_some(struct spill_run *run, const unsigned char *data, size_t bytes)
{
    struct spill_file *const file = file_of(run);
    if (file->is_in_memory) {
        bytes = bytes < GROW_BYTES ? bytes : GROW_BYTES;
        if (!memory_watch_grow(&file->watch, bytes, true)) {
            errno = ENOMEM;
            return -1;
        }
    }
    return write(run->file, data, bytes);
}

bool spill_append(struct spill_run *run, const void *data, size_t bytes, struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    for (size_t done = 0; done < bytes;) {
        const ssize_t written = append_some(run, (const unsigned char *)data + done, bytes - done);
        if (written >= 0)
            done += (size_t)written;
        else if (is_full() ? !go_on_elsewhere(run, error) : errno != EINTR)
            return error_set_errno(error, "%s", run->name);
    }
    trace_end(TRACE_SPILL, begin_ns, bytes);
    return true;
}

static bool read_extent(const struct spill_run *run, uint64_t position, void *data, size_t bytes,
                        struct error *error)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(run->file, (unsigned char *)data + done, bytes - done,
                                  (off_t)(run->begin + position + done));
        if (got == 0)
            errno = EIO; /* less than was written */
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return error_set_errno(error, "%s", run->name);
    }
    return true;
}

bool spill_read(const struct spill_run *run, uint64_t offset, void *data, size_t bytes,
                struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    unsigned char *at = data;
    for (size_t left = bytes; left > 0;) {
        const struct spill_run *extent = run;
        uint64_t end = run->bytes;
        for (; extent->before && offset < extent->before->bytes; extent = extent->before)
            end = extent->before->bytes;
        const size_t count = end - offset < left ? (size_t)(end - offset) : left;
        if (!read_extent(extent, offset - (extent->before ? extent->before->bytes : 0), at, count,
                         error))
            return false;
        at += count;
        offset += count;
        left -= count;
    }
    trace_end(TRACE_SPILL, begin_ns, bytes);
    return true;
}

static bool read_run(void *run, uint64_t first, void *data, size_t bytes, struct error *error)
{
    return spill_read(run, first, data, bytes, error);
}

struct input_stream spill_stream(struct spill_run *run)
{
    return (struct input_stream){read_run, NULL, run, run->bytes};
}

void spill_prefetch(const struct spill_run *run, uint64_t offset, size_t bytes)
{
    const uint64_t begin = run->before ? run->before->bytes : 0;
    for (size_t done = 0; offset >= begin && done < bytes; done += PREFETCH_BYTES)
        (void)posix_fadvise(run->file, (off_t)(run->begin + offset - begin + done),
                            (off_t)(bytes - done < PREFETCH_BYTES ? bytes - done : PREFETCH_BYTES),
                            POSIX_FADV_WILLNEED); /* a hint */
}

void spill_drop(const struct spill_run *run)
{
    for (; run; run = run->before) {
        const uint64_t bytes = run->bytes - (run->before ? run->before->bytes : 0);
        if (bytes > 0 && fallocate(run->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   (off_t)run->begin, (off_t)bytes) == 0)
            file_of(run)->is_full = false; /* otherwise its space is released with the file */
    }
}

void spill_free(struct spill *spill)
{
    if (!spill)
        return;
    for (size_t i = 0; i < spill->count; i++) {
        if (spill->files[i].file >= 0)
            close(spill->files[i].file);
        free(spill->files[i].name);
    }
    while (spill->extents) {
        struct spill_extent *const extent = spill->extents;
        spill->extents = extent->next;
        free(extent);
    }
    free(spill->names);
    free(spill);
}
