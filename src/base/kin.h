/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The descendants of a process in /proc. If the root is a subreaper, orphaned descendants become
 * its children.
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

/* Appends the present descendants; processes forked meanwhile are found by the next call. */
void kin_below(struct kin_list *k, pid_t root);
void kin_children(struct kin_list *k, pid_t parent); /* direct children only */

/* Signals a found process, unless its pid has been reused: the process must still be a child of
 * the same parent, or of the root. False: it has gone, or may not be signalled. */
bool kin_signal(const struct kin *k, pid_t root, int signo);
