/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InactiveLimit. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* Called when its listeners may have changed. */
void inactive_look(struct control *c, struct job *j);
int64_t inactive_due_ms(const struct control *c, const struct job *j); /* INT64_MAX: never */
