/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - see source.h.
 *
 *   plain:       file -> [read_ahead] -> [peeked] -> the caller's memory
 *   compressed:  file -> frame_reader -> [read_ahead] -> [peeked] -> the caller's memory
 *
 * The first block of the file is read when it is opened, because its first bytes name the codec. It
 * becomes the buffer `peeked` of a plain source, or goes to the frame reader. After that, bytes go
 * directly to the caller's memory; `peeked` is filled again only by source_peek. While the source
 * is read ahead, all of it except `peeked` belongs to that thread. source_stop_and_get_left() and
 * reads of more bytes than `peeked` has first end reading ahead.
 *
 * All inputs are open before the first is read. So opening one and reading its header must take few
 * resources. Threads that decode ahead are started only by later reads.
 *
 * A stream is decompressed once; plan_format.c refuses data that was compressed twice.
 */
#include "formats/io/source.h"

#include "formats/codec/codec.h"
#include "formats/codec/frames.h"
#include "formats/descriptor.h"
#include "formats/io/input_file.h"
#include "formats/io/read_ahead.h"
#include "formats/io/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Threads are started only if this many decoded bytes are left: one decodes them in about 1 ms. */
#define AHEAD_BYTES_MIN ((uint64_t)1 << 20)

/* Bytes of each read of source_store(). */
#define STORE_BYTES ((size_t)1 << 20)

/* Peeked bytes: data[begin..end) of `room` bytes. All inputs are open at once, so a small file has
 * little room. */
struct buffer {
    unsigned char *data;
    size_t begin, end, room;
};

struct source {
    struct input_file input;
    char *name;
    const struct codec *codec;
    const struct codec *decoded_from; /* NULL, or what source_codec() returns */
    struct frame_reader *frames;      /* reads the file; NULL for a plain source */
    int waker; /* ends the waits of `frames`; 0: none, as for regular files */
    bool is_standard_input;
    uint64_t content_left;    /* bytes of frames not yet decoded; SIZE_UNKNOWN: not known */
    struct buffer peeked;     /* decoded */
    struct read_ahead *ahead; /* bytes after `peeked`, read ahead; NULL: none */
    bool is_read;             /* it was read, or is read ahead, and not only peeked */
    bool ended;               /* no more decoded bytes, except in `peeked` and `ahead` */
};

static size_t buffered(const struct buffer *buffer)
{
    return buffer->end - buffer->begin;
}

/* Minimum room, for more than the magic of a codec. */
#define ROOM_MIN ((size_t)64)

/* Moves the bytes to new memory of `room` bytes, which is not less than they have. */
static bool buffer_move(struct source *source, struct buffer *buffer, size_t room,
                        struct error *error)
{
    unsigned char *const data = malloc(room);
    const size_t bytes = buffered(buffer);
    if (!data)
        return error_set(error, "%s: no memory to read it", source->name);
    if (bytes > 0)
        memcpy(data, buffer->data + buffer->begin, bytes);
    free(buffer->data);
    *buffer = (struct buffer){data, 0, bytes, room};
    return true;
}

/* Makes room for `want` bytes, or for all that a plain regular file has left, if that is less, and
 * one more byte, with which its end is found. */
static bool buffer_prepare(struct source *source, struct buffer *buffer, size_t want,
                           struct error *error)
{
    const struct input_file *const input = &source->input;
    if (!source->ahead && !source->frames && input->is_sized) { /* else a thread may be reading */
        const uint64_t left = input->offset < input->bytes ? input->bytes - input->offset : 0;
        if (buffered(buffer) + left < want)
            want = buffered(buffer) + (size_t)left + 1;
    }
    want = want > ROOM_MIN ? want : ROOM_MIN;
    return buffer->room - buffer->begin >= want || buffer_move(source, buffer, want, error);
}

/* Returns true if neither the file nor the bytes read ahead have more. */
static bool has_ended(const struct source *source)
{
    return !source->ahead && source->ended;
}

