/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One job_submit plugin in C (include/sluice/job_submit.h). It is loaded into the helper process,
 * because it may do anything. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "control/env.h"

struct submit_plugin;

/* Returns NULL and -ERR_CONFIG if other users could have changed the file, if it is no plugin or
 * has another version, or if its init fails. The text names the file and the remedy. */
struct submit_plugin *submit_plugin_open(const char *path, uid_t owner, struct err *err);
void submit_plugin_close(struct submit_plugin *p); /* calls fini; the library stays loaded */
/* Returns 0, or a negative code with the reason if the job is refused. */
int submit_plugin_ask(struct submit_plugin *p, struct env_submit *ask, struct err *err);
