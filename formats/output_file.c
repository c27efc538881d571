/* output_file.c - see output_file.h.
 *
 * "-o FILE" may name an input, so FILE is never opened for writing: what is written goes to a
 * temporary in the same directory, and rename(2) puts it in FILE's place at once or not at all. The
 * rules of opening it are kept nevertheless: a file that may not be written is refused, a symbolic
 * link stands for the file that it names, and the mode stays that of the file replaced.
 */
#include "formats/output_file.h"

#include "core/first_place.h"
#include "core/trace.h"
#include "formats/descriptor.h"
#include "formats/mapped_file.h"
#include "formats/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define SYMBOLIC_LINKS_MAX 40 /* as Linux */

/* Handed to write(2) at a time, so that somebody who looks on sees how far it is. */
#define WRITE_BYTES ((size_t)64 << 20)

/* Less is seen by the thread that writes it, before it does. */
#define WATCHED_BYTES_MIN ((size_t)1 << 20)

/* The descriptor that a path of /dev or /proc names, or -1. */
static int named_descriptor(const char *path)
{
    static const char *const directories[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        const size_t length = strlen(directories[i]);
        const char *digits = path + length;
        if (strncmp(path, directories[i], length) == 0 && *digits && strlen(digits) < 9 &&
            digits[strspn(digits, "0123456789")] == '\0')
            return atoi(digits);
    }
    return -1;
}

/* The path of directory/name, malloc'd; a directory "" is the root. */
static char *join(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* The absolute path of the last component of `path` inside its real directory, malloc'd; NULL with
 * errno. *directory_length: where that component's slash is. */
static char *locate(const char *path, size_t *directory_length)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!*name) {
        errno = slash ? EISDIR : ENOENT;
        return NULL;
    }
    char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *directory = parent ? realpath(parent, NULL) : NULL;
    char *located = NULL;
    if (directory) {
        *directory_length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
        directory[*directory_length] = '\0';
        located = join(directory, name);
    }
    free(parent);
    free(directory);
    return located;
}

/* The absolute path of the file that `path` names, which need not exist, with symbolic links
 * followed, malloc'd; NULL with errno. */
static char *resolve_target(const char *path)
{
    char *current = strdup(path);
    for (int links = 0; current && links <= SYMBOLIC_LINKS_MAX; links++) {
        size_t directory_length;
        char *located = locate(current, &directory_length);
        free(current);
        if (!located)
            return NULL;
        char link[PATH_MAX];
        const ssize_t length = readlink(located, link, sizeof link - 1);
        if (length < 0 && (errno == EINVAL || errno == ENOENT))
            return located; /* not a link, or not there */
        if (length < 0) {
            free(located);
            return NULL;
        }
        link[length] = '\0';
        located[directory_length] = '\0';
        current = link[0] == '/' ? strdup(link) : join(located, link);
        free(located);
    }
    if (current)
        errno = ELOOP;
    free(current);
    return NULL;
}

/* Gives the temporary the owner and the mode of the file that it will replace, as far as allowed.
 * Where the group cannot be kept, the new one may do no more than everybody; no setuid or setgid is
 * passed on, as a write would clear them too. */
static bool copy_ownership(int file, const struct stat *replaced)
{
    mode_t mode = replaced->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    if (fchown(file, replaced->st_uid, replaced->st_gid) != 0 &&
        fchown(file, (uid_t)-1, replaced->st_gid) != 0)
        mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
    return fchmod(file, mode) == 0;
}

/* Standard output, or another descriptor that is open already: shares its offset. */
static bool open_descriptor(int descriptor, const char *name, struct output_file *output,
                            struct error *error)
{
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
        errno = EBADF; /* as write(2) would say */
    else if (flags >= 0)
        output->file = descriptor_copy(descriptor);
    output->is_given = true;
    return output->file >= 0 || error_set_errno(error, "%s", name);
}

