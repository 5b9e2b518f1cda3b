/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A prolog or epilog started by an earlier daemon. It is not a child of this process, so the
 * daemon polls whether it lives, and its exit status stays unknown. Its time limit and the reports
 * of a long run count from its original start.
 */
#pragma once

#include "slurmd/attempt/attempt.h"
#include "slurmd/node/script.h"

struct oldscript;

/* Sets a->old_script. The pid is in the note, or is searched for. 's' is the script as it would be
 * run now, and is copied. done gets wait status 0, or a text if the script exceeded its time
 * limit. */
void oldscript_watch(struct attempt *a, const struct script *s, bool is_epilog, script_fn *done);
void oldscript_free(struct oldscript *o); /* the script continues to run */
