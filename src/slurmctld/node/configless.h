/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serves the configuration to nodes without their own slurm.conf. */
#pragma once

#include "slurmctld/core/ctld.h"

void configless_answer(struct ctld *c, struct rpc_session *s);
/* The session is only used to fetch the configuration. */
void configless_accept(struct ctld *c, struct rpc_session *s);
