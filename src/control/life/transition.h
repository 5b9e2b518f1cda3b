/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The effects of a change of a job's state. The table is transition.def. */
#pragma once

struct control;

/* Connects the subscribers to the transitions of the control's cluster. */
void transition_observe(struct control *c);
