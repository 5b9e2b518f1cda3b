/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control groups of this daemon, shared by contain.c and contain_over.c; for nobody else. */
#pragma once

#include "slurmd/attempt/attempt.h"
#include "slurmd/step/contain.h"

struct contain_over;

struct contain {
    struct slurmd *d;
    struct cgroup base;
    unsigned use; /* of its parts: those of steps that start now */
    char *mount;
    int lock_fd;
    struct contain_over *over; /* NULL: nothing has waited yet */
};

/* What is between the base and the directories of a user's jobs, of version 1 alone. */
int contain_above(const struct contain *k, uid_t uid, bool make, struct cgroup *out,
                  struct err *err);
int contain_job(const struct contain *k, uid_t uid, struct attempt_key key, bool make,
                struct cgroup *out, struct err *err);

/* contain_over.c */
void contain_over_free(struct contain_over *o);
