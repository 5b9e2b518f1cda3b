/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the job id of a request means: a job, all records of a job array, all components of a
 * job set when the id is that of its leader, or, with an offset, one component.
 */
#pragma once

#include "cluster/cluster.h"
#include "proto/step.pb-c.h"

struct control;

/* The id of a request r that has it in fields of its own, as a Pb__StepId without a step. */
#define NAMED_JOB(r)                                                                               \
    ((Pb__StepId){.base = PROTOBUF_C_MESSAGE_INIT(&pb__step_id__descriptor),                       \
                  .job_id = (r)->job_id,                                                           \
                  .has_set_offset = (r)->has_set_offset,                                           \
                  .set_offset = (r)->set_offset})

/* A record of what is named, whichever is there: whose request it is follows from any of them. With
 * an offset that does not exist: of the job that has none such. NULL: the id is unknown. */
struct job *named_any(const struct control *c, const Pb__StepId *id);
/* The component that an id with an offset names. -ERR_NO_JOB, with which components there are: for
 * those only who may know of the job. */
int named_component(const struct control *c, const Pb__StepId *id, struct job **out,
                    struct err *err);
/* The one record that is named: of an array the first, without an offset that of the id itself. */
int named_job(const struct control *c, const Pb__StepId *id, struct job **out, struct err *err);
/* The record with the one array element that id->array_tasks names: pending elements share one. */
int named_element(const struct control *c, const Pb__StepId *id, struct job **out, struct err *err);
/* As users name all of a set: "431", or "431_3" of an element of a job array; of an ordinary job
 * what job_id_text() writes. In buf. */
const char *named_set_text(const struct job *j, char buf[JOB_ID_TEXT_MAX]);
/* The same for one use in the block it stands in. */
#define NAMED_SET_TEXT(j) named_set_text((j), (char[JOB_ID_TEXT_MAX]){0})
/* The next component of the same set that is there, behind this one; NULL: there is none. Of an
 * ordinary job, too. */
struct job *named_next(const struct job *j);
