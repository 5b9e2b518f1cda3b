/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standby, between the start or a lost lead and the next lead. */
#pragma once

#include "slurmctld/core/ctld.h"

void backup_open(struct ctld *c);
void backup_close(struct ctld *c);
void backup_request(struct ctld *c, const struct rpc_request *request);
void backup_call_gone(struct ctld *c, uint64_t call);
/* Begins anew with the configuration as it is now, unless that has an error. */
int backup_reload(struct ctld *c, struct err *err);
