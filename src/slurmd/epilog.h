/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The epilog of a job, once, and what comes behind it: the job's own directories go, and the
 * controller hears that the node is clean. Plugins of the site run beside it.
 */
#pragma once

#include "slurmd/job.h"

void epilog_run(
    struct job *j); /* nothing of the job lives here; one that has begun is waited for */
void epilog_adopt(struct job *j); /* from its note: all of it is behind us */
