/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking and giving up the lead, and the site's programs that follow a change of the lead. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Opens the store and restores the state in it. *taken false: nothing has changed, because the
 * store is not available. */
int lead_take(struct ctld *c, bool *taken, struct err *err);
/* If there may be other controllers: checks whether the lead was lost. */
void lead_watch(struct ctld *c);
struct store_where lead_where(const struct conf *conf); /* borrows from conf */
/* Gives the lead to another controller; answers who leads. */
void lead_yield(struct ctld *c, const struct rpc_request *request);
void lead_answer_ping(struct ctld *c, const struct rpc_request *request, bool leads,
                      const char *leader);
/* Runs SlurmctldPrimaryOnProg or SlurmctldPrimaryOffProg, if configured. */
void lead_run_program(struct ctld *c, bool leads);
