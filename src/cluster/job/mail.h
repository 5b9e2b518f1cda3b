/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events of a job about which its owner gets mail. */
#pragma once

#include <stdbool.h>

enum { /* --mail-type */
       JOB_MAIL_BEGIN = 1,
       JOB_MAIL_END = 2,
       JOB_MAIL_FAIL = 4,
       JOB_MAIL_REQUEUE = 8,
       JOB_MAIL_LIMIT = 16,
       JOB_MAIL_LIMIT_90 = 32,
       JOB_MAIL_LIMIT_80 = 64,
       JOB_MAIL_LIMIT_50 = 128,
       JOB_MAIL_TASKS = 256, /* for each element of an array; without it for the array as a whole */
       JOB_MAIL_STAGE_OUT = 512,       /* the burst buffer is staged out and torn down */
       JOB_MAIL_INVALID_DEPEND = 1024, /* its dependency can never be met */
       JOB_MAIL_SHARES = JOB_MAIL_LIMIT_90 | JOB_MAIL_LIMIT_80 | JOB_MAIL_LIMIT_50,
};

/* A comma list of --mail-type; false: it has an unknown word. */
bool mail_parse(const char *list, unsigned *mail);
