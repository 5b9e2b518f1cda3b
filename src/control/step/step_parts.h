/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of a step: each has tasks in one job, with a layout of its own. An ordinary step has
 * one part. A step of a job set has a part in each component that it names. Several parts
 * may be in one job, on different nodes. The tasks of all parts are
 * numbered in the order of the parts.
 */
#pragma once

#include "control/step/step_layout.h"

struct step_part {
    struct job *job;
    Pb__StepSpec spec; /* what it asks for, with what the whole step asks for */
    struct step_layout layout;
    uint32_t first_task;
};

struct step_parts {
    struct step_part *list; /* the arena's */
    size_t count, made;     /* made: with a layout */
    uint32_t tasks;         /* of all */
};

/* The layouts of a step that is requested in 'j', a component of its set, or an ordinary job.
 * Nothing is taken. -ERR_NODES_BUSY: not now. -ERR_COMPONENT: there is no such component, or it is
 * over. step_parts_done() in any case. */
int step_parts_find(struct control *c, struct job *j, const Pb__StepSpec *spec, struct arena *arena,
                    struct step_parts *parts, struct err *err);
void step_parts_done(struct step_parts *parts);

/* The whole step, whose records are in the jobs of its parts: 'j' has the first. In the arena; the
 * layout has the nodes of all parts in order, without those of jobs in which the step is over.
 * *creds: what a credential says of each part; *parts: what a reply does. An ordinary step has
 * none of either. */
const Pb__StepRecord *step_parts_join(struct control *c, const struct job *j, const struct step *s,
                                      Pb__CredPart ***creds, Pb__StepPart ***parts,
                                      struct arena *arena);
/* The job, of those in which the step is, that has its part i; NULL: its record is gone. */
struct job *step_parts_at(const struct job *j, const Pb__StepRecord *r, size_t i);

/* The job that a part of the request is in; 'j' is the job that the request names. NULL: the
 * component does not exist or is over. The request waits in the job of part 0. */
struct job *step_parts_job(const struct job *j, const Pb__StepSpec *spec, size_t part);
/* Why step_parts_job() is NULL: -ERR_COMPONENT, or -ERR_JOB_DONE. */
int step_parts_refuse(const struct job *j, const Pb__StepSpec *spec, size_t part, struct err *err);
