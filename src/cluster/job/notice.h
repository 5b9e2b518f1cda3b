/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a running job's srun and salloc are told (scontrol notify): the last messages, and the calls
 * of those that listen. In memory only: who does not listen within the life of the controller is
 * not told. Numbers rise, also over restarts, so that nobody hears a message twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define NOTICES_MAX 8              /* kept of a job; older ones go */
#define NOTICE_OF_JOB UINT32_C(~0) /* in place of a step's number */

struct notice {
    uint64_t number;
    uint32_t step_id; /* or NOTICE_OF_JOB */
    char *text;
};

struct notice_wait {
    uint64_t call, seen; /* it has heard up to this number */
    uint32_t step_id;    /* whose srun it is; NOTICE_OF_JOB: of none */
    bool of_job;         /* it hears what is for the job */
};

struct notice_board {
    VEC32(struct notice) notices;
    VEC32(struct notice_wait) waits;
};

void notice_add(struct notice_board *b, uint64_t number, uint32_t step_id, const char *text);
/* What it is to be told next; NULL: nothing. */
const struct notice *notice_next(const struct notice_board *b, const struct notice_wait *w);
void notice_drop_wait(struct notice_board *b, uint64_t call); /* b may be NULL */
void notice_board_free(struct notice_board *b);
