/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages to those who wait for a job. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* One who waits for the job's end hears messages until then, when it asks for them. */
void notify_await(struct control *c, struct job *j, uint64_t call, const Pb__JobIdRequest *r);
bool notify_listens(const struct job *j, uint64_t call); /* who waits by this call is such a one */
void notify_held_up(struct control *c, struct job *j);   /* what holds it up, while one waits */
