/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/spawned.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bitset.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/across.h"
#include "cmd/srun/run/exchange.h"
#include "cmd/srun/run/request.h"
#include "cmd/srun/run/run.h"
#include "rpc/link.h"

struct spawned {
    struct run *run;
    struct rpc_link *link; /* NULL: the requesting srun is gone */
    struct bitset *begun;  /* nodes on which MPI is initialised; NULL: none yet */
    char *why;             /* why the step must end; NULL: it need not */
    bool answered;
};

const Pb__SpawnOrder *spawned_read(struct arena *arena, struct err *err)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    const Pb__SpawnOrder *order;
    char path[32];

    if (getenv(SPAWNED_VARIABLE) == NULL)
        return NULL;
    unsetenv(SPAWNED_VARIABLE);
    fcntl(SPAWNED_LINK_FD, F_SETFD, FD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", SPAWNED_ORDER_FD);
    if (path_read_file(path, RPC_BODY_MAX, &bytes, err) < 0)
        return NULL;
    close(SPAWNED_ORDER_FD);
    order = arena_unpack(arena, &pb__spawn_order__descriptor, bytes.data, bytes.len);
    if (order == NULL || order->spawn->n_command == 0)
        err_set(err, -ERR_PROTOCOL, "the order for a spawned step is malformed");
    return order;
}

Pb__SpawnOrigin *spawned_origin(const Pb__SpawnOrder *order, struct arena *arena)
{
    Pb__SpawnOrigin *from;

    if (order == NULL)
        return NULL;
    from = arena_alloc(arena, sizeof(*from));
    pb__spawn_origin__init(from);
    from->job_id = order->job_id;
    from->step_id = order->step_id;
    from->has_task = 1;
    from->task = order->spawn->task;
    from->preput = order->spawn->preput;
    from->n_preput = order->spawn->n_preput;
    from->n_tasks = order->spawn->n_command;
    from->tasks = arena_alloc(arena, from->n_tasks * sizeof(uint32_t));
    for (size_t i = 0; i < from->n_tasks; i++)
        from->tasks[i] = order->spawn->command[i]->tasks;
    return from;
}

/* --- the link --------------------------------------------------------------------------------- */

static void on_name(struct spawned *s, uint64_t id, const Pb__NameReply *reply)
{
    Pb__NameReply sent = *reply;

    sent.id = (uint32_t)id;
    exchange_name_reply(s->run->exchange, (uint32_t)(id >> 32), &sent);
}

static void on_spawned_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                               const ProtobufCMessage *body)
{
    struct spawned *s = ctx;

    (void)l;
    if (s->run->phase != RUN_RUNNING)
        return;
    if (h->rpc == RPC_PMIXD_NAME && (h->flags & RPC_FLAG_REPLY))
        on_name(s, h->id, (const Pb__NameReply *)body);
    else if (h->rpc == RPC_PMIXD_FENCE)
        across_on_fence(s->run->across, ACROSS_UP, (const Pb__PmixFence *)body);
    else if (h->rpc == RPC_PMIXD_GET)
        across_get(s->run->across, (const Pb__PmixGet *)body);
    else if (h->rpc == RPC_PMIXD_GOT)
        across_got(s->run->across, (const Pb__PmixGot *)body);
}

bool spawned_send(struct spawned *s, enum rpc_number rpc, const ProtobufCMessage *m)
{
    if (s == NULL || s->link == NULL)
        return false;
    rpc_link_send(s->link, rpc, false, 0, m);
    return true;
}

/* The requesting srun has gone, and nobody needs the step. */
static void on_spawned_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct spawned *s = ctx;

    (void)why;
    s->link = NULL;
    rpc_link_free(l);
    if (s->run->phase == RUN_ASKING)
        request_interrupt(s->run->request, 0);
    else
        s->run->on->abort(s->run, NULL);
}

struct spawned *spawned_open(struct run *run)
{
    const struct rpc_link_events events = {on_spawned_message, on_spawned_close, NULL};
    struct rpc_link_events mine = events;
    struct spawned *s;

    if (run->options->order == NULL)
        return NULL;
    s = mem_new(struct spawned);
    mine.ctx = s;
    s->run = run;
    s->link = rpc_link_new(run->loop, SPAWNED_LINK_FD, &mine);
    return s;
}

void spawned_free(struct spawned *s)
{
    if (s == NULL)
        return;
    rpc_link_free(s->link);
    bitset_free(s->begun);
    free(s->why);
    free(s);
}

static bool is_pmix(const struct run *run)
{
    return str_starts(run->options->mpi, "pmix");
}

static void answer_spawn(struct spawned *s, int code, const char *text)
{
    const struct run *run = s->run;
    Pb__Spawned m = PB__SPAWNED__INIT;

    if (s->answered || s->link == NULL)
        return;
    s->answered = true;
    m.code = code;
    m.text = (char *)text;
    m.has_job_id = m.has_step_id = code == 0;
    m.job_id = run->job_id;
    m.step_id = run->step_id;
    m.job = code == 0 && is_pmix(run) ? across_job(run->across) : NULL;
    rpc_link_send(s->link, RPC_PMIXD_SPAWN, true, 0, &m.base);
}

void spawned_on_begun(struct spawned *s, uint32_t node)
{
    if (s == NULL)
        return;
    if (s->begun == NULL)
        s->begun = bitset_new(s->run->step->n_layout);
    bitset_set(s->begun, node);
    if (bitset_count(s->begun) == s->run->step->n_layout)
        answer_spawn(s, 0, NULL);
}

bool spawned_has_begun(const struct spawned *s, uint32_t node)
{
    return s == NULL || (s->begun != NULL && bitset_test(s->begun, node));
}

void spawned_broken(struct spawned *s, int exit_code)
{
    Pb__KvsAbort m = PB__KVS_ABORT__INIT;

    if (s == NULL)
        return;
    if (s->why == NULL)
        s->why = mem_strdup(say_last_error());
    m.exit_code = exit_code;
    m.text = s->why;
    if (s->link != NULL && s->answered)
        rpc_link_send(s->link, RPC_PMIXD_ABORT, false, 0, &m.base);
}

void spawned_finish(struct spawned *s)
{
    if (s != NULL)
        answer_spawn(s, ERR_LAUNCH, s->why != NULL ? s->why : say_last_error());
}

bool spawned_name(struct spawned *s, uint32_t node, const Pb__NameRequest *m)
{
    if (s == NULL || s->link == NULL)
        return false;
    rpc_link_send(s->link, RPC_PMIXD_NAME, false, (uint64_t)node << 32 | m->id, &m->base);
    return true;
}
