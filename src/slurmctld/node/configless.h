/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes without a slurm.conf of their own. */
#pragma once

#include "slurmctld/core/ctld.h"

void configless_answer(struct ctld *c, struct rpc_session *s);
void configless_accept(struct ctld *c, struct rpc_session *s); /* it will only ask for that */
