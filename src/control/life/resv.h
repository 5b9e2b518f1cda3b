/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations and their jobs, for the files of this room. */
#pragma once

#include "cluster/cluster.h"
#include "proto/script.pb-c.h"

struct control;

/* resv.c */
int resv_take_record(struct control *c, const void *data, size_t len, struct err *err);
void resv_carry(struct control *c, const struct cluster *from); /* c->cluster is new */
/* Logs, and says in the report (NULL: logs only), which reservations have licenses or generic
 * resources that the cluster does not have, and had in 'old' (NULL: has no longer). */
void resv_report_losses(struct control *c, const struct cluster *old, struct str *report);
void resv_changed(struct control *c, const struct resv *r); /* to be written, and planned with */
void resv_follow(struct control *c);                        /* a partition has other nodes */
void resv_refill(struct control *c); /* nodes that are to be replaced in reservations */

/* A copy to be changed, to be freed; it takes the place of the reservation that jobs point to. */
struct resv *resv_draft_of(const struct control *c, const struct resv *r);
void resv_become(const struct cluster *c, struct resv *r, struct resv *draft);

/* ResvProlog and ResvEpilog, of an occurrence once each. The caller writes it down. */
void resv_hook_begin(struct control *c, struct resv *r);
void resv_hook_end(struct control *c, struct resv *r); /* it is over, or goes while it is */
void resv_hook_resume(struct control *c);              /* after a restart */
void resv_hook_ended(struct control *c, const Pb__ScriptEnded *m);

/* resv_job.c */
/* Whether the reservations it asks for are there, and for it. */
int resv_check_job(struct control *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* Whether some job of the caller may use it: of which account it is, the job says. */
bool resv_is_for(struct control *c, const struct caller *who, const struct resv *r);
/* Whether PrivateData lets the caller see it. */
bool resv_is_shown(struct control *c, const struct caller *who, const struct resv *r);
/* Finds those it may run in. */
void resv_bind_job(struct control *c, struct job *j);
/* A gate of cluster/job/reason.def: it may run in none of them now. */
enum reason resv_reason(const struct control *c, const struct job *j);
/* Both for a job that is not in the cluster: no reservation counts it, and it has those it found
 * until one changes. */
enum reason resv_bind_guest(struct control *c, struct job *j);
void resv_drop(struct control *c, struct resv *r);      /* it is over, or deleted */
void resv_tell_jobs(struct control *c, struct resv *r); /* it has been changed */
void resv_begin_job(struct control *c, struct job *j,
                    struct resv *r);                    /* it starts in it; NULL: outside */
void resv_resume_job(struct control *c, struct job *j); /* after a restart */
/* The end of its time in there, by the clock that cannot be set; INT64_MAX: none. */
int64_t resv_limit_ms(const struct control *c, const struct job *j);
int64_t resv_due_ms(const struct control *c);
void resv_tick(struct control *c);
int resv_check(const struct control *c, struct err *err); /* jobs and reservations agree */
void resv_each_group(const struct control *c, void (*fn)(void *ctx, const char *group), void *ctx);
