/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations and their jobs, internal to this room. */
#pragma once

#include "cluster/cluster.h"
#include "proto/script.pb-c.h"

struct control;

/* resv.c */
int resv_take_record(struct control *c, const void *data, size_t len, struct err *err);
void resv_carry(struct control *c, const struct cluster *from); /* when c->cluster is new */
/* Logs, and adds to the report (NULL: logs only), the reservations with licences or generic
 * resources that the cluster does not have; with 'old' only those that the old cluster had. */
void resv_report_losses(struct control *c, const struct cluster *old, struct str *report);
void resv_changed(struct control *c, const struct resv *r); /* stores it and restarts planning */
void resv_follow(struct control *c); /* the nodes of a partition have changed */
void resv_refill(struct control *c); /* replaces nodes in reservations */

/* Creates a copy for changes; resv_become() moves it into the reservation that jobs point to. The
 * caller frees it. */
struct resv *resv_draft_of(const struct control *c, const struct resv *r);
void resv_become(const struct cluster *c, struct resv *r, struct resv *draft);

/* ResvProlog and ResvEpilog, each once per occurrence. The caller stores the reservation. */
void resv_hook_begin(struct control *c, struct resv *r);
/* It has ended, or is deleted while active. */
void resv_hook_end(struct control *c, struct resv *r);
void resv_hook_resume(struct control *c); /* after a restart */
void resv_hook_ended(struct control *c, const Pb__ScriptEnded *m);

/* resv_job.c */
/* Whether the reservations that the job requests exist and admit it. A reservation that the caller
 * may not see is refused as one that does not exist. NULL: no caller reads the refusal. */
int resv_check_job(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobSpec *spec, struct err *err);
/* Whether some job of the caller may use it: the account is a property of the job. */
bool resv_is_for(struct control *c, const struct caller *who, const struct resv *r);
/* Whether PrivateData permits the caller to see it. */
bool resv_is_shown(struct control *c, const struct caller *who, const struct resv *r);
/* Binds the job to the reservations in which it may run. */
void resv_bind_job(struct control *c, struct job *j);
/* A gate of cluster/job/reason.def: whether the job may run in none of its reservations now. */
enum reason resv_reason(const struct control *c, const struct job *j);
/* For a job that is not in the cluster: no reservation counts it, and it stays bound to the same
 * reservations until one changes. */
enum reason resv_bind_guest(struct control *c, struct job *j);
void resv_drop(struct control *c, struct resv *r);      /* it has ended, or was deleted */
void resv_tell_jobs(struct control *c, struct resv *r); /* updates its jobs after a change */
void resv_begin_job(struct control *c, struct job *j,
                    struct resv *r);                    /* it starts in r; NULL: outside */
void resv_resume_job(struct control *c, struct job *j); /* after a restart */
/* Returns the monotonic end of its time in the reservation; INT64_MAX: none. */
int64_t resv_limit_ms(const struct control *c, const struct job *j);
int64_t resv_due_ms(const struct control *c);
void resv_tick(struct control *c);
int resv_check(const struct control *c, struct err *err); /* whether jobs and reservations agree */
void resv_each_group(const struct control *c, void (*fn)(void *ctx, const char *group), void *ctx);
