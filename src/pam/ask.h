/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside this room: what a program of root's asks node daemons of, for one login. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/owner.h"
#include "conf/conf.h"
#include "proto/adopt.pb-c.h"

struct ask {
    const struct conf *conf;
    const char *node;
    uid_t uid;
    pid_t pid;
    uint32_t job_id; /* wanted; 0: none */
    bool newest;
    bool has_ends;
    struct owner_end local, remote; /* of the connection, seen from here */
    struct arena arena;
};

/* The daemon of this host that the login is for. */
int ask_find_node(struct ask *a, const char *wanted, struct err *err);

/* Has the process adopted; the reply is in the arena. A failure: it is not known. */
int ask_adopt(struct ask *a, Pb__AdoptReply **reply, struct err *err);

/* origin.c: the job of these whose process on another node has made the connection; 0: not known.
 * Takes a few seconds at most. */
uint32_t origin_job(struct ask *a, const Pb__AdoptReply *several);
