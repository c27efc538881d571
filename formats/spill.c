/* spill.c - see spill.h. */
#include "formats/spill.h"

#include "core/trace.h"
#include "formats/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct spill_file {
    const char *directory;
    char *name; /* for messages */
    int file;   /* -1: not made yet */
};

struct spill {
    size_t next; /* the file that the next run goes to */
    size_t count;
    struct spill_file files[];
};

struct spill *spill_create(const char *const *directories, size_t count)
{
    struct spill *const spill = calloc(1, sizeof *spill + count * sizeof spill->files[0]);
    if (!spill)
        return NULL;
    for (; spill->count < count; spill->count++) {
        struct spill_file *const file = &spill->files[spill->count];
        *file = (struct spill_file){.directory = directories[spill->count], .file = -1};
        if (asprintf(&file->name, "temporary file in '%s' (-T)", file->directory) < 0) {
            file->name = NULL;
            spill_free(spill);
            return NULL;
        }
    }
    return spill;
}

bool spill_begin(struct spill *spill, struct spill_run *run, struct error *error)
{
    struct spill_file *const file = &spill->files[spill->next];
    spill->next = (spill->next + 1) % spill->count;
    if (file->file < 0 && !temporary_create_nameless(file->directory, &file->file))
        return error_set_errno(error, "cannot create %s", file->name);
    const off_t end = lseek(file->file, 0, SEEK_END);
    *run = (struct spill_run){.file = file->file, .name = file->name, .begin = (uint64_t)end};
    return end >= 0 || error_set_errno(error, "%s", file->name);
}

bool spill_append(const struct spill_run *run, const void *data, size_t bytes, struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    for (size_t done = 0; done < bytes;) {
        const ssize_t written = write(run->file, (const unsigned char *)data + done, bytes - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            return error_set_errno(error, "%s", run->name);
    }
    trace_end(TRACE_SPILL, begin_ns, bytes);
    return true;
}

bool spill_end(struct spill_run *run, struct error *error)
{
    const off_t end = lseek(run->file, 0, SEEK_CUR);
    if (end < 0)
        return error_set_errno(error, "%s", run->name);
    run->bytes = (uint64_t)end - run->begin;
    return true;
}

bool spill_read(const struct spill_run *run, uint64_t offset, void *data, size_t bytes,
                struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(run->file, (unsigned char *)data + done, bytes - done,
                                  (off_t)(run->begin + offset + done));
        if (got == 0)
            errno = EIO; /* shorter than what was written */
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return error_set_errno(error, "%s", run->name);
    }
    trace_end(TRACE_SPILL, begin_ns, bytes);
    return true;
}

void spill_prefetch(const struct spill_run *run, uint64_t offset, size_t bytes)
{
    (void)posix_fadvise(run->file, (off_t)(run->begin + offset), (off_t)bytes,
                        POSIX_FADV_WILLNEED); /* only a wish */
}

void spill_drop(const struct spill_run *run)
{
    if (run->bytes > 0)
        (void)fallocate(run->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)run->begin,
                        (off_t)run->bytes); /* else it goes with the file */
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
    free(spill);
}
