/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's control group state, shared by contain.c and contain_over.c only. */
#pragma once

#include "slurmd/attempt/attempt.h"
#include "slurmd/step/contain.h"

struct contain_over;

struct contain {
    struct slurmd *d;
    struct cgroup base;
    unsigned use; /* controllers used by new steps, a subset of base.parts */
    char *mount;
    int lock_fd;
    struct contain_over *over; /* NULL: no removal was ever deferred */
};

/* Opens the directories between the base and the jobs of a user; version 1 only. */
int contain_above(const struct contain *k, uid_t uid, bool make, struct cgroup *out,
                  struct err *err);
int contain_job(const struct contain *k, uid_t uid, struct attempt_key key, bool make,
                struct cgroup *out, struct err *err);

/* contain_over.c */
void contain_over_free(struct contain_over *o);
