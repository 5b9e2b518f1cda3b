/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of "scontrol update" share. Functions print their errors. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "cmd/scontrol/fields.h"

struct update {
    int argc;
    char **argv; /* "Key=value" each, but for words like "reservation" and "skip" */
    struct arena arena;
    int changes;
};

/* The value of "Key=value" when at least that many letters of the key are given; NULL otherwise. */
const char *update_value(const char *arg, const char *key, size_t least);
/* Says that the key cannot be changed; -1. */
int update_refuse(const char *arg);
/* Sets the member that an argument names; 0 or -1. */
int update_apply(struct update *u, const struct field *table, const char *arg, void *message);
/* -1 when no argument changes anything. */
int update_check_any(const struct update *u);

/* Return the status to exit with. ids_arg: "JobId=1,2_[3-5]". */
int update_job(struct update *u, char *ids_arg);
/* The jobs of that name, of all users or of the one that UserID= names. */
int update_jobs_named(struct update *u, const char *name);
int update_step(struct update *u, const char *id_arg);
/* "LicenseName=flat(n[1-8])": the value; NULL: the argument is another one. */
const char *pool_is_meant(const char *arg);
int pool_update(struct update *u, const char *name);