static bool check_frames_end(const struct source *source, struct error *error)
{
    const off_t end = source->input.is_sized ? lseek(source->input.file, 0, SEEK_CUR) : 0;
    return end < 0 || input_file_check_end(&source->input, (uint64_t)end, error);
}

/* Closes a named pipe that has ended. A writer that opens it later waits for the next reader;
 * otherwise what it writes before we close the pipe would be lost. */
static void leave_pipe(struct source *source)
{
    if (source->ended && S_ISFIFO(source->input.status.st_mode) && !source->is_standard_input)
        input_file_park(&source->input);
}

/* Reads 1..bytes decoded bytes after all that were read before, and may block; sets *got to 0 at
 * the end. The tap, which may be NULL, has observed the first *observed of them. */
static bool read_further(struct source *source, void *data, size_t bytes, struct tap *tap,
                         size_t *got, size_t *observed, struct error *error)
{
    *got = *observed = 0;
    if (source->ended)
        return true;
    if (source->frames) {
        const bool is_worth_threads = source->is_read && source->content_left >= AHEAD_BYTES_MIN;
        if (is_worth_threads && !frame_reader_start(source->frames, error))
            return false;
        if (!frame_reader_read(source->frames, data, bytes, got, error))
            return false;
        if (*got == 0 && !check_frames_end(source, error))
            return false;
        if (source->content_left != SIZE_UNKNOWN)
            source->content_left -= *got < source->content_left ? *got : source->content_left;
    } else if (!input_file_read(&source->input, data, bytes, tap, got, observed, error)) {
        return false;
    }
    source->ended = *got == 0;
    if (source->ended) { /* other inputs may need its threads and memory */
        frame_reader_close(source->frames);
        source->frames = NULL;
        leave_pipe(source);
    }
    return true;
}

/* Reads 1..bytes decoded bytes after those in `peeked`, as read_further() does. */
static bool read_some(struct source *source, void *data, size_t bytes, struct tap *tap, size_t *got,
                      size_t *observed, struct error *error)
{
    *got = *observed = 0;
    if (source->ahead) {
        (void)read_ahead_stop(source->ahead);
        if (!read_ahead_take(source->ahead, data, bytes, source->input.threads, got, error))
            return false;
        if (*got > 0)
            return true;
        read_ahead_close(source->ahead);
        source->ahead = NULL;
    }
    return read_further(source, data, bytes, tap, got, observed, error);
}

static bool read_for_thread(void *opaque, void *data, size_t bytes, size_t *got,
                            struct error *error)
{
    size_t observed;
    return read_further(opaque, data, bytes, NULL, got, &observed, error);
}

void source_read_ahead(struct source *source, size_t most)
{
    if (source->ahead || source->ended || most == 0)
        return;
    const bool is_plain = source->input.is_sized && !source->frames;
    if (is_plain || (source->frames && source->content_left < AHEAD_BYTES_MIN))
        return;
    const bool is_waited_for = !S_ISREG(source->input.status.st_mode);
    const struct read_ahead_spec spec = {.read = read_for_thread,
                                         .context = source,
                                         .file = is_waited_for ? source->input.file : -1,
                                         .most = most};
    source->is_read = true;
    source->ahead = read_ahead_start(&spec);
}

void source_prefetch(const struct source *source, size_t bytes)
{
    const struct input_file *const input = &source->input;
    const uint64_t left = input->bytes - input->offset;
    if (input->is_stream && input->stream.prefetch)
        input->stream.prefetch(input->stream.context, input->offset,
                               left < bytes ? (size_t)left : bytes);
}

uint64_t source_await(struct source *source, uint64_t want, bool *ended)
{
    const uint64_t peeked = buffered(&source->peeked);
    if (!source->ahead) {
        *ended = source->ended;
        return peeked;
    }
    const uint64_t missing = want > peeked ? want - peeked : 0;
    return peeked +
           read_ahead_await(source->ahead, missing < SIZE_MAX ? (size_t)missing : SIZE_MAX, ended);
}

/* ---- The codec ---- */