/* The temporary beside the file that path names. *replaced: that file, NULL when there is none. */
static bool open_temporary(const char *path, const char *name, const struct stat *replaced,
                           struct output_file *output, struct error *error)
{
    output->target = resolve_target(path);
    if (!output->target)
        return error_set_errno(error, "%s", name);
    if (replaced && faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) != 0)
        return error_set_errno(error, "%s", name);
    const mode_t mode = replaced ? S_IRUSR | S_IWUSR : 0666;
    if (!temporary_create(output->target, mode, &output->file)) {
        const bool names_cause = errno == ENOENT || errno == ENOTDIR;
        return error_set_errno(error, names_cause ? "%s" : "%s: cannot create a file beside it",
                               name);
    }
    return !replaced || copy_ownership(output->file, replaced) ||
           error_set_errno(error, "%s", name);
}

/* What is at the path decides how it is opened. */
static bool open_path(const char *path, const char *name, struct output_file *output,
                      struct error *error)
{
    struct stat status;
    const bool exists = stat(path, &status) == 0;
    if (!exists && errno != ENOENT)
        return error_set_errno(error, "%s", name);
    if (exists && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return error_set_errno(error, "%s", name);
    }
    if (!exists || S_ISREG(status.st_mode))
        return open_temporary(path, name, exists ? &status : NULL, output, error);
    output->file = descriptor_raise(open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
    return output->file >= 0 || error_set_errno(error, "%s", name);
}

bool output_file_open(const char *path, const char *name, struct output_file *output,
                      struct error *error)
{
    *output = (struct output_file){.file = -1, .writers = 1};
    const int descriptor = path ? named_descriptor(path) : STDOUT_FILENO;
    const bool opened = descriptor >= 0 ? open_descriptor(descriptor, name, output, error)
                                        : open_path(path, name, output, error);
    if (opened)
        descriptor_widen_pipe(output->file);
    else
        output_file_discard(output);
    return opened;
}

/* The file systems that are written faster through a mapping, and by how many threads at most. All
 * others are written by write(2): space taken ahead may not mean there that a page can be had.
 * 4 GB, 16 cores of an Intel Xeon, 2026-11-20, GB/s:
 *
 *   write(2)       tmpfs 2.9 by any number of threads, 3.1 with fallocate; ext4 4.2, 5.0 with it
 *   mapping        1, 2, 4, 8, 16 threads: tmpfs 1.6, 2.7, 4.0, 5.5, 6.8;
 * ext4 3.3, 5.4, 8.4, 2.1, 2.1 without space  tmpfs 17 by 16 threads: with the time of fallocate
 * taken off
 *
 * On two cores a mapping is slower: tmpfs 0.7 for 1.4, ext4 2 for 4. XFS is taken to be as ext4. */
static const struct mapped_way {
    long file_system; /* f_type of statfs(2) */
    unsigned writers;
} mapped_ways[] = {
    {TMPFS_MAGIC, OUTPUT_WRITERS_MAX},
    {EXT4_SUPER_MAGIC, 4}, /* also ext2's and ext3's, where fallocate says that it cannot */
    {XFS_SUPER_MAGIC, 4},
};

/* The row for the file's file system; NULL if there is none. */
static const struct mapped_way *find_mapped_way(int file)
{
    struct statfs status;
    if (fstatfs(file, &status) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof mapped_ways / sizeof mapped_ways[0]; i++)
        if ((long)status.f_type == mapped_ways[i].file_system)
            return &mapped_ways[i];
    return NULL;
}

/* A file that the shell has just made for us to write to can be mapped once it is open for reading
 * as well. Not one that has content, where the output may begin in the midst of a page, or that is
 * appended to, as others may do that too. Others may write to it besides, as in `xargs -P2 gpusort
 * >FILE`: the offset that they share with us is moved behind our `bytes` in one step, so that they
 * go on there. */
static bool open_anew(struct output_file *output, uint64_t bytes)
{
    char path[32];
    struct stat status;
    const int flags = fcntl(output->file, F_GETFL);
    if (!output->is_given || flags < 0 || (flags & O_APPEND) || fstat(output->file, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size != 0 || lseek(output->file, 0, SEEK_CUR) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", output->file);
    const int file = descriptor_raise(open(path, O_RDWR | O_CLOEXEC));
    if (file < 0)
        return false;
    const off_t behind = lseek(output->file, (off_t)bytes, SEEK_CUR);
    if (behind != (off_t)bytes) { /* somebody was sooner */
        if (behind >= 0)
            (void)lseek(output->file, -(off_t)bytes, SEEK_CUR);
        close(file);
        return false;
    }
    output->shared = output->file;
    output->file = file;
    return true;
}

void output_file_expect(struct output_file *output, uint64_t bytes, unsigned threads)
{
    if (output->expected > 0 || output->claimed > 0 || bytes > INT64_MAX)
        return;
    if (output->target)
        output->expected = bytes;
    if (bytes < MAPPED_FILE_MIN || threads < OUTPUT_WRITERS_MIN)
        return;
    const struct mapped_way *way = find_mapped_way(output->file);
    if (!way || !(output->target || open_anew(output, bytes)))
        return;
    output->expected = bytes;
    output->mapped = mapped_file_open(output->file, bytes, !output->target);
    if (output->mapped)
        output->writers = threads < way->writers ? threads : way->writers;
}

uint64_t output_file_claim(struct output_file *output, size_t bytes)
{
    const uint64_t place = output->claimed;
    output->claimed += bytes;
    return place;
}

/* 4.7 GB/s become 5.2 on ext4 (2 GiB, November 2026). The size stays that of what is written. Where
 * the file system cannot do it, nothing is lost; where it is too full, the writes will tell. */
static void preallocate(struct output_file *output)
{
    if (output->expected > 0 && !output->is_preallocated)
        (void)fallocate(output->file, FALLOC_FL_KEEP_SIZE, 0, (off_t)output->expected);
    output->is_preallocated = true;
}

/* False with errno. */
static bool write_piece(struct output_file *output, const unsigned char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const uint64_t begin_ns = trace_begin();
        const ssize_t written = write(output->file, data + done, bytes - done);
        if (written >= 0)
            trace_end(output->is_spill ? TRACE_SPILL : TRACE_WRITE, begin_ns, (uint64_t)written);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

/* The same, while other threads look at the piece. */
static bool write_watched(struct output_file *output, const unsigned char *data, size_t bytes,
                          unsigned threads, struct tap *tap)
{
    struct tap_watch watch = {tap, data, bytes, 0};
    int cause = 0;
#pragma omp parallel num_threads((int)threads)
    {
        if (omp_get_thread_num() == 0 && !write_piece(output, data, bytes))
            cause = errno;
        tap_watch_pieces(&watch);
    }
    errno = cause;
    return cause == 0;
}

/* False with errno. */
static bool write_straight(struct output_file *output, const void *data, size_t bytes,
                           unsigned threads, struct tap *tap)
{
    const bool is_watched = tap && threads > 1 && bytes >= WATCHED_BYTES_MIN;
    const size_t most = tap && !is_watched ? TAP_PIECE_BYTES : WRITE_BYTES;
    preallocate(output);
    for (size_t done = 0, piece; done < bytes; done += piece) {
        const unsigned char *const content = (const unsigned char *)data + done;
        piece = bytes - done < most ? bytes - done : most;
        if (!is_watched)
            tap_see(tap, content, piece);
        if (!(is_watched ? write_watched(output, content, piece, threads, tap)
                         : write_piece(output, content, piece)))
            return false;
    }
    return true;
}

/* What is behind the mapping, as more came than was told, by pwrite(2). False with errno. */
static bool write_mapped(const struct output_file *output, uint64_t place, const void *data,
                         size_t bytes, unsigned threads, struct tap *tap)
{
    size_t done;
    const unsigned writers = threads < output->writers ? threads : output->writers;
    if (!mapped_file_write(output->mapped, place, data, bytes, writers, tap, threads, &done))
        return false;
    tap_see_all(tap, (const unsigned char *)data + done, bytes - done, threads);
    while (done < bytes) {
        const uint64_t begin_ns = trace_begin();
        const ssize_t written = pwrite(output->file, (const unsigned char *)data + done,
                                       bytes - done, (off_t)(place + done));
        if (written >= 0)
            trace_end(TRACE_WRITE, begin_ns, (uint64_t)written);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

bool output_file_write(struct output_file *output, uint64_t place, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, const char *name, struct error *error)
{
    const bool written = output->mapped ? write_mapped(output, place, data, bytes, threads, tap)
                                        : write_straight(output, data, bytes, threads, tap);
    const int cause = errno;
    if (!written)
        output_file_lose(output, place);
    errno = cause;
    return written || error_set_errno(error, "%s", name);
}

void output_file_lose(struct output_file *output, uint64_t place)
{
    first_place_note(&output->lost, place);
}

/* Up to where all was written. */
static uint64_t whole_bytes(const struct output_file *output)
{
    return output->lost > 0 ? output->lost - 1 : output->claimed;
}

/* True if somebody has written to standard output behind the space that was taken. */
static bool is_followed(const struct output_file *output)
{
    return output->shared > 0 && lseek(output->shared, 0, SEEK_CUR) != (off_t)output->expected;
}

/* Ends the mapping, and gives back the space that was taken and not used. False with errno. */
static bool trim(struct output_file *output)
{
    const uint64_t begin_ns = trace_begin();
    mapped_file_close(output->mapped);
    output->mapped = NULL;
    trace_span(TRACE_WRITE, "unmap", begin_ns, trace_begin(), 0);
    return output->expected == 0 || is_followed(output) ||
           ftruncate(output->file, (off_t)whole_bytes(output)) == 0;
}

/* Who writes to standard output next goes on behind what was written. False with errno. */
static bool leave_shared(struct output_file *output)
{
    const int shared = output->shared;
    if (shared == 0)
        return true;
    const bool is_moved =
        is_followed(output) || lseek(shared, (off_t)whole_bytes(output), SEEK_SET) >= 0;
    output->shared = 0;
    return close(shared) == 0 && is_moved;
}

/* Pages that are on the disk are dropped from memory where the file system can do that. */
bool output_file_store(struct output_file *output, const char *name, struct error *error)
{
    if (!trim(output) || fdatasync(output->file) != 0)
        return error_set_errno(error, "%s", name);
    (void)posix_fadvise(output->file, 0, 0, POSIX_FADV_DONTNEED); /* only a wish */
    return true;
}

bool output_file_commit(struct output_file *output, const char *name, struct error *error)
{
    bool committed = trim(output) && leave_shared(output);
    committed = committed || error_set_errno(error, "%s", name);
    const int file = output->file;
    output->file = -1; /* gone even if close(2) fails */
    committed = close(file) == 0 && committed;
    const uint64_t begin_ns = trace_begin();
    if (committed && output->target)
        committed = temporary_rename(output->target);
    trace_span(TRACE_WRITE, "rename", begin_ns, trace_begin(), 0);
    if (!committed) {
        error_set_errno(error, "%s", name);
        if (output->target)
            temporary_remove();
    }
    free(output->target);
    output->target = NULL;
    return committed;
}

void output_file_discard(struct output_file *output)
{
    if (output->shared > 0) { /* what was written stays */
        (void)trim(output);
        (void)leave_shared(output);
    }
    mapped_file_close(output->mapped);
    output->mapped = NULL;
    if (output->file >= 0) {
        close(output->file);
        if (output->target)
            temporary_remove();
    }
    output->file = -1;
    free(output->target);
    output->target = NULL;
}
