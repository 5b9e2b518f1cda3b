/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/alloc.h"

#include <errno.h>

#include "base/mem.h"
#include "rpc/client.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000

struct alloc {
    struct loop *loop;
    const struct conf *conf;
    const struct Pb__AllocRequest *request;
    struct alloc_events events;
    struct rpc_async *call;   /* ALLOC or ALLOC_WAIT */
    struct rpc_async *cancel; /* JOB_SIGNAL */
    struct loop_timer *retry; /* the pause before the next attempt */
    struct loop_timer *limit; /* wait_ms */
    int64_t pause_ms;
    uint32_t job_id; /* 0: unknown yet */
    bool may_exist;  /* the controller may know the job although job_id is 0 */
    bool allocated;  /* the job has its nodes, which are being configured */
    bool has_reported_loss, over;
    bool giving_up; /* set together with the cause: */
    bool timed_out, interrupted;
};

static void send_request(struct alloc *a);
static void send_cancel(struct alloc *a);

const char *alloc_notice(const char *reason)
{
    static const struct {
        const char *reason, *notice; /* 'reason' is a prefix of the job's reason */
    } rows[] = {
        {"PartitionDown", "Partition in DOWN state"},
        {"PartitionInactive", "Required partition not available (inactive or drain)"},
        {"PartitionNodeLimit", "Requested partition configuration not available now"},
        {"PartitionTimeLimit", "Requested partition configuration not available now"},
        {"ReqNodeNotAvail", "Required node not available (down, drained or reserved)"},
    };

    for (size_t i = 0; reason && i < sizeof(rows) / sizeof(rows[0]); i++)
        if (str_starts(reason, rows[i].reason))
            return rows[i].notice;
    return NULL;
}

bool alloc_is_transient(int code)
{
    /* Our tokens are always new: a token rejected as used was repeated by the network. */
    return code == -ERR_CONNECT || code == -ERR_CLOSED || code == -ERR_TIMEOUT ||
           code == -ERR_REPLAY || code == -ERR_STANDBY || code == -ERR_SHUTDOWN ||
           code == -ERR_BUSY || code == -ECONNREFUSED || code == -ECONNRESET || code == -EPIPE ||
           code == -ETIMEDOUT || code == -EHOSTUNREACH || code == -ENETUNREACH;
}

static void fail_alloc(struct alloc *a, const struct err *why)
{
    if (a->over)
        return;
    a->over = true;
    loop_timer_set(a->limit, -1);
    loop_timer_set(a->retry, -1);
    a->events.on_failed(a->events.ctx, a->job_id, why);
}

