/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --test-only: when and where a job would start in the present queue. The request goes through the
 * stages of a submission (submit.h), and the job is dropped before it is queued. The request joins
 * the queue of why.h: for each of its partitions the planner searches a start for a guest, a job
 * that is invisible to others, with a job id that the next job may get.
 */
#pragma once

#include "control/internal.h"
#include "control/query/why.h"

void test_only_submit(struct control *c, uint64_t call, const struct caller *who,
                      const Pb__SubmitRequest *r);
/* Does a step for the first call of the queue. False: it is answered. */
bool test_only_step(struct control *c, const struct why_call *call);
void test_only_begin_anew(struct trial *t); /* drops results about an older state of the cluster */
void test_only_free(struct trial *t);
