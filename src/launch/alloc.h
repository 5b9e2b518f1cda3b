/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An allocation, asked for on a loop: the request, the wait in the queue (through restarts of the
 * controller), and giving up. For srun and salloc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "proto/job.pb-c.h"

/* What a user hears whose job waits because it was asked to. */
#define ALLOC_HELD "Job is in held state, pending scheduler release"

/* What a user hears whose job waits for this reason, as Slurm's commands say it; NULL: nothing. */
const char *alloc_notice(const char *reason);

struct rpc_kept;
struct alloc_events {
    void (*on_queued)(void *ctx, const struct Pb__AllocReply *reply); /* valid until it returns */
    /* At most once, before on_granted: it has its nodes, and may use them later. */
    void (*on_configuring)(void *ctx, const struct Pb__AllocReply *reply);
    void (*on_granted)(void *ctx, const struct Pb__AllocReply *reply); /* valid until it returns */
    /* It was refused, has ended while it waited, or was given up. job_id 0: there is no job. */
    void (*on_failed)(void *ctx, uint32_t job_id, const struct err *why);
    void (*on_lost)(void *ctx, const struct err *why); /* the controller is away: trying again */
    void *ctx;
    struct rpc_kept
        *kept; /* for rpc_async_keep(); NULL: each request has a connection of its own */
};

struct alloc;

/* request and its parts stay the caller's and must live as long as the alloc; its request_id makes
 * a repeated request find the same job. wait_ms: cancel when it was not granted by then, -1 never.
 * One of on_granted and on_failed is called once, never from within this call. */
struct alloc *alloc_start(struct loop *l, const struct conf *conf,
                          const struct Pb__AllocRequest *request, int64_t wait_ms,
                          const struct alloc_events *events);

/* Cancels the job, then on_failed says -ECANCELED, or why it was being cancelled; a second call
 * does not wait for the controller, nor does the first after wait_ms while that is away. */
void alloc_give_up(struct alloc *a);
void alloc_free(struct alloc *a); /* leaves the job alone */

/* Whether the controller may answer the same request later: not there, or going away. */
bool alloc_is_transient(int code);
