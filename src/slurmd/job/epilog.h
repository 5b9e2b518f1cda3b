/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the epilog of a job once, then removes the job's own directories and reports to the
 * controller that the node is clean. SPANK plugins run beside the epilog.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

/* Actions of attempt_phase.def. */
void epilog_run(struct attempt *a);    /* waits for an epilog that is already running */
void epilog_remove(struct attempt *a); /* the job's directories */
void epilog_report(struct attempt *a); /* to the controller */
