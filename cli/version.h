/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - --version: the release, what this build has, and the commit that it is of. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdio.h>

/* Prints "gpusort VERSION", a line on the build, and the license. Starts no device. */
void version_print(FILE *stream);

#endif
