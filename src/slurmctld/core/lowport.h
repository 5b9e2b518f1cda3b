/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ports below 1024, which root's processes alone may open (CORE-230). A controller that listens on
 * one and becomes SlurmUser keeps this one right of root's, CAP_NET_BIND_SERVICE, since it listens
 * anew after each change of the lead. Nothing else that it starts has it.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"

/* Before it becomes SlurmUser, and after: all other rights are gone then. Nothing is done where the
 * ports are others. */
int lowport_keep(const struct conf *conf, struct err *err);
int lowport_hold(const struct conf *conf, struct err *err);
/* The same program, executed in its place by a user that is not root, keeps what it has of it; and
 * when it has begun, the programs that it executes do not, not even those whose file asks for it.
 */
void lowport_hand_on(void);
void lowport_begun(void);
