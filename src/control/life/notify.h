/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages to the clients that wait for a job. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* The call waits for the job's end; it also gets messages until then if it requests them. */
void notify_await(struct control *c, struct job *j, uint64_t call, const Pb__JobIdRequest *r);
/* Whether the waiting call gets messages. */
bool notify_listens(const struct job *j, uint64_t call);
/* Sends what delays the job to waiting clients. */
void notify_held_up(struct control *c, struct job *j);
