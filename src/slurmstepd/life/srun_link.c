/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/life/srun_link.h"

#include <errno.h>
#include <signal.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "slurmstepd/life/control.h"
#include "slurmstepd/life/finish.h"
#include "slurmstepd/life/start.h"
#include "slurmstepd/mpi/mpi.h"
#include "slurmstepd/pmix/pmix.h"
#include "slurmstepd/stream/stream.h"
#include "slurmstepd/stream/x11.h"
#include "slurmstepd/task/task.h"

#define TRIES 6 /* connection attempts until srun answers the hello, before any task runs */
#define RETRY_MIN_MS 50
#define ADDRESSES_MAX 8

static void on_signal(struct step *step, const Pb__IoSignal *m)
{
    if (m->has_kill_step && m->kill_step)
        finish_terminate(step, step->kill_wait_sec, m->why);
    else if (m->signal > 0 && m->signal < NSIG)
        control_signal(step, m->signal, false);
}

/* srun has received our hello, and will receive the state of the tasks. */
static void on_hello(struct step *step, const Pb__IoHello *m)
{
    if (m->bulk == 2)
        rpc_session_send_bulk(step->srun);
    if (step->srun_was_up)
        return;
    loop_timer_free(take_ptr(step->hello_timer));
    step->srun_was_up = true;
    if (pmix_wanted(step))
        pmix_start(step);
    else
        task_start_all(step);
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct step *step = ctx;

    switch (rpc->number) {
    case RPC_IO_HELLO:
        on_hello(step, (const Pb__IoHello *)body);
        break;
    case RPC_IO_DATA:
        stream_take_input(step, (const Pb__IoData *)body);
        break;
    case RPC_IO_SIGNAL:
        on_signal(step, (const Pb__IoSignal *)body);
        break;
    case RPC_KVS_FENCE:
        mpi_fence_done(step, (const Pb__KvsFence *)body);
        break;
    case RPC_NAME_REPLY:
        if (step->pmix)
            pmix_name_done(step, (const Pb__NameReply *)body);
        else
            mpi_name_done(step, (const Pb__NameReply *)body);
        break;
    case RPC_PMIX_FENCE:
        pmix_fence_done(step, (const Pb__PmixFence *)body);
        break;
    case RPC_PMIX_GET:
        pmix_get(step, (const Pb__PmixGet *)body);
        break;
    case RPC_PMIX_EVENT:
        pmix_event(step, (const Pb__PmixEvent *)body);
        break;
    case RPC_PMIX_GOT:
        pmix_got(step, (const Pb__PmixGot *)body);
        break;
    case RPC_SPAWNED:
        if (step->pmix)
            pmix_spawned(step, (const Pb__Spawned *)body);
        else
            mpi_spawned(step, (const Pb__Spawned *)body);
        break;
    case RPC_TUNNEL_DATA:
        x11_message(step, (const Pb__TunnelData *)body);
        break;
    case RPC_WINDOW_SIZE:
        stream_resize(step, (const Pb__WindowSize *)body);
        break;
    default:
        break;
    }
}

static void on_open(void *ctx, struct rpc_session *s)
{
    struct step *step = ctx;
    Pb__IoHello hello = PB__IO_HELLO__INIT;

    hello.node = step->node;
    hello.node_index = step->node_index;
    hello.has_bulk = true;
    hello.bulk = 1;
    rpc_session_send(s, RPC_IO_HELLO, &hello.base);
}

/* srun's connection has space again, or is gone; in the latter case the bytes are dropped. */
static void pump_all(struct step *step)
{
    x11_drained(step);
    mpi_drained(step);
    pmix_drained(step);
    for (size_t i = 0; i < step->task_count; i++) {
        stream_pump(&step->tasks[i].out);
        stream_pump(&step->tasks[i].err);
    }
}

static void on_drained(void *ctx, struct rpc_session *s)
{
    struct step *step = ctx;

    pump_all(step);
    finish_check(step);
}

static void on_srun_link_retry(void *ctx)
{
    struct step *step = ctx;

    if (step_is_starting(step) && !step->fail_code)
        srun_connect(step);
}

/* The connection failed before any task ran. A broken connection is opened again; an srun that
 * does not exist, or is not the announced one, is not tried again. The error code is one that does
 * not make srun launch again: the step is over. */
static void never_up(struct step *step, const struct err *why)
{
    bool broken = why->code == -ERR_CLOSED || why->code == -ECONNRESET || why->code == -EPIPE;
    _cleanup_free_ char *text = NULL;

    if (broken && ++step->srun_tries < TRIES) {
        if (!step->srun_timer)
            step->srun_timer = loop_timer_new(step->loop, on_srun_link_retry, step);
        loop_timer_set(step->srun_timer, RETRY_MIN_MS << (step->srun_tries - 1));
        return;
    }
    text = mem_printf("srun cannot be reached: %s%s", why->text, broken ? ", each time again" : "");
    start_failed(step, ERR_LAUNCH, text);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct step *step = ctx;
    struct err kept = *why;

    step->srun = NULL;
    rpc_session_free(s);
    if (!step->srun_was_up) {
        never_up(step, &kept);
        return;
    }
    pump_all(step);
    if (step_is_starting(step)) {
        err_prefix(&kept, "srun was lost before its tasks ran");
        start_failed(step, ERR_LAUNCH, kept.text);
    } else if (step_is_running(step))
        finish_terminate(step, step->kill_wait_sec, NULL);
    else
        finish_check(step);
}

static void on_hello_late(void *ctx)
{
    struct step *step = ctx;
    _cleanup_free_ char *text = mem_printf("srun did not answer slurmstepd on node %s within %u s",
                                           step->node, step->start->hello_sec);

    if (step_is_starting(step) && !step->fail_code)
        start_failed(step, ERR_TIMEOUT, text);
}

static void await_hello(struct step *step)
{
    if (step->hello_timer || !step->start->has_hello_sec)
        return;
    step->hello_timer = loop_timer_new(step->loop, on_hello_late, step);
    loop_timer_set(step->hello_timer, (int64_t)step->start->hello_sec * 1000);
}

void srun_connect(struct step *step)
{
    const Pb__LaunchTasks *launch = step->launch;
    struct rpc_session_events events = {.accepts = RPC_WHO_KEY,
                                        .on_open = on_open,
                                        .on_message = on_message,
                                        .on_drained = on_drained,
                                        .on_close = on_close,
                                        .ctx = step};
    struct rpc_target targets[ADDRESSES_MAX];
    struct auth_key key;
    size_t count = 0;

    if (launch->io_local)
        targets[count++] = (struct rpc_target){launch->io_local, 0, step->uid};
    for (size_t i = 0; i < launch->n_io_addr && count < ADDRESSES_MAX; i++)
        targets[count++] =
            (struct rpc_target){launch->io_addr[i], (uint16_t)launch->io_port, step->uid};
    await_hello(step);
    auth_key_from_bytes(launch->io_key.data, launch->io_key.len, &key);
    step->srun = rpc_session_connect(step->loop, &key, step->node, targets, count, false, &events);
    auth_key_done(&key);
}
