/* SPDX-License-Identifier: Apache-2.0 */
/* simt_death.h - reports before a deadly signal or a sanitizer ends the process. */
#ifndef SIMT_DEATH_H
#define SIMT_DEATH_H

/* Registers `tell` to be called then. Call it once per process. */
void simt_catch_death(void (*tell)());

#endif
