/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations shared by the parts of "scontrol update". The functions print their errors. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "cmd/scontrol/fields.h"

struct update {
    int argc;
    char **argv; /* "Key=value" words, and words such as "reservation" and "skip" */
    struct arena arena;
    int changes;
};

/* The value of "Key=value" if at least 'least' letters of the key are given; NULL otherwise. */
const char *update_value(const char *arg, const char *key, size_t least);
/* Reports that the key cannot be changed; returns -1. */
int update_refuse(const char *arg);
/* Sets the member that an argument names; returns 0 or -1. */
int update_apply(struct update *u, const struct field *table, const char *arg, void *message);
/* Returns -1 if no argument changes anything. */
int update_check_any(const struct update *u);

/* Return the exit status. ids_arg: "JobId=1,2_[3-5]". */
int update_job(struct update *u, char *ids_arg);
/* Updates the jobs of that name, of all users or of the user in UserID=. */
int update_jobs_named(struct update *u, const char *name);
int update_step(struct update *u, const char *id_arg);
/* The value of "LicenseName=flat(n[1-8])"; NULL: the argument has another key. */
const char *pool_is_meant(const char *arg);
int pool_update(struct update *u, const char *name);
