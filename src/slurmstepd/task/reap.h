/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All descendants of this process. The shepherd is their subreaper: a process orphaned by a double
 * fork or a new session becomes our child.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

void reap_become_subreaper(void);
bool reap_have_children(void); /* including dead ones that have not been reaped */

/* Signals every present descendant; returns their number. Processes forked meanwhile are found by
 * the next call. */
unsigned reap_signal_all(int signo);

/* Sends SIGSTOP to every descendant, and to processes forked meanwhile, until all are stopped. */
void reap_stop_all(void);
/* Sends SIGCONT to every descendant. */
void reap_continue_all(void);

/* Calls fn for every present descendant. A non-zero return value of fn ends the walk and is
   returned. */
typedef int reap_fn(void *ctx, pid_t pid, pid_t parent);
int reap_each(reap_fn *fn, void *ctx);
/* Direct children of another process only. */
int reap_each_child(pid_t parent, reap_fn *fn, void *ctx);

/* Appends /proc's information on the first remaining processes, and the number of further ones:
 * processes that SIGKILL does not end. */
void reap_describe(struct str *out);
