/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Components of heterogeneous jobs by their names (sbatch --component=io): "123+io" means what
 * "123+1" does. The controller has the names; commands ask for them when a name is used, and pass
 * numbers on.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "proto/step.pb-c.h"

/* The number of the component of this name. -ERR_HET_GROUP: the job has none such, with those that
 * it has; -ERR_NO_JOB. Asks the controller. */
int job_arg_find_component(uint32_t leader_id, const char *name, uint32_t *offset, struct err *err);

/* job_ids_parse(), which see; a SLUID (base/sluid.h) in place of a number means the number of its
 * job, and is refused when the job has another SLUID; and of an id with a component's name its
 * number; of "123_4+1", a component of an element of a job array, the id of the element's leader.
 * err NULL: why there is no such component is said on standard error. */
int job_arg_parse(const char *text, Pb__StepId *id, struct err *err);

/* Of a list as "afterok:123+io,after:5+10": the own job id of each component that is named replaces
 * the id; that of component 0 means the whole job, as in all dependencies. Numbers stay, since
 * "5+10" may mean minutes. */
int job_arg_name_dependency(char **list, struct err *err);