/* Bytes read when a source is opened. Few, because all inputs are open before the first is read. */
#define HEAD_BYTES ((size_t)16 << 10)

/* Reads the first bytes of the file, and chooses the codec. */
static bool choose_codec(struct source *source, const struct source_spec *spec, struct error *error)
{
    struct buffer *const head = &source->peeked;
    if (!buffer_prepare(source, head, HEAD_BYTES, error))
        return false;
    while (head->end < CODEC_MAGIC_BYTES && !source->input.has_ended) {
        size_t got;
        if (!input_file_read_once(&source->input, head->data + head->end, head->room - head->end,
                                  &got, error))
            return false;
        head->end += got;
    }
    const struct codec *const found = codec_find_by_magic(head->data, head->end);
    source->codec = spec->codec ? spec->codec : found;
    return !source->codec->decode || source->codec == found ||
           error_set(error, "%s: this is no %s data", source->name, source->codec->name);
}

/* Opens the eventfd that ends the waits of frame_reader.c, unless the file has a size, and so makes
 * no reader wait. */
static bool open_waker(struct source *source, struct error *error)
{
    if (source->input.is_sized)
        return true;
    source->waker = descriptor_raise(eventfd(0, EFD_CLOEXEC));
    return source->waker >= 0 || error_set_errno(error, "%s", source->name);
}

/* Reads the first block, finds the codec, and opens the frame reader of a compressed file. */
static bool find_codec(struct source *source, const struct source_spec *spec, struct error *error)
{
    struct buffer *const head = &source->peeked;
    size_t stem_length;
    if (!choose_codec(source, spec, error))
        return false;
    if (!source->codec->decode) {
        source->ended = source->input.has_ended;
        leave_pipe(source);
        return !source->ended || input_file_check_end(&source->input, source->input.offset, error);
    }
    if (!source->input.is_sized ||
        !source->codec->find_frames(source->input.file, source->input.offset - head->end,
                                    source->input.bytes, NULL, 0, &source->content_left))
        source->content_left = SIZE_UNKNOWN;
    if (!open_waker(source, error))
        return false;
    const struct frame_reader_spec reader = {
        .name = source->name,
        .file = source->input.file,
        .waker = source->waker,
        .codec = source->codec,
        .is_guess = !spec->codec && codec_find_by_name(spec->path, &stem_length) != source->codec,
        .window_log = spec->window_log,
        .threads = source->input.threads,
        .readers = spec->readers > 0 ? spec->readers : 1,
        .origin = spec->offset};
    const struct buffer taken = *head;
    *head = (struct buffer){0};
    source->frames = frame_reader_open(&reader, taken.data, taken.end, taken.room, error);
    return source->frames;
}

/* ---- Opening and reading ---- */

/* Creates a source without a file. Returns NULL if memory runs out. */
static struct source *source_create(const char *name, unsigned threads, struct error *error)
{
    struct source *const source = calloc(1, sizeof *source);
    if (!source || !(source->name = strdup(name))) {
        free(source);
        error_set(error, "%s: no memory to open it", name);
        return NULL;
    }
    source->input = (struct input_file){.name = source->name, .file = -1, .threads = threads};
    source->codec = codecs[0];
    return source;
}

/* Completes opening. file: the result of open(2), -1 with errno included. Closes the source on
 * failure. */
static bool begin(struct source *source, int file, const struct source_spec *spec,
                  struct source **out, struct error *error)
{
    const bool has_begun =
        input_file_begin(&source->input, file, error) && find_codec(source, spec, error);
    *out = has_begun ? source : NULL;
    if (!has_begun)
        source_close(source);
    return has_begun;
}

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *source_path_name(const char *path)
{
    return is_standard_input(path) ? "standard input" : *path ? path : "''";
}

