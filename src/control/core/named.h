/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resolves the job id of a request: a job, all records of a job array, all components of a job set
 * (the id of the leader), or one component (with an offset).
 */
#pragma once

#include "cluster/cluster.h"
#include "proto/step.pb-c.h"

struct control;

/* Builds a Pb__StepId without a step from a request r that has the job id in fields of its own. */
#define NAMED_JOB(r)                                                                               \
    ((Pb__StepId){.base = PROTOBUF_C_MESSAGE_INIT(&pb__step_id__descriptor),                       \
                  .job_id = (r)->job_id,                                                           \
                  .has_set_offset = (r)->has_set_offset,                                           \
                  .set_offset = (r)->set_offset})

/* Returns any record that the id names, only to check ownership: a request that acts on a record
 * finds it with a function below. For an offset that does not exist, or a leader whose record is
 * lost, it is another component of the job; for a job array it is any element. NULL: the id is
 * unknown. */
struct job *named_any(const struct control *c, const Pb__StepId *id);
/* Whether the id is that of a leader whose record is lost, and so names the other components. */
bool named_lost_leader(const struct control *c, const Pb__StepId *id);
/* Returns the component that an id with an offset names. -ERR_NO_JOB: the message lists the
 * existing components, so it is only for callers who may see the job. */
int named_component(const struct control *c, const Pb__StepId *id, struct job **out,
                    struct err *err);
/* Returns the one record that the id names: the first one of an array; without an offset the job
 * with this id. -ERR_NO_JOB: also a leader whose record is lost. */
int named_job(const struct control *c, const Pb__StepId *id, struct job **out, struct err *err);
/* Returns the record with the one array element in id->array_tasks; pending elements share a
 * record. */
int named_element(const struct control *c, const Pb__StepId *id, struct job **out, struct err *err);
/* Returns the id that users use for a whole set, in buf: "431", or "431_3" for an element of a job
 * array; for an ordinary job the text of job_id_text(). */
const char *named_set_text(const struct job *j, char buf[JOB_ID_TEXT_MAX]);
/* Like named_set_text(), with a buffer that lives until the end of the enclosing block. */
#define NAMED_SET_TEXT(j) named_set_text((j), (char[JOB_ID_TEXT_MAX]){0})
/* Returns the next existing component of the same set; NULL: none, also for an ordinary job. */
struct job *named_next(const struct job *j);
