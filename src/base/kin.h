/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes below another one, as /proc has them: its children, theirs, and so on. Whoever they
 * leave behind comes to be a child of their root when that is a subreaper.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

struct kin {
    pid_t pid, parent;
};

struct kin_list {
    VEC(struct kin) list; /* parents before their children */
};

/* Appends those that there are at this moment; what forks meanwhile is found by the next call. */
void kin_below(struct kin_list *k, pid_t root);
void kin_children(struct kin_list *k, pid_t parent); /* and no further */

/* A process that has got its number since it was found is left alone: it has to be a child of the
 * same parent still, or of the root. False: it has gone, or may not be signalled. */
bool kin_signal(const struct kin *k, pid_t root, int signo);
