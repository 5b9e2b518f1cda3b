/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/exchange.h"

#include <signal.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/srun/mpi/gather.h"
#include "cmd/srun/mpi/kvs.h"
#include "cmd/srun/mpi/published.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/across.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"
#include "cmd/srun/run/spawns.h"
#include "launch/proctable.h"

struct exchange {
    struct run *run;
    struct kvs *kvs;
    struct gather *gather;
    struct published *published;
};

static void on_name_answer(void *ctx, uint32_t node, const Pb__NameReply *reply)
{
    exchange_name_reply(ctx, node, reply);
}

struct exchange *exchange_new(struct run *run)
{
    struct exchange *x = mem_new(struct exchange);
    uint32_t nodes = (uint32_t)run->step->n_layout;

    x->run = run;
    x->kvs = kvs_new(nodes);
    x->gather = gather_new(nodes);
    x->published = published_new(on_name_answer, x);
    return x;
}

void exchange_free(struct exchange *x)
{
    if (x == NULL)
        return;
    kvs_free(x->kvs);
    published_free(x->published);
    gather_free(x->gather);
    free(x);
}

/* --- aborts ----------------------------------------------------------------------------------- */

static void on_abort(struct run *run, uint32_t node, const Pb__KvsAbort *m)
{
    const char *name = run->step->layout[node]->node, *text = m->text != NULL ? m->text : "";

    if (run->phase != RUN_RUNNING || run->aborting)
        return;
    proctable_aborted(m->text);
    if (m->has_broken && m->broken)
        say_error("%s: mpi: %s", name, m->text != NULL ? text : "broken");
    else
        say_error("%s: MPI_Abort with code %d%s%s", name, m->exit_code, *text != '\0' ? ": " : "",
                  text);
    run_abort_with(run, m->exit_code);
}

/* With PMIx a step daemon does not see which of its tasks have called MPI_Init. If a task ends
 * before all tasks of its node have, the others would wait for it in vain, so the step ends. */
void exchange_task_ended(struct exchange *x, uint32_t node, uint32_t task)
{
    struct run *run = x->run;

    if (run->aborting || !str_starts(run->options->mpi, "pmix") ||
        spawned_has_begun(run->spawned, node))
        return;
    say_error("%s: mpi: task %u: it has ended before MPI_Init", run->step->layout[node]->node,
              task);
    run_abort_with(run, 1);
}

/* --- keys and meetings ------------------------------------------------------------------------ */

static void refuse_fence(struct run *run, uint32_t node, const struct err *why)
{
    say_error("%s: mpi: %s", run->step->layout[node]->node, why->text);
    run_abort_with(run, 1);
}

static void on_kvs_fence(struct exchange *x, uint32_t node, const Pb__KvsFence *m)
{
    const Pb__KvsFence *all;
    struct err err = {0};
    int code = kvs_fence(x->kvs, node, m, &all, &err);

    if (code > 0)
        peers_send_all(x->run->peers, RPC_KVS_FENCE, &all->base);
    if (code < 0)
        refuse_fence(x->run, node, &err);
}

static void on_pmix_fence(struct exchange *x, uint32_t node, const Pb__PmixFence *m)
{
    const Pb__PmixFence *all;
    struct err err = {0};
    int code = gather_part(x->gather, node, m, &all, &err);

    if (code > 0 && m->n_step > 0)
        across_meet(x->run->across, all, m);
    else if (code > 0)
        exchange_send_fence(x, all);
    if (code < 0)
        refuse_fence(x->run, node, &err);
}

void exchange_send_fence(struct exchange *x, const Pb__PmixFence *all)
{
    for (size_t i = 0; i < all->n_node; i++)
        peers_send(x->run->peers, all->node[i], RPC_PMIX_FENCE, &all->base);
}

/* --- names ------------------------------------------------------------------------------------ */

