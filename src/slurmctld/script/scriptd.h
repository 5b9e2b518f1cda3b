/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The helper process: slurmctld's own program, executed under this name before there is any state.
 * It runs the site's programs for the controller, which never forks. Its only state is its orders.
 * It ends when the controller closes the connection; before that it ends the programs that it runs
 * (SIGTERM, SIGKILL after 2 s), so that the next controller can run them again, and reports their
 * ends if the controller still reads. If the helper is killed, its programs are killed as well.
 *
 * A controller that may lose the lead while it hangs sends leases. When the last lease has
 * expired, the helper ends as if the controller had gone.
 */
#pragma once

#include <stdbool.h>

#define SCRIPTD_NAME "slurmscriptd"
#define SCRIPTD_LINE_FD 3 /* connection to the controller */
#define SCRIPTD_LOCK_FD 4 /* locked while it lives: only one helper at a time runs programs */
#define SCRIPTD_MOST 512  /* concurrent programs; further ones are refused */
#define SCRIPTD_GRACE_MS 2000

bool scriptd_is_wanted(const char *argv0);
int scriptd_main(void);
