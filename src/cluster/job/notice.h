/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages to the srun and salloc of a running job (scontrol notify): the last messages, and the
 * calls of the listeners. In memory only: a message is lost if nobody fetches it before the
 * controller ends. Numbers rise, also across restarts, so that no listener gets a message twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define NOTICES_MAX 8              /* number kept for each job; older notices are dropped */
#define NOTICE_OF_JOB UINT32_C(~0) /* in place of a step's number */

struct notice {
    uint64_t number;
    uint32_t step_id; /* or NOTICE_OF_JOB */
    char *text;
};

struct notice_wait {
    uint64_t call, seen; /* number of the last message that it got */
    uint32_t step_id;    /* the step of the listening srun; NOTICE_OF_JOB: not the srun of a step */
    bool of_job;         /* it gets the messages to the job */
};

struct notice_board {
    VEC32(struct notice) notices;
    VEC32(struct notice_wait) waits;
};

void notice_add(struct notice_board *b, uint64_t number, uint32_t step_id, const char *text);
/* Returns the next message for the listener; NULL: none. */
const struct notice *notice_next(const struct notice_board *b, const struct notice_wait *w);
void notice_drop_wait(struct notice_board *b, uint64_t call); /* b may be NULL */
void notice_board_free(struct notice_board *b);
