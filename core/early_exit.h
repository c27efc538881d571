/* SPDX-License-Identifier: Apache-2.0 */
/* early_exit.h - the process ends before the system has released its memory and its devices.
 *
 * CUDA takes 0.1 s to release an H100 (2026-11). The caller does not wait for that.
 */
#ifndef CORE_EARLY_EXIT_H
#define CORE_EARLY_EXIT_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on exit(3) starts a second process, which shares memory and open files with this one, so
 * that they outlive it. It waits for the end of this process, closes all files but devices, ends
 * too, and so releases everything. If it cannot be started, or process 1 may not reap it, this
 * process releases everything itself. Any thread may call this, and more than once. */
void early_exit_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
