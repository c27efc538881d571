/* SPDX-License-Identifier: Apache-2.0 */
/* many_runs.c - calls gpusort's main again and again in one process, so that a test of thousands of
 * jobs starts CUDA once. tests/lib.sh and fuzz_sort.py --server drive it.
 *
 *   standard input    per job: the names of the files for its standard input, output and error, the
 *                     number of words, and the words of the command line; a NUL ends each. "|NAME"
 *                     is the content of NAME through a pipe
 *   standard output   per job: its exit status, in decimal, and a newline
 *
 * A job that ends the process (--help, invalid options) ends this program too. Otherwise it ends
 * only at the end of its input, and after an error of its own, with status 3. At the end of the
 * input a sanitized build looks for leaks of all jobs. If there are any, it reports them on its own
 * standard error, and ends with status 4.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#    include <sanitizer/lsan_interface.h>
#else
static int __lsan_do_recoverable_leak_check(void)
{
    return 0;
}
#endif

enum { WORDS_MAX = 4096, DRIVER_ERROR = 3, LEAK = 4, PIPE_BYTES_MAX = 65536 };

/* main() of cli/main.c. */
int gpusort_main(int argc, char **argv);

/* Memory that getdelim(3) uses again for the next job. */
struct text {
    char *data;
    size_t room;
};

struct request {
    FILE *file;
    struct text names[3]; /* of standard input, output and error */
    struct text count, words[WORDS_MAX];
    int word_count;
};

static _Noreturn void end_by_driver_error(const char *what)
{
    perror(what);
    _exit(DRIVER_ERROR);
}

/* Returns false at the end of the input. */
static bool read_text(FILE *file, struct text *text)
{
    return getdelim(&text->data, &text->room, '\0', file) >= 0;
}

static bool read_request(struct request *request)
{
    for (int i = 0; i < 3; i++)
        if (!read_text(request->file, &request->names[i]))
            return false;
    request->word_count = read_text(request->file, &request->count) ? atoi(request->count.data) : 0;
    if (request->word_count < 1 || request->word_count > WORDS_MAX)
        return false;
    for (int i = 0; i < request->word_count; i++)
        if (!read_text(request->file, &request->words[i]))
            return false;
    return true;
}

static void move_file(int from, int to)
{
    if (from < 0 || dup2(from, to) != to || close(from) != 0)
        end_by_driver_error("many_runs: a file of a run");
}

/* Returns a pipe with the content of the file, which must have less than PIPE_BYTES_MAX bytes. */
static int open_pipe(const char *name)
{
    static char content[PIPE_BYTES_MAX];
    int ends[2];
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = read(file, content, sizeof content);
    if (bytes < 0 || bytes == sizeof content || pipe(ends) != 0 ||
        write(ends[1], content, (size_t)bytes) != bytes)
        end_by_driver_error("many_runs: a pipe");
    close(file);
    close(ends[1]);
    return ends[0];
}

static void open_files(const struct request *request)
{
    const char *const input = request->names[0].data;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    move_file(input[0] == '|' ? open_pipe(input + 1) : open(input, O_RDONLY), STDIN_FILENO);
    move_file(open(request->names[1].data, flags, 0600), STDOUT_FILENO);
    move_file(open(request->names[2].data, flags, 0600), STDERR_FILENO);
}

/* Calls main with pointers of its own to the words, as the option parser may exchange them. Then
 * the streams have the state that they have in a new process. */
static int run_request(const struct request *request)
{
    char *words[WORDS_MAX + 1];
    for (int i = 0; i < request->word_count; i++)
        words[i] = request->words[i].data;
    words[request->word_count] = NULL;
    open_files(request);
    const int status = gpusort_main(request->word_count, words);
    __fpurge(stdin);
    clearerr(stdin);
    fflush(stdout);
    clearerr(stdout);
    clearerr(stderr);
    return status;
}

int main(void)
{
    static struct request request;
    const int answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    request.file = fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), "r");
    if (answers < 0 || errors < 0 || !request.file)
        end_by_driver_error("many_runs");
    while (read_request(&request))
        if (dprintf(answers, "%d\n", run_request(&request)) < 0)
            break;
    move_file(errors, STDERR_FILENO);
    /* gpusort itself ends without freeing its memory. */
    _exit(__lsan_do_recoverable_leak_check() ? LEAK : EXIT_SUCCESS);
}
