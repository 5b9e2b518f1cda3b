/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The epilog of a job, once, and what comes behind it: the job's own directories go, and the
 * controller hears that the node is clean. Plugins of the site run beside it.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

/* Actions of attempt_phase.def. */
void epilog_run(struct attempt *a);    /* one that has begun is waited for */
void epilog_remove(struct attempt *a); /* the job's directories */
void epilog_report(struct attempt *a); /* to the controller */
