/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - --version: the release, the backends of this build, and its commit. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdio.h>

#define GPUSORT_VERSION "0.1.0"

/* Prints "gpusort VERSION", a line on the build, and the license. Does not start a device. */
void version_print(FILE *stream);

#endif
