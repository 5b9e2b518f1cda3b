/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stages in which a request becomes a job set: each component goes through those of submit.h by
 * itself; then there are all of them, or none. An ordinary job is a set of one component.
 */
#pragma once

#include "control/internal.h"

struct set_request { /* of an ordinary job: without components */
    const Pb__JobSpec *leader;
    Pb__JobSpec **components; /* the others, by their offsets */
    size_t n_components;
    const Pb__JobPayload *payload; /* of the leader; NULL: none */
    bool may_wait;                 /* see submit_make_job() */
};
/* What is kept for the component; NULL: nothing. With burst buffers each has a script of its own,
 * in the arena (burst_script.h). */
const Pb__JobPayload *submit_component_payload(const struct control *c, const struct set_request *r,
                                               size_t offset, struct arena *arena);
/* All jobs of the set, which are in no queue, or none: 0, or what is wrong with one of them; more
 * than 0 as submit_make_job(). */
int submit_make_set(struct control *c, const struct caller *who, const struct set_request *r,
                    struct job **out, struct err *err);
/* Removes all jobs of the set, instead of submit_admit_set(). */
void submit_forget_set(struct control *c, struct job *leader);
/* Stores and queues all jobs of the set. */
void submit_admit_set(struct control *c, struct job *leader, uint64_t key);

/* Whether the cluster could ever have what all components of a set request together. */
int submit_check_set_licenses(const struct control *c, const struct job *leader, struct err *err);
