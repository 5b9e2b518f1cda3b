/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The helper process for a site's job_submit plugins, if one of them is in C: slurmctld's own
 * program, executed under this name. A plugin that crashes, hangs or exhausts memory does so in
 * this process, which has no state. Questions arrive one at a time and are answered. The process
 * ends when the connection closes, and with the controller.
 */
#pragma once

#include <stdbool.h>

#define SUBMITD_NAME "slurmsubmitd"
#define SUBMITD_LINE_FD 3
#define SUBMITD_MESSAGE_MAX (64u << 20)
#define SUBMITD_END_SEC 2 /* time for the plugins' fini functions */

bool submitd_is_wanted(const char *argv0);
int submitd_main(void);