void exchange_name(struct exchange *x, uint32_t node, const Pb__NameRequest *m)
{
    Pb__NameRequest asked = *m;

    if (node != EXCHANGE_SPAWNED) {
        asked.has_step = 1;
        asked.step = x->run->step_id;
    }
    if (!spawned_name(x->run->spawned, node, &asked))
        published_request(x->published, node, &asked);
}

void exchange_name_reply(struct exchange *x, uint32_t node, const Pb__NameReply *reply)
{
    struct run *run = x->run;
    Pb__NameReply sent = *reply;

    if (node == EXCHANGE_SPAWNED) {
        spawns_name_reply(run->spawns, reply);
        return;
    }
    sent.has_step &= sent.step != run->step_id;
    peers_send(run->peers, node, RPC_NAME_REPLY, &sent.base);
}

/* --- from one node to another ----------------------------------------------------------------- */

/* From the requesting node to the node of the task, and back; either may be in another step. */
static void on_get(struct run *run, uint32_t node, const Pb__PmixGet *m)
{
    Pb__PmixGet sent = *m;

    sent.has_node = sent.has_from = 1;
    sent.node = node;
    sent.from = run->step_id;
    if (!sent.has_step)
        sent.step = run->step_id;
    across_get(run->across, &sent);
}

void exchange_send_get(struct exchange *x, const Pb__PmixGet *m)
{
    struct run *run = x->run;

    for (uint32_t i = 0; i < run->step->n_layout; i++)
        if (run_owns(run, i, m->task))
            peers_send(run->peers, i, RPC_PMIX_GET, &m->base);
}

static void on_got(struct run *run, const Pb__PmixGot *m)
{
    Pb__PmixGot sent = *m;

    if (!sent.has_step)
        sent.step = run->step_id;
    sent.has_step = 1;
    across_got(run->across, &sent);
}

void exchange_send_got(struct exchange *x, const Pb__PmixGot *m)
{
    peers_send(x->run->peers, m->node, RPC_PMIX_GOT, &m->base);
}

/* Forwards the event to the other nodes, and its signal to all nodes. */
static void on_event(struct run *run, uint32_t node, const Pb__PmixEvent *m)
{
    if (m->has_signal && m->signal > 0 && m->signal < NSIG)
        peers_signal(run->peers, m->signal);
    for (uint32_t i = 0; i < run->step->n_layout && m->has_data; i++)
        if (i != node)
            peers_send(run->peers, i, RPC_PMIX_EVENT, &m->base);
}

bool exchange_message(struct exchange *x, uint32_t node, enum rpc_number rpc,
                      const ProtobufCMessage *m)
{
    struct run *run = x->run;

    switch (rpc) {
    case RPC_KVS_FENCE:
        on_kvs_fence(x, node, (const Pb__KvsFence *)m);
        return true;
    case RPC_KVS_ABORT:
        on_abort(run, node, (const Pb__KvsAbort *)m);
        return true;
    case RPC_NAME_REQUEST:
        if (run_owns(run, node, ((const Pb__NameRequest *)m)->task))
            exchange_name(x, node, (const Pb__NameRequest *)m);
        return true;
    case RPC_SPAWN:
        if (run_owns(run, node, ((const Pb__Spawn *)m)->task))
            spawns_ask(run->spawns, node, (const Pb__Spawn *)m);
        return true;
    case RPC_SPAWNED:
        spawned_on_begun(run->spawned, node);
        return true;
    case RPC_PMIX_FENCE:
        on_pmix_fence(x, node, (const Pb__PmixFence *)m);
        return true;
    case RPC_PMIX_GET:
        on_get(run, node, (const Pb__PmixGet *)m);
        return true;
    case RPC_PMIX_GOT:
        on_got(run, (const Pb__PmixGot *)m);
        return true;
    case RPC_PMIX_EVENT:
        on_event(run, node, (const Pb__PmixEvent *)m);
        return true;
    default:
        return false;
    }
}
