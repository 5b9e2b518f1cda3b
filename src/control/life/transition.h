/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows from a change of a job's state; part of internal.h. The table is transition.def. */
#pragma once

#include "cluster/job/transition.h"

struct control;

/* From now on the subscribers hear of the transitions of the control's cluster. */
void transition_observe(struct control *c);

#define SUBSCRIBER(name, kinds, function)                                                          \
    void function(struct control *c, const struct transition *t);
#include "control/life/transition.def"
#undef SUBSCRIBER