static void gave_up(struct alloc *a)
{
    struct err why = {0};

    if (a->timed_out && a->has_reported_loss)
        err_set(&why, -ERR_CONNECT, "%s", err_text(ERR_CONNECT));
    else if (a->timed_out)
        err_set(&why, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
    else
        err_set(&why, -ECANCELED, "Job has been cancelled");
    fail_alloc(a, &why);
}

static void pause_and_retry(struct alloc *a, const struct err *err)
{
    if (!a->has_reported_loss && a->events.on_lost != NULL)
        a->events.on_lost(a->events.ctx, err);
    a->has_reported_loss = true;
    loop_timer_set(a->retry, a->pause_ms);
    a->pause_ms = a->pause_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : a->pause_ms * 2;
}

static void on_cancelled(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct alloc *a = ctx;

    (void)reply;
    a->cancel = NULL;
    if (alloc_is_transient(code))
        pause_and_retry(a, err);
    else
        gave_up(a); /* an unknown job needs no cancellation */
}

static void send_cancel(struct alloc *a)
{
    struct Pb__JobSignal signal = PB__JOB_SIGNAL__INIT;
    struct Pb__StepId id = PB__STEP_ID__INIT;
    struct Pb__StepId *target = &id;

    id.job_id = a->job_id;
    signal.target = &target;
    signal.n_target = 1;
    a->cancel =
        rpc_async_controller(a->loop, a->conf, RPC_JOB_SIGNAL, &signal.base, 0, on_cancelled, a);
}

static void on_configuring(struct alloc *a, const struct Pb__AllocReply *reply)
{
    loop_timer_set(a->limit, -1);
    if (!a->allocated)
        a->events.on_configuring(a->events.ctx, reply);
    a->allocated = true;
    if (!a->over && !a->giving_up)
        send_request(a);
}

static void on_reply(void *ctx, int code, const ProtobufCMessage *message, const struct err *err)
{
    struct alloc *a = ctx;
    const struct Pb__AllocReply *reply = (const struct Pb__AllocReply *)message;
    bool first = a->job_id == 0;

    a->call = NULL;
    if (code < 0) {
        a->may_exist |=
            a->job_id != 0 || code == -ERR_CLOSED || code == -ERR_TIMEOUT || code == -ERR_REPLAY;
        if (alloc_is_transient(code) && a->may_exist)
            pause_and_retry(a, err);
        else if (a->giving_up)
            gave_up(a);
        else
            fail_alloc(a, err);
        return;
    }
    a->pause_ms = RETRY_MIN_MS;
    a->has_reported_loss &= a->giving_up;
    a->job_id = reply->job_id;
    if (a->giving_up) {
        send_cancel(a);
    } else if (reply->granted && reply->configuring) {
        on_configuring(a, reply);
    } else if (reply->granted) {
        a->over = true;
        loop_timer_set(a->limit, -1);
        a->events.on_granted(a->events.ctx, reply);
    } else {
        if (first)
            a->events.on_queued(a->events.ctx, reply);
        if (!a->over && !a->giving_up)
            send_request(a);
    }
}

static void send_request(struct alloc *a)
{
    struct Pb__AllocWait wait = PB__ALLOC_WAIT__INIT;

    wait.job_id = a->job_id;
    wait.step = a->request->step;
    wait.has_ready = wait.ready = a->allocated;
    if (a->job_id == 0)
        a->call =
            rpc_async_controller(a->loop, a->conf, RPC_ALLOC, &a->request->base, 0, on_reply, a);
    else
        a->call = rpc_async_controller(a->loop, a->conf, RPC_ALLOC_WAIT, &wait.base,
                                       RPC_WAIT_FOREVER, on_reply, a);
    rpc_async_keep(a->call, a->events.kept);
}

static void on_alloc_retry(void *ctx)
{
    struct alloc *a = ctx;

    if (a->giving_up && a->job_id != 0)
        send_cancel(a);
    else
        send_request(a);
}

static void give_up_allocation(struct alloc *a)
{
    if (a->giving_up)
        return;
    a->giving_up = true;
    if (a->job_id == 0)
        return; /* the reply under way has the job id to cancel */
    rpc_async_drop(a->call);
    a->call = NULL;
    loop_timer_set(a->retry, -1);
    send_cancel(a);
}

static void on_alloc_limit(void *ctx)
{
    struct alloc *a = ctx;

    a->timed_out = !a->giving_up;
    give_up_allocation(a);
}

struct alloc *alloc_start(struct loop *l, const struct conf *conf,
                          const struct Pb__AllocRequest *request, int64_t wait_ms,
                          const struct alloc_events *events)
{
    struct alloc *a = mem_new(struct alloc);

    a->loop = l;
    a->conf = conf;
    a->request = request;
    a->events = *events;
    a->pause_ms = RETRY_MIN_MS;
    a->retry = loop_timer_new(l, on_alloc_retry, a);
    a->limit = loop_timer_new(l, on_alloc_limit, a);
    if (wait_ms >= 0)
        loop_timer_set(a->limit, wait_ms);
    send_request(a);
    return a;
}

void alloc_give_up(struct alloc *a)
{
    if (a->over)
        return;
    /* If the time limit has started the cancellation and the controller is reachable, its reply is
     * near: only a second interrupt gives up without it. */
    if (a->interrupted || (a->giving_up && a->has_reported_loss)) {
        gave_up(a);
        return;
    }
    a->interrupted = true;
    give_up_allocation(a);
}

void alloc_free(struct alloc *a)
{
    if (a == NULL)
        return;
    if (a->call != NULL)
        rpc_async_drop(a->call);
    if (a->cancel != NULL)
        rpc_async_drop(a->cancel);
    loop_timer_free(a->retry);
    loop_timer_free(a->limit);
    free(a);
}
