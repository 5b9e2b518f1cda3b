/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every process below this one. We are their subreaper: whoever is orphaned, by a double fork or a
 * session of its own, becomes our child.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

void reap_become_subreaper(void);
bool reap_have_children(void); /* dead ones that nobody has waited for count */

/* Signals every descendant there is at this moment; returns how many. What forks meanwhile is
 * found by the next call. */
unsigned reap_signal_all(int signo);

/* Appends what /proc says of the first of them, and how many more there are: processes that
 * SIGKILL does not end. */
void reap_describe(struct str *out);
