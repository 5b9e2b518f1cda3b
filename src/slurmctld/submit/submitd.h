/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The helper process in which a site's job_submit plugins run when one of them is in C: slurmctld's
 * own program, started under this name. Code that crashes, hangs or eats memory does that here,
 * where there is no state. Questions come over the line one at a time and are answered; it ends
 * when the line is closed, and with the controller.
 */
#pragma once

#include <stdbool.h>

#define SUBMITD_NAME "slurmsubmitd"
#define SUBMITD_LINE_FD 3
#define SUBMITD_MESSAGE_MAX (64u << 20)
#define SUBMITD_END_SEC 2 /* for the plugins' own ends */

bool submitd_is_wanted(const char *argv0);
int submitd_main(void);
