/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event loop of slurmstepd-pmix: requests of the library to the shepherd (pmixd_ask.c), and
 * answers and requests of the shepherd (pmixd_answer.c). The library's threads call nothing here.
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
    bool is_related; /* processes of other steps may wait for this step */
    int wake_fd;
    struct pmixd_meetings *meetings; /* number of fences so far of each set of tasks */
    struct pmixd_call *calls;        /* unanswered requests */
    uint32_t next_id;
};

/* pmixd_ask.c. Reads the pipe of requests; a callback of loop_fd_new(). */
void pmixd_ask_wake(void *ctx, int fd, unsigned ready);
/* Sends the data that the library has found to the requesting node. Frees the call. */
void pmixd_ask_got(struct pmixd *p, struct pmixd_call *c);

/* pmixd_answer.c. Calls the library's callback; does not free the call. */
void pmixd_answer_give(const struct pmixd_call *c, pmix_status_t status, const void *data,
                       size_t len);
/* Delivers the data of all members of a new group, and its context number. */
void pmixd_answer_group(const struct pmixd_call *c, uint64_t context, const void *data, size_t len);
/* All its names are answered: calls back and frees the call. */
void pmixd_answer_names(struct pmixd *p, struct pmixd_call *c);

/* Handle messages of the shepherd. */
void pmixd_answer_fenced(struct pmixd *p, const Pb__PmixFence *m);
void pmixd_answer_got(struct pmixd *p, const Pb__PmixGot *m);
/* Another node requests data of a local task; the library answers when the task has put it. */
void pmixd_answer_get(struct pmixd *p, const Pb__PmixGet *m);
void pmixd_answer_name(struct pmixd *p, uint64_t id, const Pb__NameReply *m);
void pmixd_answer_spawned(struct pmixd *p, const Pb__Spawned *m);
