/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An allocation, requested on a loop: the request, the wait in the queue (across restarts of the
 * controller), and giving up. Used by srun and salloc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "proto/job.pb-c.h"

/* Message to a user whose job was submitted in held state. */
#define ALLOC_HELD "Job is in held state, pending scheduler release"

/* Slurm's message for a job that waits for this reason; NULL: no message. */
const char *alloc_notice(const char *reason);

struct rpc_kept;
struct alloc_events {
    void (*on_queued)(void *ctx, const struct Pb__AllocReply *reply); /* valid until it returns */
    /* At most once, before on_granted: the nodes are allocated and being configured. */
    void (*on_configuring)(void *ctx, const struct Pb__AllocReply *reply);
    void (*on_granted)(void *ctx, const struct Pb__AllocReply *reply); /* valid until it returns */
    /* The request was rejected, the job ended while pending, or the caller gave up. job_id 0: no
     * job exists. */
    void (*on_failed)(void *ctx, uint32_t job_id, const struct err *why);
    /* The controller cannot be reached: the request is repeated. */
    void (*on_lost)(void *ctx, const struct err *why);
    void *ctx;
    struct rpc_kept
        *kept; /* for rpc_async_keep(); NULL: each request has a connection of its own */
};

struct alloc;

/* The caller keeps the request and its parts, which must outlive the alloc; its request_id makes a
 * repeated request find the same job. wait_ms: cancel the request after this time; -1: never. One
 * of on_granted and on_failed is called once, never from within this call. */
struct alloc *alloc_start(struct loop *l, const struct conf *conf,
                          const struct Pb__AllocRequest *request, int64_t wait_ms,
                          const struct alloc_events *events);

/* Cancels the job; on_failed then gets -ECANCELED, or the reason of an earlier cancellation. A
 * second call does not wait for the controller; neither does the first call after wait_ms has
 * passed while the controller cannot be reached. */
void alloc_give_up(struct alloc *a);
void alloc_free(struct alloc *a); /* does not cancel the job */

/* Whether the same request may succeed later: the controller is down or shutting down. */
bool alloc_is_transient(int code);
