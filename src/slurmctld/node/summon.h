/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every node daemon that has no session here is told, for a while, who leads. */
#pragma once

#include "slurmctld/core/ctld.h"

void summon_nodes(struct ctld *c);
void summon_end(struct ctld *c);
