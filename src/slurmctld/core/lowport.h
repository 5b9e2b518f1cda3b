/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ports below 1024, which only root's processes may bind (CORE-230). A controller that listens on
 * such a port and becomes SlurmUser keeps one capability of root, CAP_NET_BIND_SERVICE, since it
 * listens again after each change of the lead. Programs that it starts do not inherit the
 * capability.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"

/* Called before and after the process becomes SlurmUser; afterwards all other capabilities are
 * dropped. No effect if no such port is configured. */
int lowport_keep(const struct conf *conf, struct err *err);
int lowport_hold(const struct conf *conf, struct err *err);
/* When a non-root process executes itself again, it keeps this capability. Once running, it does
   not pass the capability to programs that it executes, even if a file capability requests it. */
void lowport_hand_on(void);
void lowport_begun(void);
