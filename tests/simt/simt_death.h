/* SPDX-License-Identifier: Apache-2.0 */
/* simt_death.h - what is said before a deadly signal, or a sanitizer, ends the process. */
#ifndef SIMT_DEATH_H
#define SIMT_DEATH_H

/* Has `tell` called then. Once a process. */
void simt_catch_death(void (*tell)());

#endif
