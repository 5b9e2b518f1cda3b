/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The helper process: slurmctld's own program, started anew under this name before there is any
 * state, that runs the site's programs for a controller that never forks. It holds nothing but
 * what it was told to run, and ends when the controller's end of the line is closed: what it runs
 * then is ended before it (SIGTERM, SIGKILL 2 s later), so that the next controller can run it
 * again; the ends are reported to a controller that still reads. What it runs ends with it, too,
 * when it is killed.
 *
 * A controller that may lose the lead while it hangs sends leases. When the last one has expired,
 * the helper ends as if the controller were gone.
 */
#pragma once

#include <stdbool.h>

#define SCRIPTD_NAME "slurmscriptd"
#define SCRIPTD_LINE_FD 3 /* to the controller */
#define SCRIPTD_LOCK_FD 4 /* locked while it lives: one helper at a time runs something */
#define SCRIPTD_MOST 512  /* programs at a time; more are refused */
#define SCRIPTD_GRACE_MS 2000

bool scriptd_is_wanted(const char *argv0);
int scriptd_main(void);
