/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of a part of a step in a job of several components. Plain variables of the job
 * describe its first component; those of component n have the suffix JOB_SET_ENV_GROUP and n. A
 * part in component n gets the variables of component n without the suffix, so that the options
 * that srun reads there, and the variables that its tasks read, are those of the part's own
 * component.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* No component: variables of the first component are left out. */
#define COMPONENT_ENV_NONE UINT32_MAX

/* Whether the environment is that of a job of several components. */
bool component_env_is_given(char *const *environment);

/* Makes the environment of a part in this component. A variable that the user has changed stays as
 * it is, and so does the job id, which is the leader's. The list is in the arena; its texts are
 * borrowed from 'environment'. */
char **component_env_choose(struct arena *arena, char *const *environment, uint32_t component);

/* Whether srun has set this variable for the tasks of a step, which its value in 'made' shows, and
 * nobody has changed it since. Such a variable is not an option for further steps of the tasks. */
bool component_env_is_inherited(const char *variable, const char *made);
