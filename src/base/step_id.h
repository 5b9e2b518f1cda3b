/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers of steps. What srun starts counts from 0; above STEP_ID_FIRST_SPECIAL are what every job
 * may have once and what has a word instead of a number: "7.batch".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEP_ID_INTERACTIVE                                                                        \
    0xfffffffau                    /* the shell of salloc (LaunchParameters=use_interactive_step) */
#define STEP_ID_BATCH 0xfffffffbu  /* the script of sbatch */
#define STEP_ID_EXTERN 0xfffffffcu /* what came to the job from outside */
#define STEP_ID_FIRST_SPECIAL STEP_ID_INTERACTIVE

#define JOB_ID_UNALLOCATED                                                                         \
    0x4000000u /* from here on no jobs: each a step without an allocation                          \
                */

#define STEP_ID_NAME_MAX 16 /* bytes of a name with its 0 */
#define STEP_ID_TEXT_MAX 32 /* bytes of "JOB.NAME" with its 0 */

/* "0", "batch", "extern", "interactive", in buf. */
const char *step_id_name(uint32_t step_id, char buf[STEP_ID_NAME_MAX]);

/* "7.0", "7.batch", in buf. */
const char *step_id_text(uint32_t job_id, uint32_t step_id, char buf[STEP_ID_TEXT_MAX]);

/* The same for one use in the block it stands in. */
#define STEP_ID_TEXT(job_id, step_id) step_id_text((job_id), (step_id), (char[STEP_ID_TEXT_MAX]){0})

/* The reverse of step_id_name, in any case of letters; false: it is none. */
bool step_id_parse(const char *name, uint32_t *step_id);
