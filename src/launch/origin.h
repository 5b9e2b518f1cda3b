/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The origin of a request: properties of all jobs of this process, independent of the options.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/envlist.h"
#include "base/err.h"
#include "conf/conf.h"
#include "proto/common.pb-c.h"
#include "proto/job.pb-c.h"

#define ORIGIN_LINE_MAX 4096 /* maximum bytes of the stored submit line */

/* The absolute path of --chdir; NULL: the current directory. */
int origin_work_dir(struct arena *a, const char *chdir, char **out, struct err *err);

/* Sets work_dir (chdir, or the current directory), alloc_host, alloc_sid, submit_line and a new
 * request_id of the leader. The other components get its values except request_id. Everything is in
 * the arena. The keys of partitions, which must be in the requests already, are left out of the
 * line and removed from the environment. Fails if the working directory does not exist. */
int origin_fill_set(struct arena *a, int argc, char *const argv[], const char *chdir,
                    struct Pb__JobSpec *leader, struct Pb__JobSpec *const components[],
                    size_t count, struct err *err);

/* Set for a step's tasks to the value of SLURM_UMASK, which reports their mask: if both are equal,
 * SLURM_UMASK is not a request of the user. */
#define ORIGIN_MASK_TOLD "SLUICE_UMASK"

/* Sets the requested mask in this process, for the files that it creates and for its requests.
 * Returns -ERR_RANGE if the variable is invalid. */
int origin_take_mask(struct err *err);

/* Removes the mask variables from the environment of a job, which may get another mask. */
void origin_forget_mask(struct envlist *e);

/* The resource limits of this process, which the nodes apply. */
#define ORIGIN_LIMITS_MAX 10

struct origin_limits {
    struct Pb__Rlimit *list[ORIGIN_LIMITS_MAX]; /* points to 'items': do not copy */
    struct Pb__Rlimit items[ORIGIN_LIMITS_MAX];
    size_t count;
};

/* The limits that --propagate names; NULL: those of the configuration. */
void origin_limits_init(struct origin_limits *l, const char *given, const struct conf *conf);

/* Sets SLURM_RLIMIT_AS and similar variables: the soft limits of this process, -1 for none. */
void origin_put_limits(struct envlist *e);
