/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a request comes from: what every job of this process has in common, whatever its options.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/envlist.h"
#include "base/err.h"
#include "conf/conf.h"
#include "proto/common.pb-c.h"
#include "proto/job.pb-c.h"

#define ORIGIN_LINE_MAX 4096 /* bytes of the submit line that are kept */

/* Sets work_dir (chdir, or where we are), alloc_host, alloc_sid, submit_line and a fresh
 * request_id. Everything is in the arena. The key of a partition, which spec has by then, is left
 * out of the line and taken out of the environment. Fails when the working directory is gone. */
int origin_fill(struct arena *a, int argc, char *const argv[], const char *chdir,
                struct Pb__JobSpec *spec, struct err *err);

/* The absolute path of --chdir; NULL: where we are. */
int origin_work_dir(struct arena *a, const char *chdir, char **out, struct err *err);

/* The same of a job set. The further components get what the leader gets, but for the
 * request_id; none of their keys is in the line. */
int origin_fill_set(struct arena *a, int argc, char *const argv[], const char *chdir,
                    struct Pb__JobSpec *leader, struct Pb__JobSpec *const components[],
                    size_t count, struct err *err);

/* What a step's tasks are told beside SLURM_UMASK, which says what mask they have: by this variable
 * of the same value a command knows that it is no wish of theirs. */
#define ORIGIN_MASK_TOLD "SLUICE_UMASK"

/* This process has that mask from now on: what it creates has it, and what it sends. -ERR_RANGE:
 * the variable is no mask. */
int origin_take_mask(struct err *err);

/* Takes what this command was told out of the environment of a job, which may get another mask. */
void origin_forget_mask(struct envlist *e);

/* The resource limits of this process, to be set on the nodes too. */
#define ORIGIN_LIMITS_MAX 10

struct origin_limits {
    struct Pb__Rlimit *list[ORIGIN_LIMITS_MAX]; /* of items: not to be copied */
    struct Pb__Rlimit items[ORIGIN_LIMITS_MAX];
    size_t count;
};

/* Those that --propagate names; without it (NULL) those of the configuration. */
void origin_limits_init(struct origin_limits *l, const char *given, const struct conf *conf);

/* SLURM_RLIMIT_AS and its like: the soft limits of this process, -1 for none. */
void origin_put_limits(struct envlist *e);
