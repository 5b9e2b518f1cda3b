/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals to jobs and steps, and cancellation by request. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

void cancel_notify(struct control *c, struct job *j, int signo); /* signals all of its steps */
void cancel_warn(struct control *c, struct job *j); /* sends the --signal that is due */
/* Ends the step on all of its nodes. */
void cancel_step(struct control *c, struct job *j, struct step *s);
void cancel_repeat_steps(struct control *c,
                         struct job *j); /* repeats unconfirmed orders to end steps and scripts */
bool cancel_is_pending(const struct job *j);            /* whether such orders are unconfirmed */
void cancel_restored(struct control *c, struct job *j); /* sends the orders again after a restart */
