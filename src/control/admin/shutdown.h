/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An announced shutdown. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

int shutdown_restore(struct control *c, const void *data, size_t len, struct err *err);
void shutdown_resume(struct control *c);          /* after a restart, before the jobs resume */
void shutdown_over(struct control *c);            /* the shutdown is complete */
int64_t shutdown_due_ms(const struct control *c); /* INT64_MAX: no shutdown is announced */
void shutdown_tick(struct control *c);
