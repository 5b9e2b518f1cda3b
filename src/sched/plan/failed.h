/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures to start in this pass, which apply to all jobs of the partition with an equal request. A
 * pass that is continued later drops all failures: within one step, resources, licences and planned
 * starts are only taken. A failure of a job that needs tied pools, or licences that reservations
 * may hold back, may be caused by their shortage. Such a failure applies to jobs with the same
 * licences, and is dropped as soon as the claims of preceding jobs change:
 * failed_forget_licenses(). Jobs in several partitions are neither recorded nor matched for
 * licences.
 */
#pragma once

#include <stdbool.h>

struct job;
struct plan;
struct plan_failures;

void failed_begin(struct plan_failures *f);
void failed_clear(struct plan_failures *f);
void failed_done(struct plan_failures *f);
/* A job before the next one claims other licences than before: drops the failures that depend on
 * licences. */
void failed_forget_licenses(struct plan *p);
/* Records that the job does not start now. */
void failed_add(struct plan *p, const struct job *j);
bool failed_has(const struct plan *p, const struct job *j);
/* Records that the licence gate is closed for the job, which must be the queued job itself. */
void failed_add_closed(struct plan *p, const struct job *j);
/* The job may be a view of a queued job. */
bool failed_has_closed(const struct plan *p, const struct job *j);
