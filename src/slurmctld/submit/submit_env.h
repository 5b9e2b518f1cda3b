/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's job_submit plugins. */
#pragma once

#include "slurmctld/core/ctld.h"

void submit_env_init(struct env *env);
void submit_env_begin(struct ctld *c); /* as the configuration in force says; loads them anew */
void submit_env_done(struct ctld *c);
/* Whether the plugins of a configuration can be used: they are there, and the script loads. Any
 * thread. */
int submit_env_check(const struct conf *conf, struct err *err);
