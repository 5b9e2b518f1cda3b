/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ids of jobs as the arguments of commands have them: of jobs, job arrays and their elements,
 * components of job sets, by their numbers and names (sbatch --component=io: "123+io"
 * means what "123+1" does), and SLUIDs. The controller has the names; commands ask for them when a
 * name is used, and pass numbers on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

/* The number of the component of this name. -ERR_COMPONENT: the job has none such, with those that
 * it has; -ERR_NO_JOB. Asks the controller. */
int job_arg_find_component(uint32_t leader_id, const char *name, uint32_t *offset, struct err *err);

struct job_id_list { /* used as a VEC */
    Pb__StepId *data;
    size_t len, room;
};

/* Parses an id as job_ids_parse() does, and replaces names in it by numbers:
 *   - a SLUID (base/sluid.h) by the number of its job; a job with another SLUID is refused;
 *   - the name of a component by the component's number;
 *   - "123_4" in "123_4+1" (a component of an element of a job array) by the number of the
 *     element's leader, which job_ids_put_asked() writes as "123_4".
 * err NULL: why the component does not exist is said on standard error. */
int job_arg_parse(const char *text, Pb__StepId *id, struct err *err);

/* The same, and appends: "123_[4-5]+1" means a component of each of these elements that exists.
 * What it has appended before a failure stays. */
int job_arg_parse_list(const char *text, struct job_id_list *out, struct err *err);

/* Appends the id of a job that was found otherwise than by its id. Components of a job set are left
 * to their leader where that is in the list before. */
void job_arg_add(struct job_id_list *jobs, const Pb__JobLive *live);

/* The id of the record that an id of job_arg_parse() means: of a component or an element its
 * own, of an element that is a job set its leader's, of elements that still share a
 * record the record's, of a plain number that. job_ids_put_asked() writes that of an element as the
 * element from then on. -ERR_NO_JOB. */
int job_arg_find_record(const Pb__StepId *id, uint32_t *job_id, struct err *err);

/* Of a list as "afterok:123+io,after:5+10": the own job id of each component that is named replaces
 * the id; that of component 0 means the whole job, as in all dependencies. Numbers stay, since
 * "5+10" may mean minutes. */
int job_arg_name_dependency(char **list, struct err *err);
