/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One job_submit plugin in C (include/sluice/job_submit.h), in the process that loads it: the
 * helper, since it may do anything. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "control/env.h"

struct submit_plugin;

/* NULL and -ERR_CONFIG: others could have put it there, it is no plugin, or of another version, or
 * does not want to begin. The text says which file, and what to do. */
struct submit_plugin *submit_plugin_open(const char *path, uid_t owner, struct err *err);
void submit_plugin_close(struct submit_plugin *p); /* fini; it stays loaded */
/* 0; or minus a code, and why: refused. */
int submit_plugin_ask(struct submit_plugin *p, struct env_submit *ask, struct err *err);
