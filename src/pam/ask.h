/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries to node daemons by a program of root, for one login. Private to src/pam. */
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
    uint32_t job_id; /* the requested job; 0: none */
    bool newest;
    bool has_ends;
    /* The ends of the connection, from this host's point of view. */
    struct owner_end local, remote;
    struct arena arena;
};

/* Finds the daemon on this host that the login is for. */
int ask_find_node(struct ask *a, const char *wanted, struct err *err);

/* Has the process adopted; the reply is in the arena. On failure the result is unknown. */
int ask_adopt(struct ask *a, Pb__AdoptReply **reply, struct err *err);

/* origin.c: returns which of these jobs has the process on another node that made the connection;
 * 0: unknown. Takes a few seconds at most. */
uint32_t origin_job(struct ask *a, const Pb__AdoptReply *several);
