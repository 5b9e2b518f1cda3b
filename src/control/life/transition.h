/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows from a change of a job's state. The table is transition.def. */
#pragma once

struct control;

/* From now on the subscribers hear of the transitions of the control's cluster. */
void transition_observe(struct control *c);
