/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What failed for one job fails for its like: jobs with an equal request in the same partition. A
 * pass that rests forgets all failures: in between, resources, licences and planned starts are only
 * taken. A failure of a job that needs tied pools, or licences that reservations may keep, may be
 * for their lack. Such a failure stands for jobs that need the same licences, and is forgotten as
 * soon as the claims of the jobs before change: failed_forget_licenses(). A job of several
 * partitions is neither remembered, nor judged by failures for licences.
 */
#pragma once

#include <stdbool.h>

struct job;
struct plan;
struct plan_failures;

void failed_begin(struct plan_failures *f);
void failed_clear(struct plan_failures *f);
void failed_done(struct plan_failures *f);
/* The next questions are about this job. */
void failed_begin_look(struct plan *p, const struct job *j);
/* A job before the next one has other licences kept for it than before. */
void failed_forget_licenses(struct plan *p);
/* The job does not start now. */
void failed_add(struct plan *p, const struct job *j);
bool failed_has(const struct plan *p, const struct job *j);
/* The gate of its licences is closed for the job, which is in the queue as it is. */
void failed_add_closed(struct plan *p, const struct job *j);
/* The job may be a view of one in the queue. */
bool failed_has_closed(const struct plan *p, const struct job *j);
