/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files to the nodes of a job: who may, and where to. The data never comes here. */
#include "base/pb.h"
#include "control/internal.h"

#include "base/step_id.h"
#include "control/core/facts.h"
#include "control/core/private.h"
#include "control/core/reply.h"
#include "control/step/cast.h"
#include "control/step/step.h"

/* Whether the step has the i-th node of the job; NULL: all of them are meant. */
static bool step_has(const struct step *s, uint32_t i)
{
    if (!s)
        return true;
    vec_foreach (&s->nodes, n)
        if (n->at == i)
            return true;
    return false;
}

/* From now on something of the job may be there: its end is told to them. */
static size_t take_nodes(struct control *c, struct job *j, const Pb__StepId *id,
                         const struct step *s, Pb__StepNode **out, struct arena *arena)
{
    bool batch = id->has_step_id && id->step_id == STEP_ID_BATCH;
    size_t count = 0;

    for (uint32_t i = 0; i < attempt_of(j)->alloc.len; i++) {
        struct alloc_node *a = &attempt_of(j)->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];

        if (a->released || !step_has(s, i) || (batch && a != job_host(j)))
            continue;
        Pb__StepNode *m = arena_alloc(arena, sizeof(*m));
        pb__step_node__init(m);
        m->node = (char *)n->name;
        m->addr = (char *)node_addr(n);
        m->port = n->conf->port;
        if (a->incarnation)
            SET(m, incarnation, str_hash(a->incarnation));
        a->touched = true;
        out[count++] = m;
    }
    job_touch(c->cluster, j);
    return count;
}

static const char *bcast_addr(const struct control *c, const char *name)
{
    return node_bcast_addr(cluster_find_node(c->cluster, name));
}

void cast_send_grant(struct control *c, uint64_t call, struct job *j, Pb__StepNode **nodes,
                     size_t count, struct arena *arena)
{
    _cleanup_str_ struct str cred = STR_INIT;
    Pb__StepRecord record = PB__STEP_RECORD__INIT;
    Pb__CastGrant m = PB__CAST_GRANT__INIT;
    uint8_t sig[64];

    record.step_id = STEP_ID_EXTERN;
    record.layout = nodes;
    record.n_layout = count;
    facts_make_cred(c, j, &record, &cred, sig);
    m.job_id = j->id;
    m.restarts = j->restarts;
    m.cred = (ProtobufCBinaryData){cred.len, (uint8_t *)cred.data};
    m.signature = (ProtobufCBinaryData){sizeof sig, sig};
    m.bcast_addr = arena_alloc(arena, sizeof(*m.bcast_addr) * (count + 1));
    m.nodes = arena_alloc(arena, sizeof(*m.nodes) * (count + 1));
    for (size_t i = 0; i < count; i++) {
        Pb__NodeAddr *n = arena_alloc(arena, sizeof(*n));
        pb__node_addr__init(n);
        n->node = nodes[i]->node;
        n->addr = nodes[i]->addr;
        n->port = nodes[i]->port;
        m.bcast_addr[m.n_bcast_addr++] = (char *)bcast_addr(c, n->node);
        m.nodes[m.n_nodes++] = n;
    }
    c->env->reply(c->env->ctx, call, &m.base);
}

static void grant(struct control *c, uint64_t call, struct job *j, const Pb__CastAsk *r,
                  const struct step *s)
{
    _cleanup_arena_ struct arena arena;
    Pb__StepNode **nodes;

    arena_init(&arena, 0);
    nodes = arena_alloc(&arena, sizeof(*nodes) * (attempt_of(j)->alloc.len + 1));
    cast_send_grant(c, call, j, nodes, take_nodes(c, j, r->id, s, nodes, &arena), &arena);
}

/* "12", or an element of an array, "12_4". */
static int find_job(struct control *c, const Pb__StepId *id, struct job **out, struct err *err)
{
    struct job *j = cluster_find_job(c->cluster, id->job_id);
    const struct array *a = id->array_tasks ? array_find(c->cluster, id->job_id) : NULL;
    long long task;

    if (id->array_tasks) {
        if (str_parse_i64(id->array_tasks, 0, ARRAY_SIZE_MAX - 1, &task))
            return control_set_error(err, ERR_NO_JOB, "name one element of the array");
        j = a ? array_element(c->cluster, a, (uint32_t)task) : NULL;
    }
    if (!j)
        return control_set_error(err, ERR_NO_JOB, NULL);
    *out = j;
    return 0;
}

static int find_cast_job(struct control *c, const struct caller *who, const Pb__StepId *id,
                         struct job **out, struct step **step, struct err *err)
{
    bool numbered = id->has_step_id && id->step_id < STEP_ID_BATCH;
    struct job *j = NULL;
    int rc = find_job(c, id, &j, err);

    if (rc)
        return rc;
    if (who->uid != j->uid && !who->is_admin) /* it writes as the owner */
        return control_set_error(err, private_denial(c, who, j), NULL);
    if (j->state == PB__JOB_STATE__PENDING)
        return control_set_error(err, ERR_JOB_PENDING, NULL);
    if (job_is_final(j))
        return control_set_error(err, ERR_JOB_DONE, NULL);
    if (attempt_of(j)->configuring)
        return control_set_error(err, ERR_NODES_BUSY, "the job's nodes are being configured");
    if (j->state == PB__JOB_STATE__SUSPENDED)
        return control_set_error(err, ERR_NODES_BUSY, "the job is suspended");
    *step = numbered ? step_find(j, id->step_id) : NULL;
    if (numbered && !*step)
        return control_set_error(err, ERR_NO_STEP, NULL);
    if (id->has_step_id && id->step_id == STEP_ID_BATCH && !j->batch)
        return control_set_error(err, ERR_NO_STEP, "the job has no batch script");
    *out = j;
    return 0;
}

void control_cast_ask(struct control *c, uint64_t call, const struct caller *who,
                      const Pb__CastAsk *r)
{
    struct err err = {0};
    struct step *s = NULL;
    struct job *j = NULL;

    if (find_cast_job(c, who, r->id, &j, &s, &err))
        control_refuse(c, call, &err);
    else
        grant(c, call, j, r, s);
}
