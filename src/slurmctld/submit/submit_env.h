/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the site's job_submit plugins. */
#pragma once

#include "slurmctld/core/ctld.h"

void submit_env_init(struct env *env);
void submit_env_begin(struct ctld *c); /* loads the plugins of the configuration in force again */
void submit_env_done(struct ctld *c);
/* Checks that the plugins of a configuration are usable: they exist, and the script loads. Any
 * thread. */
int submit_env_check(const struct conf *conf, struct err *err);
