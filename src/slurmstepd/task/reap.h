/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every process below this one. We are their subreaper: whoever is orphaned, by a double fork or a
 * session of its own, becomes our child.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

void reap_become_subreaper(void);
bool reap_have_children(void); /* dead ones that nobody has waited for count */

/* Signals every descendant there is at this moment; returns how many. What forks meanwhile is
 * found by the next call. */
unsigned reap_signal_all(int signo);

/* SIGSTOP for every descendant, and for what they fork until they stand. */
void reap_stop_all(void);
/* SIGCONT for every descendant. */
void reap_continue_all(void);

/* Every descendant there is at this moment. A non-zero return of fn ends the walk and is returned.
 */
typedef int reap_fn(void *ctx, pid_t pid, pid_t parent);
int reap_each(reap_fn *fn, void *ctx);
int reap_each_child(pid_t parent, reap_fn *fn, void *ctx); /* of another process, and no further */

/* Appends what /proc says of the first of them, and how many more there are: processes that
 * SIGKILL does not end. */
void reap_describe(struct str *out);
