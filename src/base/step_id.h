/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Step ids. Steps of srun are numbered from 0. Ids above STEP_ID_FIRST_SPECIAL are special steps,
 * which a job has at most once and which have a name instead of a number: "7.batch".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEP_ID_INTERACTIVE                                                                        \
    0xfffffffau                    /* the shell of salloc (LaunchParameters=use_interactive_step) */
#define STEP_ID_BATCH 0xfffffffbu  /* the script of sbatch */
#define STEP_ID_EXTERN 0xfffffffcu /* adopted processes */
#define STEP_ID_FIRST_SPECIAL STEP_ID_INTERACTIVE

#define JOB_ID_UNALLOCATED                                                                         \
    0x4000000u /* from here on no jobs: each a step without an allocation                          \
                */

#define STEP_ID_NAME_MAX 16 /* bytes of a name including NUL */
#define STEP_ID_TEXT_MAX 32 /* bytes of "JOB.NAME" including NUL */

/* Writes "0", "batch", "extern" or "interactive" to buf. */
const char *step_id_name(uint32_t step_id, char buf[STEP_ID_NAME_MAX]);

/* Writes "7.0" or "7.batch" to buf. */
const char *step_id_text(uint32_t job_id, uint32_t step_id, char buf[STEP_ID_TEXT_MAX]);

/* The same, in a temporary buffer of the enclosing block. */
#define STEP_ID_TEXT(job_id, step_id) step_id_text((job_id), (step_id), (char[STEP_ID_TEXT_MAX]){0})

/* Parses the result of step_id_name, case-insensitive; false: invalid. */
bool step_id_parse(const char *name, uint32_t *step_id);
