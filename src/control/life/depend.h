/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dependencies of jobs on other jobs. */
#pragma once

#include "cluster/cluster.h"

struct caller;
struct control;

struct outcome_news { /* a change of a job, and the progress of its delivery to dependents */
    struct depend_outcome outcome;
    uint64_t cursor;
    struct idset elements; /* ended elements, for dependents on the element of the same number */
};

struct late { /* a job with states that are not yet in its record, and when to write it */
    uint32_t job_id;
    int64_t due_ms; /* monotonic */
};

struct news { /* pending deliveries and writes, by rising time */
    VEC(struct outcome_news) outcomes;
    VEC(struct late) late;
    struct idmap of; /* number of entries in 'outcomes' by job id */
};

/* Maximum items of a dependency whose record and text are updated at each change of an item. */
#define DEPEND_SHORT 32

/* Parses --dependency: *out is the argument for depend_begin(), NULL: none. If the text names
 * components of job sets, *text becomes a text with their job ids, in the arena.
 * -ERR_DEPENDENCY. */
int depend_read(struct control *c, const struct caller *who, const struct job *j, char **text,
                struct depend **out, struct arena *arena, struct err *err);
/* Checks a component of a set that is being submitted: it must not depend on a component of its own
 * set, whose id the user guessed. -ERR_DEPENDENCY. */
int depend_check_set(const struct control *c, const struct job *j, struct err *err);
/* Whether the jobs of j's user may have 'more' dependency items. -ERR_DEPENDENCY: too many. */
int depend_check_room(const struct control *c, const struct job *j, size_t more, struct err *err);
/* Whether the job would depend on itself through other jobs. */
int depend_check_circle(const struct control *c, const struct job *j, const struct depend *d,
                        struct err *err);
/* Owns d, which may be NULL. */
void depend_begin(struct control *c, struct job *j, struct depend *d);
/* Updates the dependency states of a pending job before its gate is evaluated. */
void depend_update(struct control *c, struct job *j);
/* Like depend_update(), for a job of --test-only: its user gets no mail. */
void depend_update_tested(struct control *c, struct job *j);
/* A gate of cluster/job/reason.def: whether the job waits for others. */
enum reason depend_reason(const struct control *c, const struct job *j);
bool depend_is_doomed(const struct control *c, const struct job *j); /* it must be ended */
/* Whether elements can never start and must leave the record, by depend_part(). */
bool depend_has_doomed_part(const struct control *c, const struct job *j);
void depend_part(struct control *c, struct job *j);
bool depend_is_short(const struct depend *d);
void depend_show(struct control *c, struct job *j); /* rebuilds the text of the remaining items */
/* Rest of a delay; 0: none. */
int64_t depend_wait_sec(const struct control *c, const struct job *j);
/* The job has begun, has ended, or is pending again. */
void depend_changed(struct control *c, struct job *j);
void depend_renamed(struct control *c, struct job *j, const char *before);
void depend_turn(struct control *c);            /* does a turn's share of the deliveries */
int64_t depend_due_ms(const struct control *c); /* of the next share; INT64_MAX: none is left */
/* Some dependents have not been notified. */
bool depend_is_telling(const struct control *c, uint32_t job_id);
/* The record must not be purged yet. */
bool depend_needs(const struct control *c, const struct job *j);
void depend_forget_told(struct control *c);
/* Whether it is consistent. */
int depend_check(const struct control *c, const struct job *j, struct err *err);
void depend_resume(struct control *c, struct job *j);  /* after a restart */
void depend_requeue(struct control *c, struct job *j); /* restores its dependencies */

/* Subscribers of transitions: life/transition.def. */
void depend_job_started(struct control *c, const struct transition *t);
