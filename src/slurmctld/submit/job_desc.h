/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job request by Slurm's field names, for job_submit plugins. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/job.pb-c.h"

#define JOB_DESC_NO_VAL 0xfffffffeu
#define JOB_DESC_NO_VAL16 0xfffeu
#define JOB_DESC_INFINITE 0xffffffffu
#define JOB_DESC_NO_VAL64 1.8446744073709550e19
#define JOB_DESC_NICE_OFFSET 0x80000000u
#define JOB_DESC_MEM_PER_CPU 9.223372036854775808e18 /* bit 63, in pn_min_memory */

struct job_desc_value {
    bool is_text;
    const char *text; /* NULL: not set */
    double number;
};

/* -ERR_NOT_SUPPORTED: unknown field. */
int job_desc_get(const Pb__JobSpec *spec, const char *name, struct job_desc_value *out);
/* For callers without Slurm's special numbers. Returns 1: not set; 0: *out is the value, INT64_MAX
 * for unlimited. -ERR_NOT_SUPPORTED: unknown field; -ERR_RANGE: the field is a string. */
int job_desc_number(const Pb__JobSpec *spec, const char *name, int64_t *out);
int job_desc_set_number(Pb__JobSpec *spec, const char *name, int64_t number, struct err *err);
int job_desc_clear(Pb__JobSpec *spec, const char *name, struct err *err);
/* Strings are copied to the arena. -ERR_NOT_SUPPORTED, or -ERR_RANGE with the reason. */
int job_desc_set(Pb__JobSpec *spec, const char *name, const struct job_desc_value *value,
                 struct arena *arena, struct err *err);
