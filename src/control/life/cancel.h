/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals, and the end of jobs and steps by request. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

void cancel_notify(struct control *c, struct job *j, int signo); /* all its steps */
void cancel_warn(struct control *c, struct job *j);              /* --signal: its time has come */
/* What is left of it ends everywhere. */
void cancel_step(struct control *c, struct job *j, struct step *s);
void cancel_repeat_steps(struct control *c,
                         struct job *j); /* ending steps, and scripts, are ordered to end again */
bool cancel_is_pending(const struct job *j);            /* there are such */
void cancel_restored(struct control *c, struct job *j); /* the same, after a restart */
