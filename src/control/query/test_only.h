/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --test-only: when and where a job would start as the queue is, of which nothing is kept. The
 * request goes through the stages of a submission (submit.h), and the job is forgotten before it is
 * queued. Its request stands in the line of why.h: for each of its partitions the planner looks for
 * a start of a guest, a job that nobody else sees, with a number that the next job may get.
 */
#pragma once

#include "control/internal.h"
#include "control/query/why.h"

void test_only_submit(struct control *c, uint64_t call, const struct caller *who,
                      const Pb__SubmitRequest *r);
/* Of the first in the line. False: it is answered. */
bool test_only_step(struct control *c, const struct why_call *call);
void test_only_begin_anew(struct trial *t); /* what it knows of the cluster is of before */
void test_only_free(struct trial *t);
