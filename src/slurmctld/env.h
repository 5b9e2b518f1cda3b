/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Implements control/env.h for the real process. */
#pragma once

#include "slurmctld/core/ctld.h"

void env_init(struct env *env, struct ctld *c);
