/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Job ids as arguments of commands: ids of jobs, job arrays and their elements, components of job
 * sets by offset or name (sbatch --component=io: "123+io" means "123+1"), and SLUIDs. Only the
 * controller knows names; commands ask for them when a name is used, and send numbers. Also reports
 * that a listing has no job with the requested id.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

/* Finds the offset of the component with this name. Returns -ERR_COMPONENT, listing the existing
 * components; -ERR_NO_JOB: the job is unknown. Sends a request to the controller. */
int job_arg_find_component(uint32_t leader_id, const char *name, uint32_t *offset, struct err *err);

struct job_id_list { /* used as a VEC */
    Pb__StepId *data;
    size_t len, room;
};

/* Parses an id like job_ids_parse(), and replaces names in it by numbers:
 *   - a SLUID (base/sluid.h) by the id of its job; a job with another SLUID is rejected;
 *   - the name of a component by the component's offset;
 *   - "123_4" in "123_4+1" (a component of an array element) by the id of the element's
 *     leader, which job_ids_put_asked() writes as "123_4".
 * err NULL: reports on standard error why the component does not exist. */
int job_arg_parse(const char *text, Pb__StepId *id, struct err *err);

/* Like job_arg_parse(), and appends: "123_[4-5]+1" means a component of each of these elements that
 * exists. Entries that were appended before a failure stay. */
int job_arg_parse_list(const char *text, struct job_id_list *out, struct err *err);

/* Appends the id of a job that was found by other means than its id. A component of a job set is
 * skipped if its leader is in the list. */
void job_arg_add(struct job_id_list *jobs, const Pb__JobLive *live);
/* The same, but each component of a job set stands for itself, the leader too. */
void job_arg_add_one(struct job_id_list *jobs, const Pb__JobLive *live);

/* Finds the id of the record for an id of job_arg_parse(): the own id of a component or an element;
 * the leader's id for an element that is a job set; the record's id for elements that share a
 * record; a plain id stays as it is. job_ids_put_asked() writes the id of an element as the element
 * from then on. Returns -ERR_NO_JOB. */
int job_arg_find_record(const Pb__StepId *id, uint32_t *job_id, struct err *err);

/* In a list such as "afterok:123+io,after:5+10": replaces each named component by its own job id;
 * component 0 stands for the whole job, as in all dependencies. Numbers stay, since "5+10" may mean
 * minutes. */
int job_arg_name_dependency(char **list, struct err *err);

/* Whether the controller lists a job with this id to this user. Also true if the controller does
 * not answer. */
bool job_arg_is_known(const Pb__StepId *id);

/* Returns -ERR_NO_JOB. If the job exists without the requested component, the text says how many
 * components it has, as the controller reports. */
int job_arg_refuse(const Pb__StepId *id, struct err *err);
/* The same for an id with a component; returns false without a text for other ids. */
bool job_arg_explain(const Pb__StepId *id, struct err *err);
/* The same if the controller answers, and does not list this component. */
bool job_arg_lacks_component(const Pb__StepId *id, struct err *err);
