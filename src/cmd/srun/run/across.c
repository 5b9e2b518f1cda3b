/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/across.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/srun/mpi/gather.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/exchange.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"
#include "cmd/srun/run/spawns.h"

#define STEPS_MAX 1024                     /* maximum number of steps in a meeting */
#define CONTEXT_ACROSS (UINT64_C(1) << 30) /* above the meeting numbers of a single step */
#define NOT_FOUND (-46)                    /* PMIx's number of this error */

/* A meeting that some steps have entered; exists in the first srun. */
struct meeting {
    UT_hash_handle hh;
    char *name;
    VEC(uint32_t) steps;     /* the expected steps */
    VEC(Pb__PmixJob *) jobs; /* of the steps that have entered */
    size_t bytes;            /* size of the message to all */
    struct str data;
};

struct route {
    uint32_t step, link;
};

struct across {
    struct run *run;
    struct meeting *meetings;
    uint64_t over;            /* number of finished meetings */
    VEC(struct route) routes; /* routes to steps below */
    Pb__PmixJob *job;
};

struct across *across_new(struct run *run)
{
    struct across *a = mem_new(struct across);

    a->run = run;
    return a;
}

static void meeting_free(struct across *a, struct meeting *m)
{
    HASH_DEL(a->meetings, m);
    for (size_t i = 0; i < m->jobs.len; i++)
        pb__pmix_job__free_unpacked(m->jobs.data[i], NULL);
    vec_done(&m->jobs);
    vec_done(&m->steps);
    str_done(&m->data);
    free(m->name);
    free(m);
}

void across_free(struct across *a)
{
    struct meeting *m, *next;

    if (a == NULL)
        return;
    HASH_ITER (hh, a->meetings, m, next)
        meeting_free(a, m);
    if (a->job != NULL)
        pb__pmix_job__free_unpacked(a->job, NULL);
    vec_done(&a->routes);
    free(a);
}

Pb__PmixJob *across_job(struct across *a)
{
    const Pb__StepReply *step = a->run->step;

    if (a->job != NULL)
        return a->job;
    a->job = mem_new(Pb__PmixJob);
    pb__pmix_job__init(a->job);
    a->job->step = step->step_id;
    a->job->n_nodes = step->n_layout;
    a->job->nodes = mem_new_array(Pb__PmixNode *, step->n_layout + 1);
    for (size_t i = 0; i < step->n_layout; i++) {
        const Pb__StepNode *from = step->layout[i];
        Pb__PmixNode *n = a->job->nodes[i] = mem_new(Pb__PmixNode);

        pb__pmix_node__init(n);
        n->name = mem_strdup(from->node);
        n->n_task = from->n_task_ids;
        n->task = mem_new_array(uint32_t, n->n_task + 1);
        if (n->n_task > 0)
            memcpy(n->task, from->task_ids, n->n_task * sizeof(uint32_t));
    }
    return a->job;
}

/* --- routes ----------------------------------------------------------------------------------- */

static void learn_route(struct across *a, uint32_t step, uint32_t link)
{
    for (size_t i = 0; i < a->routes.len; i++)
        if (a->routes.data[i].step == step)
            return;
    vec_push(&a->routes, ((struct route){step, link}));
}

void across_on_gone(struct across *a, uint32_t link)
{
    for (size_t i = a->routes.len; i-- > 0;)
        if (a->routes.data[i].link == link)
            vec_remove(&a->routes, i);
}

/* Sends towards another step; false: the step is unknown. */
static bool send_to_step(struct across *a, uint32_t step, enum rpc_number rpc,
                         const ProtobufCMessage *m)
{
    for (size_t i = 0; i < a->routes.len; i++)
        if (a->routes.data[i].step == step)
            return spawns_send(a->run->spawns, a->routes.data[i].link, rpc, m);
    return spawned_send(a->run->spawned, rpc, m);
}

void across_get(struct across *a, const Pb__PmixGet *m)
{
    Pb__PmixGot none = PB__PMIX_GOT__INIT;

    if (m->step == a->run->step_id) {
        exchange_send_get(a->run->exchange, m);
        return;
    }
    if (send_to_step(a, m->step, RPC_PMIXD_GET, &m->base))
        return;
    none.id = m->id;
    none.node = m->node;
    none.status = NOT_FOUND;
    none.has_step = 1;
    none.step = m->from;
    across_got(a, &none);
}

void across_got(struct across *a, const Pb__PmixGot *m)
{
    if (m->step == a->run->step_id)
        exchange_send_got(a->run->exchange, m);
    else
        send_to_step(a, m->step, RPC_PMIXD_GOT, &m->base);
}

