/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the user's words and the facts of files, host and devices -> one plan.
 *
 * Every "auto" is resolved here, once, and says why.
 */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/options.h"
#include "core/auto_table.h"
#include "core/pipeline.h"

struct plan {
    struct job job;
    unsigned processors;                     /* that the process may use at a time */
    struct device_facts device;              /* of job.backend */
    const struct device_class *device_class; /* of the device */
    const struct auto_row *row; /* its path and tile are for what the user leaves open */
    bool has_estimate;
    struct auto_estimate estimate; /* of the sort on either device */
    uint64_t file_bytes;           /* of all input files, as stored; SIZE_UNKNOWN: not known */
    uint64_t input_bytes;          /* of all inputs, decoded; SIZE_UNKNOWN: not known */
    uint64_t plan_ns;              /* what planning took: headers read, a GPU started */
    char format_reason[256];       /* why job.input_format */
    char output_reason[256];       /* why job.output_format and the codec */
    char device_reason[256 + sizeof((struct error *)0)->message]; /* why job.backend */
    char algorithm_reason[256];                                   /* why job.sort.algorithm */
};

/* Begins the plan with what can be found out before an input is awaited: options that rule each
 * other out, and files that do not exist or may not be used. It waits for the list of inputs alone,
 * after what does not depend on it. The caller ends with plan_free. */
bool plan_begin(struct options *options, struct plan *plan, struct error *error);

/* Opens the inputs and reads their headers, looks at the devices, decides. */
bool plan_make(struct options *options, struct plan *plan, struct error *error);

void plan_free(struct plan *plan);

#endif
