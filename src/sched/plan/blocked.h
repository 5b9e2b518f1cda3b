/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job that its gates let start, and that waits: why, and what the pass keeps for it. */
#pragma once

#include "sched/plan.h"

/* A node that the job requires is not usable: that is the reason wherever in the queue it is. */
bool blocked_explain_required(const struct plan *p, const struct job *j, struct decision *d);

/* Why the job does not share with other jobs, as its partition would have it; NULL: it does. */
const char *blocked_find_refusal(const struct plan *p, const struct job *j);

/* Why the head of a partition waits, with one of the alternative licences in 'all'. True: for a
 * reservation, of which those behind it may know nothing. */
bool blocked_explain(const struct plan *p, const struct job *j, const struct license_needs *all,
                     struct decision *d);

/* --- plan.c: what is kept ----------------------------------------------------------------------
 */

/* Whether a job that waits may get a planned start. 'first': no job before it waits. */
bool plan_may_have_place(const struct plan *p, const struct job *j, bool first);
/* Finds the planned start, or the one that is known and still holds, for d->start_at. */
void plan_reserve_place(struct plan *p, const struct job *j, struct decision *d);
/* Keeps the licences of a job that waits: all of them with its planned start, or those of which it
 * is the first. A job that waits for nodes that are down keeps none. Returns its start, or when it
 * is to have the licences. */
int64_t plan_keep_licenses(struct plan *p, const struct job *j, bool placed, int64_t start_at);