/* --- meetings --------------------------------------------------------------------------------- */

/* Sends to every step below; steps that do not wait for the fence ignore it. */
static void send_fence(struct across *a, const Pb__PmixFence *all)
{
    struct run *run = a->run;
    _cleanup_free_ uint32_t *nodes = NULL;
    Pb__PmixFence here = *all;

    spawns_send_all(run->spawns, RPC_PMIXD_FENCE, &all->base);
    for (size_t i = 0; i < all->n_step; i++) {
        if (all->step[i] != run->step_id)
            continue;
        nodes = mem_new_array(uint32_t, run->step->n_layout);
        for (uint32_t n = 0; n < run->step->n_layout; n++)
            nodes[n] = n;
        here.node = nodes;
        here.n_node = run->step->n_layout;
        exchange_send_fence(run->exchange, &here);
        return;
    }
}

static struct meeting *meeting_get(struct across *a, const Pb__PmixFence *part)
{
    struct meeting *m;

    HASH_FIND(hh, a->meetings, part->group, strlen(part->group), m);
    if (m != NULL || part->n_step > STEPS_MAX || HASH_COUNT(a->meetings) >= GATHER_GROUPS_MAX)
        return m;
    m = mem_new(struct meeting);
    m->name = mem_strdup(part->group);
    for (size_t i = 0; i < part->n_step; i++)
        vec_push(&m->steps, part->step[i]);
    HASH_ADD_KEYPTR(hh, a->meetings, m->name, strlen(m->name), m);
    return m;
}

static Pb__PmixJob *copy_job(const Pb__PmixJob *job)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(&job->base, &bytes);
    return pb_unpack(&pb__pmix_job__descriptor, bytes.data, bytes.len);
}

/* Ignores the part of a step that is not a member, that is repeated, or that is too large: the
 * meeting does not complete, and other meetings are not affected. */
static bool add_fence_part(struct meeting *m, const Pb__PmixFence *part)
{
    bool wanted = false, here = false;
    size_t bytes = part->data.len;

    if (part->n_job == 1)
        bytes += pb__pmix_job__get_packed_size(part->job[0]);
    for (size_t i = 0; i < m->steps.len; i++)
        wanted |= m->steps.data[i] == part->from;
    for (size_t i = 0; i < m->jobs.len; i++)
        here |= m->jobs.data[i]->step == part->from;
    if (!wanted || here || part->n_job != 1 || part->job[0]->step != part->from ||
        bytes > GATHER_GROUP_MAX - m->bytes)
        return false;
    m->bytes += bytes;
    vec_push(&m->jobs, copy_job(part->job[0]));
    str_append(&m->data, part->data.data, part->data.len);
    return true;
}

static void collect_fence(struct across *a, const Pb__PmixFence *part)
{
    struct meeting *m = meeting_get(a, part);
    Pb__PmixFence all = PB__PMIX_FENCE__INIT;

    if (m == NULL || !add_fence_part(m, part)) {
        say_error("PMIx: a part of a meeting of several steps, %.40s, is too large, or does not "
                  "belong to it",
                  part->group);
        a->run->on->abort(a->run, NULL);
        return;
    }
    if (m->jobs.len < m->steps.len)
        return;
    all.group = m->name;
    all.step = m->steps.data;
    all.n_step = m->steps.len;
    all.job = m->jobs.data;
    all.n_job = m->jobs.len;
    all.has_context = 1;
    all.context = CONTEXT_ACROSS + ++a->over;
    all.has_data = 1;
    all.data.data = (uint8_t *)m->data.data;
    all.data.len = m->data.len;
    send_fence(a, &all);
    meeting_free(a, m);
}

static void pass_up(struct across *a, const Pb__PmixFence *part)
{
    if (!spawned_send(a->run->spawned, RPC_PMIXD_FENCE, &part->base))
        collect_fence(a, part);
}

void across_meet(struct across *a, const Pb__PmixFence *mine, const Pb__PmixFence *last_part)
{
    Pb__PmixFence part = *mine;
    Pb__PmixJob *job = across_job(a);

    part.step = last_part->step;
    part.n_step = last_part->n_step;
    part.has_from = 1;
    part.from = a->run->step_id;
    part.job = &job;
    part.n_job = 1;
    part.node = NULL;
    part.n_node = 0;
    pass_up(a, &part);
}

void across_on_fence(struct across *a, uint32_t link, const Pb__PmixFence *m)
{
    if (link == ACROSS_UP) {
        send_fence(a, m);
        return;
    }
    learn_route(a, m->from, link);
    pass_up(a, m);
}
