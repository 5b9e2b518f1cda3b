/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of a part of a step in a job of several components. Variables of the job
 * describe its first component; those of component n have JOB_SET_ENV_GROUP and n behind their
 * names. A part in component n has them without that, so that the options that srun reads there,
 * and what its tasks read, are those of the part's own component.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define COMPONENT_ENV_NONE UINT32_MAX /* no component: what describes the first one is left out */

/* Whether this environment is that of a job of several components. */
bool component_env_is_given(char *const *environment);

/* For a part in this component. A variable that somebody has changed stays as it is, and so does
 * the id of the job, which is the leader's. In the arena; what it names is borrowed from
 * 'environment'. */
char **component_env_choose(struct arena *arena, char *const *environment, uint32_t component);

/* Whether srun has set this variable for the tasks of a step, which its value in 'made' shows, and
 * nobody has changed it since: such a variable is no wish of the tasks for further steps. */
bool component_env_is_inherited(const char *variable, const char *made);
