/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mail to the owners of jobs. */
#pragma once

#include "base/err.h"
#include "cluster/job/transition.h"
#include "proto/job.pb-c.h"

struct control;
struct job;

/* Checks the mail options. has_valid_type: --mail-type is valid or was not given. */
int mail_check(const Pb__JobSpec *spec, bool has_valid_type, struct err *err);
void mail_event(struct control *c, struct job *j, unsigned mail); /* JOB_MAIL_* */
void mail_schedule(struct control *c, struct job *j); /* schedules the TIME_LIMIT_xx mails */
void mail_due(struct control *c, struct job *j);

/* Subscribers of transitions: life/transition.def. */
void mail_job_over(struct control *c, const struct transition *t);