bool source_check(const char *path, struct stat *status, struct error *error)
{
    const bool is_found = is_standard_input(path) ? fstat(STDIN_FILENO, status) == 0
                                                  : descriptor_may_access(AT_FDCWD, path, R_OK) &&
                                                        stat(path, status) == 0;
    if (is_found && !S_ISDIR(status->st_mode))
        return true;
    errno = is_found ? EISDIR : errno;
    return error_set_errno(error, "%s", source_path_name(path));
}

bool source_is_named_pipe(const char *path)
{
    struct stat status;
    struct statfs system;
    return !is_standard_input(path) && stat(path, &status) == 0 && S_ISFIFO(status.st_mode) &&
           statfs(path, &system) == 0 && system.f_type != PIPEFS_MAGIC;
}

int source_open_pipe(const char *path)
{
    if (!source_is_named_pipe(path))
        return -1;
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
    const int file = descriptor_raise(open(path, flags | O_NONBLOCK));
    if (file >= 0 && fcntl(file, F_SETFL, flags) < 0) {
        close(file);
        return -1;
    }
    descriptor_widen_pipe(file);
    return file;
}

static int open_path(const char *path)
{
    return is_standard_input(path) ? descriptor_copy(STDIN_FILENO)
                                   : descriptor_raise(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

bool source_open_as(const struct source_spec *spec, struct source **out, struct error *error)
{
    const char *const path = spec->path;
    *out = NULL;
    int file = spec->pipe > 0 ? spec->pipe : open_path(path);
    const int open_cause = errno;
    if (spec->pipe > 0) /* before it had a writer, read(2) would return its end */
        (void)descriptor_await_input(file, -1);
    struct source *const source = source_create(source_path_name(path), spec->threads, error);
    if (!source) {
        if (file >= 0)
            close(file);
        return false;
    }
    errno = open_cause;
    source->is_standard_input = is_standard_input(path);
    if (file >= 0 && spec->offset > 0 && lseek(file, (off_t)spec->offset, SEEK_SET) < 0) {
        const int cause = errno;
        close(file);
        errno = cause;
        file = -1;
    }
    if (!begin(source, file, spec, out, error))
        return false;
    if (!S_ISREG(source->input.status.st_mode) || !descriptor_is_overwritten(file))
        return true;
    source_close(source);
    *out = NULL;
    return error_set(error, "%s: another job is overwriting it with --in-place: wait for its end",
                     source_path_name(path));
}

bool source_open_file(int file, const char *name, const struct codec *codec, unsigned threads,
                      struct source **out, struct error *error)
{
    *out = NULL;
    struct source *const source = source_create(name, threads, error);
    if (!source)
        return false;
    const int copy = lseek(file, 0, SEEK_SET) == 0 ? descriptor_copy(file) : -1;
    const struct source_spec spec = {.path = name, .codec = codec, .threads = threads};
    return begin(source, copy, &spec, out, error);
}

bool source_is_file(const struct source *source, int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           descriptor_same_file(&status, &source->input.status);
}

const struct stat *source_status(const struct source *source)
{
    return &source->input.status;
}

bool source_is_all_of(const struct source *source, const char *path, const struct stat *status)
{
    const bool is_pipe = S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode);
    return (source->is_standard_input && is_standard_input(path)) ||
           (is_pipe && descriptor_same_file(status, &source->input.status));
}

void source_park(struct source *source)
{
    const bool can_be_opened_again =
        source->input.is_sized && !source->frames && !source->is_standard_input;
    if (!source->input.is_stream && (can_be_opened_again || source->ended))
        input_file_park(&source->input);
}

bool source_open_stream(const struct input_stream *stream, const char *name, struct source **out,
                        struct error *error)
{
    struct source *const source = *out = source_create(name, 1, error);
    if (source) {
        source->input.is_stream = source->input.is_sized = true;
        source->input.stream = *stream;
        source->input.bytes = stream->bytes;
    }
    return source;
}

const struct codec *source_codec(const struct source *source)
{
    return source->decoded_from ? source->decoded_from : source->codec;
}

const char *source_command_note(const struct source *source)
{
    return source_codec(source)->decode ? ", once decompressed" : "";
}

void source_note_codec(struct source *source, const struct codec *codec)
{
    source->decoded_from = codec;
}

const char *source_name(const struct source *source)
{
    return source->name;
}

uint64_t source_stop_and_get_left(struct source *source)
{
    const uint64_t peeked =
        buffered(&source->peeked) + (source->ahead ? read_ahead_stop(source->ahead) : 0);
    const struct input_file *const input = &source->input;
    if (source->ended || (input->is_sized && !source->frames && input->offset >= input->bytes))
        return peeked;
    if (source->frames)
        return source->content_left == SIZE_UNKNOWN ? SIZE_UNKNOWN : peeked + source->content_left;
    return input->is_sized ? peeked + (input->bytes - input->offset) : SIZE_UNKNOWN;
}

bool source_last_byte(const struct source *source, char *byte)
{
    const struct input_file *const input = &source->input;
    struct error ignored = {0};
    if (!input->is_sized || source->codec != codecs[0] || input->bytes == 0)
        return false;
    return input->is_stream
               ? input->stream.read(input->stream.context, input->bytes - 1, byte, 1, &ignored)
               : input->file >= 0 && pread(input->file, byte, 1, (off_t)input->bytes - 1) == 1;
}

bool source_peek(struct source *source, size_t want, const unsigned char **data, size_t *bytes,
                 struct error *error)
{
    struct buffer *peeked = &source->peeked;
    if (want > SOURCE_PEEK_MAX)
        want = SOURCE_PEEK_MAX;
    const bool has_more = !has_ended(source);
    if (peeked->begin > 0 && peeked->begin + want > peeked->room) {
        memmove(peeked->data, peeked->data + peeked->begin, buffered(peeked));
        peeked->end -= peeked->begin;
        peeked->begin = 0;
    }
    if ((has_more || !peeked->data) && !buffer_prepare(source, peeked, has_more ? want : 1, error))
        return false;
    while (buffered(peeked) < want && !has_ended(source)) {
        size_t got, observed;
        if (peeked->end == peeked->room && !buffer_move(source, peeked, want, error))
            return false; /* the file has grown */
        const size_t room = peeked->room - peeked->end, missing = want - buffered(peeked);
        if (!read_some(source, peeked->data + peeked->end, room < missing ? room : missing, NULL,
                       &got, &observed, error))
            return false;
        peeked->end += got;
    }
    *data = peeked->data + peeked->begin;
    *bytes = buffered(peeked);
    return true;
}

/* Frees everything except the name: when the source has been read to its end, or is closed. Threads
 * that wait for a compressed pipe are woken first. */
static void release(struct source *source)
{
    if (source->waker > 0)
        (void)eventfd_write(source->waker, 1);
    read_ahead_close(source->ahead); /* before the objects that its thread reads from */
    source->ahead = NULL;
    frame_reader_close(source->frames);
    source->frames = NULL;
    if (source->waker > 0)
        close(source->waker);
    source->waker = 0;
    input_file_close(&source->input);
    free(source->peeked.data);
    source->peeked = (struct buffer){0};
}

/* Returns the bytes of the next read. With a tap they are few enough to be observed in the cache,
 * unless several threads read; and they end at a unit, so that the next read begins with one. */
static size_t step_bytes(const struct source *source, const struct tap *tap, size_t done,
                         size_t bytes)
{
    if (!tap || source->ahead)
        return bytes;
    if (done % tap->unit_bytes != 0)
        return tap->unit_bytes - done % tap->unit_bytes;
    if (source->input.is_parked) /* each read opens the file */
        return bytes;
    const bool is_shared = !source->frames && parallel_read_pays(source->input.threads, bytes, tap);
    return is_shared || bytes < TAP_PIECE_BYTES ? bytes : TAP_PIECE_BYTES;
}

bool source_read_observed(struct source *source, void *data, size_t bytes, struct tap *tap,
                          size_t *got, struct error *error)
{
    unsigned char *const target = data;
    struct buffer *peeked = &source->peeked;
    size_t done = buffered(peeked) < bytes ? buffered(peeked) : bytes;
    if (!source->ahead) /* else it is set, and belongs to that thread */
        source->is_read = true;
    if (done > 0) {
        memcpy(target, peeked->data + peeked->begin, done);
        peeked->begin += done;
    }
    *got = done;
    size_t observed = tap_observe_units(tap, target, done), end = done; /* bytes in `data` */
    while (done < bytes && !has_ended(source)) {
        size_t more, more_observed;
        size_t step = step_bytes(source, tap, done, bytes - done);
        step = step < bytes - done ? step : bytes - done;
        if (tap && tap->consumer) { /* only a partial unit must stay */
            memmove(target, target + end - (done - observed), done - observed);
            end = done - observed;
        }
        if (!read_some(source, target + end, step, tap, &more, &more_observed, error))
            return false;
        observed += more_observed;
        done += more;
        end += more;
        *got = done;
        const size_t whole = tap ? (done - observed) - (done - observed) % tap->unit_bytes : 0;
        tap_observe_all(tap, target + end - (done - observed), whole, source->input.threads);
        observed += whole;
    }
    if (has_ended(source) && buffered(peeked) == 0)
        release(source);
    return true;
}

bool source_read(struct source *source, void *data, size_t bytes, size_t *got, struct error *error)
{
    return source_read_observed(source, data, bytes, NULL, got, error);
}

bool source_store(struct source *source, uint64_t most, struct spill_run *run, uint64_t *stored,
                  struct error *error)
{
    unsigned char *const buffer = malloc(STORE_BYTES);
    bool ok = buffer || error_set(error, "%s: no memory to copy it", source_name(source));
    *stored = 0;
    for (size_t want = 0, got = 0; ok && got == want && *stored < most; *stored += got) {
        want = most - *stored < STORE_BYTES ? (size_t)(most - *stored) : STORE_BYTES;
        ok = source_read(source, buffer, want, &got, error) &&
             (!run || spill_append(run, buffer, got, error));
    }
    free(buffer);
    return ok;
}

bool source_can_read_at(const struct source *source)
{
    return source->input.is_sized && source->input.file >= 0 && !source->ahead && !source->frames &&
           !source->ended;
}

bool source_can_narrow(const struct source *source)
{
    return source->input.is_sized && (source->input.file >= 0 || source->input.is_parked) &&
           source->codec == codecs[0] && !source->ahead;
}

bool source_narrow(struct source *source, uint64_t position, uint64_t bytes, struct error *error)
{
    const uint64_t next = source->input.offset - buffered(&source->peeked);
    source->peeked.begin = source->peeked.end = 0;
    source->ended = false;
    return input_file_narrow(&source->input, next + position, next + position + bytes, error);
}

void source_keep_end(struct source *source)
{
    source->input.is_narrow = source->input.is_narrow || source->input.is_sized;
}

bool source_read_at(const struct source *source, uint64_t position, void *data, size_t bytes,
                    size_t *got, struct error *error)
{
    const struct buffer *const peeked = &source->peeked;
    const size_t has = buffered(peeked);
    size_t done = position < has ? has - (size_t)position : 0;
    done = done < bytes ? done : bytes;
    if (done > 0)
        memcpy(data, peeked->data + peeked->begin + position, done);
    const uint64_t offset = source->input.offset + (position + done - has);
    const bool ok = input_file_read_at(&source->input, offset, (unsigned char *)data + done,
                                       bytes - done, got, error);
    *got += done;
    return ok;
}

bool source_check_end(const struct source *source, struct error *error)
{
    return input_file_check_end(&source->input, source->input.bytes, error);
}

bool source_look_at(const struct source *source, uint64_t position, void *data, size_t bytes)
{
    const uint64_t next = source->input.offset - buffered(&source->peeked);
    return input_file_look_at(&source->input, next + position, data, bytes);
}

void source_close(struct source *source)
{
    if (!source)
        return;
    release(source);
    free(source->name);
    free(source);
}
