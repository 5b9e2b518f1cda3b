/* SPDX-License-Identifier: GPL-3.0-or-later */
/* After a takeover: tells node daemons without a session here who leads. */
#pragma once

#include "slurmctld/core/ctld.h"

void summon_nodes(struct ctld *c);
void summon_end(struct ctld *c);
