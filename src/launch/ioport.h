/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port that shepherds of a step connect to. */
#pragma once

#include "conf/conf.h"
#include "proto/step.pb-c.h"
#include "rpc/server.h"

/* Any port, or the first free one of SrunPortRange=FIRST-LAST; on loopback alone when every node of
 * the step is there. The port, or a negative error. */
int ioport_listen(struct rpc_server *server, const struct conf *conf, Pb__StepNode *const *nodes,
                  size_t count, struct err *err);
