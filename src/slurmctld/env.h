/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real world, as control/env.h asks for it. */
#pragma once

#include "slurmctld/core/ctld.h"

void env_init(struct env *env, struct ctld *c);
