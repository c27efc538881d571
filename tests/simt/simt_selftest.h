/* SPDX-License-Identifier: Apache-2.0 */
/* simt_selftest.h - shared by the parts of the self-test: claims in TAP, child processes, device
 * memory as a vector. */
#ifndef SIMT_SELFTEST_H
#define SIMT_SELFTEST_H

#include "cuda_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

struct tap_output {
    unsigned tests = 0, failed = 0;
};
extern struct tap_output tap;

void check(bool is_right, const char *claim);

/* Checks an API call of the test itself that must succeed. */
void must(cudaError_t error, int line = __builtin_LINE());

bool contains(const std::string &text, const char *part);

cudaLaunchConfig_t shape(dim3 grid, dim3 block, size_t dynamic_shared_bytes = 0,
                         cudaStream_t stream = nullptr);

template <class... P, class... A>
cudaError_t start(const cudaLaunchConfig_t &config, void (*kernel)(P...), A... arguments)
{
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

struct outcome {
    int status; /* the exit status; -1 if a signal ended it */
    std::string errors;
};

/* Runs `body` in a child with NAME=VALUE in its environment. The result of `body` is the exit
 * status. */
template <class F>
outcome in_child(const char *name, const char *value, F body)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        setenv(name, value, 1);
        const bool is_right = body();
        _exit(is_right ? 0 : 1);
    }
    close(ends[1]);
    outcome outcome = {-1, ""};
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
        outcome.errors.append(buffer, (size_t)got);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        outcome.status = WEXITSTATUS(status);
    return outcome;
}

template <class T>
class device_array
{
  public:
    explicit device_array(size_t count) : count_(count)
    {
        must(cudaMalloc(&data_, count * sizeof(T)));
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size())
    {
        must(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~device_array()
    {
        must(cudaFree(data_));
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    T *data() const
    {
        return data_;
    }
    std::vector<T> read() const
    {
        std::vector<T> values(count_);
        must(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

  private:
    T *data_ = nullptr;
    size_t count_;
};

/* ---- the parts ---- */

void check_model();
void check_orders();
void check_reports();
void check_devices();
void check_memory_and_api();

#endif
