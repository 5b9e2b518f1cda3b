/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standby: the time between a start or a lost lead and the next lead. */
#pragma once

#include "slurmctld/core/ctld.h"

void backup_open(struct ctld *c);
void backup_close(struct ctld *c);
void backup_request(struct ctld *c, const struct rpc_request *request);
void backup_call_gone(struct ctld *c, uint64_t call);
/* Starts again with the present configuration file, unless it has an error. */
int backup_reload(struct ctld *c, struct err *err);
