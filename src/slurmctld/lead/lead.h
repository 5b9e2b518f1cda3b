/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lead: its beginning, its end, and the programs of the site that follow it. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Opens the store, and goes on from what is in it. With *taken false nothing has changed: the store
 * is not to be had. */
int lead_take(struct ctld *c, bool *taken, struct err *err);
void lead_watch(struct ctld *c); /* when there may be others: looks for a lead that was lost */
struct store_where lead_where(const struct conf *conf); /* borrows from it */
/* Its end, for another controller's; and what a controller says of itself. */
void lead_yield(struct ctld *c, const struct rpc_request *request);
void lead_answer_ping(struct ctld *c, const struct rpc_request *request, bool leads,
                      const char *leader);
/* SlurmctldPrimaryOnProg or ...OffProg, where there is one. */
void lead_run_program(struct ctld *c, bool leads);
