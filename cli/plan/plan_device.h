/* SPDX-License-Identifier: Apache-2.0 */
/* plan_device.h - which device sorts, and by which path. */
#ifndef CLI_PLAN_DEVICE_H
#define CLI_PLAN_DEVICE_H

#include "cli/plan/plan.h"

/* Chooses the backend, its device, its path and the spare backend, with the reasons. The inputs and
 * the order of the plan are decided. May read much of an input of unknown size into memory, and
 * reads ahead while a GPU is started. */
bool plan_choose_device(const struct options *options, struct plan *plan, struct error *error);

/* Returns the estimated seconds of the plan's job on the devices that sort together. */
double plan_several_seconds(const struct plan *plan);

#endif
