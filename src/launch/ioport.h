/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port to which the step daemons of a step connect. */
#pragma once

#include "conf/conf.h"
#include "proto/step.pb-c.h"
#include "rpc/server.h"

/* Listens on any port, or on the first free one of SrunPortRange=FIRST-LAST; only on loopback if
 * every node of the step is this host. Returns the port, or a negative error. */
int ioport_listen(struct rpc_server *server, const struct conf *conf, Pb__StepNode *const *nodes,
                  size_t count, struct err *err);
