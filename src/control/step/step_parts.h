/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of a step: each has tasks in one job, with a layout of its own. An ordinary step has
 * one part. A step of a job set has one part in each component that it names. Several parts may be
 * in one job, on different nodes. Task numbers follow the order of the parts.
 */
#pragma once

#include "control/step/step_layout.h"

struct step_part {
    struct job *job;
    Pb__StepSpec spec; /* request of the part, with options of the whole step */
    struct step_layout layout;
    uint32_t first_task;
};

struct step_parts {
    struct step_part *list; /* in the arena */
    size_t count, laid_out; /* laid_out: number of parts with a layout */
    uint32_t tasks;         /* in all parts */
};

/* Computes the layouts of a step requested in 'j', a component of its set or an ordinary job.
 * Nothing is allocated. -ERR_NODES_BUSY: not now. -ERR_COMPONENT: the component does not exist or
 * has ended. step_parts_done() must be called in any case. */
int step_parts_find(struct control *c, struct job *j, const Pb__StepSpec *spec, struct arena *arena,
                    struct step_parts *parts, struct err *err);
void step_parts_done(struct step_parts *parts);

/* Joins the whole step, whose records are in the jobs of its parts; 'j' has the first part. The
 * result is in the arena; its layout has the nodes of all parts in order, except of jobs in which
 * the step has ended. *creds: the parts for a credential; *parts: the parts for a reply. Both are
 * empty for an ordinary step. */
const Pb__StepRecord *step_parts_join(struct control *c, const struct job *j, const struct step *s,
                                      Pb__CredPart ***creds, Pb__StepPart ***parts,
                                      struct arena *arena);
/* Returns the job that has part i of the step; NULL: its record is purged. */
struct job *step_parts_at(const struct job *j, const Pb__StepRecord *r, size_t i);

/* Returns the job of a part of the request; 'j' is the job that the request names. NULL: the
 * component does not exist or has ended. The request waits in the job of part 0. */
struct job *step_parts_job(const struct job *j, const Pb__StepSpec *spec, size_t part);
/* Returns why step_parts_job() is NULL: -ERR_COMPONENT, or -ERR_JOB_DONE. */
int step_parts_refuse(const struct job *j, const Pb__StepSpec *spec, size_t part, struct err *err);
