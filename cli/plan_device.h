/* SPDX-License-Identifier: Apache-2.0 */
/* plan_device.h - which device sorts, and by which path. */
#ifndef CLI_PLAN_DEVICE_H
#define CLI_PLAN_DEVICE_H

#include "cli/plan.h"

/* Chooses the backend, its device and path, and the spare one, of a plan whose inputs and order are
 * decided, and says why. Of inputs whose size is not known much may be read for that, into memory;
 * and while a GPU is started. */
bool plan_choose_device(const struct options *options, struct plan *plan, struct error *error);

#endif
