/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stages in which a request becomes a job set: each component goes through the stages of
 * submit.h individually; then either all jobs of the set exist or none. An ordinary job is a set of
 * one component.
 *
 * Arrays of job sets: each element is a set of its own. All sets are made when the array is
 * submitted; their leaders are the records of the array, and a component is in the array by its
 * leader. The array has the id of the first leader.
 */
#pragma once

#include "control/internal.h"

struct set_request { /* an ordinary job has no components */
    const Pb__JobSpec *leader;
    Pb__JobSpec **components; /* the other components, by offset */
    size_t n_components;
    const Pb__JobPayload *payload; /* the leader's; NULL: none */
    bool may_wait;                 /* see submit_make_job() */
};
/* Returns the payload to store for the component; NULL: none. With burst buffers each component has
 * a script of its own, in the arena (burst_script.h). */
const Pb__JobPayload *submit_component_payload(const struct control *c, const struct set_request *r,
                                               size_t offset, struct arena *arena);
/* Creates all jobs of the set, in no queue, or none. Returns 0, or the error of one of them;
 * positive as submit_make_job(). */
int submit_make_set(struct control *c, const struct caller *who, const struct set_request *r,
                    struct job **out, struct err *err);
/* Removes all jobs of the set, instead of submit_admit_set(). */
void submit_forget_set(struct control *c, struct job *leader);
/* Stores and queues all jobs of the set. */
void submit_admit_set(struct control *c, struct job *leader, uint64_t key);

/* Whether the cluster can ever satisfy the joint licence request of all components of a set. */
int submit_check_set_licenses(const struct control *c, const struct job *leader, struct err *err);

/* Whether the leader's array_inx may be requested. */
int submit_check_array(const struct control *c, const struct set_request *r, struct err *err);
/* r->leader has array_inx. As submit_make_set(): *out is the first leader. */
int submit_make_array(struct control *c, const struct caller *who, const struct set_request *r,
                      struct job **out, struct err *err);
/* The sets of all elements are stored and queued. */
void submit_admit_array(struct control *c, struct job *first, uint64_t key);
