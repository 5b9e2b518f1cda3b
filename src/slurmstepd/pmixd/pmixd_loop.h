/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop of slurmstepd-pmix: what the library wants of the shepherd (pmixd_ask.c), and what the
 * shepherd answers, or wants itself (pmixd_answer.c). Nothing here is called by the library's
 * threads.
 */
#pragma once

#include "loop/loop.h"
#include "rpc/link.h"
#include "slurmstepd/pmixd/pmixd.h"

struct pmixd_meetings;

struct pmixd {
    struct loop *loop;
    struct rpc_link *link;
    const struct pmixd_lib *lib;
    struct pmixd_job job;
    bool started;
    bool is_related; /* processes of other steps may wait for ours */
    int wake_fd;
    struct pmixd_meetings *meetings; /* how often each group has met */
    struct pmixd_call *calls;        /* without an answer */
    uint32_t next_id;
};

/* pmixd_ask.c. Reads the pipe of calls; of loop_fd_new(). */
void pmixd_ask_wake(void *ctx, int fd, unsigned ready);
/* What the library has found goes to the node that wanted it. Frees the call. */
void pmixd_ask_got(struct pmixd *p, struct pmixd_call *c);

/* pmixd_answer.c. Calls the library back; the call stays. */
void pmixd_answer_give(const struct pmixd_call *c, pmix_status_t status, const void *data,
                       size_t len);
/* What the members of a new group have brought, and its number. */
void pmixd_answer_group(const struct pmixd_call *c, uint64_t context, const void *data, size_t len);
/* All its names are answered. Frees the call. */
void pmixd_answer_names(struct pmixd *p, struct pmixd_call *c);

/* Messages of the shepherd. */
void pmixd_answer_fenced(struct pmixd *p, const Pb__PmixFence *m);
void pmixd_answer_got(struct pmixd *p, const Pb__PmixGot *m);
/* Another node asks for what a task here has put; the library answers when it has. */
void pmixd_answer_get(struct pmixd *p, const Pb__PmixGet *m);
void pmixd_answer_name(struct pmixd *p, uint64_t id, const Pb__NameReply *m);
void pmixd_answer_spawned(struct pmixd *p, const Pb__Spawned *m);
