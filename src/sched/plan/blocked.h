/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pending job whose gates are open but which cannot start: its reason, and the resources that the
 * pass reserves for it. */
#pragma once

#include "sched/plan.h"

/* Sets the reason if a node that the job requires is unusable. This reason does not depend on the
 * job's place in the queue. */
bool blocked_explain_required(const struct plan *p, const struct job *j, struct decision *d);

/* Returns why the job does not share with other jobs although its partition would make it share;
 * NULL: it shares. */
const char *blocked_find_refusal(const struct plan *p, const struct job *j);

/* Sets the reason of the first waiting job of a partition; 'all' has the chosen alternative
 * licences. Returns true if it waits for a reservation, which does not block the jobs behind it. */
bool blocked_explain(const struct plan *p, const struct job *j, const struct license_needs *all,
                     struct decision *d);

/* --- plan.c: reserved resources ----------------------------------------------------------------
 */

/* Whether a waiting job may get a planned start. 'first': no job before it waits. */
bool plan_may_have_place(const struct plan *p, const struct job *j, bool first);
/* Finds the planned start for d->start_at, or reuses a known start that is still valid. */
void plan_reserve_place(struct plan *p, const struct job *j, struct decision *d);
/* Reserves the licences of a waiting job: all of them with its planned start, otherwise the
 * licences for which the job is the first in the queue. A job that waits for unavailable nodes
 * reserves none. Returns the job's start, or the time at which it should get the licences. */
int64_t plan_keep_licenses(struct plan *p, const struct job *j, bool placed, int64_t start_at);
