/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that wait for others, within the machine. */
#pragma once

#include "cluster/cluster.h"

struct caller;
struct control;

struct told { /* a change of a job, and who of those that wait for it has heard */
    struct depend_outcome outcome;
    uint64_t cursor;
    struct idset elements; /* those that are over, to who waits for his own number's */
};

struct late { /* a job that has heard more than its record says, which is written then */
    uint32_t job_id;
    int64_t due_ms; /* monotonic */
};

struct news { /* what is under way, by rising time */
    VEC(struct told) told;
    VEC(struct late) late;
    struct idmap of; /* jobs that 'told' is of, to how many of it */
};

#define DEPEND_SHORT                                                                               \
    32 /* items of a job that is shown and written whenever one of them changes                    \
        */

/* --dependency as it was given: *out is for depend_begin(), NULL: nothing. *text is then in the
 * arena where it named components of job sets: by their job ids. -ERR_DEPENDENCY. */
int depend_read(struct control *c, const struct caller *who, const struct job *j, char **text,
                struct depend **out, struct arena *arena, struct err *err);
/* A component of a set that is being submitted: it does not wait for a component of its own set,
 * whose id was guessed. -ERR_DEPENDENCY. */
int depend_check_set(const struct control *c, const struct job *j, struct err *err);
/* So many items more in the jobs of j's user. -ERR_DEPENDENCY: they would be too many. */
int depend_check_room(const struct control *c, const struct job *j, size_t more, struct err *err);
/* Whether the job would wait for itself, over others. */
int depend_check_circle(const struct control *c, const struct job *j, const struct depend *d,
                        struct err *err);
void depend_begin(struct control *c, struct job *j, struct depend *d); /* d is taken, may be NULL */
/* Brings up to date what is known of the dependency of a pending job, before its gate is asked. */
void depend_update(struct control *c, struct job *j);
/* The same for a job of --test-only: its user gets no mail. */
void depend_update_tested(struct control *c, struct job *j);
/* A gate of cluster/job/reason.def: the job waits for others. */
enum reason depend_reason(const struct control *c, const struct job *j);
bool depend_is_doomed(const struct control *c, const struct job *j); /* it is to be ended */
/* Elements of it are to leave its record, because they can never start: for depend_part(). */
bool depend_has_doomed_part(const struct control *c, const struct job *j);
void depend_part(struct control *c, struct job *j);
bool depend_is_short(const struct depend *d);
void depend_show(struct control *c, struct job *j); /* what is left of it, anew */
int64_t depend_wait_sec(const struct control *c, const struct job *j); /* a delay; 0: none */
/* It has begun, is over, or is pending again. */
void depend_changed(struct control *c, struct job *j);
void depend_renamed(struct control *c, struct job *j, const char *before);
void depend_turn(struct control *c);            /* a turn's share of telling those that wait */
int64_t depend_due_ms(const struct control *c); /* of the next share; INT64_MAX: none is left */
bool depend_is_telling(const struct control *c, uint32_t job_id); /* not all have heard of it */
bool depend_needs(const struct control *c, const struct job *j);  /* it is not to be purged yet */
void depend_forget_told(struct control *c);
int depend_check(const struct control *c, const struct job *j, struct err *err); /* it is sound */
void depend_resume(struct control *c, struct job *j);  /* after a restart */
void depend_requeue(struct control *c, struct job *j); /* what it waits for again */

/* Subscribers of transitions: life/transition.def. */
void depend_job_started(struct control *c, const struct transition *t);
